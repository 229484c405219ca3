//! The page of lives: write amplification, blocks in reserve and blocks retired against what the
//! host wrote, for several FTLs.

use serde_json::{Value, json};
use sim::run::life::Life;
use sim::run::life_course::LifePoint;

use crate::captions::{named, short_name};
use crate::curves::{self, Curve, distinct, drawn, shared_note};
use crate::figure::{DataTable, Figure, axis_from_zero, rule_at_one, slug, spec};
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
            Section::of_figures("Over the life", figures(lives)),
            Section {
                text: vec![LEGEND.replace('\n', " ").trim_end().to_owned()],
                ..Section::of_table("Summary", summary(lives))
            },
        ],
        made_by,
        ..HtmlPage::default()
    }
}

/// What was run, in sentences.
fn provenance(trace: &str, lives: &[Life]) -> String {
    let Some(life) = lives.first() else { return String::new() };
    let filled = if life.is_filled { "Filled once" } else { "Empty at first" };
    let blocks = |blocks: fn(&Life) -> u64| {
        let mut all: Vec<u64> = lives.iter().map(blocks).collect();
        all.sort_unstable();
        match [all[0], all[all.len() - 1]] {
            [least, most] if least == most => count(least),
            [least, most] => format!("{} to {}", count(least), count(most)),
        }
    };
    format!(
        "Trace {trace}, repeated until a die has no block left in reserve. Device {}: {} in {} \
         blocks, and {} in reserve. Media {}. Wear levelling {}. {filled}. Seed {}.",
        life.chip,
        bytes(life.capacity_bytes),
        blocks(|life| life.blocks),
        blocks(|life| life.reserve_blocks),
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
    /// How a line goes from one point to the next.
    interpolate: &'static str,
    of: fn(&LifePoint) -> f64,
}

/// A number of blocks.
const BLOCKS: Quantity = Quantity {
    field: "in_use",
    label: "blocks in use",
    unit: "",
    definition: "The blocks that the FTL works with.",
    interpolate: "step-after",
    of: |point| point.in_use as f64,
};

/// All that is drawn, in the order of the page.
const QUANTITIES: [Quantity; 6] = [
    Quantity {
        field: "write_amplification",
        label: "write amplification",
        unit: " (programs per host page)",
        definition: "A point covers what the host wrote since the point before it.",
        interpolate: "linear",
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

/// All figures, without those of which the values never change.
pub fn figures(lives: &[Life]) -> Vec<Figure> {
    QUANTITIES.iter().filter_map(|quantity| over_the_life(lives, quantity)).collect()
}

/// A quantity against what the host wrote; `None` if it never changes.
fn over_the_life(lives: &[Life], of: &Quantity) -> Option<Figure> {
    let value = |point: &LifePoint| (point.host_bytes, point.drive_writes, (of.of)(point));
    let curve = |life: &Life| (life.ftl.clone(), life.course.iter().map(value).collect());
    let curves: Vec<Curve<(u64, f64, f64)>> = lives.iter().map(curve).collect();
    if curves.iter().all(|(_, points)| points.iter().all(|point| point.2 == points[0].2)) {
        return None;
    }
    let table = table(&curves);
    let curves = distinct(curves);
    let longest = lives.iter().map(|life| life.host_bytes).max()?;
    let (unit, unit_bytes) = byte_unit(longest);
    let values: Vec<Value> = curves::values(&curves, |ftl, &(host_bytes, drive_writes, value)| {
        json!({"ftl": ftl, "host": host_bytes as f64 / unit_bytes, "host_bytes": host_bytes,
               "drive_writes": drive_writes, of.field: value})
    });
    let mark = json!({"type": "line", "strokeWidth": 1.5, "interpolate": of.interpolate,
                      "tooltip": true});
    let mut layer = vec![json!({
        "mark": mark,
        "encoding": {
            "x": axis_from_zero("host", &format!("written by the host ({unit})")),
            "y": axis_from_zero(of.field, &format!("{}{}", of.label, of.unit)),
        },
    })];
    layer.extend((of.field == "write_amplification").then(rule_at_one));
    let view = json!({"height": 220, "layer": layer});
    let title = format!("{} over the life", crate::runs::capitalised(of.label));
    Some(Figure {
        id: slug(&title),
        caption: format!("{}{}", of.definition, shared_note(&curves, lives.len())),
        title,
        spec: spec(values, drawn("ftl", &curves::labels(&curves), view)),
        table: Some(table),
    })
}

/// The values after each quarter of a life.
fn table(curves: &[Curve<(u64, f64, f64)>]) -> DataTable {
    let row = |(ftl, points): &Curve<(u64, f64, f64)>| {
        let end = points.last().map_or(0, |point| point.0);
        let after = |quarters: u64| {
            let reached = points.iter().find(|point| 4 * point.0 >= quarters * end);
            reached.map_or("–".to_owned(), |point| number(point.2))
        };
        [ftl.clone()].into_iter().chain((1..=4).map(after)).collect()
    };
    let head = ["ftl", "after 25 % of its life", "50 %", "75 %", "at its end"];
    DataTable::new(head, curves.iter().map(row))
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
        let names: Vec<&str> = drawn.iter().map(|figure| &*figure.id).collect();
        let expected = ["write-amplification", "blocks-in-reserve", "blocks-worn-out"];
        assert_eq!(names, expected.map(|name| format!("{name}-over-the-life")));
        let reserve = drawn[1].table.as_ref().unwrap();
        assert_eq!((&*reserve.rows[1][0], &*reserve.rows[1][4]), ("fast", "0"));
    }

    #[test]
    fn bytes_have_a_unit_that_suits_the_longest_life() {
        let units = [0, (4 << 30) - 1, 4 << 30, 4 << 40].map(|most| byte_unit(most).0);
        assert_eq!(units, ["MiB", "MiB", "GiB", "TiB"]);
        assert_eq!(byte_unit(4 << 30).1, f64::from(1 << 30));
    }
}
