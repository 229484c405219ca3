//! What changes along the trace.

use serde_json::{Value, json};
use sim::clock::SERIAL_CAVEAT;

use super::run::{POINTS_MAX, Run, float, provenance, run_colour, sentence};
use crate::figure::{Figure, slug, spec};
use crate::words::number;

/// A list of the series that is drawn over the requests served.
pub(super) struct Course {
    /// Its name in results.
    list: &'static str,
    words: &'static str,
    unit: &'static str,
    /// What becomes of its values.
    scale: fn(f64) -> f64,
    /// Whether a value is of the requests since the last sample, not of the moment.
    is_of_interval: bool,
    /// Whether it tells of times.
    is_timed: bool,
}

pub(super) const WRITE_AMPLIFICATION: Course = Course {
    list: "write_amplification",
    words: "write amplification",
    unit: "",
    scale: |value| value,
    is_of_interval: true,
    is_timed: false,
};

pub(super) const FREE_BLOCKS: Course = Course {
    list: "free_blocks",
    words: "free blocks",
    is_of_interval: false,
    ..WRITE_AMPLIFICATION
};

pub(super) const SERVICE_COURSE: Course = Course {
    list: "mean_service_us",
    words: "mean service time",
    unit: " (µs)",
    is_timed: true,
    ..WRITE_AMPLIFICATION
};

pub(super) const THROUGHPUT: Course = Course {
    words: "throughput",
    unit: " (requests/s)",
    scale: |mean_service_us| 1e6 / mean_service_us,
    ..SERVICE_COURSE
};

/// A figure of the series over the requests served; none if no run took samples.
pub(super) fn course(runs: &[Run], of: &Course) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let series = &run.result["series"];
        for (requests, value) in samples(series, &series[of.list]) {
            let value = (of.scale)(value);
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
                "title": format!("{}{}", of.words, of.unit),
            },
            "color": run_colour(runs),
        },
    });
    let every = float(&runs[0].result["series"]["every"]);
    let since = if of.is_of_interval { ", each over the requests since the last" } else { "" };
    let mut caption = format!(
        "The {}{} of the measured pass, a sample every {} requests{since}. {}",
        of.words,
        of.unit,
        number(every),
        provenance(runs),
    );
    if of.is_timed {
        caption += &format!(" {SERIAL_CAVEAT}");
    }
    let title = format!("{} along the trace", sentence(of.words));
    Some(Figure { id: slug(&title), title, caption, spec: spec(values, parts), table: None })
}

/// Samples of a list beside the requests served; at most so many as can be told apart.
fn samples(series: &Value, list: &Value) -> Vec<(u64, f64)> {
    let empty = Vec::new();
    let requests = series["requests"].as_array().unwrap_or(&empty);
    let values = list.as_array().unwrap_or(&empty);
    let step = requests.len().div_ceil(POINTS_MAX).max(1);
    let pairs = requests.iter().zip(values).step_by(step);
    pairs.filter_map(|(at, value)| Some((at.as_u64()?, value.as_f64()?))).collect()
}

/// What a scheme regulates or watches, a small figure each; none if it has no gauges or no samples.
pub(super) fn gauges(run: &Run) -> Option<Figure> {
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
    let title = format!("What {} watches and regulates", run.label);
    Some(Figure {
        id: slug(&title),
        caption: format!(
            "The scheme's own gauges over the requests served. {}",
            provenance(std::slice::from_ref(run))
        ),
        title,
        spec: spec(values, parts),
        table: None,
    })
}
