//! LAST's random log: log blocks that take pages of any logical block, in a hot and a cold
//! partition.
//!
//! ```text
//! hot   [1 2 1 2] [9 1 2 9] [2 1 _ _]      each partition fills one block after the other;
//! cold  [5 8 3 7] [6 4 _ _]                a block without valid pages is dead
//!                      ▲ the next page will be the 17th of the random log; page 6 was the 14th,
//!                        page 4 the 16th: if 6 is written next, its distance is 3
//! ```
//! The random log has a clock of its own: the number of host pages written to it. Every page is
//! dated with it, which gives the *distance* between two writes of a page (LAST §3.4.2) and the
//! time of each block's last program. The clock starts anew with a mount. So a page that a mount
//! found has no date, and no distance.
//!
//! [`MergeCosts`] tells what it costs to merge a block and which block is the cheapest. The map
//! keeps it.

use nand::{BlockId, Geometry, Nand, Ppn};

use super::merge_costs::{self, MergeCosts, Partition};
use crate::contract::{Violation, ensure};
use crate::part::log::log_map::LogMap;
use crate::part::log::log_mount::FoundLog;
use crate::part::log::merge::LogBlock;
use crate::part::recovery::block_audit;

/// The minimum of random log blocks: one for each partition.
pub const LEAST_RANDOM: u64 = 2;

const NONE: u32 = u32::MAX;
/// The date of pages that a mount found.
const UNDATED: u64 = 0;

/// LAST's space utilization of a partition: the share of valid pages in its blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utilization {
    /// Number of valid pages.
    pub valid: u64,
    /// Number of pages in the partition's blocks, valid or not, programmed or not.
    pub pages: u64,
}

impl Utilization {
    /// The share; zero for a partition without blocks.
    pub fn ratio(self) -> f64 {
        self.valid as f64 / self.pages.max(1) as f64
    }

    /// Whether the share is greater than another one. They are compared as fractions, without
    /// rounding.
    pub fn is_above(self, other: Utilization) -> bool {
        self.valid * other.pages.max(1) > other.valid * self.pages.max(1)
    }
}

/// The random log.
#[derive(Clone, Debug)]
pub struct RandomPartitions {
    /// The open block of each partition.
    heads: [Option<LogBlock>; 2],
    /// Number of blocks in each partition.
    blocks: [u32; 2],
    /// The seat of each block in use: the number of its section in `dates`.
    seats: Vec<u32>,
    vacant: Vec<u32>,
    /// The date of each page, by seats.
    dates: Vec<u64>,
    clock: u64,
}

impl RandomPartitions {
    /// An empty log of at most `log_blocks` blocks.
    pub fn new(geometry: &Geometry, log_blocks: u32) -> RandomPartitions {
        RandomPartitions {
            heads: [None; 2],
            blocks: [0; 2],
            seats: vec![NONE; geometry.blocks() as usize],
            vacant: (0..log_blocks).rev().collect(),
            dates: vec![UNDATED; (log_blocks * geometry.pages_per_block()) as usize],
            clock: 0,
        }
    }

    /// The clock: host pages written to the random log since the mount.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Number of blocks of a partition.
    pub fn blocks_of(&self, partition: Partition) -> u32 {
        self.blocks[partition as usize]
    }

    /// Number of blocks of both partitions.
    pub fn count(&self) -> u32 {
        self.blocks.iter().sum()
    }

    /// Whether a partition has an open block. An open block always has room.
    #[inline]
    pub fn has_room(&self, partition: Partition) -> bool {
        self.heads[partition as usize].is_some()
    }

    /// The page to program next in a partition, which must have room.
    #[inline]
    pub fn next_page(&self, geometry: &Geometry, partition: Partition) -> Ppn {
        let head = self.heads[partition as usize].expect("the partition has an open block");
        geometry.page(head.block, head.filled)
    }

    // ---- Adding and removing blocks -------------------------------------------------------------

    /// Makes a clean block the open block of a partition that has none.
    pub fn open(&mut self, map: &mut LogMap<MergeCosts>, block: BlockId, partition: Partition) {
        let head = self.heads[partition as usize];
        assert!(head.is_none(), "{block:?} was opened in {partition:?} beside {head:?}");
        map.observer.follow(block, partition, 0);
        self.seat(block, partition);
        self.heads[partition as usize] = Some(LogBlock { block, filled: 0 });
    }

    /// Adds a block that a mount found. It is closed, and its pages have no date.
    pub fn adopt(&mut self, map: &mut LogMap<MergeCosts>, found: &FoundLog, partition: Partition) {
        map.observer.follow(found.block, partition, found.lbns.len() as u16);
        map.observer.close(found.block);
        self.seat(found.block, partition);
    }

    fn seat(&mut self, block: BlockId, partition: Partition) {
        let taken = self.seats[block.0 as usize];
        assert!(taken == NONE, "{block:?} is given a second seat beside seat {taken}");
        let seat = self.vacant.pop().expect("the log never exceeds its maximum of blocks");
        self.seats[block.0 as usize] = seat;
        self.blocks[partition as usize] += 1;
    }

    /// Removes a full block, which is about to be merged.
    pub fn remove(&mut self, map: &mut LogMap<MergeCosts>, block: BlockId) {
        let partition = map.observer.partition_of(block).expect("a victim is in the random log");
        map.observer.forget(block);
        let seat = core::mem::replace(&mut self.seats[block.0 as usize], NONE);
        self.vacant.push(seat);
        self.blocks[partition as usize] -= 1;
    }

    // ---- Pages and their dates ------------------------------------------------------------------

    /// Dates the page that was just programmed at the [next page](Self::next_page) of a partition.
    #[inline]
    pub fn wrote(
        &mut self,
        geometry: &Geometry,
        map: &mut LogMap<MergeCosts>,
        partition: Partition,
    ) {
        let head =
            self.heads[partition as usize].as_mut().expect("the partition has an open block");
        let LogBlock { block, filled: offset } = *head;
        head.filled += 1;
        if head.filled == geometry.pages_per_block() {
            self.heads[partition as usize] = None;
            map.observer.close(block);
        }
        self.clock += 1;
        let place = self.places_of(geometry, block).start + offset as usize;
        self.dates[place] = self.clock;
    }

    /// The distance between the page at `ppn`, which is in the random log, and the next page that
    /// will be written to it. It is 1 if the page was written last.
    #[inline]
    pub fn distance(&self, geometry: &Geometry, ppn: Ppn) -> Option<u64> {
        match self.dates[self.place_of(geometry, ppn)] {
            UNDATED => None,
            date => Some(self.clock + 1 - date),
        }
    }

    /// The age of a full block of the random log: host pages written to the log since its last
    /// program, or since the mount if the mount found it.
    pub fn age(&self, geometry: &Geometry, block: BlockId) -> u64 {
        self.clock - self.dates[self.places_of(geometry, block).end - 1]
    }

    /// The place of a page of the random log: a number below the maximum of log pages, which it
    /// keeps until its block is removed.
    #[inline]
    fn place_of(&self, geometry: &Geometry, ppn: Ppn) -> usize {
        let first = self.places_of(geometry, geometry.block_of(ppn)).start;
        first + geometry.offset_of(ppn) as usize
    }

    /// The places of the pages of a block.
    fn places_of(&self, geometry: &Geometry, block: BlockId) -> core::ops::Range<usize> {
        let pages = geometry.pages_per_block() as usize;
        let first = self.seats[block.0 as usize] as usize * pages;
        first..first + pages
    }

    // ---- Queries --------------------------------------------------------------------------------

    /// The blocks of a partition.
    pub fn iter<'a>(
        &'a self,
        map: &'a LogMap<MergeCosts>,
        partition: Partition,
    ) -> impl Iterator<Item = BlockId> + 'a {
        let head = self.heads[partition as usize].map(|head| head.block);
        map.observer.full_blocks(partition).chain(head)
    }

    /// The space utilization of a partition. Takes time proportional to its blocks.
    pub fn utilization(&self, map: &LogMap<MergeCosts>, partition: Partition) -> Utilization {
        let valid = self.iter(map, partition).map(|block| u64::from(map.valid(block))).sum();
        let pages = u64::from(self.blocks_of(partition)) * u64::from(map.pages_per_block());
        Utilization { valid, pages }
    }

    /// Checks that the blocks of each partition are counted, have seats and dates, and that its
    /// open block is programmed up to its last used slot.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        nand: &Nand,
        map: &LogMap<MergeCosts>,
    ) -> core::result::Result<(), Violation> {
        let mut taken = vec![false; self.dates.len() / nand.geometry().pages_per_block() as usize];
        self.vacant.iter().for_each(|&seat| taken[seat as usize] = true);
        for partition in Partition::BOTH {
            let (listed, counted) =
                (self.iter(map, partition).count() as u32, self.blocks_of(partition));
            ensure!(listed == counted, "{listed} {partition:?} blocks, counted {counted}");
            for block in self.iter(map, partition) {
                let listed_as = map.observer.partition_of(block);
                ensure!(
                    listed_as == Some(partition),
                    "{block:?} is {partition:?}, but the merge costs say {listed_as:?}"
                );
                let seat = self.seats[block.0 as usize];
                let twice = core::mem::replace(&mut taken[seat as usize], true);
                ensure!(!twice, "seat {seat} of {block:?} is taken twice");
                self.audit_dates(nand.geometry(), block)?;
            }
            if let Some(LogBlock { block, filled }) = self.heads[partition as usize] {
                ensure!(filled < map.pages_per_block(), "{block:?} is open, but full");
                block_audit::programmed(nand, block, filled)?;
            }
        }
        let lost = taken.iter().position(|&taken| !taken);
        ensure!(lost.is_none(), "seat {lost:?} belongs to no block");
        merge_costs::audit(map, nand.geometry())
    }

    /// Checks that the dates of a block ascend.
    fn audit_dates(
        &self,
        geometry: &Geometry,
        block: BlockId,
    ) -> core::result::Result<(), Violation> {
        let head = self.heads.iter().flatten().find(|head| head.block == block);
        let filled = head.map_or(geometry.pages_per_block(), |head| head.filled) as usize;
        let dates = &self.dates[self.places_of(geometry, block)][..filled];
        let ascend = dates.windows(2).all(|pair| pair[0] < pair[1] || pair[1] == UNDATED);
        ensure!(ascend, "the dates of {block:?} do not ascend: {dates:?}");
        let last = dates.last().copied().unwrap_or(UNDATED);
        ensure!(last <= self.clock, "{block:?} was written at {last}, after {}", self.clock);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilizations_are_compared_without_rounding() {
        let of = |valid, pages| Utilization { valid, pages };
        assert!(of(1, 3).is_above(of(3, 10)) && !of(3, 10).is_above(of(1, 3)));
        assert!(!of(2, 4).is_above(of(1, 2)) && !of(1, 2).is_above(of(2, 4)));
        assert!(of(1, 1 << 30).is_above(of(0, 0)) && !of(0, 0).is_above(of(0, 8)));
    }
}
