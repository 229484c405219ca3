//! What formats and workloads do for a replay: requests in batches, and what was left out of them.

use std::sync::Arc;

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::request::Request;

/// A good number of requests to ask for at a time: a few of them in the first cache.
pub const BATCH: usize = 1024;

/// What was left out of a trace, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    reasons: Vec<(&'static str, u64)>,
    /// Requests whose time was before that of an earlier one and was raised to it; not skipped.
    pub backward_times: u64,
    /// Lines that hold no request by design: headers, summaries, other actions; not skipped.
    pub other_lines: u64,
}

impl Skipped {
    /// Counts a request left out.
    pub(crate) fn add(&mut self, reason: &'static str) {
        match self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((reason, 1)),
        }
    }

    /// The reasons with their counts, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.reasons.iter().copied()
    }

    /// How many requests were left out for this reason.
    pub fn get(&self, reason: &str) -> u64 {
        self.iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| count)
    }

    /// How many requests were left out.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }
}

/// What formats and workloads do for a replay.
pub(crate) trait Reader: Send {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize>;
    fn skipped(&self) -> &Skipped;
    fn position_bytes(&self) -> u64;
    fn devices(&self) -> Vec<String>;
    fn note(&self) -> Option<String>;
}

/// A format with all that it had to learn about a trace: starts readings of it.
pub(crate) trait ReaderFactory: Send + Sync {
    fn reader(&self, input: &Arc<StoredTrace>, reading: ReadMode) -> Result<Box<dyn Reader>>;

    /// Whether its records do not come in the order of their times and have to be sorted.
    fn is_unsorted(&self) -> bool;
}

/// How a source is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMode {
    /// Count bad lines instead of failing at the first.
    pub(crate) skip_bad: bool,
    /// Deliver times as they stand, for sorting; else from the first record and never going back.
    pub(crate) raw_times: bool,
}
