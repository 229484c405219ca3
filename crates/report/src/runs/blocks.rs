//! Figures about blocks: merges, victims, wear.

use serde_json::json;

use super::labelled_result::{LabelledResult, float, integer, labels, provenance, run_colour};
use crate::figure::{DataTable, Figure, spec};
use crate::number_format::number;

/// The number of data blocks per full merge; `None` if there were no full merges.
pub(super) fn associated_blocks(runs: &[LabelledResult]) -> Option<Figure> {
    let mut values = Vec::new();
    let mut rows = Vec::new();
    for run in runs {
        let counts = run.result["merges"]["associated_blocks"].as_array();
        let counts: Vec<u64> = counts.into_iter().flatten().map(integer).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            continue;
        }
        let weighted: f64 = (0..).zip(&counts).map(|(na, &n)| f64::from(na) * n as f64).sum();
        rows.push(vec![run.label.into(), number(total as f64), number(weighted / total as f64)]);
        for (na, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let share = count as f64 / total as f64;
            values.push(json!({"run": run.label, "Na": na, "merges": count, "share": share}));
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "facet": {"row": {"field": "run", "type": "nominal", "sort": labels(runs), "title": null}},
        "spec": {
            "width": 620, "height": 70,
            "mark": {"type": "bar", "tooltip": true},
            "encoding": {
                "x": {"field": "Na", "type": "quantitative", "bin": {"binned": true, "step": 1},
                      "title": "data blocks associated with the log block (Na)"},
                "y": {"field": "share", "type": "quantitative", "title": null,
                      "axis": {"format": "%", "tickCount": 3}},
            },
        },
    });
    let head = ["run", "full merges", "mean Na"].map(str::to_owned).to_vec();
    Some(Figure {
        id: "associated-blocks".into(),
        title: "Data blocks per full merge".into(),
        caption: format!(
            "Share of full merges by Na, the number of data blocks with pages in the log block. {}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, rows)),
    })
}

/// The distribution of the programmed pages of a victim; `None` if no victim was counted.
pub(super) fn victim_utilisation(runs: &[LabelledResult]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for run in runs {
        let counts = run.result["scheme"]["victim_utilisation"].as_array();
        let counts: Vec<u64> = counts.into_iter().flatten().map(integer).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            continue;
        }
        let full = counts.len() - 1;
        let mut seen = 0;
        for (pages, &count) in counts.iter().enumerate() {
            seen += count;
            let (used, share) = (pages as f64 / full as f64, seen as f64 / total as f64);
            values.push(json!({"run": run.label, "used": used, "share": share}));
        }
        let open = (total - counts[full]) as f64 / total as f64;
        rows.push(vec![run.label.into(), number(total as f64), number(100.0 * open)]);
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "mark": {"type": "line", "interpolate": "step-after", "tooltip": true},
        "height": 240,
        "encoding": {
            "x": {"field": "used", "type": "quantitative", "axis": {"format": "%"},
                  "title": "share of a victim's pages that are programmed"},
            "y": {"field": "share", "type": "quantitative", "axis": {"format": "%"},
                  "title": "share of victims with this share or less"},
            "color": run_colour(runs),
        },
    });
    let head = ["run", "victims", "with free pages, %"].map(str::to_owned).to_vec();
    Some(Figure {
        id: "victim-utilisation".into(),
        title: "Utilisation of victims".into(),
        caption: format!(
            "Cumulative distribution of the share of a victim's pages that are programmed. {}",
            provenance(runs)
        ),
        spec: spec(values, parts),
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
        caption: format!(
            "Erases since the device was new, with precondition and warm-up. The blocks are in \
             the order of their numbers, row by row. A cell may stand for several blocks. {}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(DataTable::new(
            head.map(str::to_owned).to_vec(),
            runs.iter().map(row).collect(),
        )),
    })
}
