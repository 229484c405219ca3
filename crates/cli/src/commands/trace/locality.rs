//! The part of `ftlab trace info` about the locality of writes.

use report::number_format::{bytes, count};
use trace::analysis::locality::{Distribution, PAGE_SIZES, TOP_PERCENTS, TraceLocality};

/// Lines that consist of a name and a value.
pub fn lines(found: &TraceLocality) -> Vec<(&'static str, String)> {
    let mut lines = vec![("sequential", sequential(found))];
    // The other lines are about writes, and would be shares of nothing.
    if found.page_writes > 0 {
        lines.extend(of_writes(found));
    }
    lines
}

fn of_writes(found: &TraceLocality) -> Vec<(&'static str, String)> {
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
        (
            "hottest pages",
            format!("of {} get of all writes {}", bytes(found.page_bytes), tops.join(", ")),
        ),
        ("write intervals", format!("in page writes: {}", quantiles(&found.intervals.all))),
        ("  page means", format!("weighted by writes: {}", quantiles(&found.intervals.page_means))),
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
        count(found.reads.sequential),
        count(found.writes.sequential)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_without_writes_has_no_shares_of_writes() {
        let names = |page_writes| {
            let found = TraceLocality { page_writes, ..TraceLocality::default() };
            lines(&found).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(0), ["sequential"]);
        assert_eq!(names(1).len(), 6);
    }
}
