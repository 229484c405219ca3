//! Time by cause, and distributions of the times of requests.

use serde_json::{Value, json};
use sim::clock::SERIAL_CAVEAT;

use super::labelled_result::{LabelledResult, capitalised, float, labels, provenance, run_colour};
use crate::figure::{DataTable, Figure, POINTS_MAX, slug, spec};
use crate::number_format::number;

/// Each cause and its label, in the order in which the bars are stacked.
const CAUSES: [(&str, &str); 9] = [
    ("host", "host pages"),
    ("rmw", "read-modify-write"),
    ("gc", "garbage collection"),
    ("merge", "merges"),
    ("map", "map in flash"),
    ("log", "sector log"),
    ("wear", "wear levelling"),
    ("meta", "bookkeeping"),
    ("dram", "DRAM"),
];

/// The colour of each cause, the same in every figure, visible on light and dark backgrounds.
const CAUSE_COLOURS: [&str; 9] = [
    "#7f8fa6", "#9c755f", "#e15759", "#f28e2b", "#59a14f", "#4e79a7", "#b07aa1", "#bab0ac",
    "#76b7b2",
];

/// Stacked bars: one bar per run, with one part per cause.
pub(super) fn time_by_cause(runs: &[LabelledResult]) -> Figure {
    let seconds = |run: &LabelledResult, cause: &str| float(&run.result["time_us"][cause]) / 1e6;
    let spent = |cause: &str| runs.iter().any(|run| seconds(run, cause) > 0.0);
    let causes: Vec<usize> = (0..CAUSES.len()).filter(|&at| spent(CAUSES[at].0)).collect();
    let mut values = Vec::new();
    for run in runs {
        for &at in &causes {
            let (cause, label) = CAUSES[at];
            values.push(json!({
                "run": run.label, "cause": label, "order": at, "seconds": seconds(run, cause),
            }));
        }
    }
    let parts = json!({
        "mark": {"type": "bar", "tooltip": true},
        "height": 28 * runs.len(),
        "encoding": {
            "y": {"field": "run", "type": "nominal", "sort": labels(runs), "title": null},
            "x": {"field": "seconds", "type": "quantitative", "title": "serial time (s)"},
            "color": {
                "field": "cause", "type": "nominal", "title": "cause",
                "scale": {
                    "domain": causes.iter().map(|&at| CAUSES[at].1).collect::<Vec<_>>(),
                    "range": causes.iter().map(|&at| CAUSE_COLOURS[at]).collect::<Vec<_>>(),
                },
            },
            "order": {"field": "order", "type": "quantitative"},
        },
    });
    let mut head = vec!["run".to_owned(), "total, s".to_owned()];
    head.extend(causes.iter().map(|&at| format!("{}, s", CAUSES[at].1)));
    let row = |run: &LabelledResult| {
        let parts = causes.iter().map(|&at| number(seconds(run, CAUSES[at].0)));
        let all = number(seconds(run, "total"));
        [run.label.to_owned(), all].into_iter().chain(parts).collect()
    };
    Figure {
        id: "time-by-cause".into(),
        title: "Time by cause".into(),
        caption: format!(
            "Serial time of all flash operations in the measured pass (count × latency), by the \
             cause of the operations. {} {SERIAL_CAVEAT}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, runs.iter().map(row).collect())),
    }
}

/// A time of requests that is drawn as a distribution.
pub(super) struct RequestTime {
    /// Its field in results.
    field: &'static str,
    label: &'static str,
    /// What it is, as a sentence for the caption.
    definition: &'static str,
    /// Label of the vertical axis, behind "share of writes".
    share: &'static str,
}

pub(super) const SERVICE: RequestTime = RequestTime {
    field: "service_us",
    label: "service time",
    definition: "The service time of a request is the sum of all flash operations that it causes.",
    share: "served within this time",
};

pub(super) const INCREMENTS: RequestTime = RequestTime {
    field: "increment_us",
    label: "increment",
    definition: "The increment is the part of the service time beyond the bare operations on the \
                 host's own pages. Requests without an increment are counted at the left end of \
                 the curve.",
    share: "with this increment or less",
};

/// The cumulative distribution of a time. Both axes are logarithmic. The vertical one shows the
/// share of requests that take longer, so that 99 %, 99.9 % and so on are equally far apart. `None`
/// if there were no such requests.
pub(super) fn distribution(runs: &[LabelledResult], of: &RequestTime, op: &str) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let buckets = run.result["histograms"][of.field][op].as_array();
        let points = cumulative(buckets.map_or(&[][..], Vec::as_slice));
        values.extend(points.into_iter().map(|(us, longer)| {
            json!({"run": run.label, "us": us, "share": 1.0 - longer, "longer": longer})
        }));
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "mark": {"type": "line", "interpolate": "step-after", "clip": true, "tooltip": true},
        "height": 280,
        "encoding": {
            "x": {
                "field": "us", "type": "quantitative", "scale": {"type": "log", "nice": false},
                "title": format!("{} of {op}s (µs)", of.label),
            },
            "y": {
                "field": "longer", "type": "quantitative",
                "scale": {"type": "log", "reverse": true, "nice": false},
                "axis": {"values": NINES, "labelExpr": "format(1 - datum.value, '.6~%')"},
                "title": format!("share of {op}s {}", of.share),
            },
            "color": run_colour(runs),
        },
    });
    let columns = ["mean", "stddev", "p50", "p90", "p99", "p999", "max"];
    let row = |run: &LabelledResult| {
        let figures = &run.result[of.field][op];
        let cells = columns.iter().map(|&column| number(float(&figures[column])));
        [run.label.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["run"].into_iter().chain(columns).map(|name| match name {
        "run" => name.to_owned(),
        name => format!("{name}, µs"),
    });
    Some(Figure {
        id: slug(&format!("{} {op}", of.field.trim_end_matches("_us"))),
        title: capitalised(&format!("{}s of {op}s", of.label)),
        caption: format!(
            "Cumulative distribution of the {}s of {op}s. {} {} {SERIAL_CAVEAT}",
            of.label,
            of.definition,
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(DataTable::new(head.collect(), runs.iter().map(row).collect())),
    })
}

/// Ticks of the vertical axis, as shares of requests that take longer: 50 %, 90 %, 99 % … do not.
const NINES: [f64; 8] = [1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// The share of requests that take longer than each time, without points that could not be told
/// apart. A logarithmic axis has no zero: the curve begins at the share of requests that take any
/// time, and the slowest request is drawn as half a request.
fn cumulative(buckets: &[Value]) -> Vec<(f64, f64)> {
    let bucket = |value: &Value| Some((value.get(0)?.as_f64()?, value.get(1)?.as_u64()?));
    let buckets: Vec<(f64, u64)> = buckets.iter().filter_map(bucket).collect();
    let total: u64 = buckets.iter().map(|(_, requests)| requests).sum();
    let (mut points, mut seen, mut drawn) = (Vec::new(), 0, 2.0);
    for &(us, requests) in &buckets {
        if us > 0.0 && points.is_empty() {
            points.push((us, (total - seen) as f64 / total as f64));
        }
        seen += requests;
        let longer = ((total - seen) as f64).max(0.5) / total as f64;
        let shows = drawn - longer >= 1.0 / POINTS_MAX as f64 || longer <= 0.95 * drawn;
        if us > 0.0 && (shows || seen == total) {
            points.push((us, longer));
            drawn = longer;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_begins_at_the_share_of_requests_that_take_any_time() {
        let buckets = [json!([0.0, 25]), json!([100.0, 50]), json!([2000.0, 25])];
        assert_eq!(cumulative(&buckets), [(100.0, 0.75), (100.0, 0.25), (2000.0, 0.005)]);
        assert_eq!(cumulative(&[]), []);
    }

    #[test]
    fn a_curve_of_many_buckets_has_fewer_points_and_keeps_the_last_one() {
        let buckets: Vec<Value> = (1..=10_000).map(|us| json!([f64::from(us), 1])).collect();
        let points = cumulative(&buckets);
        let thinned = POINTS_MAX * 9 / 10..=POINTS_MAX * 3 / 2;
        assert!(thinned.contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&(10_000.0, 0.000_05)));
    }
}
