//! Where the time goes, and how long requests take.

use serde_json::{Value, json};
use sim::clock::SERIAL_CAVEAT;

use super::run::{POINTS_MAX, Run, float, labels, provenance, run_colour, sentence};
use crate::figure::{Figure, Table, slug, spec};
use crate::words::number;

/// The causes in the order in which they are stacked.
const CAUSES: [(&str, &str); 9] = [
    ("host", "host pages"),
    ("rmw", "read-modify-write"),
    ("gc", "garbage collection"),
    ("merge", "merges"),
    ("map", "mapping in flash"),
    ("log", "sector log"),
    ("wear", "wear levelling"),
    ("meta", "bookkeeping"),
    ("dram", "DRAM"),
];

/// One hue a cause, the same in every figure; legible on light and dark ground.
const CAUSE_COLOURS: [&str; 9] = [
    "#7f8fa6", "#9c755f", "#e15759", "#f28e2b", "#59a14f", "#4e79a7", "#b07aa1", "#bab0ac",
    "#76b7b2",
];

/// Stacked bars: a bar a run, a part a cause.
pub(super) fn time_by_cause(runs: &[Run]) -> Figure {
    let seconds = |run: &Run, cause: &str| float(&run.result["time_us"][cause]) / 1e6;
    let spent = |cause: &str| runs.iter().any(|run| seconds(run, cause) > 0.0);
    let causes: Vec<usize> = (0..CAUSES.len()).filter(|&at| spent(CAUSES[at].0)).collect();
    let mut values = Vec::new();
    for run in runs {
        for &at in &causes {
            let (cause, words) = CAUSES[at];
            values.push(json!({
                "run": run.label, "cause": words, "order": at, "seconds": seconds(run, cause),
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
    let mut head = vec!["run".to_owned(), "in all, s".to_owned()];
    head.extend(causes.iter().map(|&at| format!("{}, s", CAUSES[at].1)));
    let row = |run: &Run| {
        let parts = causes.iter().map(|&at| number(seconds(run, CAUSES[at].0)));
        let all = number(seconds(run, "total"));
        [run.label.to_owned(), all].into_iter().chain(parts).collect()
    };
    Figure {
        id: "time-by-cause".into(),
        title: "Where the time goes".into(),
        caption: format!(
            "Serial time of all flash operations of the measured pass (count × latency), by what \
             caused them. {} {SERIAL_CAVEAT}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(Table::new(head, runs.iter().map(row).collect())),
    }
}

/// Times of requests that are drawn as a distribution.
pub(super) struct Times {
    /// Their name in results.
    group: &'static str,
    words: &'static str,
    /// What they are, behind "how many writes".
    says: &'static str,
    /// Behind "share of writes".
    share: &'static str,
}

pub(super) const SERVICE: Times = Times {
    group: "service_us",
    words: "service time",
    says: "were served within a time, from the sum of all flash operations that each set off",
    share: "served by then",
};

pub(super) const INCREMENTS: Times = Times {
    group: "increment_us",
    words: "increment",
    says: "took no longer than this beyond the bare operations on the host's own pages; those that \
           took nothing beyond stand at the curve's left end",
    share: "with no greater increment",
};

/// Their cumulative distribution, both axes logarithmic: the upper one by the share that takes
/// longer, so that each of the nines has its room. None if nothing of the kind was served.
pub(super) fn times(runs: &[Run], of: &Times, op: &str) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let buckets = run.result["histograms"][of.group][op].as_array();
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
                "title": format!("{} of {op}s (µs)", of.words),
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
    let row = |run: &Run| {
        let figures = &run.result[of.group][op];
        let cells = columns.iter().map(|&column| number(float(&figures[column])));
        [run.label.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["run"].into_iter().chain(columns).map(|name| match name {
        "run" => name.to_owned(),
        name => format!("{name}, µs"),
    });
    Some(Figure {
        id: slug(&format!("{} {op}", of.group.trim_end_matches("_us"))),
        title: sentence(&format!("{}s of {op}s", of.words)),
        caption: format!("How many {op}s {}. {} {SERIAL_CAVEAT}", of.says, provenance(runs)),
        spec: spec(values, parts),
        table: Some(Table::new(head.collect(), runs.iter().map(row).collect())),
    })
}

/// Shares that take longer than what stands at the axis: 50 %, 90 %, 99 % … are served.
const NINES: [f64; 8] = [1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// The share of requests that take longer than each time, thinned to what can be told apart. Times
/// of zero have no place on a logarithmic axis; their share is where the curve begins. A share of
/// zero has none either: the slowest request stands at half a request.
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
    fn curves_are_cumulative_and_begin_above_requests_that_took_no_time() {
        let buckets = [json!([0.0, 25]), json!([100.0, 50]), json!([2000.0, 25])];
        assert_eq!(cumulative(&buckets), [(100.0, 0.75), (100.0, 0.25), (2000.0, 0.005)]);
        assert_eq!(cumulative(&[]), []);
    }

    #[test]
    fn many_buckets_are_thinned_and_the_last_one_stays() {
        let buckets: Vec<Value> = (1..=10_000).map(|us| json!([f64::from(us), 1])).collect();
        let points = cumulative(&buckets);
        let thinned = POINTS_MAX * 9 / 10..=POINTS_MAX * 3 / 2;
        assert!(thinned.contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&(10_000.0, 0.000_05)));
    }
}
