//! The random log (RW): log blocks that take any page, filled one after the other (FAST).
//!
//! ```text
//! oldest                                       head
//! [1 5 9 d]  [2 2 7 1]  [5 3 8 6]  …  [4 7 _ _]      next slot: the third of the head
//!  └ reclaimed first, whatever it holds
//! ```
//! Any block takes any page (*full associativity*), so every slot is used before a block is
//! reclaimed. The price is that the pages of a victim may belong to as many data blocks as the
//! victim has slots. Blocks are reclaimed in the order of their allocation. So a page stays in the
//! log until the log has taken as many further pages as it has slots: the *log window* (FASTer
//! §III.B). Unless the host rewrites the page within this window, its data block is merged.
//!
//! A scheme may carry pages over from a victim to the head, before the host writes there, or to a
//! second head, in blocks of their own. It may also leave a victim as it is, mark all its pages as
//! carried, and visit it again as if it had been allocated just now.
//!
//! Invariants: blocks are in the order of their allocation or last visit. Only a head has erased
//! slots that may be programmed; blocks that a mount found are closed.

use std::collections::VecDeque;

use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn};

use crate::contract::{Result, Run, Violation, ensure};
use crate::part::index::bit_set::BitSet;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::map::frontier::Frontier;
use crate::part::recovery::page_kind;

/// A block of the random log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomBlock {
    /// The block.
    pub block: BlockId,
    /// Number of slots at the start of the block that hold pages carried over from a victim. The
    /// host wrote the pages in the other slots. If all pages of a block were marked where they
    /// stand, flash does not show it.
    pub carried: u32,
}

/// Where pages that are carried over from a victim go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedTo {
    /// To the head, in which the host writes on.
    Head,
    /// To blocks of their own.
    OwnBlocks,
}

/// The blocks of the random log, in the order of their allocation.
#[derive(Clone, Debug)]
pub struct RandomLog {
    blocks: VecDeque<RandomBlock>,
    head: Frontier,
    /// The block that takes carried pages, if they have blocks of their own.
    carried_head: Frontier,
}

impl RandomLog {
    /// An empty log of at most `blocks` blocks.
    pub fn new(blocks: u32) -> RandomLog {
        RandomLog {
            blocks: VecDeque::with_capacity(blocks as usize),
            head: Frontier::NONE,
            carried_head: Frontier::NONE,
        }
    }

    /// Number of blocks in use.
    pub fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Whether no block is in use.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Number of free slots in the head.
    #[inline]
    pub fn room(&self) -> u32 {
        self.head.room()
    }

    /// The blocks in use, the oldest first.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.iter().map(|log| log.block)
    }

    /// The block at position `age_rank`, where 0 is the oldest, and its number of used slots.
    pub fn used(&self, age_rank: usize, geometry: &Geometry) -> Option<(BlockId, u32)> {
        let block = self.blocks.get(age_rank)?.block;
        let room = if self.head.block(geometry) == Some(block) { self.room() } else { 0 };
        Some((block, geometry.pages_per_block() - room))
    }

    /// Appends a closed block that a mount found. It is younger than all that were appended before.
    pub fn take_over(&mut self, found: RandomBlock) {
        let room = self.room();
        assert!(room == 0, "{found:?} was appended behind a head with {room} free slots");
        self.blocks.push_back(found);
    }

    /// Takes a block from the pool as the new head and returns it. The old head must be full.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<BlockId> {
        assert!(
            self.room() == 0,
            "a new head was opened while the old one has {} free slots",
            self.room()
        );
        let (block, head) = self.take_block(nand, map)?;
        self.head = head;
        Ok(block)
    }

    fn take_block(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<(BlockId, Frontier)> {
        let block = map.flat.pool.take(nand)?;
        self.blocks.push_back(RandomBlock { block, carried: 0 });
        Ok((block, Frontier::open(block, nand.geometry())))
    }

    /// Appends up to `most` pages of a run to the head, as far as it has room. Returns how many.
    ///
    /// # Errors
    /// The power fails.
    #[inline]
    pub fn append(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        run: &Run,
        index: u32,
        most: u32,
    ) -> Result<u32> {
        let most = most.min(self.room());
        let done = map.write(nand, run, index, most, self.head.next())?;
        self.head.advance(done, nand.geometry());
        Ok(done)
    }

    /// Moves valid pages of another block to the head, in the given order, and gives them this
    /// kind. The head must have room for them, and the host must not have written to it yet.
    ///
    /// # Errors
    /// The power fails.
    pub fn take_in(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        pages: &[Ppn],
        kind: u8,
    ) -> Result<()> {
        self.head = self.take_in_at(self.head, nand, map, pages, kind)?;
        Ok(())
    }

    /// Moves pages to a head. Returns that head.
    fn take_in_at(
        &mut self,
        mut head: Frontier,
        nand: &mut Nand,
        map: &mut LogMap,
        pages: &[Ppn],
        kind: u8,
    ) -> Result<Frontier> {
        let (geometry, used) = (*nand.geometry(), nand.geometry().pages_per_block() - head.room());
        let block = geometry.block_of(head.next());
        map.move_pages(nand, pages, head.next(), Some(kind), Cause::Merge)?;
        let log = self.blocks.iter_mut().rfind(|log| log.block == block);
        let carried = &mut log.expect("a head is a block of the log").carried;
        assert!(
            used == *carried,
            "pages are carried behind {used} slots, {carried} of them carried"
        );
        *carried += pages.len() as u32;
        head.advance(pages.len() as u32, &geometry);
        Ok(head)
    }

    /// Carries valid pages of a victim over, as [`take_in`](Self::take_in) does. Takes blocks from
    /// the pool when there is no room.
    ///
    /// # Errors
    /// The power fails.
    pub fn carry(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        to: CarriedTo,
        mut pages: &[Ppn],
    ) -> Result<()> {
        while !pages.is_empty() {
            let mut head = match to {
                CarriedTo::Head => self.head,
                CarriedTo::OwnBlocks => self.carried_head,
            };
            if head.room() == 0 {
                head = self.take_block(nand, map)?.1;
            }
            let now = (head.room() as usize).min(pages.len());
            head = self.take_in_at(head, nand, map, &pages[..now], page_kind::CARRIED)?;
            match to {
                CarriedTo::Head => self.head = head,
                CarriedTo::OwnBlocks => self.carried_head = head,
            }
            pages = &pages[now..];
        }
        Ok(())
    }

    /// Removes the next victim from the log: the block that was allocated first, but not the one
    /// that takes carried pages.
    pub fn take_oldest(&mut self, nand: &Nand) -> RandomBlock {
        let open = self.carried_head.block(nand.geometry());
        let is_victim = |log: &RandomBlock| Some(log.block) != open;
        let victim = self.blocks.iter().position(is_victim).and_then(|at| self.blocks.remove(at));
        let victim = victim.expect("the random log has a block to reclaim");
        if self.head.block(nand.geometry()) == Some(victim.block) {
            self.head = Frontier::NONE;
        }
        victim
    }

    /// Puts a victim back as the youngest block. All its pages count as carried from now on.
    pub fn mark_all(&mut self, nand: &Nand, victim: RandomBlock) {
        let carried = nand.geometry().pages_per_block();
        self.blocks.push_back(RandomBlock { carried, ..victim });
    }

    /// Compares the log with the chip.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand, map: &LogMap) -> core::result::Result<(), Violation> {
        self.blocks.iter().try_for_each(|&log| audit_carried(nand, map, log))?;
        for head in [self.head, self.carried_head] {
            let Some(block) = head.block(nand.geometry()) else { continue };
            let is_here = self.blocks().any(|log| log == block);
            ensure!(is_here, "{block:?} is a head, but not a block of the random log");
            head.audit(nand)?;
        }
        Ok(())
    }
}

/// Compares the number of carried slots with the kinds of the valid pages, where the chip keeps
/// spare areas. The pages of a block may all have been marked where they stand.
fn audit_carried(
    nand: &Nand,
    map: &LogMap,
    RandomBlock { block, carried }: RandomBlock,
) -> core::result::Result<(), Violation> {
    for (_, ppn) in map.valid_pages(nand, block, 0..nand.geometry().pages_per_block()) {
        let Ok(Some((spare, _))) = nand.array().peek_spare(ppn) else { continue };
        let is_marked = matches!(spare.kind, page_kind::CARRIED | page_kind::ISOLATED);
        let in_place = !is_marked && carried == nand.geometry().pages_per_block();
        ensure!(
            in_place || is_marked == (nand.geometry().offset_of(ppn) < carried),
            "{ppn:?} is carried: {is_marked}, but {carried} slots of {block:?} are"
        );
    }
    Ok(())
}

/// The *associated* logical blocks of a log block: those with valid pages in it, each listed once,
/// in the order of slots. The list is reused, so that a merge allocates nothing.
#[derive(Clone, Debug)]
pub struct Associated {
    lbns: Vec<Lbn>,
    is_listed: BitSet,
}

impl Associated {
    /// An empty list with room for the pages of a block.
    pub fn new(pages_per_block: u32, logical_blocks: u32) -> Associated {
        let lbns = Vec::with_capacity(pages_per_block as usize);
        Associated { lbns, is_listed: BitSet::new(logical_blocks) }
    }

    /// Lists the logical blocks of these pages.
    pub fn list(&mut self, map: &LogMap, pages: impl Iterator<Item = (Lpn, Ppn)>) -> &[Lbn] {
        self.lbns.drain(..).for_each(|lbn| self.is_listed.remove(lbn));
        for lbn in pages.map(|(lpn, _)| map.lbn_of(lpn)) {
            if !self.is_listed.contains(lbn) {
                self.is_listed.insert(lbn);
                self.lbns.push(lbn);
            }
        }
        &self.lbns
    }
}
