//! When an operation of a live disk is logged: when it has become durable.
//!
//! ```text
//! completed, not flushed        flush 1 issued          flush 2 issued         ready
//! [ w4 · d5 ]                   [ w1 · d2 ]             [ w3 ]                 flush · …
//!        └──────── flush_issued ───▲                       │                     ▲
//!                                  └─ flush_completed, with all flushes issued before it ─┘
//! ```
//! A write or discard is logged when a flush that was issued after its completion completes, in the
//! order of completion. A forced write is logged when it completes. What was never flushed is never
//! logged: after a power cut it may be gone.
//!
//! Departures from dm-log-writes, both because a replay must never bring older data back. A forced
//! write removes its sectors from older writes and discards that still wait. And a completed flush
//! takes along what waits for flushes that were issued before it, because it covers them too.

use std::collections::VecDeque;
use std::ops::Range;

use crate::log_writes::entry::{LogEntry, LogFlags};

/// Puts completed operations into the order of a log. It does no input or output: the caller tells
/// it what happened, and takes the entries that it may write. It holds the data of everything that
/// was not flushed yet.
#[derive(Debug, Default)]
pub struct LogOrder {
    /// Operations since the last flush was issued.
    unflushed: Vec<Waiting>,
    /// Flushes that were issued, the oldest first, with the operations that wait for each.
    issued: VecDeque<(u64, Vec<Waiting>)>,
    flushes: u64,
    /// Operations that were performed. Each has its number.
    performed: u64,
    ready: VecDeque<LogEntry>,
}

/// An operation that waits for a flush, with its number.
type Waiting = (u64, LogEntry);

/// A flush that was issued. If it fails, drop it: what waits for it then waits for the next one.
#[derive(Debug)]
#[must_use = "without it, nobody can tell which flush has completed"]
pub struct FlushTicket(u64);

impl LogOrder {
    /// An order without operations.
    pub fn new() -> LogOrder {
        LogOrder::default()
    }

    /// A write from this sector on was answered. With `fua` it is durable.
    ///
    /// # Panics
    /// The data are not whole sectors, or none.
    pub fn completed_write(&mut self, sector: u64, data: Vec<u8>, fua: bool) {
        let number = self.next_number();
        match fua {
            true => self.completed_forced_write(number, sector, data),
            false => {
                let entry = LogEntry::write(sector, data, LogFlags::empty());
                self.unflushed.push((number, entry));
            }
        }
    }

    /// A forced write is performed, but not durable yet, so other operations may be performed and
    /// answered before it. Returns its number.
    pub fn forced_write_performed(&mut self) -> u64 {
        self.next_number()
    }

    /// The forced write with this number was answered.
    ///
    /// # Panics
    /// The data are not whole sectors, or none.
    pub fn completed_forced_write(&mut self, number: u64, sector: u64, data: Vec<u8>) {
        let entry = LogEntry::write(sector, data, LogFlags::FUA);
        self.replace(&entry.range(), number);
        self.ready.push_back(entry);
    }

    fn next_number(&mut self) -> u64 {
        self.performed += 1;
        self.performed
    }

    /// A discard was answered.
    ///
    /// # Panics
    /// There is no sector in the range.
    pub fn completed_discard(&mut self, sectors: Range<u64>) {
        let number = self.next_number();
        self.unflushed.push((number, LogEntry::discard(sectors)));
    }

    /// A flush begins. It covers everything that was answered before.
    pub fn flush_issued(&mut self) -> FlushTicket {
        self.flushes += 1;
        self.issued.push_back((self.flushes, std::mem::take(&mut self.unflushed)));
        FlushTicket(self.flushes)
    }

    /// A flush was answered.
    pub fn flush_completed(&mut self, ticket: FlushTicket) {
        while self.issued.front().is_some_and(|(number, _)| *number <= ticket.0) {
            let (_, covered) = self.issued.pop_front().expect("there is a front");
            self.ready.extend(covered.into_iter().map(|(_, entry)| entry));
        }
        self.ready.push_back(LogEntry::flush());
    }

    /// Somebody names this point. The mark follows everything that is durable now.
    pub fn mark(&mut self, name: &str) {
        self.ready.push_back(LogEntry::mark(name));
    }

    /// The next entry that may be written; none if all were taken.
    pub fn next_entry(&mut self) -> Option<LogEntry> {
        self.ready.pop_front()
    }

    /// Bytes of data that are held until a flush. A flush frees them.
    pub fn held_bytes(&self) -> u64 {
        let issued = self.issued.iter().flat_map(|(_, entries)| entries);
        self.unflushed.iter().chain(issued).map(|(_, entry)| entry.data.len() as u64).sum()
    }

    /// Removes sectors from everything that waits and is older than an operation.
    fn replace(&mut self, sectors: &Range<u64>, number: u64) {
        let is_replaced = |(older, entry): &Waiting| *older < number && overlap(entry, sectors);
        let issued = self.issued.iter_mut().map(|(_, entries)| entries);
        for entries in issued.chain([&mut self.unflushed]) {
            if !entries.iter().any(is_replaced) {
                continue;
            }
            let rest = entries.drain(..).flat_map(|waiting| match is_replaced(&waiting) {
                true => without(waiting, sectors),
                false => vec![waiting],
            });
            *entries = rest.collect();
        }
    }
}

fn overlap(entry: &LogEntry, sectors: &Range<u64>) -> bool {
    entry.range().start < sectors.end && sectors.start < entry.range().end
}

/// What remains of an entry without these sectors, which it overlaps.
fn without((number, entry): Waiting, sectors: &Range<u64>) -> Vec<Waiting> {
    let Range { start, end } = entry.range();
    let ends = [start..sectors.start.max(start), sectors.end.min(end)..end];
    ends.into_iter().filter(|end| !end.is_empty()).map(|end| (number, entry.part(end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::SECTOR_BYTES;
    use proptest::prelude::*;

    fn data(value: u8, sectors: u64) -> Vec<u8> {
        vec![value; (sectors * SECTOR_BYTES) as usize]
    }

    /// The entries that are ready, as (first sector, sectors, bits of the flags, value).
    fn ready(order: &mut LogOrder) -> Vec<(u64, u64, u64, u8)> {
        let entries = std::iter::from_fn(|| order.next_entry());
        let shown = |it: LogEntry| {
            (it.sector, it.sectors, it.flags.bits(), it.data.first().copied().unwrap_or(0))
        };
        entries.map(shown).collect()
    }

    #[test]
    fn what_was_answered_before_a_flush_was_issued_is_logged_when_it_completes() {
        // The example in the sources of dm-log-writes: a completes too late for the flush.
        let mut order = LogOrder::new();
        order.completed_write(3, data(3, 1), false);
        order.completed_discard(10..14);
        let flush = order.flush_issued();
        order.completed_write(4, data(4, 1), true);
        order.completed_write(1, data(1, 1), false);
        assert_eq!(ready(&mut order), [(4, 1, 2, 4)]);
        order.flush_completed(flush);
        assert_eq!(ready(&mut order), [(3, 1, 0, 3), (10, 4, 4, 0), (0, 0, 1, 0)]);
        assert_eq!(order.held_bytes(), SECTOR_BYTES);
        order.mark("m");
        let flush = order.flush_issued();
        order.flush_completed(flush);
        assert_eq!(ready(&mut order), [(0, 0, 8, b'm'), (1, 1, 0, 1), (0, 0, 1, 0)]);
        assert_eq!(order.held_bytes(), 0);
    }

    #[test]
    fn a_flush_that_fails_leaves_its_operations_to_the_next_one() {
        let mut order = LogOrder::new();
        order.completed_write(1, data(1, 1), false);
        drop(order.flush_issued());
        order.completed_write(1, data(2, 1), false);
        let flush = order.flush_issued();
        order.flush_completed(flush);
        assert_eq!(ready(&mut order), [(1, 1, 0, 1), (1, 1, 0, 2), (0, 0, 1, 0)]);
    }

    #[test]
    fn a_later_flush_that_completes_first_keeps_the_order_of_the_writes() {
        let mut order = LogOrder::new();
        order.completed_write(1, data(1, 1), false);
        let first = order.flush_issued();
        order.completed_write(1, data(2, 1), false);
        let second = order.flush_issued();
        order.flush_completed(second);
        order.flush_completed(first);
        assert_eq!(ready(&mut order), [(1, 1, 0, 1), (1, 1, 0, 2), (0, 0, 1, 0), (0, 0, 1, 0)]);
    }

    #[test]
    fn a_forced_write_replaces_what_waits() {
        let mut order = LogOrder::new();
        order.completed_write(0, data(1, 4), false);
        let flush = order.flush_issued();
        order.completed_discard(2..8);
        order.completed_write(1, data(2, 2), true);
        order.flush_completed(flush);
        let expected = [(1, 2, 2, 2), (0, 1, 0, 1), (3, 1, 0, 1), (0, 0, 1, 0)];
        assert_eq!(ready(&mut order), expected);
        let flush = order.flush_issued();
        order.flush_completed(flush);
        assert_eq!(ready(&mut order), [(3, 5, 4, 0), (0, 0, 1, 0)]);
    }

    #[test]
    fn a_forced_write_leaves_what_was_performed_after_it() {
        let mut order = LogOrder::new();
        order.completed_write(1, data(1, 1), false);
        let number = order.forced_write_performed();
        order.completed_write(1, data(3, 1), false);
        let flush = order.flush_issued();
        order.completed_forced_write(number, 1, data(2, 1));
        order.flush_completed(flush);
        assert_eq!(ready(&mut order), [(1, 1, 2, 2), (1, 1, 0, 3), (0, 0, 1, 0)]);
    }

    proptest! {
        /// A disk of 16 sectors whose flushes complete at once. A replayed log shows each sector
        /// as it was at the last flush or at a later forced write.
        #[test]
        fn a_replayed_log_is_what_is_durable(
            steps in prop::collection::vec((0_u8..6, 0_u64..12, 1_u64..5), 1..60)
        ) {
            let (mut now, mut durable, mut replayed) = ([0_u8; 16], [0; 16], [0; 16]);
            let mut order = LogOrder::new();
            for (value, (kind, first, sectors)) in (1..).zip(steps) {
                let range = first as usize..(first + sectors) as usize;
                match kind {
                    0 => {
                        let flush = order.flush_issued();
                        order.flush_completed(flush);
                        durable = now;
                    }
                    1 => {
                        order.completed_discard(first..first + sectors);
                        now[range].fill(0);
                    }
                    2 => {
                        order.completed_write(first, data(value, sectors), true);
                        now[range.clone()].fill(value);
                        durable[range].fill(value);
                    }
                    _ => {
                        order.completed_write(first, data(value, sectors), false);
                        now[range].fill(value);
                    }
                }
                for (first, sectors, _, value) in ready(&mut order) {
                    replayed[first as usize..(first + sectors) as usize].fill(value);
                }
                prop_assert_eq!(replayed, durable);
            }
        }
    }
}
