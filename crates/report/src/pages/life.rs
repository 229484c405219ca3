//! The page of lives: write amplification, blocks in reserve and blocks retired against what the
//! host wrote, for several FTLs. They are panels above one axis, so that what happens at the same
//! time stands in one line.

use serde_json::{Value, json};
use sim::run::life::Life;
use sim::run::life_course::LifePoint;

use crate::captions::{named, short_name};
use crate::curves::{TOGETHER_MAX, drawn};
use crate::figure::{DataTable, Figure, axis_from_zero, colour_channel, spec};
use crate::headline;
use crate::html_page::{HtmlPage, Section};
use crate::number_format::{bytes, count, decimals, number};

/// What the columns of the summary mean.
pub const LEGEND: &str = "\
A drive write is the capacity once; `first failure after` counts them. `if even`: drive writes if
all blocks took their mean number of erases; what is missing was lost to uneven wear, and to blocks
that failed early. `worn`: erases of the most worn block in use, and their mean.
";

/// The page of lives under a load; `made_by` is for its footer.
pub fn page(trace: &str, lives: &[Life], made_by: String) -> HtmlPage {
    let ftls: Vec<&str> = lives.iter().map(|life| &*life.ftl).collect();
    let device = lives.first().map_or(String::new(), |life| {
        format!(" on {} of {}", bytes(life.capacity_bytes), life.chip)
    });
    let what = if lives.len() == 1 { "life" } else { "lives" };
    HtmlPage {
        title: format!("{}: {what} of {}{device}", short_name(trace), named(&ftls)),
        headline: headline::lives::of(lives),
        lead: vec![provenance(trace, lives)],
        sections: vec![
            Section::of_figures("Over the life", over_the_life(lives).into_iter().collect()),
            Section {
                text: vec![LEGEND.replace('\n', " ").trim_end().to_owned()],
                ..Section::of_table("Summary", summary(lives))
            },
        ],
        made_by,
        ..HtmlPage::default()
    }
}

/// The blocks of the devices, which need not be alike: layers add some, and an FTL that handles
/// failures has those in reserve among its own.
pub fn blocks(lives: &[Life]) -> String {
    let range = |blocks: fn(&Life) -> u64| {
        let all = || lives.iter().map(blocks);
        match [all().min(), all().max()].map(Option::unwrap_or_default) {
            [least, most] if least == most => count(least),
            [least, most] => format!("{} to {}", count(least), count(most)),
        }
    };
    let (used, reserve) = (range(|life| life.blocks), range(|life| life.reserve_blocks));
    format!("{used} blocks, and {reserve} in reserve")
}

/// What was run, in sentences.
fn provenance(trace: &str, lives: &[Life]) -> String {
    let Some(life) = lives.first() else { return String::new() };
    let filled = if life.is_filled { "Filled once" } else { "Empty at first" };
    format!(
        "Trace {trace}, repeated until a die has no block left in reserve. Device {}: {} in {}. \
         Media {}. Wear levelling {}. {filled}. Seed {}.",
        life.chip,
        bytes(life.capacity_bytes),
        blocks(lives),
        life.media,
        life.levelling,
        life.seed,
    )
}

/// A row for each life.
pub fn summary(lives: &[Life]) -> DataTable {
    let head = [
        "ftl",
        "host wrote",
        "drive writes",
        "if even",
        "write amplification",
        "first failure after",
        "failed",
        "moved pages",
        "worn",
    ];
    let row = |life: &Life| {
        let failed = &life.blocks_failed;
        vec![
            life.ftl.clone(),
            bytes(life.host_bytes),
            decimals(life.drive_writes, 1),
            decimals(life.drive_writes_if_even, 1),
            decimals(life.write_amplification, 3),
            life.first_retired_after.map_or("–".into(), |after| decimals(after, 1)),
            count(failed.retired),
            count(failed.moved_pages),
            format!("{}, {}", count(life.wear.max.into()), decimals(life.wear.mean, 1)),
        ]
    };
    DataTable::new(head, lives.iter().map(row))
}

// ---- Figures -----------------------------------------------------------------------------------

/// What is drawn over the life.
struct Quantity {
    /// Its field in the points of a course.
    field: &'static str,
    label: &'static str,
    /// Behind the label at the axis.
    unit: &'static str,
    /// What it is, as a sentence for the caption.
    definition: &'static str,
    of: fn(&LifePoint) -> f64,
}

/// A number of blocks.
const BLOCKS: Quantity = Quantity {
    field: "in_use",
    label: "blocks in use",
    unit: "",
    definition: "The blocks that the FTL works with.",
    of: |point| point.in_use as f64,
};

/// The field of write amplification.
const COST: &str = "write_amplification";

/// All that is drawn, in the order of the page.
const QUANTITIES: [Quantity; 6] = [
    Quantity {
        field: COST,
        label: "write amplification",
        unit: " (programs per host page)",
        definition: "A point covers what the host wrote since the point before it.",
        of: |point| point.write_amplification,
    },
    BLOCKS,
    Quantity {
        field: "in_reserve",
        label: "blocks in reserve",
        definition: "Good blocks that take the place of blocks in use that fail, so the number of \
                     blocks in use stays the same. The life ends when a die has none left.",
        of: |point| point.in_reserve as f64,
        ..BLOCKS
    },
    Quantity {
        field: "worn_out",
        label: "blocks worn out",
        definition: "Blocks that were retired because an erase failed when they were worn out.",
        of: |point| point.worn_out as f64,
        ..BLOCKS
    },
    Quantity {
        field: "program_failures",
        label: "blocks with a failed program",
        definition: "Blocks that were retired because a program failed.",
        of: |point| point.program_failures as f64,
        ..BLOCKS
    },
    Quantity {
        field: "erase_failures",
        label: "blocks with a failed erase",
        definition: "Blocks that were retired because an erase failed before they were worn out.",
        of: |point| point.erase_failures as f64,
        ..BLOCKS
    },
];

impl Quantity {
    /// The title of its panel.
    fn title(&self) -> String {
        format!("{}{}", self.label, self.unit)
    }

    fn changes(&self, lives: &[Life]) -> bool {
        let is_flat = |life: &Life| {
            let mut points = life.course.iter().map(self.of);
            let first = points.next();
            points.all(|point| Some(point) == first)
        };
        !lives.iter().all(is_flat)
    }
}

/// A panel for each quantity that changes; none if none does.
pub fn over_the_life(lives: &[Life]) -> Option<Figure> {
    let shown: Vec<&Quantity> = QUANTITIES.iter().filter(|it| it.changes(lives)).collect();
    let longest = lives.iter().map(|life| life.host_bytes).max()?;
    let (unit, unit_bytes) = byte_unit(longest);
    let point = |of: &Quantity, life: &Life, point: &LifePoint| {
        json!({"ftl": life.ftl, "panel": of.title(), "host": point.host_bytes as f64 / unit_bytes,
               "host_bytes": point.host_bytes, "drive_writes": point.drive_writes,
               "value": (of.of)(point)})
    };
    let mut values: Vec<Value> = Vec::new();
    for &of in &shown {
        for life in lives {
            values.extend(life.course.iter().map(|at| point(of, life, at)));
        }
    }
    let titles: Vec<String> = shown.iter().map(|of| of.title()).collect();
    // Every panel has a rule, because vega warns of one that has none: at 1, or on its axis.
    let rule = |of: &&Quantity| json!({"panel": of.title(), "rule": u32::from(of.field == COST)});
    values.extend(shown.iter().map(rule));
    let definitions =
        shown.iter().map(|of| format!("{}: {}", crate::runs::capitalised(of.label), of.definition));
    let ftls: Vec<String> = lives.iter().map(|life| life.ftl.clone()).collect();
    Some(Figure {
        id: "over-the-life".into(),
        title: "Write amplification and blocks".into(),
        caption: definitions.collect::<Vec<_>>().join(" "),
        spec: spec(values, panels(&titles, &ftls, unit)),
        table: Some(table(&shown, lives)),
    })
    .filter(|_| !shown.is_empty())
}

/// Panels with these titles, one below the other, above one axis of bytes in this unit.
fn panels(titles: &[String], ftls: &[String], unit: &str) -> Value {
    let lines = json!({
        "transform": [{"filter": "isValid(datum.value)"}],
        "mark": {"type": "line", "strokeWidth": 1.5, "tooltip": true},
        "encoding": {
            "x": axis_from_zero("host", &format!("written by the host ({unit})")),
            "y": axis_from_zero("value", ""),
        },
    });
    let rule = json!({
        "transform": [{"filter": "isValid(datum.rule)"}],
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.2},
        "encoding": {"y": {"field": "rule", "type": "quantitative"}},
    });
    let view = json!({"width": 640, "height": 120, "layer": [lines, rule]});
    let view = match ftls.len() > TOGETHER_MAX {
        true => {
            let mut view = view;
            view["layer"][0]["encoding"]["color"] = colour_channel("ftl", ftls, true);
            view
        }
        false => drawn("ftl", ftls, view),
    };
    json!({
        "facet": {"field": "panel", "type": "nominal", "title": null, "sort": titles},
        "columns": 1,
        "spec": view,
        "resolve": {"scale": {"y": "independent"}},
    })
}

/// The values after each quarter of a life.
fn table(shown: &[&Quantity], lives: &[Life]) -> DataTable {
    let row = |of: &Quantity, life: &Life| {
        let end = life.course.last().map_or(0, |point| point.host_bytes);
        let after = |quarters: u64| {
            let reached = life.course.iter().find(|it| 4 * it.host_bytes >= quarters * end);
            reached.map_or("–".to_owned(), |point| number((of.of)(point)))
        };
        [of.label.to_owned(), life.ftl.clone()].into_iter().chain((1..=4).map(after)).collect()
    };
    let rows = shown.iter().flat_map(|of| lives.iter().map(|life| row(of, life)));
    let head = ["", "ftl", "after 25 % of its life", "50 %", "75 %", "at its end"];
    DataTable { text_columns: 2, ..DataTable::new(head, rows) }
}

/// The unit of an axis of bytes up to this number, and its bytes.
fn byte_unit(most: u64) -> (&'static str, f64) {
    let units = [("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let fits = |unit: &&(&str, u32)| most >= 4 << unit.1;
    let (unit, shift) = *units.iter().rev().find(fits).unwrap_or(&units[0]);
    (unit, (1u64 << shift) as f64)
}

#[cfg(test)]
mod tests {
    use sim::run::life::life;
    use sim::{Experiment, RunOptions, Setup};

    use super::*;

    fn lived(ftl: &str) -> Life {
        let experiment = Experiment {
            ftl: ftl.into(),
            trace: Some("uniform:requests=20K".into()),
            capacity_bytes: Some(8 << 20),
            extra: Some("20%".parse().unwrap()),
            media: "real:endurance=40".into(),
            reserve: Some("10%".parse().unwrap()),
            ..Experiment::default()
        };
        life(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
    }

    #[test]
    fn a_page_draws_what_changes() {
        let lives = [lived("page"), lived("fast")];
        let page = page("uniform:requests=20K", &lives, "".into());
        let title = "uniform:requests=20K: lives of page and fast on 8.00 MiB of slc-fast2010";
        assert_eq!(page.title, title);
        assert!(page.lead[0].contains("Device slc-fast2010: 8.00 MiB in "), "{}", page.lead[0]);
        assert!(page.headline[0].contains(" drive writes, "), "{:?}", page.headline);
        let drawn = &page.sections[0].figures;
        assert_eq!((drawn.len(), &*drawn[0].id), (1, "over-the-life"));
        let panels = &drawn[0].spec["facet"]["sort"];
        let cost = "write amplification (programs per host page)";
        assert_eq!(*panels, json!([cost, "blocks in reserve", "blocks worn out"]));
        let reserve = drawn[0].table.as_ref().unwrap();
        assert_eq!(&reserve.rows[3][..2], ["blocks in reserve", "fast"]);
        assert_eq!(&reserve.rows[3][5], "0");
    }

    #[test]
    fn many_lives_differ_by_colour_alone() {
        let ftls: Vec<String> = (0..9).map(|at| format!("page:frontiers={at}")).collect();
        let view = &panels(&["a".into()], &ftls, "GiB")["spec"]["layer"][0]["encoding"];
        assert!(view["color"]["scale"]["domain"][8].is_string() && view["strokeDash"].is_null());
        let few = &panels(&["a".into()], &ftls[..8], "GiB")["spec"]["layer"][0]["encoding"];
        assert!(!few["strokeDash"].is_null());
    }

    #[test]
    fn bytes_have_a_unit_that_suits_the_longest_life() {
        let units = [0, (4 << 30) - 1, 4 << 30, 4 << 40].map(|most| byte_unit(most).0);
        assert_eq!(units, ["MiB", "MiB", "GiB", "TiB"]);
        assert_eq!(byte_unit(4 << 30).1, f64::from(1 << 30));
    }
}
