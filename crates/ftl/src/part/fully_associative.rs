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

use nand::{BlockId, Lpn, Nand, Ppn, Timing};

use super::log_map::{Lbn, LogMap, Place};
use super::log_mount::{self, FoundLog};
use super::log_watch::LogWatch;
use super::merge;
use super::random_log::{Associated, RandomLog};
use super::sequential_block::SequentialBlock;
use crate::contract::{Device, Error, Figure, Merges, Report, Result, Run, Violation};
use crate::ensure;

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
enum Side {
    /// In its data block.
    Home(u32),
    /// It starts a stream.
    NewSequential,
    /// It is next in the stream.
    Sequential(u32),
    /// None of these.
    Random(u32),
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
    associated: Associated,
    /// What somebody who may resize the log is told, if anybody is.
    watch: Option<LogWatch>,
    timing: Timing,
}

impl FullyAssociative {
    /// Mounts, with so many log blocks set `aside`; returns the log blocks that were found, oldest
    /// first, for the scheme to hand back. A factory-new chip is formatted.
    ///
    /// # Errors
    /// The power is lost again, or the flash holds what such a log cannot have left.
    pub fn mount(
        nand: &mut Nand,
        device: &Device,
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
            watch: None,
            timing: device.timing,
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
        let lpn = run.first.plus(index);
        let order = nand.geometry().program_order();
        let most = if self.watch.is_some() { 1 } else { most };
        loop {
            let missed = self.watch.is_some() && !self.is_in_log(nand, lpn);
            let side = match self.map.place(order, lpn, most) {
                Place::Home(pages) => Side::Home(pages),
                Place::Log(pages) => self.side(nand, lpn, pages),
            };
            let map = &mut self.map;
            let done = match side {
                Side::Home(pages) => map.write_home(nand, run, index, pages)?,
                Side::Sequential(pages) => self.sequential.append(nand, map, run, index, pages)?,
                Side::Random(pages) if self.random.room() > 0 => {
                    self.random.append(nand, map, run, index, pages)?
                }
                _ if !self.make_room(nand, side, lpn)? => return Ok(None),
                _ => continue,
            };
            self.watch.iter_mut().filter(|_| missed).for_each(|watch| watch.missed(lpn));
            return Ok(Some(done));
        }
    }

    /// Whether the newest version of a page stands in a log block.
    fn is_in_log(&self, nand: &Nand, lpn: Lpn) -> bool {
        self.map.flat.newest(lpn).is_some() && !self.map.is_home(nand.geometry(), lpn)
    }

    fn side(&self, nand: &Nand, lpn: Lpn, pages: u32) -> Side {
        let offset = lpn.0 % nand.geometry().pages_per_block();
        match self.sequential.next() {
            Some(next) if next == lpn => Side::Sequential(pages),
            _ if offset == 0 => Side::NewSequential,
            Some(next) if next > lpn => Side::Random(pages.min(next.0 - lpn.0)),
            _ => Side::Random(pages),
        }
    }

    /// Merges the SW block or opens a block, so that the page may find room; false if a block of
    /// the random log must go before.
    fn make_room(&mut self, nand: &mut Nand, side: Side, lpn: Lpn) -> Result<bool> {
        let (is_over, may_grow) = (self.is_over_its_share(), self.random.len() < self.random_max);
        let map = &mut self.map;
        match side {
            Side::NewSequential if self.sequential.block().is_some() => {
                self.sequential.merge(nand, map, &mut self.merges)?;
            }
            Side::NewSequential if !is_over => self.sequential.open(nand, map, lpn)?,
            Side::Random(_) if may_grow => {
                self.random.open(nand, map)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
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
        if self.watch.is_none() {
            return self.merge_victim(nand, victim);
        }
        let (padded, mut watch) = (self.map.padded_pages, self.watch.take());
        if let Some(watch) = &mut watch {
            self.tell_of_victim(nand, victim, watch);
        }
        self.merge_victim(nand, victim)?;
        if let Some(watch) = &mut watch {
            watch.padded(self.map.padded_pages - padded);
        }
        self.watch = watch;
        Ok(())
    }

    /// Tells of a victim's valid pages, which are to leave the log, and of what its merge takes.
    fn tell_of_victim(&mut self, nand: &Nand, victim: BlockId, watch: &mut LogWatch) {
        let (map, slots) = (&self.map, 0..nand.geometry().pages_per_block());
        let valid = || map.valid_pages(nand, victim, slots.clone());
        valid().for_each(|(lpn, _)| watch.left(lpn));
        let associated = self.associated.list(map, valid());
        let mapped =
            |lbn: &Lbn| map.newest_of(*lbn).iter().filter(|&&ppn| ppn != Ppn::NONE).count();
        let copies = associated.iter().map(mapped).sum::<usize>() as u64;
        let old = associated.iter().filter(|&&lbn| map.data_block(lbn).is_some()).count() as u64;
        watch.victim(map.valid(victim), associated.len() as u32, copies, 1 + old);
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

    /// Sets how much RAM the map of the log may take, four bytes a page; blocks that it does not
    /// pay for are reclaimed at once. SW and one RW block are always paid for.
    ///
    /// # Errors
    /// The power fails.
    pub fn set_budget(&mut self, nand: &mut Nand, bytes: u64) -> Result<()> {
        let paid = bytes / entry_bytes(nand.geometry().pages_per_block());
        let log_blocks = paid.min(u64::from(self.map.extra_blocks() - 1)) as u32;
        self.random_max = log_blocks.saturating_sub(1 + self.aside).max(1);
        while self.is_over_its_share() {
            self.merge_oldest(nand)?;
        }
        Ok(())
    }

    /// From now on keeps what happens to the log, for whoever may resize it.
    pub fn watch(&mut self) {
        self.watch = Some(LogWatch::new(self.timing, self.map.pages_per_block()));
    }

    /// What was kept, if anything is.
    pub fn watched(&mut self) -> Option<&mut LogWatch> {
        self.watch.as_mut()
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
    pub fn report(&self, own: Vec<(&'static str, Figure)>) -> Report {
        let counts = &self.random_associated;
        let merges: u64 = counts.iter().sum();
        let merged: u64 = (0..).zip(counts).map(|(associated, count)| associated * count).sum();
        let mean = if merges > 0 { merged as f64 / merges as f64 } else { 0.0 };
        let mut figures = vec![
            ("in_place_pages", Figure::Count(self.map.in_place_pages)),
            ("padded_pages", Figure::Count(self.map.padded_pages)),
            ("rw_associated_blocks", Figure::Counts(counts.clone())),
            ("mean_rw_associated_blocks", Figure::Real(mean)),
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
