//! The page of a bound: what placement could achieve on a trace, and where the schemes are.

use serde_json::{Value, json};
use sim::sizing::bound::{Bound, BoundRun};

use crate::captions::short_name;
use crate::colours;
use crate::figure::{DataTable, Figure, colour_channel, logarithmic_axis, spec};
use crate::headline;
use crate::html_page::{HtmlPage, Section};
use crate::names::places::{Place, extent, places};
use crate::number_format::{bytes, count, decimals, percent};

/// The page; `made_by` is for its footer.
pub fn page(bound: &Bound, made_by: String) -> HtmlPage {
    let device = format!("{} of {}", bytes(bound.capacity_bytes), bound.chip);
    let copies = Section {
        notes: bound.notes.clone(),
        ..Section::of_figures("Copies and open blocks", vec![figure(bound)])
    };
    HtmlPage {
        title: format!("{}: bound of placement on {device}", short_name(&bound.trace)),
        headline: headline::bound::of(bound),
        lead: vec![format!(
            "Trace {} on {device}, with a spare of {} %. The oracle knows when each page will die; \
             no scheme for a drive knows that. With a single open block it can only choose \
             victims, and another choice can be better.",
            bound.trace,
            percent(bound.law.spare)
        )],
        sections: vec![copies],
        made_by,
        ..HtmlPage::default()
    }
}

/// Copies against open blocks: a line for the oracle, a point with its name for each scheme.
pub fn figure(bound: &Bound) -> Figure {
    let floor = floor(bound);
    let drawn = |run: &BoundRun| run.copies_per_host_page.max(floor);
    let placed = |run: &BoundRun, name: &str| {
        let open = f64::from(run.open_blocks?);
        Some(Place { name: name.to_owned(), x: open.ln(), y: drawn(run).ln() })
    };
    let schemes: Vec<&BoundRun> =
        bound.schemes.iter().filter(|run| run.open_blocks.is_some()).collect();
    let named = schemes.iter().filter_map(|run| placed(run, &run.ftl));
    let all = named.chain(bound.oracle.iter().filter_map(|run| placed(run, "")));
    let all: Vec<Place> = all.collect();
    let [x, y] = [extent(all.iter().map(|it| it.x)), extent(all.iter().map(|it| it.y))];
    let sides = places(&all, x, y, HEIGHT);
    let value = |kind: &str, run: &BoundRun| {
        json!({"kind": kind, "ftl": run.ftl, "open": run.open_blocks,
               "copies": run.copies_per_host_page, "drawn": drawn(run)})
    };
    let oracle = bound.oracle.iter().filter(|run| run.open_blocks.is_some());
    let mut values: Vec<Value> = oracle.map(|run| value("oracle", run)).collect();
    values.extend(schemes.iter().zip(sides).map(|(run, side)| {
        let mut value = value("scheme", run);
        value["align"] = side.align.into();
        value["dx"] = side.dx.into();
        value["dy"] = side.dy.into();
        value
    }));
    let windows = bound.law.needed_windows;
    if windows >= 1.0 {
        let label = format!("needed: {}", count(windows.ceil() as u64));
        values.push(json!({"kind": "law", "ftl": label, "open": windows}));
    }
    let names: Vec<String> = schemes.iter().map(|run| run.ftl.clone()).collect();
    Figure {
        id: "copies-against-open-blocks".into(),
        title: "Copies against open blocks".into(),
        caption:
            "The line is the oracle; no copies at all are drawn at the lower edge. Each scheme \
                  is a point at its own number of open blocks; a scheme without a fixed number is \
                  only in the table. The dashed rule is the number of open blocks with which no \
                  page needs to be copied, if the spare is large enough."
                .into(),
        spec: spec(values, layers(&names)),
        table: Some(table(bound.runs())),
    }
}

/// The height of the view, in pixels.
const HEIGHT: f64 = 320.0;

/// Where no copies are drawn on the logarithmic axis: half of the fewest copies.
fn floor(bound: &Bound) -> f64 {
    let copies = bound.runs().map(|run| run.copies_per_host_page).filter(|&copies| copies > 0.0);
    match copies.fold(f64::INFINITY, f64::min) {
        fewest if fewest.is_finite() => fewest / 2.0,
        _ => 0.001,
    }
}

/// The marks of the figure, each for its kind of values.
fn layers(names: &[String]) -> Value {
    let of = |kind: &str| json!([{"filter": format!("datum.kind === '{kind}'")}]);
    let mut open = logarithmic_axis("open", "open blocks");
    open["scale"]["base"] = 2.into();
    open["axis"] = json!({"labelBound": false});
    let y = logarithmic_axis("drawn", "copies for each page of the host");
    let expression = |field: &str| json!({"expr": format!("datum.{field}")});
    json!({
        "params": [{"name": "labels", "value": colours::NEUTRAL}],
        "height": HEIGHT,
        "encoding": {"x": open},
        "layer": [
            {
                "transform": of("oracle"),
                "mark": {"type": "line", "point": {"size": 24, "color": colours::of_one("oracle")},
                         "color": colours::of_one("oracle"), "tooltip": true},
                "encoding": {"y": y},
            },
            {
                "transform": of("scheme"),
                "mark": {"type": "point", "filled": true, "size": 90, "opacity": 1,
                         "tooltip": true},
                "encoding": {"y": y, "color": colour_channel("ftl", names, false)},
            },
            {
                "transform": of("scheme"),
                "mark": {"type": "text", "align": expression("align"), "dx": expression("dx"),
                         "dy": expression("dy")},
                "encoding": {"y": y, "text": {"field": "ftl"}},
            },
            {
                "transform": of("law"),
                "mark": {"type": "rule", "strokeDash": [5, 4], "color": {"expr": "labels"},
                         "tooltip": true},
            },
            {
                "transform": of("law"),
                "mark": {"type": "text", "align": "right", "dx": -4, "dy": 0,
                         "color": {"expr": "labels"}},
                "encoding": {"y": {"value": 8}, "text": {"field": "ftl"}},
            },
        ],
    })
}

fn table<'a>(runs: impl Iterator<Item = &'a BoundRun>) -> DataTable {
    let head = ["scheme", "open blocks", "write amplification", "copies per host page"];
    let row = |run: &BoundRun| {
        vec![
            run.ftl.clone(),
            run.open_blocks.map_or("–".into(), |open| count(open.into())),
            decimals(run.write_amplification, 4),
            decimals(run.copies_per_host_page, 4),
        ]
    };
    DataTable::new(head, runs.map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::bound::tests::{bound, run};

    #[test]
    fn a_page_shows_the_copies_of_all_with_a_number_of_open_blocks() {
        let page = page(&bound(30.5), "".into());
        assert_eq!(page.title, "oltp.log: bound of placement on 64.00 MiB of slc-fast2010");
        assert!(page.headline[0].starts_with("dac copies least: "), "{:?}", page.headline);
        let figure = &page.sections[0].figures[0];
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let names: Vec<&str> = values.iter().map(|value| value["ftl"].as_str().unwrap()).collect();
        let expected = ["oracle:open=1", "oracle:open=8", "page", "dac", "needed: 31"];
        assert_eq!(names, expected, "a scheme without a number of open blocks has no point");
        assert_eq!((&values[2]["copies"], &values[2]["drawn"]), (&json!(2.5), &json!(2.5)));
        assert_eq!(figure.table.as_ref().unwrap().rows[3][..2], ["fast", "–"]);
    }

    #[test]
    fn no_copies_are_drawn_at_the_lower_edge() {
        let mut perfect = bound(0.0);
        perfect.oracle[1] = run("oracle:open=8", Some(8), 0.0);
        let figure = figure(&perfect);
        let drawn = &figure.spec["data"]["values"][1];
        assert_eq!((&drawn["copies"], &drawn["drawn"]), (&json!(0.0), &json!(0.5)));
        perfect.oracle.iter_mut().chain(&mut perfect.schemes).for_each(|it| {
            it.copies_per_host_page = 0.0;
        });
        assert_eq!(floor(&perfect), 0.001);
    }
}
