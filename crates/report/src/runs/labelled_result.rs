//! A result with its label, and what the figures of results have in common.

use serde_json::{Value, json};

use crate::figure::legend;
use crate::number_format::number;

/// A result with its label in the figures.
#[derive(Clone, Copy, Debug)]
pub struct LabelledResult<'a> {
    /// The label, such as the FTL's spec.
    pub label: &'a str,
    /// The result, as `ftlab run --json` writes it.
    pub result: &'a Value,
}

/// Sentences for captions that say which trace and device the results belong to.
pub fn provenance(runs: &[LabelledResult]) -> String {
    let Some(LabelledResult { result, .. }) = runs.first() else { return String::new() };
    let (device, run, trace) = (&result["device"], &result["run"], &result["trace"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (blocks, pages) = (integer(&device["logical_blocks"]), integer(&device["pages_per_block"]));
    let mebibytes = (blocks * pages * integer(&device["page_bytes"])) as f64 / f64::from(1 << 20);
    format!(
        "Trace {}: {} requests, {} of them writes. Device: {} of {} MiB with {} extra blocks. \
         Precondition: {}. Warm-up replays of the trace: {}. Seed {}.",
        text(&trace["name"]),
        number(float(&trace["requests"])),
        number(float(&trace["writes"])),
        text(&device["chip"]),
        number(mebibytes),
        number(float(&device["extra_blocks"])),
        text(&run["precondition"]),
        integer(&run["warmup"]),
        integer(&run["seed"]),
    )
}

pub(super) fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

pub(super) fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// The text with a capital letter at the beginning.
pub(super) fn capitalised(text: &str) -> String {
    format!("{}{}", text[..1].to_uppercase(), &text[1..])
}

/// The labels of the runs, in their order.
pub(super) fn labels(runs: &[LabelledResult]) -> Vec<String> {
    runs.iter().map(|run| run.label.to_owned()).collect()
}

/// Colours the runs in their order.
pub(super) fn run_colour(runs: &[LabelledResult]) -> Value {
    let labels = labels(runs);
    json!({
        "field": "run", "type": "nominal", "title": null, "legend": legend(&labels),
        "scale": {"domain": labels},
    })
}
