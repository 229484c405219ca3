//! Time series: values that change along the trace.

use serde_json::{Value, json};

use super::labelled_result::{LabelledResult, capitalised, float};
use crate::axis_labels;
use crate::colours;
use crate::curves::{self, Curve, distinct, drawn, panels, shared_note};
use crate::figure::{
    DECADES, DataTable, Figure, POINTS_MAX, axis, axis_from_zero, rule_at_one, slug, spec,
    value_axis,
};
use crate::number_format::number;

/// A series that is drawn over the number of requests served.
pub(super) struct Series {
    /// Its field in results.
    field: &'static str,
    label: &'static str,
    unit: &'static str,
    /// Converts a value of the field into the value drawn.
    convert: fn(f64) -> f64,
    /// Whether a value describes the requests since the last sample, and not one moment.
    is_of_interval: bool,
    /// Whether it is write amplification, which has a rule at 1.
    has_floor: bool,
}

pub(super) const WRITE_AMPLIFICATION: Series = Series {
    field: "write_amplification",
    label: "write amplification",
    unit: " (programs per host page)",
    convert: |value| value,
    is_of_interval: true,
    has_floor: true,
};

pub(super) const FREE_BLOCKS: Series = Series {
    field: "free_blocks",
    label: "free blocks",
    unit: "",
    is_of_interval: false,
    has_floor: false,
    ..WRITE_AMPLIFICATION
};

pub(super) const SERVICE_TIME: Series = Series {
    field: "mean_service_us",
    label: "mean service time",
    unit: " (µs)",
    has_floor: false,
    ..WRITE_AMPLIFICATION
};

pub(super) const THROUGHPUT: Series = Series {
    label: "throughput",
    unit: " (requests/s)",
    convert: |mean_service_us| 1e6 / mean_service_us,
    ..SERVICE_TIME
};

/// A figure of the series; `None` if no run took samples, or the values never change.
pub(super) fn over_requests(runs: &[LabelledResult], of: &Series) -> Option<Figure> {
    let curve = |run: &LabelledResult| {
        let series = &run.result["series"];
        let samples = samples(series, &series[of.field]).into_iter();
        let converted = samples.map(|(requests, value)| (requests, (of.convert)(value)));
        (run.label.to_owned(), converted.filter(|(_, value)| value.is_finite()).collect())
    };
    let curves: Vec<Curve<(u64, f64)>> = runs.iter().map(curve).collect();
    if curves.iter().all(|(_, samples)| is_constant(samples)) {
        return None;
    }
    let axis_title = format!("{}{}", of.label, of.unit);
    let curves: Vec<_> = curves.into_iter().filter(|(_, samples)| !samples.is_empty()).collect();
    let (sampled, table) = (curves.len(), DataTable::new(head("run"), curves.iter().map(summary)));
    let curves = distinct(curves);
    let values = curves::values(
        &curves,
        |label, &(requests, value)| json!({"run": label, "requests": requests, "value": value}),
    );
    let all: Vec<f64> = curves.iter().flat_map(|it| &it.1).map(|sample| sample.1).collect();
    let mut layer = vec![json!({
        "mark": {"type": "line", "strokeWidth": 1.5, "tooltip": true},
        "encoding": {
            "x": axis("requests", "requests served"),
            "y": value_axis("value", &axis_title, &all, DECADES),
        },
    })];
    layer.extend(of.has_floor.then(rule_at_one));
    let view = json!({"height": 220, "layer": layer});
    let since = match of.is_of_interval {
        true => " A sample covers the requests since the previous one.",
        false => "",
    };
    let caption = format!(
        "{} during the measured pass, sampled every {} requests.{since}{}",
        capitalised(of.label),
        intervals(runs),
        shared_note(&curves, sampled),
    );
    let title = format!("{} along the trace", capitalised(of.label));
    let spec = spec(values, drawn("run", &curves::labels(&curves), view));
    Some(Figure { id: slug(&title), title, caption, spec, table: Some(table) })
}

/// The numbers of requests between two samples: that of all runs, or the least and the largest.
fn intervals(runs: &[LabelledResult]) -> String {
    let every = runs.iter().map(|run| float(&run.result["series"]["every"]));
    let every: Vec<f64> = every.filter(|every| *every > 0.0).collect();
    let least = every.iter().copied().fold(f64::INFINITY, f64::min);
    match every.into_iter().fold(0.0, f64::max) {
        most if most > least => format!("{} to {}", number(least), number(most)),
        most => number(most),
    }
}

/// The head of a table of samples.
fn head(first: &str) -> Vec<String> {
    [first, "lowest", "median", "highest", "last"].map(str::to_owned).to_vec()
}

/// A row of a table of samples.
fn summary((label, samples): &Curve<(u64, f64)>) -> Vec<String> {
    let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.1).collect();
    let last = sorted[sorted.len() - 1];
    sorted.sort_by(f64::total_cmp);
    let cells = [sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1], last];
    [label.clone()].into_iter().chain(cells.map(number)).collect()
}

fn is_constant(samples: &[(u64, f64)]) -> bool {
    samples.iter().all(|sample| sample.1 == samples[0].1)
}

/// The samples of a list with the number of requests served, at most [`POINTS_MAX`] of them.
fn samples(series: &Value, list: &Value) -> Vec<(u64, f64)> {
    let empty = Vec::new();
    let requests = series["requests"].as_array().unwrap_or(&empty);
    let values = list.as_array().unwrap_or(&empty);
    let step = requests.len().div_ceil(POINTS_MAX).max(1);
    let pairs = requests.iter().zip(values).step_by(step);
    pairs.filter_map(|(at, value)| Some((at.as_u64()?, value.as_f64()?))).collect()
}

/// The gauges of a scheme, one panel per gauge that changes; `None` if none does.
pub(super) fn gauges(run: &LabelledResult) -> Option<Figure> {
    let series = &run.result["series"];
    let gauge =
        |(gauge, list): (&String, &Value)| (axis_labels::gauge(gauge), samples(series, list));
    let gauges: Vec<Curve<(u64, f64)>> =
        series["scheme"].as_object()?.iter().map(gauge).filter(|it| !it.1.is_empty()).collect();
    let rows: Vec<_> = gauges.iter().map(summary).collect();
    let moving = |gauge: &&Curve<(u64, f64)>| !is_constant(&gauge.1);
    let moving: Vec<&Curve<(u64, f64)>> = gauges.iter().filter(moving).collect();
    if moving.is_empty() {
        return None;
    }
    let values = moving.iter().flat_map(|(gauge, samples)| {
        let value = move |&(requests, value): &(u64, f64)| {
            json!({"gauge": gauge, "requests": requests, "value": value})
        };
        samples.iter().map(value)
    });
    let view = json!({
        "mark": {"type": "line", "strokeWidth": 1.5, "tooltip": true,
                 "color": colours::of_one(run.label)},
        "encoding": {
            "x": axis("requests", "requests served"),
            "y": axis_from_zero("value", ""),
        },
    });
    let names: Vec<String> = moving.iter().map(|(gauge, _)| gauge.clone()).collect();
    let values = values.collect();
    let mut parts = panels("gauge", &names, view);
    parts["resolve"]["scale"] = json!({"y": "independent"});
    let left_out = match moving.len() < gauges.len() {
        true => " Gauges that never change are only in the table.",
        false => "",
    };
    let title = format!("Gauges of {}", run.label);
    Some(Figure {
        id: slug(&title),
        caption: format!("The scheme's own gauges over the number of requests served.{left_out}"),
        title,
        spec: spec(values, parts),
        table: Some(DataTable::new(head("gauge"), rows)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(free_blocks: &[u32], k: &[u32]) -> Value {
        let requests: Vec<usize> = (1..=free_blocks.len()).collect();
        json!({"series": {
            "every": 1, "requests": requests, "free_blocks": free_blocks,
            "scheme": {"k": k, "w": vec![7; k.len()]},
        }})
    }

    #[test]
    fn a_gauge_that_never_changes_is_in_the_table_only() {
        let result = result(&[3, 3], &[1, 2]);
        let figure = gauges(&LabelledResult { label: "last", result: &result }).unwrap();
        let drawn = figure.spec["data"]["values"].as_array().unwrap();
        assert!(
            drawn.len() == 2 && drawn.iter().all(|value| value["gauge"] == "k (pages)"),
            "{drawn:?}"
        );
        let table = figure.table.unwrap();
        assert_eq!(table.rows[0], ["k (pages)", "1", "2", "2", "2"]);
        assert_eq!(table.rows[1][1..], ["7", "7", "7", "7"]);
    }

    #[test]
    fn throughput_is_the_inverse_of_the_service_time() {
        let result = json!({"series": {
            "every": 1, "requests": [1, 2, 3], "mean_service_us": [100.0, 500.0, 200.0],
        }});
        let figure = over_requests(&[LabelledResult { label: "a", result: &result }], &THROUGHPUT);
        let figure = figure.unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap().iter();
        assert!(values.map(|value| &value["value"]).eq([10_000.0, 2000.0, 5000.0].iter()));
        assert_eq!(figure.table.unwrap().rows, [["a", "2,000", "5,000", "10,000", "5,000"]]);
    }

    #[test]
    fn a_course_without_change_is_left_out_and_equal_ones_are_drawn_once() {
        let [flat, steep] = [result(&[3, 3], &[1, 1]), result(&[3, 1], &[1, 1])];
        let run = |label, result| LabelledResult { label, result };
        assert!(over_requests(&[run("flat", &flat)], &FREE_BLOCKS).is_none());
        assert!(gauges(&run("flat", &flat)).is_none(), "all gauges are constant");
        let runs = [run("flat", &flat), run("a", &steep), run("b", &steep)];
        let figure = over_requests(&runs, &FREE_BLOCKS).unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let drawn: Vec<&Value> = values.iter().map(|value| &value["run"]).collect();
        assert_eq!(drawn, ["flat", "flat", "a, b", "a, b"]);
        assert_eq!(figure.table.unwrap().rows.len(), 3);
    }

    #[test]
    fn a_caption_has_the_intervals_of_all_runs_and_counts_those_with_samples() {
        let (none, mut rare, often) = (json!({}), result(&[3, 1], &[]), result(&[3, 2], &[]));
        rare["series"]["every"] = json!(256);
        let run = |label, result| LabelledResult { label, result };
        let caption = |runs: &[LabelledResult]| over_requests(runs, &FREE_BLOCKS).unwrap().caption;
        let both = caption(&[run("none", &none), run("rare", &rare), run("often", &often)]);
        assert!(both.contains("sampled every 1 to 256 requests."), "{both}");
        let one = caption(&[run("none", &none), run("rare", &rare)]);
        assert!(one.contains("every 256 requests.") && !one.contains("the same"), "{one}");
    }
}
