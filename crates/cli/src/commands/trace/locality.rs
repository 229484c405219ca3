//! The part of `ftlab trace info` about the locality of writes.

use report::number_format::{bytes, count};
use serde_json::{Value, json};
use trace::analysis::locality::{
    Distribution, PAGE_SIZES, SizeUpdates, TOP_PERCENTS, TraceLocality,
};

/// The locality as JSON; shares are between 0 and 1.
pub fn as_json(found: &TraceLocality) -> Value {
    let shares = |keys: &[String], shares: &[f64]| -> Value {
        keys.iter().cloned().zip(shares.iter().map(|&share| json!(share))).collect()
    };
    let percents: Vec<String> = TOP_PERCENTS.iter().map(u32::to_string).collect();
    let sizes: Vec<String> = PAGE_SIZES.iter().map(u64::to_string).collect();
    json!({
        "page_bytes": found.page_bytes,
        "page_writes": found.page_writes,
        "pages_written": found.pages_written,
        "writes_to_top_percent": shares(&percents, &found.top_shares),
        "write_interval_cdf": cumulative(&found.intervals),
        "mean_write_interval_cdf": cumulative(&found.mean_intervals),
        "updates_by_request_size": found.updates.iter().map(update).collect::<Vec<_>>(),
        "sub_page_share": shares(&sizes, &found.sub_page_shares),
        "sequential_reads": found.sequential_reads,
        "sequential_writes": found.sequential_writes,
        "left_out": found.absurd,
    })
}

fn cumulative(distribution: &Distribution) -> Vec<Value> {
    distribution.cumulative().map(|(below, share)| json!([below, share])).collect()
}

fn update(class: &SizeUpdates) -> Value {
    json!({
        "sectors_max": class.sectors_max,
        "requests": class.requests,
        "page_writes": class.page_writes,
        "rewrites": class.rewrites,
        "mean_earlier_writes": class.earlier_writes as f64 / class.page_writes.max(1) as f64,
    })
}

/// Lines that consist of a name and a value.
pub fn lines(found: &TraceLocality) -> Vec<(&'static str, String)> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let tops = TOP_PERCENTS.iter().zip(&found.top_shares);
    let tops: Vec<String> =
        tops.map(|(top, &share)| format!("{top} %: {}", percent(share))).collect();
    let parts = PAGE_SIZES.iter().zip(&found.sub_page_shares);
    let parts: Vec<String> =
        parts.map(|(&page, &share)| format!("{}: {}", bytes(page), percent(share))).collect();
    let updates = found.updates.iter().map(|class| {
        let earlier = class.earlier_writes as f64 / class.page_writes.max(1) as f64;
        format!("≤{}: {earlier:.2}", count(class.sectors_max))
    });
    vec![
        ("sequential", sequential(found)),
        (
            "hottest pages",
            format!("of {} get of all writes {}", bytes(found.page_bytes), tops.join(", ")),
        ),
        ("write intervals", format!("in page writes: {}", quantiles(&found.intervals))),
        ("  page means", format!("weighted by writes: {}", quantiles(&found.mean_intervals))),
        (
            "updates by size",
            format!(
                "earlier writes of a page written, by sectors of the request {}",
                updates.collect::<Vec<_>>().join(", ")
            ),
        ),
        ("sub-page writes", format!("by page size {}", parts.join(", "))),
    ]
}

fn sequential(found: &TraceLocality) -> String {
    format!(
        "{} reads and {} writes start where the one before ended",
        count(found.sequential_reads),
        count(found.sequential_writes)
    )
}

/// For several shares, the power of two below which that share of the distribution lies.
fn quantiles(distribution: &Distribution) -> String {
    if distribution.total() == 0 {
        return "no page is written twice".to_owned();
    }
    let below = |part: f64| {
        let found = distribution.cumulative().find(|&(_, share)| share >= part);
        found.map_or(u64::MAX, |(below, _)| below)
    };
    let parts = [(10, 0.1), (25, 0.25), (50, 0.5), (75, 0.75), (90, 0.9), (99, 0.99)];
    let texts = parts.map(|(percent, part)| format!("{percent} % below {}", count(below(part))));
    texts.join(", ")
}
