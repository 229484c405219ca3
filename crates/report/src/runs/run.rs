//! A result with its name, and what the figures of results have in common.

use serde_json::{Value, json};

use crate::figure::legend;
use crate::words::number;

/// A result and what it is called in the figures.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Its name, such as the FTL's spec.
    pub label: &'a str,
    /// The result, as `ftlab run --json` writes it.
    pub result: &'a Value,
}

/// The points of a curve that a page needs: more cannot be told apart.
pub(super) const POINTS_MAX: usize = 400;

/// What a caption says of where the numbers come from.
pub fn provenance(runs: &[Run]) -> String {
    let Some(Run { result, .. }) = runs.first() else { return String::new() };
    let (device, run, trace) = (&result["device"], &result["run"], &result["trace"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (blocks, pages) = (integer(&device["logical_blocks"]), integer(&device["pages_per_block"]));
    let mebibytes = (blocks * pages * integer(&device["page_bytes"])) as f64 / f64::from(1 << 20);
    format!(
        "Trace {}: {} requests, {} of them writes. Device: {} of {} MiB with {} extra blocks. \
         Preconditioned by {}, trace replayed {} × before it is measured, seed {}.",
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

/// Words with a capital at the beginning.
pub(super) fn sentence(words: &str) -> String {
    format!("{}{}", words[..1].to_uppercase(), &words[1..])
}

/// What the runs are called, in their order.
pub(super) fn labels(runs: &[Run]) -> Vec<String> {
    runs.iter().map(|run| run.label.to_owned()).collect()
}

/// Colour by run, in the order of the runs.
pub(super) fn run_colour(runs: &[Run]) -> Value {
    let labels = labels(runs);
    json!({
        "field": "run", "type": "nominal", "title": null, "legend": legend(&labels),
        "scale": {"domain": labels},
    })
}
