//! The random log (RW): blocks that take any page, filled one after the other (FAST).
//!
//! ```text
//! oldest                                       head
//! [1 5 9 d]  [2 2 7 1]  [5 3 8 6]  …  [4 7 _ _]      next: the head's third slot
//!  └ reclaimed first, whatever it holds
//! ```
//! Any page goes to any block (*full associativity*), so every slot is used before a block is
//! reclaimed; the price is that a victim's pages may belong to as many data blocks as it has slots.
//! Blocks are reclaimed in the order of their allocation: a page stays until as many pages were
//! written as the log has room for, its *window*, and is merged unless the host wrote it again
//! by then.
//!
//! Invariants: blocks stand in the order of their allocation; only the last one has erased slots
//! that may be programmed. A mount closes what it finds.

use std::collections::VecDeque;

use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn};

use crate::contract::{Result, Run, Violation, ensure};
use crate::part::index::bit_set::BitSet;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::map::frontier::Frontier;

/// A block of the random log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomBlock {
    /// The block.
    pub block: BlockId,
    /// How many slots at its start were filled with pages of a victim, not by the host.
    pub carried: u32,
}

/// Log blocks, the one allocated longest ago first.
#[derive(Clone, Debug)]
pub struct RandomLog {
    blocks: VecDeque<RandomBlock>,
    head: Frontier,
}

impl RandomLog {
    /// An empty log that will have at most `blocks` blocks.
    pub fn new(blocks: u32) -> RandomLog {
        RandomLog { blocks: VecDeque::with_capacity(blocks as usize), head: Frontier::NONE }
    }

    /// Blocks in use.
    pub fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Whether none is in use.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Slots left in the head.
    #[inline]
    pub fn room(&self) -> u32 {
        self.head.room()
    }

    /// Its blocks, the oldest first.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.iter().map(|log| log.block)
    }

    /// The block that is so many blocks younger than the oldest, and how many slots of it are used.
    pub fn used(&self, younger: usize, geometry: &Geometry) -> Option<(BlockId, u32)> {
        let block = self.blocks.get(younger)?.block;
        let room = if self.head.block(geometry) == Some(block) { self.room() } else { 0 };
        Some((block, geometry.pages_per_block() - room))
    }

    /// A block that a mount found is the youngest so far. It is closed.
    pub fn take_over(&mut self, found: RandomBlock) {
        self.blocks.push_back(found);
    }

    /// Takes a block from the pool as the new head and returns it. The old one is full.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand, map: &mut LogMap) -> Result<BlockId> {
        assert!(self.room() == 0, "opened a head beside one with {} free slots", self.room());
        let block = map.pool.take(nand)?;
        self.blocks.push_back(RandomBlock { block, carried: 0 });
        self.head = Frontier::open(block, nand.geometry());
        Ok(block)
    }

    /// Appends up to `most` pages of a run to the head, as far as it has room; returns how many.
    ///
    /// # Errors
    /// The power fails.
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

    /// Moves valid pages of another block, in the order given, to the head, which has room for them
    /// and holds no page of the host's own yet. They get this kind.
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
        map.move_pages(nand, pages, self.head.next(), Some(kind), Cause::Merge)?;
        self.head.advance(pages.len() as u32, nand.geometry());
        self.blocks.back_mut().expect("the head is a block").carried += pages.len() as u32;
        Ok(())
    }

    /// Takes the block allocated longest ago out of the log: the victim.
    pub fn take_oldest(&mut self, nand: &Nand) -> RandomBlock {
        let victim = self.blocks.pop_front().expect("a victim of an empty log");
        if self.head.block(nand.geometry()) == Some(victim.block) {
            self.head = Frontier::NONE;
        }
        victim
    }

    /// Compares the log with the chip.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let Some(head) = self.head.block(nand.geometry()) else { return Ok(()) };
        let last = self.blocks.back().map(|log| log.block);
        ensure!(last == Some(head), "{head:?} is being filled, but {last:?} is the youngest");
        let filled = nand.geometry().offset_of(self.head.next()) as usize;
        let (below, above) = nand.owners(head).split_at(filled);
        let programmed = below.iter().all(|&owner| owner != Lpn::NONE.0);
        ensure!(programmed, "{head:?} has an erased slot below {filled}");
        let erased = above.iter().all(|&owner| owner == Lpn::NONE.0);
        ensure!(erased, "{head:?} is programmed above slot {filled}");
        Ok(())
    }
}

/// The logical blocks with valid pages in a block: the *associated* data blocks, each once, in the
/// order of its slots. Scratch that is kept, so that a merge allocates nothing.
#[derive(Clone, Debug)]
pub struct Associated {
    lbns: Vec<Lbn>,
    is_listed: BitSet,
}

impl Associated {
    /// Room for whatever a block may hold.
    pub fn new(pages_per_block: u32, logical_blocks: u32) -> Associated {
        let lbns = Vec::with_capacity(pages_per_block as usize);
        Associated { lbns, is_listed: BitSet::new(logical_blocks) }
    }

    /// The logical blocks of these pages.
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
