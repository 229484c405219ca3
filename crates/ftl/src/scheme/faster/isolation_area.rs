//! The isolation area: log blocks that gather cold pages, to be merged a few at a time (FASTer).
//!
//! ```text
//! oldest ─▶ [x x 9 d]  [2 6 _ _]        merged next: the data block of 9, then that of d
//!                └ the oldest valid page
//! ```
//! Pages arrive in the order in which they are isolated, and their data blocks are merged in that
//! order: those of the oldest valid pages. A merge gathers a data block's newest pages from
//! everywhere, so it may take along younger pages here, too. An emptied block is erased when its
//! room is needed and not before; only the oldest one is.
//!
//! A block that is reclaimed counts one full merge, whose associated data blocks are those that
//! were merged for a page of it, whether early or by force. One whose pages all went otherwise is
//! dead.
//!
//! Invariants: valid pages stand behind the place where the oldest is looked for, so that finding
//! it costs one look at each slot in all.

use std::collections::VecDeque;

use nand::{BlockId, Lpn, Nand, Ppn};

use crate::contract::{Merges, Result, Violation, ensure};
use crate::part::index::bit_set::BitSet;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge;
use crate::part::log::random_log::{RandomBlock, RandomLog};
use crate::part::recovery::page_kind;

/// Blocks of cold pages, the one allocated longest ago first.
#[derive(Clone, Debug)]
pub struct IsolationArea {
    log: RandomLog,
    /// Blocks that there may be.
    blocks_max: u32,
    /// Data blocks that were merged for a page of each block.
    merged: VecDeque<usize>,
    /// Which blocks of the chip belong here.
    is_here: BitSet,
    /// Where the oldest valid page is looked for: a block, counted from the oldest, and a slot.
    at: (usize, u32),
}

impl IsolationArea {
    /// An empty area of at most `blocks` blocks.
    pub fn new(nand: &Nand, blocks: u32) -> IsolationArea {
        IsolationArea {
            log: RandomLog::new(blocks),
            blocks_max: blocks,
            merged: VecDeque::with_capacity(blocks as usize),
            is_here: BitSet::new(nand.geometry().blocks()),
            at: (0, 0),
        }
    }

    /// Slots left in the block that is being filled.
    pub fn room(&self) -> u32 {
        self.log.room()
    }

    /// Whether all blocks that there may be are in use.
    pub fn has_all_blocks(&self) -> bool {
        self.log.len() == self.blocks_max
    }

    /// Its blocks.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.log.blocks()
    }

    /// The share of its slots that hold a valid page.
    pub fn fill(&self, map: &LogMap) -> f64 {
        let valid: u32 = self.blocks().map(|block| map.valid(block)).sum();
        let pages = self.blocks_max * (map.logical_pages() / map.logical_blocks());
        f64::from(valid) / f64::from(pages)
    }

    /// A block that a mount found is the youngest so far. It is closed.
    pub fn take_over(&mut self, found: RandomBlock) {
        self.log.take_over(found);
        self.enlist(found.block);
    }

    // ---- Filling ------------------------------------------------------------------------------

    /// Takes a block from the pool. The youngest is full.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<()> {
        let block = self.log.open(nand, map)?;
        self.enlist(block);
        Ok(())
    }

    fn enlist(&mut self, block: BlockId) {
        assert!(self.log.len() <= self.blocks_max, "more than {} blocks", self.blocks_max);
        self.merged.push_back(0);
        self.is_here.insert(block.0);
    }

    /// Moves valid pages here, for which there is room.
    ///
    /// # Errors
    /// The power fails.
    pub fn take_in(&mut self, nand: &mut Nand, map: &mut LogMap, pages: &[Ppn]) -> Result<()> {
        self.log.take_in(nand, map, pages, page_kind::ISOLATED)
    }

    // ---- Emptying -----------------------------------------------------------------------------

    /// The oldest valid page.
    pub fn oldest(&mut self, nand: &Nand, map: &LogMap) -> Option<Lpn> {
        let geometry = nand.geometry();
        loop {
            let (younger, slot) = self.at;
            let (block, used) = self.log.used(younger, geometry)?;
            if let Some((lpn, ppn)) = map.valid_pages(nand, block, slot..used).next() {
                self.at.1 = geometry.offset_of(ppn);
                return Some(lpn);
            }
            self.at.1 = used;
            if younger + 1 == self.log.len() as usize {
                return None;
            }
            self.at = (younger + 1, 0);
        }
    }

    /// Merges the data block of the oldest valid page; returns how many pages left the area.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_oldest(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<u64> {
        let Some(lpn) = self.oldest(nand, map) else { return Ok(0) };
        let lbn = map.lbn_of(lpn);
        let pages = self.pages_of(nand, map, lbn);
        self.merged[self.at.0] += 1;
        merge::bring_home(nand, map, lbn)?;
        let left = self.pages_of(nand, map, lbn);
        assert!(left == 0, "{left} pages of LBN {lbn} are isolated after its merge");
        Ok(pages)
    }

    /// Merges what is left in the oldest block, and erases it; returns how many pages left the
    /// area.
    ///
    /// # Errors
    /// The power fails.
    pub fn reclaim_oldest(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        merges: &mut Merges,
    ) -> Result<u64> {
        let mut pages = 0;
        while self.oldest(nand, map).is_some() && self.at.0 == 0 {
            pages += self.merge_oldest(nand, map)?;
        }
        let block = self.log.take_oldest(nand).block;
        self.is_here.remove(block.0);
        self.at = if self.at.0 == 0 { (0, 0) } else { (self.at.0 - 1, self.at.1) };
        match self.merged.pop_front().expect("each block has its count") {
            0 => merge::dead(nand, map, merges, block)?,
            merged => {
                merge::count_full(merges, merged);
                merge::discard(nand, map, block)?;
            }
        }
        Ok(pages)
    }

    /// How many pages of a logical block are here.
    fn pages_of(&self, nand: &Nand, map: &LogMap, lbn: Lbn) -> u64 {
        let newest = map.newest_of(lbn).iter().filter(|&&ppn| ppn != Ppn::NONE);
        let is_here = |ppn: &&Ppn| self.is_here.contains(nand.geometry().block_of(**ppn).0);
        newest.filter(is_here).count() as u64
    }

    // ---- Looking ------------------------------------------------------------------------------

    /// Compares the area with the chip and the map.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand, map: &LogMap) -> core::result::Result<(), Violation> {
        self.log.audit(nand)?;
        let (count, accounts, most) = (self.log.len(), self.merged.len(), self.blocks_max);
        ensure!(count <= most, "{count} isolation blocks, at most {most}");
        ensure!(count as usize == accounts, "{count} isolation blocks, {accounts} accounts");
        for (index, block) in self.blocks().enumerate() {
            ensure!(self.is_here.contains(block.0), "{block:?} is not known to be isolation");
            let passed = match index.cmp(&self.at.0) {
                core::cmp::Ordering::Less => nand.geometry().pages_per_block(),
                core::cmp::Ordering::Equal => self.at.1,
                core::cmp::Ordering::Greater => 0,
            };
            let missed = map.valid_pages(nand, block, 0..passed).next();
            ensure!(missed.is_none(), "isolated page {missed:?} was passed over");
        }
        let known = (0..self.is_here.bound()).filter(|&block| self.is_here.contains(block)).count();
        ensure!(known == accounts, "{known} blocks are thought isolation, {accounts} are");
        Ok(())
    }
}
