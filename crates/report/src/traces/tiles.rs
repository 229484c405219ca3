//! The most important numbers of a trace.

use trace::analysis::survey::RequestSizes;

use super::labelled_trace::LabelledTrace;
use super::over_time::duration;
use crate::html_page::Tile;
use crate::number_format::{bytes, count, decimals, number};

/// The tiles at the top of a trace's page: how many requests, how much data, how long, how fast.
pub fn tiles(traced: &LabelledTrace) -> Vec<Tile> {
    let survey = &traced.found.survey;
    let (reads, writes) = (survey.reads.requests(), survey.writes.requests());
    let requests = |op: u64| format!("{} requests{}", count(op), share(op, reads + writes));
    let size = |sizes: &RequestSizes| bytes(u64::try_from(sizes.bytes()).unwrap_or(u64::MAX));
    let tile = |label: &str, value: String, note: String| Tile { label: label.into(), value, note };
    let touched = survey.pages.touched.saturating_mul(survey.page_bytes);
    let end = format!("addresses end at {}", bytes(survey.end_bytes()));
    let mut tiles = vec![
        tile("requests", count(survey.requests()), String::new()),
        tile("read", size(&survey.reads), requests(reads)),
        tile("written", size(&survey.writes), requests(writes)),
        tile("touched", bytes(touched), end),
    ];
    if survey.span_ns > 0 {
        let seconds = survey.span_ns as f64 / 1e9;
        let moved = survey.reads.bytes() as f64 + survey.writes.bytes() as f64;
        tiles.push(tile("duration", duration(survey.span_ns), String::new()));
        tiles.push(tile(
            "mean load",
            format!("{} IOPS", number((reads + writes) as f64 / seconds)),
            format!("{} MB/s", number(moved / 1e6 / seconds)),
        ));
    }
    tiles
}

/// The share of all reads and writes, behind a comma; empty if there are none.
fn share(requests: u64, all: u64) -> String {
    match all {
        0 => String::new(),
        _ => format!(", {}\u{a0}%", decimals(100.0 * requests as f64 / all as f64, 1)),
    }
}
