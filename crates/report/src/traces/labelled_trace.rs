//! The statistics of a trace with a label, and what the figures of traces have in common.

use serde_json::{Value, json};
use sim::input::trace_stats::TraceStats;

use crate::figure::legend;
use crate::number_format::number;

/// A trace with its label in the figures.
#[derive(Clone, Copy, Debug)]
pub struct LabelledTrace<'a> {
    /// The label.
    pub label: &'a str,
    /// The statistics.
    pub found: &'a TraceStats,
}

/// A sentence for captions that says which traces are shown.
pub fn provenance(traces: &[LabelledTrace]) -> String {
    let one = |traced: &LabelledTrace| {
        let survey = &traced.found.survey;
        format!(
            "{}: {} requests, {} of them writes, with pages of {} bytes",
            traced.label,
            number(survey.requests as f64),
            number(survey.writes.requests() as f64),
            survey.page_bytes,
        )
    };
    let all: Vec<String> = traces.iter().map(one).collect();
    match traces.len() {
        1 => format!("Trace {}.", all[0]),
        _ => format!("Traces: {}.", all.join("; ")),
    }
}

pub fn labels(traces: &[LabelledTrace]) -> Vec<String> {
    traces.iter().map(|traced| traced.label.to_owned()).collect()
}

/// Colours the traces in their order. One trace alone needs no legend.
pub fn trace_colour(traces: &[LabelledTrace]) -> Value {
    let labels = labels(traces);
    let legend = if traces.len() == 1 { Value::Null } else { legend(&labels) };
    json!({"field": "trace", "type": "nominal", "title": null, "sort": labels, "legend": legend})
}

/// One view as wide as the page for one trace, one panel per trace for several. Each panel has its
/// own `independent` scales.
pub fn panels(
    traces: &[LabelledTrace],
    mark: Value,
    encoding: Value,
    independent: &[&str],
) -> Value {
    let resolve: Value =
        independent.iter().map(|scale| ((*scale).to_owned(), json!("independent"))).collect();
    match traces.len() {
        1 => json!({"height": 300, "mark": mark, "encoding": encoding}),
        _ => json!({
            "facet": {"field": "trace", "type": "nominal", "title": null, "sort": labels(traces)},
            "columns": 2,
            "spec": {"width": 370, "height": 220, "mark": mark, "encoding": encoding},
            "resolve": {"scale": resolve},
        }),
    }
}

pub fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A table row: the label of the trace, then these cells.
pub fn row(traced: &LabelledTrace, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    [traced.label.to_owned()].into_iter().chain(cells).collect()
}
