//! The reader of a format or workload, which a replay wraps: batches of requests, and counts of
//! skipped ones.

use std::sync::Arc;

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::request::Request;

/// A suitable number of requests to read at a time: they fit into the cache.
pub const BATCH: usize = 1024;

/// The reason for skipping a bad line or record.
pub(crate) const MALFORMED: &str = "malformed";

/// The reason for skipping the requests to all volumes but one.
pub const OTHER_VOLUME: &str = "other volume";

/// The number of requests of a trace that were skipped, by reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    reasons: Vec<(&'static str, u64)>,
    /// Requests that had an earlier time than their predecessor and got its time. Not skipped.
    pub backward_times: u64,
    /// The largest of these steps back, in nanoseconds.
    pub step_back_ns: u64,
    /// Requests whose time is more than a year after that of their predecessor, and that got its
    /// time. Not skipped.
    pub absurd_times: u64,
    /// Lines that by design contain no request: headers, summaries, other actions. Not skipped.
    pub other_lines: u64,
}

impl Skipped {
    /// Counts a skipped request.
    pub(crate) fn add(&mut self, reason: &'static str) {
        self.add_count(reason, 1);
    }

    pub(crate) fn add_count(&mut self, reason: &'static str, count: u64) {
        match self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += count,
            None => self.reasons.push((reason, count)),
        }
    }

    /// Adds what was skipped in another trace.
    pub fn add_all(&mut self, other: &Skipped) {
        for (reason, count) in other.iter() {
            self.add_count(reason, count);
        }
        self.backward_times += other.backward_times;
        self.step_back_ns = self.step_back_ns.max(other.step_back_ns);
        self.absurd_times += other.absurd_times;
        self.other_lines += other.other_lines;
    }

    /// The reasons with their counts, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.reasons.iter().copied()
    }

    /// The number of requests that were skipped for this reason.
    pub fn get(&self, reason: &str) -> u64 {
        self.iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| count)
    }

    /// The number of skipped requests.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// The number of bad lines or records.
    pub fn malformed(&self) -> u64 {
        self.get(MALFORMED)
    }
}

/// What a reader knows about its trace, besides the requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadReport {
    /// The names of the devices seen so far, in the order of their numbers.
    pub devices: Vec<String>,
    /// The requests skipped so far.
    pub skipped: Skipped,
    /// Sentences about the trace as it was read so far.
    pub notes: Vec<String>,
    /// The message of the first bad line or record that was skipped.
    pub first_bad: Option<String>,
}

impl ReadReport {
    /// The report on one volume, beside which `others` requests to other volumes were skipped.
    pub(crate) fn of_volume(&self, name: &str, others: u64) -> ReadReport {
        let (mut skipped, devices) = (self.skipped.clone(), vec![name.to_owned()]);
        if others > 0 {
            skipped.add_count(OTHER_VOLUME, others);
        }
        let (notes, first_bad) = (self.notes.clone(), self.first_bad.clone());
        ReadReport { devices, skipped, notes, first_bad }
    }
}

/// The reader of a format or workload.
pub(crate) trait Reader: Send {
    /// Does a part of the work that comes before the first request. Returns whether there is more
    /// of it. Whoever does not call it waits longer for the first batch.
    fn prepare(&mut self) -> Result<bool> {
        Ok(false)
    }
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize>;
    fn position_bytes(&self) -> u64;
    fn report(&self) -> ReadReport;
}

/// Makes readers of a trace. It contains all that the format had to learn about the trace first.
pub(crate) trait ReaderFactory: Send + Sync {
    fn reader(&self, input: &Arc<StoredTrace>, mode: ReadMode) -> Result<Box<dyn Reader>>;

    /// Whether the requests of the format are not in the order of their times and must be sorted.
    fn is_unsorted(&self) -> bool;

    /// Whether the trace names the streams of its writes.
    fn has_streams(&self) -> bool {
        false
    }

    /// What to give as `--format` to read the same columns as csv, if the trace has columns.
    fn csv_spec(&self) -> Option<String> {
        None
    }

    /// Whether the times of such traces are Unix times.
    fn has_unix_times(&self) -> bool {
        false
    }
}

/// How a trace is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMode {
    /// Count bad lines instead of failing at the first.
    pub(crate) skip_bad: bool,
    /// Deliver times unchanged, for sorting; otherwise they count from the first record and never
    /// decrease.
    pub(crate) raw_times: bool,
}
