//! Headlines of traces: what they write, and how often they write it again.

use sim::input::trace_stats::TraceStats;
use trace::analysis::locality::TOP_PERCENTS;

use super::words::rounded;
use crate::number_format::{bytes, decimals};

/// The share of the most written pages that the headline is about, in percent.
const TOP: u32 = 10;

/// The headline of a trace; it is exact, because all requests are counted.
pub fn of(found: &TraceStats) -> Vec<String> {
    let (survey, locality) = (&found.survey, &found.locality);
    let size = |bytes_of: u128| bytes(u64::try_from(bytes_of).unwrap_or(u64::MAX));
    let read = size(survey.reads.bytes());
    if locality.page_writes == 0 {
        return vec![format!("The trace writes nothing and reads {read}.")];
    }
    let written = size(survey.writes.bytes());
    let pages = bytes(locality.pages_written.saturating_mul(locality.page_bytes));
    let times = rounded(locality.page_writes as f64 / locality.pages_written.max(1) as f64);
    let mut sentences = vec![format!(
        "The trace writes {written} to {pages} of pages, so each {times} times, and reads {read}."
    )];
    let top = TOP_PERCENTS.iter().position(|&percent| percent == TOP);
    if let Some(&share) = top.and_then(|at| locality.top_shares.get(at)) {
        let share = decimals(100.0 * share, 0);
        sentences.push(format!("{TOP} % of the pages written get {share} % of the writes."));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use sim::Experiment;

    use super::*;

    fn headline(trace: &str) -> String {
        let experiment = Experiment {
            trace: Some(trace.into()),
            capacity_bytes: Some(16 << 20),
            ..Experiment::default()
        };
        of(&TraceStats::of(&experiment).unwrap()).join(" ")
    }

    #[test]
    fn the_headline_says_how_often_pages_are_written() {
        let skewed = headline("skew:writes=20K,pages=2K,hot=70/30");
        let wanted = "The trace writes 39.06 MiB to 3.87 MiB of pages, so each 10.1 times, and \
                      reads 0 B. 10 % of the pages written get ";
        assert!(skewed.starts_with(wanted), "{skewed}");
        let reads = headline("uniform:requests=1K,reads=100%");
        assert_eq!(reads, "The trace writes nothing and reads 1.95 MiB.");
    }
}
