//! The statistics of a trace with a label, and what the figures of traces have in common.

use serde_json::{Value, json};
use sim::input::trace_stats::TraceStats;

use crate::curves::panels;

/// A trace with its label in the figures.
#[derive(Clone, Copy, Debug)]
pub struct LabelledTrace<'a> {
    /// The label.
    pub label: &'a str,
    /// The statistics.
    pub found: &'a TraceStats,
}

pub fn labels(traces: &[LabelledTrace]) -> Vec<String> {
    traces.iter().map(|traced| traced.label.to_owned()).collect()
}

/// One view as wide as the page for one label, one panel per label for several. Each panel has its
/// own `independent` scales.
pub fn views(field: &str, labels: &[String], view: Value, independent: &[&str]) -> Value {
    if labels.len() == 1 {
        return view;
    }
    let mut parts = panels(field, labels, view);
    let resolve: Value =
        independent.iter().map(|scale| ((*scale).to_owned(), json!("independent"))).collect();
    parts["resolve"]["scale"] = resolve;
    parts["columns"] = 2.into();
    parts["spec"]["width"] = 370.into();
    parts["spec"]["height"] = 200.into();
    parts
}

/// The title of the panel with the reads or the writes of a trace.
pub fn op_panel(traces: &[LabelledTrace], traced: &LabelledTrace, op: &str) -> String {
    match traces.len() {
        1 => op.to_owned(),
        _ => format!("{}: {op}", traced.label),
    }
}

pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A table row: the label of the trace, then these cells.
pub fn row(traced: &LabelledTrace, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    [traced.label.to_owned()].into_iter().chain(cells).collect()
}
