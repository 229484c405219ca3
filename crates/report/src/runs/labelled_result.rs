//! A result with its label, and what the figures of results have in common.

use serde_json::Value;
use sim::result::run_result::half_range;

use crate::number_format::{bytes, count, counted, decimals, number};

/// A result with its label in the figures.
#[derive(Clone, Copy, Debug)]
pub struct LabelledResult<'a> {
    /// The label, such as the FTL's spec.
    pub label: &'a str,
    /// The result, as `ftlab run --json` writes it.
    pub result: &'a Value,
}

/// One line that says what was run: the trace, the device, its preparation and the seed. Where the
/// runs differ in one of these, it lists what they have.
pub fn provenance(runs: &[LabelledResult]) -> String {
    let parts = [
        shared(runs, ["Trace ", "Traces"], trace),
        shared(runs, ["Device ", "Devices"], device),
        shared(runs, ["", "Preparations"], |result| preparation(&result["run"])),
        shared(runs, ["Seed ", "Seeds"], |result| integer(&result["run"]["seed"]).to_string()),
    ];
    parts.join(" ").trim().to_owned()
}

/// A sentence with what is said of all runs, or with everything that is said if they differ.
fn shared(
    runs: &[LabelledResult],
    [one, several]: [&str; 2],
    said: impl Fn(&Value) -> String,
) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in runs.iter().map(|run| said(run.result)) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    match &all[..] {
        [] => String::new(),
        [text] => format!("{one}{text}."),
        _ => format!("{several} differ: {}.", all.join("; ")),
    }
}

fn trace(result: &Value) -> String {
    let (trace, volume) = (&result["trace"], result["run"]["volume"].as_str());
    let [reads, writes, trims, flushes] =
        ["reads", "writes", "trims", "flushes"].map(|op| integer(&trace[op]));
    let name = trace["name"].as_str().unwrap_or_default();
    let (name, requests) = match volume.filter(|volume| *volume != "all") {
        Some(volume) => (format!("{name}, volume {volume}"), reads + writes + trims + flushes),
        None => (name.to_owned(), integer(&trace["requests"])),
    };
    let share = 1000.0 * writes as f64 / (reads + writes).max(1) as f64;
    format!("{name}: {} requests, {} % writes", count(requests), number(share.round() / 10.0))
}

fn device(result: &Value) -> String {
    let device = &result["device"];
    let chip = device["chip"].as_str().unwrap_or_default();
    format!("{chip}: {}, {}", bytes(capacity_bytes(device)), extra(device))
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
        log => format!(", sector log of {}", counted(log, "block")),
    };
    format!("{share} % extra ({}){log}", counted(extra, "block"))
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

/// The least and the largest write amplification of the rounds of a window; without rounds that of
/// the first and the last fifth of the pages written and of all. None if the run is too short to
/// tell.
pub fn ends(result: &Value) -> Option<[f64; 2]> {
    let (steady, course) = (&result["steady"], &result["write_amplification_course"]);
    let seen: Vec<f64> = match steady["write_amplification"].as_array() {
        Some(rounds) => {
            let before = steady["first_measured"].as_u64().unwrap_or(1).saturating_sub(1);
            rounds.iter().skip(before as usize).filter_map(Value::as_f64).collect()
        }
        None => match ["first_fifth", "last_fifth"].map(|fifth| course[fifth].as_f64()) {
            [Some(first), Some(last)] => {
                [first, last].into_iter().chain(result["write_amplification"].as_f64()).collect()
            }
            _ => Vec::new(),
        },
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(trace: &str, seed: u64, volume: &str) -> Value {
        json!({
            "trace": {"name": trace, "requests": 900, "reads": 30, "writes": 90, "trims": 0,
                      "flushes": 5},
            "device": {"chip": "slc", "pages_per_block": 64, "page_bytes": 2048,
                       "logical_blocks": 128, "extra_blocks": 9, "sector_log_blocks": 0},
            "run": {"precondition": "fill", "warmup": 0, "measure_after": 0, "seed": seed,
                    "volume": volume},
            "write_amplification": 2.6,
            "write_amplification_course": {"first_fifth": 2.8, "last_fifth": 3.5},
        })
    }

    fn said(results: &[Value]) -> String {
        let runs: Vec<LabelledResult> =
            results.iter().map(|result| LabelledResult { label: "page", result }).collect();
        provenance(&runs)
    }

    #[test]
    fn a_line_says_what_was_run_and_in_what_the_runs_differ() {
        let one = result("a", 1, "all");
        let device = "Device slc: 16.00 MiB, 7.0 % extra (9 blocks). Filled once, not warmed up.";
        let alike = format!("Trace a: 900 requests, 75 % writes. {device} Seed 1.");
        assert_eq!(said(&[one.clone(), one.clone()]), alike);
        let two = said(&[one.clone(), result("b", 7, "all"), one]);
        let traces = "Traces differ: a: 900 requests, 75 % writes; b: 900 requests, 75 % writes.";
        assert_eq!(two, format!("{traces} {device} Seeds differ: 1; 7."));
        assert_eq!(said(&[]), "");
    }

    /// Requests of other volumes are in the file, and not in the run.
    #[test]
    fn a_volume_is_named_and_has_its_own_requests() {
        let text = said(&[result("a.csv", 1, "3")]);
        assert!(text.starts_with("Trace a.csv, volume 3: 125 requests, 75 % writes."), "{text}");
    }

    #[test]
    fn the_range_holds_the_write_amplification_of_the_run() {
        assert_eq!(ends(&result("a", 1, "all")), Some([2.6, 3.5]));
        let mut short = result("a", 1, "all");
        short["write_amplification_course"]["first_fifth"] = Value::Null;
        assert_eq!(ends(&short), None);
    }
}
