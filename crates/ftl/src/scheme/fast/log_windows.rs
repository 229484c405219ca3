//! Merges of a log that takes pages in the order of their arrival, for logs of several sizes.
//!
//! ```text
//! writes of block 5   |   |      |     |   |
//! log of L pages      ├──── L ───┼▶    ├──── L ────▶    two merges
//! log of 2 L pages    ├───────── 2 L ──────┼▶           one merge
//! ```
//! In such a log (fast) it is not the page that is missed. A data block is merged when that one of
//! its pages which arrived first reaches the end of the log, and the merge takes its other pages
//! out of the log too. So a merge serves all writes within a *window*: L arrivals, counted from the
//! first page that reached the log after the last merge. The larger the log, the more writes share
//! a merge (T4, the law of Na).
//!
//! This counts the merges for each share of the budget from a sample of the data blocks. For each
//! block and share it remembers when the window began. Time is the number of arrivals. It depends
//! on the share too, because the buffer has the rest of the budget, and a small buffer lets more
//! pages through.
//!
//! If all windows of a block are over before its next write, each share has paid a merge. Such a
//! merge is not counted, because no share avoids it, and the block may leave the sample. The sample
//! is halved when there are too many blocks with a window, and doubled when there are few.

use nand::Lpn;

use crate::contract::{Violation, ensure};
use crate::layer::partitioner::sample::Sample;
use crate::layer::partitioner::share_counts::{SHARES, ShareCounts};
use crate::part::index::slot_table::SlotTable;

/// Windows of the blocks of a sample.
#[derive(Clone, Debug)]
pub struct LogWindows {
    sample: Sample,
    /// Number of pages of the log, by share.
    pages: [u32; SHARES],
    /// Pages that arrived since the mount, by share.
    arrived: ShareCounts,
    slot_of: SlotTable,
    windows: Vec<Windows>,
    blocks_max: u32,
}

/// A data block, and where its last window began, by share.
#[derive(Clone, Copy, Debug)]
struct Windows {
    block: u32,
    began: [u32; SHARES],
}

impl LogWindows {
    /// No page arrived yet. At most `blocks_max` blocks are remembered; `pages` are the sizes of
    /// the log.
    pub fn new(pages: [u32; SHARES], blocks_max: u32) -> LogWindows {
        LogWindows {
            sample: Sample::new(1, 1),
            pages,
            arrived: ShareCounts::ZERO,
            slot_of: SlotTable::new(),
            windows: Vec::with_capacity(blocks_max as usize),
            blocks_max,
        }
    }

    /// Records that a page of a data block is written, and arrives in the log of all shares from
    /// `first` on; it stands for `weight` pages. Counts the merges of windows that are over.
    pub fn write(&mut self, block: u32, first: usize, weight: u64, merges: &mut ShareCounts) {
        self.arrived.add(first..SHARES, weight);
        if !self.sample.contains(block) {
            return;
        }
        let now = self.now();
        let Some(slot) = self.slot_of.get(Lpn(block)) else {
            return self.enter(Windows { block, began: now });
        };
        let pages = &self.pages;
        let began = &mut self.windows[slot as usize].began;
        let is_over: [bool; SHARES] =
            core::array::from_fn(|share| now[share].wrapping_sub(began[share]) >= pages[share]);
        let is_avoidable = first > 0 || is_over.contains(&false);
        for share in (first..SHARES).filter(|&share| is_over[share]) {
            began[share] = now[share];
            if is_avoidable {
                merges.add(share..share + 1, self.sample.weight());
            }
        }
    }

    /// The number of arrivals, by share. It wraps around; windows are much shorter.
    fn now(&self) -> [u32; SHARES] {
        self.arrived.counts().map(|count| count as u64 as u32)
    }

    fn enter(&mut self, windows: Windows) {
        if self.windows.len() as u32 == self.blocks_max {
            self.tidy();
        }
        while self.windows.len() as u32 == self.blocks_max {
            self.sample = self.sample.half();
            let sample = self.sample;
            self.retain(|windows| sample.contains(windows.block));
        }
        if self.sample.contains(windows.block) {
            self.slot_of.insert(Lpn(windows.block), self.windows.len() as u32);
            self.windows.push(windows);
        }
    }

    /// Forgets blocks without a window. Doubles the sample if few are left.
    pub fn tidy(&mut self) {
        let (now, pages) = (self.now(), self.pages);
        self.retain(|windows| {
            (0..SHARES).any(|share| now[share].wrapping_sub(windows.began[share]) < pages[share])
        });
        if (self.windows.len() as u32) < self.blocks_max / 4 {
            self.sample = self.sample.double();
        }
    }

    fn retain(&mut self, stays: impl Fn(&Windows) -> bool) {
        self.windows.retain(stays);
        self.slot_of = SlotTable::new();
        for (slot, windows) in (0..).zip(&self.windows) {
            self.slot_of.insert(Lpn(windows.block), slot);
        }
    }

    pub fn debug(&self) -> (u64, u32) {
        (self.sample.weight(), self.windows.len() as u32)
    }

    /// Bytes of RAM.
    pub fn bytes(&self) -> u64 {
        u64::from(self.blocks_max) * size_of::<Windows>() as u64 + self.slot_of.bytes()
    }

    /// Checks that the table finds each block.
    ///
    /// # Errors
    /// The contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        for (slot, Windows { block, .. }) in (0..).zip(&self.windows) {
            let known = self.slot_of.get(Lpn(*block));
            ensure!(known == Some(slot), "block {block} has slot {slot}, not {known:?}");
        }
        let (found, known) = (self.windows.len() as u32, self.slot_of.len());
        ensure!(found == known, "{found} blocks have windows, but {known} are in the table");
        Ok(())
    }
}
