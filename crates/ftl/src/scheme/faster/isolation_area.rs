//! FASTer's isolation area: log blocks that collect cold pages, which are then merged a few at a
//! time.
//!
//! ```text
//! oldest ─▶ [x x 9 d]  [2 6 _ _]        merged next: the data block of 9, then the data block of d
//!                └ the oldest valid page
//! ```
//! Pages are kept in the order in which they were isolated. Data blocks are merged in the order of
//! the oldest valid pages. Because a merge gathers the newest pages of a data block from
//! everywhere, it may take younger pages out of the area too. Only the oldest block is ever
//! reclaimed. It is erased when its room is needed, not as soon as it is empty.
//!
//! Each reclaimed block counts as one full merge. Its associated data blocks are those that were
//! merged because of a page in it, progressively or by force. If there were none, the block was
//! dead.
//!
//! Invariant: no page before the search position is valid, so the search looks at each slot only
//! once.

use std::collections::VecDeque;

use nand::{BlockId, Lpn, Nand, Ppn};

use crate::contract::{Merges, Result, Violation, ensure};
use crate::part::index::bit_set::BitSet;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge;
use crate::part::log::random_log::{RandomBlock, RandomLog};
use crate::part::recovery::page_kind;

/// Merging is due while at most this number of blocks are not full, if it is left as late as
/// possible. A reclaim then finds room: it isolates at most as many pages as a block has.
const LATE_BLOCKS: u32 = 2;

/// The blocks of the isolation area, in the order of their allocation.
#[derive(Clone, Debug)]
pub struct IsolationArea {
    log: RandomLog,
    /// Maximum number of blocks.
    blocks_max: u32,
    pages_per_block: u32,
    /// For each block, the number of data blocks that were merged because of a page in it.
    merged: VecDeque<usize>,
    /// The blocks of the chip that belong to the area.
    is_here: BitSet,
    /// The search position of the oldest valid page: a block, counted from the oldest, and a slot.
    at: (usize, u32),
}

impl IsolationArea {
    /// An empty area of at most `blocks` blocks.
    pub fn new(nand: &Nand, blocks: u32) -> IsolationArea {
        IsolationArea {
            log: RandomLog::new(blocks),
            blocks_max: blocks,
            pages_per_block: nand.geometry().pages_per_block(),
            merged: VecDeque::with_capacity(blocks as usize),
            is_here: BitSet::new(nand.geometry().blocks()),
            at: (0, 0),
        }
    }

    /// Number of free slots in the block that is being filled.
    pub fn room(&self) -> u32 {
        self.log.room()
    }

    /// Whether the area has its maximum of blocks.
    pub fn has_all_blocks(&self) -> bool {
        self.log.len() == self.blocks_max
    }

    /// The blocks in use.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.log.blocks()
    }

    /// The share of all slots that hold a valid page.
    pub fn fill(&self, map: &LogMap) -> f64 {
        let valid: u32 = self.blocks().map(|block| map.valid(block)).sum();
        let pages = self.blocks_max * self.pages_per_block;
        f64::from(valid) / f64::from(pages)
    }

    /// Appends a closed block that a mount found. It is younger than all that were appended before.
    pub fn take_over(&mut self, found: RandomBlock) {
        self.log.take_over(found);
        self.enlist(found.block);
    }

    // ---- Filling ------------------------------------------------------------------------------

    /// Takes a block from the pool. The youngest block must be full.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<()> {
        let block = self.log.open(nand, map)?;
        self.enlist(block);
        Ok(())
    }

    fn enlist(&mut self, block: BlockId) {
        assert!(
            self.log.len() <= self.blocks_max,
            "the isolation area has more than {} blocks",
            self.blocks_max
        );
        self.merged.push_back(0);
        self.is_here.insert(block.0);
    }

    /// Moves valid pages to the area. There must be room for them.
    ///
    /// # Errors
    /// The power fails.
    pub fn take_in(&mut self, nand: &mut Nand, map: &mut LogMap, pages: &[Ppn]) -> Result<()> {
        self.log.take_in(nand, map, pages, page_kind::ISOLATED)
    }

    // ---- Emptying -----------------------------------------------------------------------------

    /// Number of full blocks that the search has not passed.
    pub fn full(&self) -> u32 {
        self.log.len() - u32::from(self.room() > 0) - self.at.0 as u32
    }

    /// Whether at most two blocks are not full, or have been passed by the search, and it has not
    /// passed every page.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        !self.is_exhausted() && self.blocks_max - self.full() <= LATE_BLOCKS
    }

    /// Whether there is a valid page, and at most two blocks are not full. A block is not full if
    /// it is not in use, has room, or has been emptied.
    #[inline]
    pub fn is_nearly_full(&mut self, nand: &Nand, map: &LogMap) -> bool {
        // The search may not know yet that blocks have been emptied; then there are only more.
        self.is_crowded() && self.oldest(nand, map).is_some() && self.is_crowded()
    }

    /// Whether the search has passed every used slot, so that no valid page is left.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        let ((younger, slot), blocks) = (self.at, self.log.len() as usize);
        younger == blocks || younger + 1 == blocks && slot + self.room() == self.pages_per_block
    }

    /// The oldest valid page.
    pub fn oldest(&mut self, nand: &Nand, map: &LogMap) -> Option<Lpn> {
        loop {
            let block = self.at.0;
            let found = self.search_block(nand, map);
            if found.is_some() || self.at.0 == block {
                return found;
            }
        }
    }

    /// The oldest valid page in the block that the search has reached. If there is none, the search
    /// passes the block.
    fn search_block(&mut self, nand: &Nand, map: &LogMap) -> Option<Lpn> {
        let geometry = nand.geometry();
        let (block, used) = self.log.used(self.at.0, geometry)?;
        let found = map.valid_pages(nand, block, self.at.1..used).next();
        self.pass_to(found.map_or(used, |(_, ppn)| geometry.offset_of(ppn)));
        found.map(|(lpn, _)| lpn)
    }

    /// Moves the search to a slot of its block, or behind the block.
    fn pass_to(&mut self, slot: u32) {
        let is_behind = slot == self.pages_per_block;
        self.at = if is_behind { (self.at.0 + 1, 0) } else { (self.at.0, slot) };
    }

    /// Merges the data block of the oldest valid page. Returns how many pages left the area.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_oldest(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<u64> {
        self.oldest(nand, map).map_or(Ok(0), |lpn| self.merge(nand, map, lpn))
    }

    /// The same, but if no page is valid in the rest of the block that the search has reached, the
    /// search passes the block and nothing is merged.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_or_pass(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<u64> {
        self.search_block(nand, map).map_or(Ok(0), |lpn| self.merge(nand, map, lpn))
    }

    /// Merges the data block of the page that the search has reached.
    fn merge(&mut self, nand: &mut Nand, map: &mut LogMap, lpn: Lpn) -> Result<u64> {
        let lbn = map.lbn_of(lpn);
        let pages = self.pages_of(nand, map, lbn);
        self.merged[self.at.0] += 1;
        merge::bring_home(nand, map, lbn)?;
        let left = self.pages_of(nand, map, lbn);
        assert!(left == 0, "{left} pages of LBN {lbn} are isolated after its merge");
        self.pass_to(self.at.1 + 1);
        Ok(pages)
    }

    /// Merges the data blocks of all valid pages in the oldest block, and erases it. Returns how
    /// many pages left the area.
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
        while self.at.0 == 0 {
            pages += self.merge_or_pass(nand, map)?;
        }
        let block = self.log.take_oldest(nand).block;
        self.is_here.remove(block.0);
        self.at.0 -= 1;
        match self.merged.pop_front().expect("each block has a count of merges") {
            0 => merge::dead(nand, map, merges, block)?,
            merged => {
                merge::count_full(merges, merged);
                merge::discard(nand, map, block)?;
            }
        }
        Ok(pages)
    }

    /// Number of pages of a logical block in the area.
    fn pages_of(&self, nand: &Nand, map: &LogMap, lbn: Lbn) -> u64 {
        let is_here = |ppn: &Ppn| self.is_here.contains(nand.geometry().block_of(*ppn).0);
        map.away_of(lbn).filter(is_here).count() as u64
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Compares the area with the chip and the map.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand, map: &LogMap) -> core::result::Result<(), Violation> {
        self.log.audit(nand, map)?;
        let (count, accounts, most) = (self.log.len(), self.merged.len(), self.blocks_max);
        ensure!(count <= most, "{count} isolation blocks, at most {most}");
        ensure!(
            count as usize == accounts,
            "{count} isolation blocks, but {accounts} counts of merges"
        );
        for (index, block) in self.blocks().enumerate() {
            ensure!(
                self.is_here.contains(block.0),
                "{block:?} is not recorded as an isolation block"
            );
            let passed = match index.cmp(&self.at.0) {
                core::cmp::Ordering::Less => nand.geometry().pages_per_block(),
                core::cmp::Ordering::Equal => self.at.1,
                core::cmp::Ordering::Greater => 0,
            };
            let missed = map.valid_pages(nand, block, 0..passed).next();
            ensure!(missed.is_none(), "the search passed the valid page {missed:?}");
        }
        let known = (0..self.is_here.bound()).filter(|&block| self.is_here.contains(block)).count();
        ensure!(
            known == accounts,
            "{known} blocks are recorded as isolation blocks, {accounts} are in use"
        );
        Ok(())
    }
}
