//! A log in which any block serves any logical block, beside one block for a sequential stream:
//! what fast and faster have in common.
//!
//! ```text
//! data [0 1 2 3] [4 5 6 7] [8 9 a b]   SW [4 5 _ _]   RW [9 2 9 1] [b 7 2 _]   clean [_ _ _ _]
//!
//! write 4: offset 0          the SW block is merged, and another one opened for LBN 1
//! write 6: next in SW        appended there
//! write 8: offset 0          as 4, for LBN 2
//! write 5: whatever else     to the head of the RW log
//! ```
//! A page whose home is still erased goes there before any of these rules. If a merge makes that so
//! for the page that asked for it, it goes home too.
//!
//! Of E extra blocks one is kept clean for merging, one is the SW block, and the random log (RW)
//! has the others, but for those that the scheme sets aside. When the RW log needs a block and has
//! all that it may have, the scheme reclaims one; [`merge_oldest`](FullyAssociative::merge_oldest)
//! is fast's way.
//!
//! Invariants: SW block, RW blocks and those set aside are at most E − 1 together, so that one
//! block is clean while nothing is reclaimed; each stands in one list.
//!
//! **Coming back** ([`log_mount`]). A mount finds no SW block, and at most E − 1 log blocks: each
//! data block with valid pages stands at home, so as many logical blocks are given a data block,
//! and log blocks are what remains of SW, RW and set-aside blocks. (An unfinished merge was given
//! up; a finished one left its old data block without valid pages; a block that was moved has left
//! its place.) So RW may have more blocks than it should, by as many as the others lack. They are
//! merged, oldest first, before the log grows by any block, and not earlier: the mount itself
//! writes nothing for it and can be cut wherever those of other schemes can.

use core::ops::Range;

use nand::{BlockId, Lpn, Nand};

use crate::contract::{Error, Merges, Metric, MountConfig, Report, Result, Run, Violation, ensure};
use crate::part::log::log_map::{LogMap, WriteTarget};
use crate::part::log::log_mount::{self, FoundLog};
use crate::part::log::merge;
use crate::part::log::random_log::{Associated, RandomLog};
use crate::part::log::sequential_block::SequentialBlock;

/// The fewest extra blocks: SW, one RW block, and a clean one for merging.
pub const LEAST_EXTRA: u32 = 3;

/// RAM for the place of one page of the log.
pub const PAGE_ENTRY_BYTES: u64 = 4;

/// RAM for the map of one log block.
pub fn entry_bytes(pages_per_block: u32) -> u64 {
    PAGE_ENTRY_BYTES * u64::from(pages_per_block)
}

/// Where a page belongs, and for how many pages that holds.
#[derive(Clone, Copy, Debug)]
enum TargetBlock {
    /// In its data block.
    Home(u32),
    /// It starts a stream.
    NewSequential,
    /// It is next in the stream.
    Sequential(u32),
    /// None of these.
    Random(u32),
}

/// What a step towards a write has come to.
#[derive(Clone, Copy, Debug)]
pub enum WriteStep {
    /// It wrote this many pages.
    Wrote(u32),
    /// It merged the SW block or opened a block; the next step decides anew.
    MadeRoom,
    /// A block of the random log must be reclaimed first.
    MustReclaim,
}

/// A map, an SW block and a random log.
#[derive(Debug)]
pub struct FullyAssociative {
    /// The map and the free blocks.
    pub map: LogMap,
    /// The random log.
    pub random: RandomLog,
    sequential: SequentialBlock,
    /// Blocks that the random log may have.
    random_max: u32,
    /// Log blocks that the scheme sets aside.
    aside: u32,
    /// Merges of all kinds.
    pub merges: Merges,
    /// Full merges of victims of the random log, by number of associated data blocks.
    random_associated: Vec<u64>,
    /// Lists the data blocks that a victim is associated with.
    pub associated: Associated,
}

impl FullyAssociative {
    /// Mounts, with so many log blocks set `aside`; returns the log blocks that were found, oldest
    /// first, for the scheme to hand back. A factory-new chip is formatted.
    ///
    /// # Errors
    /// The power is lost again, or the flash holds what such a log cannot have left.
    pub fn mount(
        nand: &mut Nand,
        device: &MountConfig,
        aside: u32,
    ) -> Result<(FullyAssociative, Vec<FoundLog>)> {
        let mut map = LogMap::format(nand, device);
        let found = match nand.is_factory_new() {
            true => Vec::new(),
            false => log_mount::recover(nand, device, &mut map)?,
        };
        let (most, count) = (map.extra_blocks() - 1, found.len() as u32);
        if count > most {
            let why = format!("there are {count} log blocks, at most {most} of them may be");
            return Err(Error::Unmountable(why));
        }
        let pages = nand.geometry().pages_per_block();
        let log = FullyAssociative {
            random: RandomLog::new(most),
            sequential: SequentialBlock::default(),
            random_max: most - 1 - aside,
            aside,
            merges: Merges::default(),
            random_associated: Vec::new(),
            associated: Associated::new(pages, map.logical_blocks()),
            map,
        };
        Ok((log, found))
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Writes as many of the `most` pages of the run from page `index` on as go to one place;
    /// returns how many, or none if a block of the random log must be reclaimed first.
    ///
    /// # Errors
    /// The power fails.
    pub fn write_some(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        most: u32,
    ) -> Result<Option<u32>> {
        loop {
            match self.step(nand, run, index, most)? {
                WriteStep::Wrote(pages) => return Ok(Some(pages)),
                WriteStep::MustReclaim => return Ok(None),
                WriteStep::MadeRoom => {}
            }
        }
    }

    /// Writes pages as [`write_some`](Self::write_some) does, or does one thing towards that.
    ///
    /// # Errors
    /// The power fails.
    pub fn step(&mut self, nand: &mut Nand, run: &Run, index: u32, most: u32) -> Result<WriteStep> {
        let lpn = run.first.plus(index);
        let target = match self.map.place(nand.geometry().program_order(), lpn, most) {
            WriteTarget::Home(pages) => TargetBlock::Home(pages),
            WriteTarget::Log(pages) => self.target_block(nand, lpn, pages),
        };
        let map = &mut self.map;
        Ok(WriteStep::Wrote(match target {
            TargetBlock::Home(pages) => map.write_home(nand, run, index, pages)?,
            TargetBlock::Sequential(pages) => {
                self.sequential.append(nand, map, run, index, pages)?
            }
            TargetBlock::Random(pages) if self.random.room() > 0 => {
                self.random.append(nand, map, run, index, pages)?
            }
            _ => return self.make_room(nand, target, lpn),
        }))
    }

    fn target_block(&self, nand: &Nand, lpn: Lpn, pages: u32) -> TargetBlock {
        let offset = lpn.0 % nand.geometry().pages_per_block();
        match self.sequential.next() {
            Some(next) if next == lpn => TargetBlock::Sequential(pages),
            _ if offset == 0 => TargetBlock::NewSequential,
            Some(next) if next > lpn => TargetBlock::Random(pages.min(next.0 - lpn.0)),
            _ => TargetBlock::Random(pages),
        }
    }

    /// Merges the SW block or opens a block, so that the page may find room.
    fn make_room(&mut self, nand: &mut Nand, target: TargetBlock, lpn: Lpn) -> Result<WriteStep> {
        let (is_over, may_grow) = (self.is_over_its_share(), self.random.len() < self.random_max);
        let map = &mut self.map;
        match target {
            TargetBlock::NewSequential if self.sequential.block().is_some() => {
                self.sequential.merge(nand, map, &mut self.merges)?;
            }
            TargetBlock::NewSequential if !is_over => self.sequential.open(nand, map, lpn)?,
            TargetBlock::Random(_) if may_grow => {
                self.random.open(nand, map)?;
            }
            _ => return Ok(WriteStep::MustReclaim),
        }
        Ok(WriteStep::MadeRoom)
    }

    /// Whether the random log has more blocks than it may have: after a mount, or when its share
    /// shrank.
    pub fn is_over_its_share(&self) -> bool {
        self.random.len() > self.random_max
    }

    // ---- Reclaiming ---------------------------------------------------------------------------

    /// Merges the block of the random log that was allocated longest ago.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_oldest(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.random.take_oldest(nand).block;
        self.merge_victim(nand, victim)
    }

    /// Merges all data blocks that a block taken out of the random log is associated with, and
    /// erases it.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_victim(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        if self.map.valid(victim) == 0 {
            return merge::dead(nand, &mut self.map, &mut self.merges, victim);
        }
        self.merge_associated(nand, victim, 0..nand.geometry().pages_per_block())?;
        merge::discard(nand, &mut self.map, victim)
    }

    /// Merges the data blocks that these slots of a victim are associated with, if any.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_associated(
        &mut self,
        nand: &mut Nand,
        victim: BlockId,
        slots: Range<u32>,
    ) -> Result<()> {
        let (map, merges) = (&mut self.map, &mut self.merges);
        let associated = self.associated.list(map, map.valid_pages(nand, victim, slots));
        if associated.is_empty() {
            return Ok(());
        }
        merge::count(&mut self.random_associated, associated.len());
        merge::bring_all_home(nand, map, merges, associated)
    }

    /// Sets how much RAM the map of the log may take, four bytes a page. SW and one RW block are
    /// always paid for. The scheme reclaims blocks while the log [is over its
    /// share](Self::is_over_its_share).
    pub fn set_budget(&mut self, bytes: u64) {
        let paid = bytes / entry_bytes(self.map.pages_per_block());
        let log_blocks = paid.min(u64::from(self.map.extra_blocks() - 1)) as u32;
        self.random_max = log_blocks.saturating_sub(1 + self.aside).max(1);
    }

    // ---- Looking ------------------------------------------------------------------------------

    /// Bytes of the map of the log, as far as it may grow.
    pub fn log_map_bytes(&self) -> u64 {
        u64::from(self.log_blocks()) * entry_bytes(self.map.pages_per_block())
    }

    /// Log blocks that there may be, SW and those set aside included.
    pub fn log_blocks(&self) -> u32 {
        1 + self.random_max + self.aside
    }

    /// Bytes of the block map, and of the page map of the log.
    pub fn map_bytes(&self) -> u64 {
        self.map.block_map_bytes() + self.log_map_bytes()
    }

    /// Blocks of the log that there may be, and those of the random log that are in use.
    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        let (may, in_use) = (self.log_blocks(), self.random.len());
        vec![("log_blocks", may.into()), ("rw_blocks", in_use.into())]
    }

    /// Compares everything with itself and with the chip, given the blocks set aside that are in
    /// use.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        nand: &Nand,
        aside: impl Iterator<Item = BlockId>,
    ) -> core::result::Result<(), Violation> {
        let logs = || self.sequential.block().into_iter().chain(self.random.blocks());
        let aside: Vec<BlockId> = aside.collect();
        let (count, most) = (logs().count() + aside.len(), self.map.extra_blocks() as usize - 1);
        ensure!(count <= most, "{count} log blocks, at most {most}");
        self.map.audit(nand, logs().chain(aside))?;
        self.sequential.audit(nand)?;
        self.random.audit(nand)
    }

    /// Merges and figures, followed by the scheme's own.
    pub fn report(&self, own: Vec<(&'static str, Metric)>) -> Report {
        let counts = &self.random_associated;
        let merges: u64 = counts.iter().sum();
        let merged: u64 = (0..).zip(counts).map(|(associated, count)| associated * count).sum();
        let mean = if merges > 0 { merged as f64 / merges as f64 } else { 0.0 };
        let mut figures = vec![
            ("in_place_pages", Metric::Count(self.map.in_place_pages)),
            ("padded_pages", Metric::Count(self.map.padded_pages)),
            ("rw_associated_blocks", Metric::Counts(counts.clone())),
            ("mean_rw_associated_blocks", Metric::Real(mean)),
        ];
        figures.extend(own);
        Report { merges: Some(self.merges.clone()), figures }
    }

    /// Sets merges and figures to zero.
    pub fn reset_report(&mut self) {
        self.merges = Merges::default();
        self.random_associated.clear();
        (self.map.in_place_pages, self.map.padded_pages) = (0, 0);
    }
}
