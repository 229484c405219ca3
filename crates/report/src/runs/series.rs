//! Time series: values that change along the trace.

use serde_json::{Value, json};
use sim::clock::SERIAL_CAVEAT;

use super::labelled_result::{LabelledResult, capitalised, float, provenance, run_colour};
use crate::figure::{Figure, POINTS_MAX, slug, spec};
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
    /// Whether the values depend on times.
    is_timed: bool,
}

pub(super) const WRITE_AMPLIFICATION: Series = Series {
    field: "write_amplification",
    label: "write amplification",
    unit: "",
    convert: |value| value,
    is_of_interval: true,
    is_timed: false,
};

pub(super) const FREE_BLOCKS: Series = Series {
    field: "free_blocks",
    label: "free blocks",
    is_of_interval: false,
    ..WRITE_AMPLIFICATION
};

pub(super) const SERVICE_TIME: Series = Series {
    field: "mean_service_us",
    label: "mean service time",
    unit: " (µs)",
    is_timed: true,
    ..WRITE_AMPLIFICATION
};

pub(super) const THROUGHPUT: Series = Series {
    label: "throughput",
    unit: " (requests/s)",
    convert: |mean_service_us| 1e6 / mean_service_us,
    ..SERVICE_TIME
};

/// A figure of the series; `None` if no run took samples.
pub(super) fn over_requests(runs: &[LabelledResult], of: &Series) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let series = &run.result["series"];
        for (requests, value) in samples(series, &series[of.field]) {
            let value = (of.convert)(value);
            if value.is_finite() {
                values.push(json!({"run": run.label, "requests": requests, "value": value}));
            }
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "mark": {"type": "line", "tooltip": true},
        "height": 220,
        "encoding": {
            "x": {"field": "requests", "type": "quantitative", "title": "requests served"},
            "y": {
                "field": "value", "type": "quantitative",
                "title": format!("{}{}", of.label, of.unit),
            },
            "color": run_colour(runs),
        },
    });
    let every = float(&runs[0].result["series"]["every"]);
    let since = match of.is_of_interval {
        true => " A sample covers the requests since the previous one.",
        false => "",
    };
    let mut caption = format!(
        "{}{} during the measured pass, sampled every {} requests.{since} {}",
        capitalised(of.label),
        of.unit,
        number(every),
        provenance(runs),
    );
    if of.is_timed {
        caption += &format!(" {SERIAL_CAVEAT}");
    }
    let title = format!("{} along the trace", capitalised(of.label));
    Some(Figure { id: slug(&title), title, caption, spec: spec(values, parts), table: None })
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

/// The gauges of a scheme, one panel per gauge; `None` if it has no gauges or no samples.
pub(super) fn gauges(run: &LabelledResult) -> Option<Figure> {
    let series = &run.result["series"];
    let gauges = series["scheme"].as_object()?;
    let mut values = Vec::new();
    for (gauge, list) in gauges {
        for (requests, value) in samples(series, list) {
            values.push(json!({"gauge": gauge, "requests": requests, "value": value}));
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "facet": {"field": "gauge", "type": "nominal", "title": null, "sort": null},
        "columns": 3,
        "spec": {
            "width": 220, "height": 90,
            "mark": {"type": "line", "tooltip": true},
            "encoding": {
                "x": {"field": "requests", "type": "quantitative", "title": null,
                      "axis": {"tickCount": 3, "format": "~s"}},
                "y": {"field": "value", "type": "quantitative", "title": null,
                      "axis": {"tickCount": 3}},
            },
        },
        "resolve": {"scale": {"y": "independent"}},
    });
    let title = format!("Gauges of {}", run.label);
    Some(Figure {
        id: slug(&title),
        caption: format!(
            "The scheme's own gauges over the number of requests served. {}",
            provenance(std::slice::from_ref(run))
        ),
        title,
        spec: spec(values, parts),
        table: None,
    })
}
