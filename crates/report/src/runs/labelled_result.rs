//! A result with its label, and what the figures of results have in common.

use serde_json::Value;
use sim::result::run_result::half_range;

use crate::number_format::{bytes, count, decimals, number};

/// A result with its label in the figures.
#[derive(Clone, Copy, Debug)]
pub struct LabelledResult<'a> {
    /// The label, such as the FTL's spec.
    pub label: &'a str,
    /// The result, as `ftlab run --json` writes it.
    pub result: &'a Value,
}

/// One line that says what was run: the trace, the device and its preparation.
pub fn provenance(runs: &[LabelledResult]) -> String {
    let Some(LabelledResult { result, .. }) = runs.first() else { return String::new() };
    let (device, run, trace) = (&result["device"], &result["run"], &result["trace"]);
    let (reads, writes) = (float(&trace["reads"]), float(&trace["writes"]));
    format!(
        "Trace {}: {} requests, {} % writes. Device {}: {}, {}. {}. Seed {}.",
        trace["name"].as_str().unwrap_or_default(),
        count(integer(&trace["requests"])),
        number((1000.0 * writes / (reads + writes).max(1.0)).round() / 10.0),
        device["chip"].as_str().unwrap_or_default(),
        bytes(capacity_bytes(device)),
        extra(device),
        preparation(run),
        integer(&run["seed"]),
    )
}

/// Bytes that the host sees.
pub(super) fn capacity_bytes(device: &Value) -> u64 {
    let block_bytes = integer(&device["pages_per_block"]) * integer(&device["page_bytes"]);
    integer(&device["logical_blocks"]) * block_bytes
}

/// The over-provisioning of a device.
pub fn extra(device: &Value) -> String {
    let (logical, extra) = (integer(&device["logical_blocks"]), integer(&device["extra_blocks"]));
    let share = decimals(100.0 * extra as f64 / logical.max(1) as f64, 1);
    let log = match integer(&device["sector_log_blocks"]) {
        0 => String::new(),
        log => format!(", sector log of {} blocks", count(log)),
    };
    format!("{share} % extra ({} blocks){log}", count(extra))
}

/// What happened to the device before it was measured, given the `run` part of a result.
pub fn preparation(run: &Value) -> String {
    let filled = match run["precondition"].as_str() {
        Some("fill") => "Filled once",
        _ => "Empty at first",
    };
    let warmed = match integer(&run["warmup"]) {
        0 => "not warmed up".to_owned(),
        1 => "warmed up by 1 replay of the trace".to_owned(),
        replays => format!("warmed up by {} replays of the trace", count(replays)),
    };
    let later = match integer(&run["measure_after"]) {
        0 => String::new(),
        first => format!(", measured after {} requests", count(first)),
    };
    format!("{filled}, {warmed}{later}")
}

/// The least and the largest write amplification of the rounds of a window, or without rounds of
/// the first and the last fifth of the pages written; none if the run is too short to tell.
pub fn ends(result: &Value) -> Option<[f64; 2]> {
    let (steady, course) = (&result["steady"], &result["write_amplification_course"]);
    let seen: Vec<f64> = match steady["write_amplification"].as_array() {
        Some(rounds) => {
            let before = steady["first_measured"].as_u64().unwrap_or(1).saturating_sub(1);
            rounds.iter().skip(before as usize).filter_map(Value::as_f64).collect()
        }
        None => ["first_fifth", "last_fifth"].iter().filter_map(|it| course[it].as_f64()).collect(),
    };
    half_range(seen.iter().copied())?;
    let least = seen.iter().copied().fold(f64::INFINITY, f64::min);
    Some([least, seen.iter().copied().fold(0.0, f64::max)])
}

pub(super) fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

pub(super) fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// The text with a capital letter at the beginning.
pub fn capitalised(text: &str) -> String {
    format!("{}{}", text[..1].to_uppercase(), &text[1..])
}

/// The labels of the runs, in their order.
pub(super) fn labels(runs: &[LabelledResult]) -> Vec<String> {
    runs.iter().map(|run| run.label.to_owned()).collect()
}
