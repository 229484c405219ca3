//! An account of fast's log for a layer that divides DRAM between this log's map and a buffer
//! (adaptive partitioning, §III.E and Table IV).
//!
//! ```text
//! victim [7 x 9 8]    7, 8 and 9 leave the log and enter the ghost    Na = 1: 3 pages per merge
//! write 9             a miss in the log and a hit in its ghost: a larger log would have saved this
//!                     page's share of a merge
//! ```
//! Suppose that the host writes a page that has left the log. If the log had been larger, the page
//! would still have been there, and its share of a full merge would have been saved. This share is
//! T_full_merge / F_asset, where F_asset is the mean number of a victim's pages that one merge
//! brings to a data block. A page that is written because the buffer had no room for it costs its
//! own program and its share of reclaiming a log block, T_log_GC / Np. Merges of the SW block count
//! in neither.

use nand::{BlockId, Lpn, Nand, Ppn, Timing};

use crate::contract::{MapEvent, MissCosts};
use crate::part::log::fully_associative::FullyAssociative;
use crate::part::log::log_map::Lbn;

/// Events and costs of a log.
#[derive(Clone, Debug)]
pub struct LogAccount {
    timing: Timing,
    pages_per_block: u32,
    events: Vec<MapEvent>,
    /// Victims with valid pages since the costs were last asked for, and the sum of the pages per
    /// merge of each.
    victims: u64,
    pages_per_merge: f64,
    /// Blocks reclaimed since the mount, including dead ones, and the time that this took.
    reclaimed: u64,
    reclaimed_ns: u64,
}

impl LogAccount {
    /// An account without events.
    pub fn new(timing: Timing, pages_per_block: u32) -> LogAccount {
        LogAccount {
            timing,
            pages_per_block,
            events: Vec::new(),
            victims: 0,
            pages_per_merge: 0.0,
            reclaimed: 0,
            reclaimed_ns: 0,
        }
    }

    /// Records that the host wrote a page of which the log held no copy.
    #[inline(never)]
    pub fn missed(&mut self, lpn: Lpn) {
        self.events.push(MapEvent::WriteMissed(lpn));
    }

    /// Records the valid pages of a victim, which are about to leave the log, and the operations
    /// that its merge will take.
    pub fn takes(&mut self, nand: &Nand, log: &mut FullyAssociative, victim: BlockId) {
        let FullyAssociative { map, associated, .. } = log;
        let slots = 0..nand.geometry().pages_per_block();
        let valid = || map.valid_pages(nand, victim, slots.clone());
        self.events.extend(valid().map(|(lpn, _)| MapEvent::Left(lpn)));
        let associated = associated.list(map, valid());
        let mapped =
            |lbn: &Lbn| map.newest_of(*lbn).iter().filter(|&&ppn| ppn != Ppn::NONE).count();
        let copies = associated.iter().map(mapped).sum::<usize>() as u64;
        let old = associated.iter().filter(|&&lbn| map.data_block(lbn).is_some()).count() as u64;
        self.victim(map.valid(victim), associated.len() as u32, copies, 1 + old);
    }

    /// Records that a block with `pages` valid pages of `associated` logical blocks is reclaimed,
    /// with this number of copies and erases.
    fn victim(&mut self, pages: u32, associated: u32, copies: u64, erases: u64) {
        if associated > 0 {
            self.victims += 1;
            self.pages_per_merge += f64::from(pages) / f64::from(associated);
        }
        let Timing { read_ns, program_ns, erase_ns, .. } = self.timing;
        self.reclaimed += 1;
        self.reclaimed_ns += copies * (read_ns + program_ns) + erases * erase_ns;
    }

    /// Records that the reclaim also took `pages` padding programs.
    pub fn padded(&mut self, pages: u64) {
        self.reclaimed_ns += pages * self.timing.program_ns;
    }

    /// Appends the events since the last call.
    pub fn take_events(&mut self, events: &mut Vec<MapEvent>) {
        events.append(&mut self.events);
    }

    /// The costs of misses: F_asset since the last call, T_log_GC since the mount. Reads never
    /// miss.
    pub fn miss_costs(&mut self) -> MissCosts {
        let pages = f64::from(self.pages_per_block);
        let [read, program, erase] =
            [self.timing.read_ns, self.timing.program_ns, self.timing.erase_ns].map(|ns| ns as f64);
        let pages_per_merge = match core::mem::take(&mut self.victims) {
            0 => 1.0,
            victims => self.pages_per_merge / victims as f64,
        };
        self.pages_per_merge = 0.0;
        let reclaim = match self.reclaimed {
            0 => 0.0,
            blocks => self.reclaimed_ns as f64 / blocks as f64,
        };
        MissCosts {
            map_read_ns: 0.0,
            map_write_ns: (pages * (read + program) + erase) / pages_per_merge,
            buffer_read_ns: read,
            buffer_write_ns: program + reclaim / pages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing =
        Timing { read_ns: 10, spare_read_ns: 0, program_ns: 100, erase_ns: 1000, ..Timing::ZERO };

    #[test]
    fn costs_are_those_of_table_iv() {
        let mut account = LogAccount::new(TIMING, 4);
        let none = account.miss_costs();
        assert_eq!((none.map_write_ns, none.buffer_write_ns), (4.0 * 110.0 + 1000.0, 100.0));
        // Three pages of one block, four pages of four blocks, none: 3 and 1 pages per merge.
        account.victim(3, 1, 4, 2);
        account.victim(4, 4, 16, 5);
        account.victim(0, 0, 0, 1);
        account.padded(2);
        let costs = account.miss_costs();
        assert_eq!((costs.map_read_ns, costs.buffer_read_ns), (0.0, 10.0));
        assert_eq!(costs.map_write_ns, 1440.0 / 2.0);
        let reclaim = (20.0 * 110.0 + 8.0 * 1000.0 + 2.0 * 100.0) / 3.0;
        assert_eq!(costs.buffer_write_ns, 100.0 + reclaim / 4.0);
        // F_asset starts again with each call, T_log_GC does not.
        let next = account.miss_costs();
        assert_eq!((next.map_write_ns, next.buffer_write_ns), (1440.0, costs.buffer_write_ns));
    }
}
