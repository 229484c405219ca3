//! The page of a bound: what placement could achieve on a trace, and where the schemes are.

use serde_json::{Map, Value, json};
use sim::sizing::bound::{Bound, BoundRun};

use crate::charts::{Facets, Point, draw};
use crate::figure::{DataTable, Figure, axis, logarithmic_axis, spec};
use crate::html_page::{HtmlPage, Section, Tile};
use crate::number_format::{count, decimals};

/// The page; `made_by` is for its footer.
pub fn page(bound: &Bound, made_by: String) -> HtmlPage {
    let sorted = best_first(bound);
    HtmlPage {
        title: "Bound of placement".into(),
        lead: vec![
            format!(
                "What placement could achieve on {}. The oracle knows when each page will die. No \
                 scheme for a drive knows that. With a single open block it can only choose \
                 victims, and another choice can be better.",
                bound.trace
            ),
            crate::headline::bound::law(&bound.law),
        ],
        notes: bound.notes.clone(),
        tiles: sorted.iter().map(|run| tile(run)).collect(),
        sections: vec![
            Section::of_figures("Write amplification and open blocks", vec![curve(bound)]),
            Section::of_figures("Which placement for my trace", vec![ranking(&sorted)]),
        ],
        made_by,
        ..HtmlPage::default()
    }
}

/// The schemes and the best run of the oracle, the least write amplification first.
fn best_first(bound: &Bound) -> Vec<&BoundRun> {
    let by_amplification =
        |a: &&BoundRun, b: &&BoundRun| a.write_amplification.total_cmp(&b.write_amplification);
    let best = bound.oracle.iter().min_by(by_amplification);
    let mut runs: Vec<&BoundRun> = best.into_iter().chain(&bound.schemes).collect();
    runs.sort_by(by_amplification);
    runs
}

fn tile(run: &BoundRun) -> Tile {
    Tile {
        label: run.ftl.clone(),
        value: decimals(run.write_amplification, 3),
        note: "write amplification".into(),
    }
}

/// Write amplification against open blocks: a line for the oracle, a point for each scheme.
fn curve(bound: &Bound) -> Figure {
    let value = |kind: &str, run: &BoundRun| {
        let amplification = run.write_amplification;
        let open = run.open_blocks?;
        Some(json!({"kind": kind, "ftl": run.ftl, "open": open, "amplification": amplification}))
    };
    let oracle = bound.oracle.iter().filter_map(|run| value("oracle", run));
    let schemes = bound.schemes.iter().filter_map(|run| value("scheme", run));
    let mut values: Vec<Value> = oracle.chain(schemes).collect();
    let windows = bound.law.needed_windows;
    if windows >= 1.0 {
        let label = format!("needed: {}", count(windows.ceil() as u64));
        values.push(json!({"kind": "law", "ftl": label, "open": windows}));
    }
    Figure {
        id: "write-amplification-against-open-blocks".into(),
        title: "Write amplification against open blocks".into(),
        caption:
            "The line is the oracle. Each scheme is a point at its own number of open blocks; \
                  a scheme without a fixed number is only in the table. The vertical rule is the \
                  number of open blocks with which no page needs to be copied, if the spare is \
                  large enough."
                .into(),
        spec: spec(values, layers()),
        table: Some(table(bound.runs())),
    }
}

/// The marks of the curve, each for its kind of values.
fn layers() -> Value {
    let of = |kind: &str| json!([{"filter": format!("datum.kind === '{kind}'")}]);
    let mut open = logarithmic_axis("open", "open blocks");
    open["scale"]["base"] = 2.into();
    let text = |align: &str, dx: i32| {
        json!({"type": "text", "align": align, "dx": dx, "dy": -8,
               "color": {"expr": "labels"}})
    };
    json!({
        "params": [{"name": "labels", "value": "#808080"}],
        "height": 320,
        "encoding": {"x": open},
        "layer": [
            {
                "transform": of("oracle"),
                "mark": {"type": "line", "point": {"size": 24}, "tooltip": true},
                "encoding": {"y": axis("amplification", "write amplification")},
            },
            {
                "transform": of("scheme"),
                "mark": {"type": "point", "filled": true, "size": 70, "shape": "square",
                         "color": "#d62728", "tooltip": true},
                "encoding": {"y": {"field": "amplification", "type": "quantitative"}},
            },
            {
                "transform": of("scheme"),
                "mark": text("left", 8),
                "encoding": {
                    "y": {"field": "amplification", "type": "quantitative"},
                    "text": {"field": "ftl"},
                },
            },
            {
                "transform": of("law"),
                "mark": {"type": "rule", "strokeDash": [5, 4], "color": {"expr": "labels"},
                         "tooltip": true},
            },
            {
                "transform": of("law"),
                "mark": text("right", -4),
                "encoding": {"y": {"value": 16}, "text": {"field": "ftl"}},
            },
        ],
    })
}

/// Bars of write amplification, the best first.
fn ranking(sorted: &[&BoundRun]) -> Figure {
    let point =
        |run: &&BoundRun| Point::new(run.ftl.clone(), &Map::new(), Some(run.write_amplification));
    let points: Vec<Point> = sorted.iter().map(point).collect();
    Figure {
        id: "write-amplification-by-scheme".into(),
        title: "Write amplification by scheme".into(),
        caption: "The best is first. The oracle is drawn with the number of open blocks that was \
                  best; the distance to it is what a better placement could gain."
            .into(),
        spec: draw(&points, "write amplification", Facets::default()),
        table: Some(table(sorted.iter().copied())),
    }
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
    use crate::headline::bound::tests::bound;

    #[test]
    fn a_page_shows_the_curve_and_the_best_first() {
        let page = page(&bound(30.5), "".into());
        let figure = &page.sections[0].figures[0];
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let names: Vec<&str> = values.iter().map(|value| value["ftl"].as_str().unwrap()).collect();
        let expected = ["oracle:open=1", "oracle:open=8", "page", "dac", "needed: 31"];
        assert_eq!(names, expected, "a scheme without a number of open blocks has no point");
        assert_eq!(figure.table.as_ref().unwrap().rows[3][..2], ["fast", "–"]);
        let bars = page.sections[1].figures[0].spec["data"]["values"].as_array().unwrap();
        let names: Vec<&str> = bars.iter().map(|value| value["runs"].as_str().unwrap()).collect();
        assert_eq!(names, ["oracle:open=8", "dac", "page", "fast"]);
    }
}
