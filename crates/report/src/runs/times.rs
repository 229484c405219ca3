//! Time by cause, and distributions of the times of requests.

use serde_json::{Value, json};

use super::labelled_result::{LabelledResult, capitalised, float, labels};
use crate::curves::{self, distinct, drawn, shared_note};
use crate::figure::{
    DataTable, Figure, POINTS_MAX, axis_from_zero, legend, logarithmic_axis, slug, spec,
};
use crate::number_format::number;

/// A cause in the stacked bars.
struct Cause {
    /// Its field in results.
    field: &'static str,
    label: &'static str,
    /// Written into its part of the bar, so that colour alone does not tell parts apart.
    mark: &'static str,
    /// The same in every figure, and visible on light and dark backgrounds.
    colour: &'static str,
}

/// The causes, in the order in which the bars are stacked.
const CAUSES: [Cause; 10] = [
    Cause { field: "host", label: "host pages", mark: "H", colour: "#8a9bb0" },
    Cause { field: "rmw", label: "read-modify-write", mark: "R", colour: "#b8875c" },
    Cause { field: "gc", label: "garbage collection", mark: "G", colour: "#e8743b" },
    Cause { field: "merge", label: "merges", mark: "M", colour: "#e3b23c" },
    Cause { field: "map", label: "map in flash", mark: "P", colour: "#35a883" },
    Cause { field: "log", label: "sector log", mark: "L", colour: "#4f9bd9" },
    Cause { field: "wear", label: "wear levelling", mark: "W", colour: "#cc79a7" },
    Cause { field: "meta", label: "bookkeeping", mark: "B", colour: "#bab0ac" },
    Cause { field: "media", label: "failed blocks", mark: "F", colour: "#d1495b" },
    Cause { field: "dram", label: "DRAM", mark: "D", colour: "#76b7b2" },
];

impl Cause {
    /// Its name in the legend.
    fn name(&self) -> String {
        format!("{} {}", self.mark, self.label)
    }
}

/// A part of a bar has a letter if it is at least this part of the longest bar.
const MARKED_FROM: f64 = 0.04;

/// Stacked bars: one bar per run, with one part per cause.
pub(super) fn time_by_cause(runs: &[LabelledResult]) -> Figure {
    let seconds = |run: &LabelledResult, cause: &str| float(&run.result["time_us"][cause]) / 1e6;
    let spent = |cause: &&Cause| runs.iter().any(|run| seconds(run, cause.field) > 0.0);
    let causes: Vec<&Cause> = CAUSES.iter().filter(spent).collect();
    let longest = runs.iter().map(|run| seconds(run, "total")).fold(0.0, f64::max);
    let mut values = Vec::new();
    for run in runs {
        let mut from = 0.0;
        for cause in &causes {
            let part = seconds(run, cause.field);
            let mark = if part >= MARKED_FROM * longest { cause.mark } else { "" };
            values.push(json!({
                "run": run.label, "cause": cause.name(), "seconds": part, "mark": mark,
                "from": from, "to": from + part, "middle": from + part / 2.0,
            }));
            from += part;
        }
    }
    let mut head = vec!["run".to_owned(), "total, s".to_owned()];
    head.extend(causes.iter().map(|cause| format!("{}, s", cause.label)));
    let row = |run: &LabelledResult| {
        let parts = causes.iter().map(|cause| number(seconds(run, cause.field)));
        let all = number(seconds(run, "total"));
        [run.label.to_owned(), all].into_iter().chain(parts).collect()
    };
    Figure {
        id: "time-by-cause".into(),
        title: "Time by cause".into(),
        caption: "Serial time of all flash operations in the measured pass (count × latency), by \
                  the cause of the operations. The letters in the bars are those of the legend."
            .into(),
        spec: spec(values, bars_of_causes(runs, &causes)),
        table: Some(DataTable::new(head, runs.iter().map(row))),
    }
}

fn bars_of_causes(runs: &[LabelledResult], causes: &[&Cause]) -> Value {
    let names: Vec<String> = causes.iter().map(|cause| cause.name()).collect();
    let colours: Vec<&str> = causes.iter().map(|cause| cause.colour).collect();
    let x = |field: &str| axis_from_zero(field, "serial time (s)");
    json!({
        "height": 28 * runs.len(),
        "encoding": {
            "y": {"field": "run", "type": "nominal", "sort": labels(runs), "title": null},
        },
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": true},
                "encoding": {
                    "x": x("from"), "x2": {"field": "to"},
                    "color": {
                        "field": "cause", "type": "nominal", "title": null,
                        "legend": legend(&names),
                        "scale": {"domain": names, "range": colours},
                    },
                },
            },
            {
                "mark": {"type": "text", "color": "#14171a", "fontSize": 11},
                "encoding": {"x": x("middle"), "text": {"field": "mark"}},
            },
        ],
    })
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

pub(super) const RESPONSE: RequestTime = RequestTime {
    field: "response_us",
    label: "response time",
    definition: "The response time of a request is the time from its issue to its answer, with \
                 all waiting.",
    share: "answered within this time",
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
/// if there were no such requests, or all of them take the same time.
pub(super) fn distribution(runs: &[LabelledResult], of: &RequestTime, op: &str) -> Option<Figure> {
    let curve = |run: &LabelledResult| {
        let buckets = run.result["histograms"][of.field][op].as_array();
        (run.label.to_owned(), cumulative(buckets.map_or(&[][..], Vec::as_slice)))
    };
    let curves = distinct(runs.iter().map(curve));
    let times = || curves.iter().flat_map(|(_, points)| points.iter().map(|point| point.0));
    let shortest = times().fold(f64::INFINITY, f64::min);
    // Requests that all take the same time need no curve.
    if !times().any(|time| time > shortest) {
        return None;
    }
    let values = curves::values(&curves, |label, &(us, longer)| {
        json!({"run": label, "us": us, "share": 1.0 - longer,
               "longer": longer})
    });
    let view = json!({
        "mark": {"type": "line", "interpolate": "step-after", "clip": true, "tooltip": true},
        "height": 280,
        "encoding": {
            "x": logarithmic_axis("us", &format!("{} of {op}s (µs)", of.label)),
            "y": {
                "field": "longer", "type": "quantitative",
                "scale": {"type": "log", "reverse": true, "nice": false},
                "axis": {"values": NINES, "labelExpr": "format(1 - datum.value, '.6~%')"},
                "title": format!("share of {op}s {}", of.share),
            },
        },
    });
    Some(Figure {
        id: slug(&format!("{} {op}", of.field.trim_end_matches("_us"))),
        title: capitalised(&format!("{}s of {op}s", of.label)),
        caption: format!(
            "Cumulative distribution of the {}s of {op}s. {}{}",
            of.label,
            of.definition,
            shared_note(&curves, runs.len()),
        ),
        spec: spec(values, drawn("run", &curves::labels(&curves), view)),
        table: Some(time_table(runs, of, op)),
    })
}

fn time_table(runs: &[LabelledResult], of: &RequestTime, op: &str) -> DataTable {
    let columns = ["mean", "stddev", "p50", "p90", "p99", "p999", "max"];
    let row = |run: &LabelledResult| {
        let figures = &run.result[of.field][op];
        let cells = columns.iter().map(|&column| number(float(&figures[column])));
        [run.label.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["run".to_owned()].into_iter();
    let head =
        head.chain(columns.map(|name| format!("{},\u{a0}µs", name.replace("p999", "p99.9"))));
    DataTable::new(head, runs.iter().map(row))
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
    fn parts_of_a_bar_follow_each_other_and_letters_stand_within_them() {
        let result = json!({"time_us": {"total": 6e6, "host": 3e6, "gc": 2e6, "map": 1e6}});
        let figure = time_by_cause(&[LabelledResult { label: "a", result: &result }]);
        let values = figure.spec["data"]["values"].as_array().unwrap().iter();
        let places = values.map(|it| ["from", "middle", "to"].map(|key| it[key].as_f64().unwrap()));
        let expected = [[0.0, 1.5, 3.0], [3.0, 4.0, 5.0], [5.0, 5.5, 6.0]];
        assert!(places.eq(expected));
    }

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
