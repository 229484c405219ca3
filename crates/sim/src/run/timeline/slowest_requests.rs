//! The windows around the slowest requests of a run.
//!
//! ```text
//! journal ─▶ recent ──▶ kept, if a window covers it now
//!            │ back to 5 ms before the issue of the oldest request without an answer
//! ```
//! Which requests are the slowest is known only at the end. A record waits in `recent` until no
//! request that is answered later can have a window that covers it. Then it is kept if it lies in
//! the window of one of the slowest requests until now. When a slower request displaces one of
//! these, what only its window covered is dropped.

use core::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use drive::Entry;

use crate::run::timeline::record::{Record, RequestRecord};

/// The time that a window shows before the issue of its request and after its answer.
pub const AROUND_NS: u64 = 5_000_000;

/// Collects the records around the slowest requests.
#[derive(Debug)]
pub struct SlowestRequests {
    count: usize,
    /// Response time and number in the drive, with issue and answer.
    slowest: BTreeMap<(u64, Reverse<u64>), (u64, u64)>,
    /// The windows of these, in order and without overlaps; none if they must be made again.
    windows: Option<Vec<(u64, u64)>>,
    /// Requests without an answer, with their issue.
    unanswered: BTreeMap<u64, u64>,
    recent: VecDeque<Record>,
    kept: Vec<Record>,
    /// As many kept records are looked through again.
    prune_at: usize,
}

/// Kept records are not looked through before there are this many.
const PRUNE_AT_LEAST: usize = 1 << 14;

impl SlowestRequests {
    /// The windows around `count` requests, one at least.
    pub fn new(count: usize) -> SlowestRequests {
        SlowestRequests {
            count: count.max(1),
            slowest: BTreeMap::new(),
            windows: None,
            unanswered: BTreeMap::new(),
            recent: VecDeque::new(),
            kept: Vec::new(),
            prune_at: PRUNE_AT_LEAST,
        }
    }

    /// Follows the journal. An entry comes before its records.
    pub fn follow(&mut self, entry: &Entry) {
        if let Entry::Issue { number, at_ns } = *entry {
            self.unanswered.insert(number, at_ns);
        }
    }

    /// Takes a record.
    pub fn take(&mut self, record: Record) {
        if let Record::Request(request) = &record {
            self.answered(request);
        }
        self.recent.push_back(record);
    }

    /// Lets go of the records that no later request can need.
    pub fn retire(&mut self, now_ns: u64) {
        let oldest_ns = self.unanswered.first_key_value().map_or(now_ns, |(_, &at_ns)| at_ns);
        let horizon_ns = oldest_ns.saturating_sub(AROUND_NS);
        while let Some(&record) = self.recent.front()
            && record.span().1 < horizon_ns
        {
            self.recent.pop_front();
            if covers(self.windows(), &record) {
                self.kept.push(record);
            }
        }
        if self.kept.len() >= self.prune_at {
            self.prune();
        }
    }

    /// The records in the windows of the slowest requests, in the order of the journal, and the
    /// rank of each of these requests by its number in the drive, from 1.
    pub fn finish(mut self) -> (Vec<Record>, BTreeMap<u64, usize>) {
        let recent = core::mem::take(&mut self.recent);
        self.kept.extend(recent);
        self.prune();
        let ids = self.slowest.keys().rev().map(|&(_, Reverse(id))| id);
        (self.kept, ids.zip(1..).collect())
    }

    fn answered(&mut self, request: &RequestRecord) {
        self.unanswered.remove(&request.id);
        let answer = &request.answer;
        let key = (answer.response_ns(), Reverse(request.id));
        let is_full = self.slowest.len() == self.count;
        if is_full && self.slowest.first_key_value().is_some_and(|(fastest, _)| key < *fastest) {
            return;
        }
        if is_full {
            self.slowest.pop_first();
        }
        self.slowest.insert(key, (answer.issued_ns, answer.answered_ns));
        self.windows = None;
    }

    /// Drops the kept records that no window covers any more.
    fn prune(&mut self) {
        let mut kept = core::mem::take(&mut self.kept);
        let windows = self.windows();
        kept.retain(|record| covers(windows, record));
        self.prune_at = PRUNE_AT_LEAST.max(2 * kept.len());
        self.kept = kept;
    }

    fn windows(&mut self) -> &[(u64, u64)] {
        let slowest = &self.slowest;
        self.windows.get_or_insert_with(|| {
            let around = |&(issued_ns, answered_ns): &(u64, u64)| {
                (issued_ns.saturating_sub(AROUND_NS), answered_ns.saturating_add(AROUND_NS))
            };
            joined(slowest.values().map(around).collect())
        })
    }
}

/// Windows in order; those that overlap are joined.
fn joined(mut windows: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    windows.sort_unstable();
    windows.dedup_by(|later, earlier| {
        let overlap = later.0 <= earlier.1;
        if overlap {
            earlier.1 = earlier.1.max(later.1);
        }
        overlap
    });
    windows
}

/// Whether one of the windows covers a part of a record.
fn covers(windows: &[(u64, u64)], record: &Record) -> bool {
    let (from_ns, until_ns) = record.span();
    let next = windows.partition_point(|&(_, end_ns)| end_ns < from_ns);
    windows.get(next).is_some_and(|&(begin_ns, _)| begin_ns <= until_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::timeline::record::Counter;

    #[test]
    fn windows_that_overlap_are_one() {
        assert_eq!(joined(vec![(7, 9), (0, 3), (2, 5), (3, 4)]), [(0, 5), (7, 9)]);
        let at = |at_ns| Record::Counter { counter: Counter::QueueDepth, at_ns, value: 1.0 };
        let covered = |at_ns| covers(&[(2, 5), (7, 9)], &at(at_ns));
        let expected = [false, false, true, true, true, true, false, true, true, true, false];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(covered), expected);
    }
}
