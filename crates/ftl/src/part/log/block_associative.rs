//! A log in which each block serves one logical block: what bast and fmax have in common.
//!
//! ```text
//! data  LBN 0 ─▶ [0 1 2 3]      log of 0 ─▶ [1 3 1 _]     next: 0, then 2
//!           1 ─▶ [4 5 6 7]
//!           2 ─▶ [8 9 a b]      log of 2 ─▶ [8 9 _ _]     in order: a partial merge
//! ```
//! A logical block's updates are appended to its log block. If it has none it gets one, if there
//! are fewer than the log's size; else a victim is merged first. A full log block is merged when
//! the next update needs room, not before. What victim that is, the scheme says; it is known
//! without a search.
//!
//! Invariants: a logical block has at most one data block and one log block; there are at most
//! `extra − 1` log blocks, hence one clean block at least while nothing is merged.
//!
//! **Coming back**: see [`log_mount`]. Log blocks are closed, and merged when they are in the way.

use nand::{Lpn, Nand};

use crate::contract::{
    Base, Error, Ftl, Merges, Metric, MountConfig, Ram, Report, Result, Run, Violation, ensure,
};
use crate::part::index::recency::Recency;
use crate::part::log::log_map::{Lbn, LogMap, WriteTarget};
use crate::part::log::log_mount::{self, FoundLog};
use crate::part::log::merge::{self, LogBlock};

/// Whose log block is merged when another logical block needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimOrder {
    /// The one to which nothing was written for longest.
    LeastRecentlyWritten,
    /// The one that was allocated longest ago.
    LeastRecentlyAllocated,
}

/// The fewest extra blocks: a log block, and a clean one for merging.
pub const LEAST_EXTRA: u32 = 2;

/// An FTL whose log blocks serve one logical block each.
#[derive(Debug)]
pub struct BlockAssociative {
    map: LogMap,
    victim: VictimOrder,
    /// The log block of each logical block.
    logs: Vec<Option<LogBlock>>,
    /// The logical blocks that have one, first the next victim.
    queue: Recency,
    /// Log blocks that there may be.
    log_blocks: u32,
    merges: Merges,
    /// Slots that merged log blocks had used.
    merged_slots: u64,
}

impl BlockAssociative {
    /// Mounts; a factory-new chip is formatted.
    ///
    /// # Errors
    /// The power is lost again, or the flash holds what such a log cannot have left.
    pub fn mount(
        nand: &mut Nand,
        device: &MountConfig,
        victim: VictimOrder,
    ) -> Result<BlockAssociative> {
        let map = LogMap::format(nand, device);
        let mut ftl = BlockAssociative {
            victim,
            logs: vec![None; map.logical_blocks() as usize],
            queue: Recency::new(map.logical_blocks()),
            log_blocks: map.extra_blocks() - 1,
            merges: Merges::default(),
            merged_slots: 0,
            map,
        };
        if !nand.is_factory_new() {
            for log in log_mount::recover(nand, device, &mut ftl.map)? {
                ftl.take_over(log, nand.geometry().pages_per_block())?;
            }
        }
        Ok(ftl)
    }

    /// A log block that a mount found is the log block of the one logical block that it serves.
    fn take_over(&mut self, log: FoundLog, filled: u32) -> Result<()> {
        let strange = |why: String| Err(Error::Unmountable(why));
        let FoundLog { block, lbns, .. } = log;
        let &[lbn] = lbns.as_slice() else {
            let count = lbns.len();
            return strange(format!("block {} serves {count} logical blocks, not one", block.0));
        };
        if let Some(other) = self.logs[lbn as usize] {
            let (one, other) = (block.0, other.block.0);
            return strange(format!("blocks {other} and {one} are both logs of block {lbn}"));
        }
        if self.queue.len() == self.log_blocks {
            return strange(format!("there are more than {} log blocks", self.log_blocks));
        }
        self.logs[lbn as usize] = Some(LogBlock { block, filled });
        self.queue.push(lbn);
        Ok(())
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Writes as many pages of the run, from page `index` on, as go to one place; returns how many.
    fn write_some(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<u32> {
        let lpn = run.first.plus(index);
        let lbn = self.map.lbn_of(lpn);
        let order = nand.geometry().program_order();
        loop {
            match self.map.place(order, lpn, run.pages - index) {
                WriteTarget::Home(pages) => return self.map.write_home(nand, run, index, pages),
                WriteTarget::Log(pages) => match self.room(nand, lbn) {
                    0 => self.make_room(nand, lbn)?,
                    room => return self.append(nand, run, index, pages.min(room)),
                },
            }
        }
    }

    /// Slots left in the log block of a logical block.
    fn room(&self, nand: &Nand, lbn: Lbn) -> u32 {
        let log = self.logs[lbn as usize];
        log.map_or(0, |log| nand.geometry().pages_per_block() - log.filled)
    }

    fn append(&mut self, nand: &mut Nand, run: &Run, index: u32, most: u32) -> Result<u32> {
        let lbn = self.map.lbn_of(run.first.plus(index));
        let log = self.logs[lbn as usize].as_mut().expect("room was found in it");
        let to = nand.geometry().page(log.block, log.filled);
        let done = self.map.write(nand, run, index, most, to)?;
        log.filled += done;
        if self.victim == VictimOrder::LeastRecentlyWritten {
            self.queue.touch(lbn);
        }
        Ok(done)
    }

    /// Merges the full log block of a logical block, or gives it a log block if it has none.
    fn make_room(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        if self.logs[lbn as usize].is_some() {
            return self.merge(nand, lbn);
        }
        if self.queue.len() == self.log_blocks {
            let victim = self.queue.first().expect("the log has at least one block");
            self.merge(nand, victim)?;
        }
        let block = self.map.pool.take(nand)?;
        self.logs[lbn as usize] = Some(LogBlock { block, filled: 0 });
        self.queue.push(lbn);
        Ok(())
    }

    fn merge(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        let log = self.logs[lbn as usize].take().expect("a victim has a log block");
        self.queue.remove(lbn);
        self.merged_slots += u64::from(log.filled);
        let plan = merge::plan(&self.map, nand.geometry(), lbn, log);
        merge::carry_out(nand, &mut self.map, &mut self.merges, lbn, log, plan)
    }

    // ---- Looking ------------------------------------------------------------------------------

    fn log_blocks(&self) -> impl Iterator<Item = (Lbn, LogBlock)> + '_ {
        (0..).zip(&self.logs).filter_map(|(lbn, log)| Some((lbn, (*log)?)))
    }

    /// Each log block serves its own logical block only, and is erased where it is not filled.
    fn audit_ties(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        for (lbn, LogBlock { block, filled }) in self.log_blocks() {
            let newest = self.map.newest_of(lbn).iter();
            let held = newest.filter(|&&ppn| nand.geometry().block_of(ppn) == block).count();
            let valid = self.map.valid(block);
            ensure!(held as u32 == valid, "{held} of {valid} pages of {block:?} are of LBN {lbn}");
            let mut above = nand.owners(block)[filled as usize..].iter();
            let erased = above.all(|&owner| owner == Lpn::NONE.0);
            ensure!(erased, "{block:?} is programmed above slot {filled}");
        }
        let (tied, queued) = (self.log_blocks().count() as u32, self.queue.len());
        ensure!(tied == queued, "{tied} logical blocks have a log block, {queued} are queued");
        ensure!(tied <= self.log_blocks, "{tied} log blocks, at most {}", self.log_blocks);
        let stray = self.queue.iter().find(|&lbn| self.logs[lbn as usize].is_none());
        ensure!(stray.is_none(), "LBN {stray:?} is queued and has no log block");
        Ok(())
    }
}

impl Ftl for BlockAssociative {
    fn base(&self) -> &dyn Base {
        &self.map
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        &mut self.map
    }

    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        let mut index = 0;
        while index < run.pages {
            index += self.write_some(nand, run, index)?;
        }
        Ok(())
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, self.log_blocks().map(|(_, log)| log.block))?;
        self.audit_ties(nand)
    }

    fn ram(&self) -> Ram {
        let pages = u64::from(self.map.logical_pages() / self.map.logical_blocks());
        let log_map = 4 * pages * u64::from(self.log_blocks);
        let map = self.map.block_map_bytes() + log_map;
        Ram { map, other: self.map.other_bytes(), ..Ram::default() }
    }

    fn report(&self) -> Report {
        let figures = vec![
            ("in_place_pages", Metric::Count(self.map.in_place_pages)),
            ("padded_pages", Metric::Count(self.map.padded_pages)),
            ("merged_log_pages", Metric::Count(self.merged_slots)),
        ];
        Report { merges: Some(self.merges.clone()), figures }
    }

    fn reset_report(&mut self) {
        self.merges = Merges::default();
        (self.map.in_place_pages, self.map.padded_pages, self.merged_slots) = (0, 0, 0);
    }
}
