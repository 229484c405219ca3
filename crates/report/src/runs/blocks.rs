//! Figures about blocks: merges, victims, wear.

use serde_json::json;

use super::labelled_result::{LabelledResult, float, integer, labels};
use crate::curves::{self, Curve, distinct, drawn, panels, shared_note};
use crate::figure::{DataTable, Figure, axis, share_axis, spec};
use crate::number_format::number;

/// The number of data blocks per full merge; `None` if there were no full merges.
pub(super) fn associated_blocks(runs: &[LabelledResult]) -> Option<Figure> {
    let (mut histograms, mut rows) = (Vec::new(), Vec::new());
    for run in runs {
        let counts = run.result["merges"]["associated_blocks"].as_array();
        let counts: Vec<u64> = counts.into_iter().flatten().map(integer).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            continue;
        }
        let weighted: f64 = (0..).zip(&counts).map(|(na, &n)| f64::from(na) * n as f64).sum();
        rows.push(vec![run.label.into(), number(total as f64), number(weighted / total as f64)]);
        let bar = |(na, count): (usize, u64)| (na as f64, count as f64 / total as f64);
        let bars = counts.into_iter().enumerate().map(bar).filter(|(_, share)| *share > 0.0);
        histograms.push((run.label.to_owned(), bars.collect()));
    }
    let histograms: Vec<Curve<(f64, f64)>> = distinct(histograms);
    let values = curves::values(&histograms, |label, &(na, share)| {
        json!({"run": label, "Na": na, "share": share,
               "from": na - 0.4, "to": na + 0.4})
    });
    if values.is_empty() {
        return None;
    }
    let mut x = axis("from", "data blocks associated with the log block (Na)");
    x["axis"] = json!({"tickMinStep": 1, "format": "d"});
    let view = json!({
        "mark": {"type": "bar", "tooltip": true},
        "height": 220,
        "encoding": {
            "x": x, "x2": {"field": "to"},
            "y": share_axis("share", "share of merges"), "y2": {"datum": 0},
        },
    });
    let labels = curves::labels(&histograms);
    let parts = match &*labels {
        [_] => drawn("run", &labels, view),
        _ => panels("run", &labels, view),
    };
    let head = ["run", "full merges", "mean Na"];
    Some(Figure {
        id: "associated-blocks".into(),
        title: "Data blocks per full merge".into(),
        caption: format!(
            "Share of full merges by Na, the number of data blocks with pages in the log block.{}",
            shared_note(&histograms, rows.len())
        ),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, rows)),
    })
}

/// The distribution of the programmed pages of a victim; `None` if no victim was counted.
pub(super) fn victim_utilisation(runs: &[LabelledResult]) -> Option<Figure> {
    let (mut curves, mut rows) = (Vec::new(), Vec::new());
    for run in runs {
        let counts = run.result["scheme"]["victim_utilisation"].as_array();
        let counts: Vec<u64> = counts.into_iter().flatten().map(integer).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            continue;
        }
        let full = counts.len() - 1;
        let mut seen = 0;
        let point = |(pages, &count): (usize, &u64)| {
            seen += count;
            (pages as f64 / full as f64, seen as f64 / total as f64)
        };
        curves.push((run.label.to_owned(), counts.iter().enumerate().map(point).collect()));
        let open = (total - counts[full]) as f64 / total as f64;
        rows.push(vec![run.label.into(), number(total as f64), number(100.0 * open)]);
    }
    let curves: Vec<Curve<(f64, f64)>> = distinct(curves);
    let values = curves::values(
        &curves,
        |label, &(used, share)| json!({"run": label, "used": used, "share": share}),
    );
    if values.is_empty() {
        return None;
    }
    let view = json!({
        "mark": {"type": "line", "interpolate": "step-after", "tooltip": true},
        "height": 240,
        "encoding": {
            "x": share_axis("used", "share of a victim's pages that are programmed"),
            "y": share_axis("share", "share of victims with this share or less"),
        },
    });
    let head = ["run", "victims", "with free pages, %"];
    Some(Figure {
        id: "victim-utilisation".into(),
        title: "Utilisation of victims".into(),
        caption: "Cumulative distribution of the share of a victim's pages that are programmed."
            .into(),
        spec: spec(values, drawn("run", &curves::labels(&curves), view)),
        table: Some(DataTable::new(head, rows)),
    })
}

/// Number of cells of the wear map in a row.
const WEAR_COLUMNS: usize = 32;

/// A map of the erases of all blocks; `None` if the results have no map.
pub(super) fn wear(runs: &[LabelledResult]) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let map = &run.result["wear"]["map"];
        let (all, step) = (integer(&map["blocks"]), integer(&map["blocks_per_cell"]));
        for (cell, erases) in map["erases"].as_array().into_iter().flatten().enumerate() {
            let first = cell as u64 * step;
            let blocks = step.min(all - first);
            values.push(json!({
                "run": run.label, "row": cell / WEAR_COLUMNS, "column": cell % WEAR_COLUMNS,
                "first block": first, "blocks": blocks, "erases": float(erases) / blocks as f64,
            }));
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "facet": {"field": "run", "type": "nominal", "title": null, "sort": labels(runs)},
        "columns": 3,
        "spec": {
            "width": 230, "height": {"step": 8},
            "mark": {"type": "rect", "tooltip": true},
            "encoding": {
                "x": {"field": "column", "type": "ordinal", "axis": null},
                "y": {"field": "row", "type": "ordinal", "axis": null},
                "color": {"field": "erases", "type": "quantitative",
                          "scale": {"scheme": "viridis"}, "title": "erases per block"},
            },
        },
    });
    let columns = ["min", "max", "mean", "stddev"];
    let row = |run: &LabelledResult| {
        let cells = columns.iter().map(|&column| number(float(&run.result["wear"][column])));
        [run.label.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["run", "minimum", "maximum", "mean", "standard deviation"];
    Some(Figure {
        id: "wear".into(),
        title: "Wear of the blocks".into(),
        caption: "Erases since the device was new, with precondition and warm-up. The blocks are \
                  in the order of their numbers, row by row. A cell may stand for several blocks."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, runs.iter().map(row))),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The values that a figure of a run draws, and the rows of its table.
    fn drawn(
        of: fn(&[LabelledResult]) -> Option<Figure>,
        result: &Value,
    ) -> (Vec<Value>, Vec<Vec<String>>) {
        let figure = of(&[LabelledResult { label: "a", result }]).unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap().clone();
        (values, figure.table.unwrap().rows)
    }

    /// The fields of each value.
    fn fields<const N: usize>(values: &[Value], names: [&str; N]) -> Vec<[f64; N]> {
        values.iter().map(|value| names.map(|name| value[name].as_f64().unwrap())).collect()
    }

    #[test]
    fn bars_of_merges_stand_beside_each_other() {
        let (values, rows) =
            drawn(associated_blocks, &json!({"merges": {"associated_blocks": [0, 3, 1]}}));
        assert_eq!(fields(&values, ["Na", "share"]), [[1.0, 0.75], [2.0, 0.25]]);
        let ends = fields(&values, ["from", "to"]);
        assert!(ends[0][0] < 1.0 && 1.0 < ends[0][1] && ends[0][1] < ends[1][0], "{ends:?}");
        assert_eq!(rows, [["a", "4", "1.25"]]);
    }

    #[test]
    fn victims_are_added_up_to_all_of_them() {
        let (values, rows) =
            drawn(victim_utilisation, &json!({"scheme": {"victim_utilisation": [1, 0, 3]}}));
        let expected = [[0.0, 0.25], [0.5, 0.25], [1.0, 1.0]];
        assert_eq!(fields(&values, ["used", "share"]), expected);
        assert_eq!(rows, [["a", "4", "25"]]);
    }

    #[test]
    fn a_cell_has_the_mean_of_its_own_blocks() {
        let map = json!({"blocks": 5, "blocks_per_cell": 2, "erases": [4, 6, 2]});
        let (values, _) = drawn(wear, &json!({"wear": {"map": map}}));
        let expected = [[0.0, 2.0, 2.0], [2.0, 2.0, 3.0], [4.0, 1.0, 2.0]];
        assert_eq!(fields(&values, ["first block", "blocks", "erases"]), expected);
    }
}
