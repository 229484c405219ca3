//! The number of valid pages of each block, and the full block that has the fewest.
//!
//! Invalidating a page lowers one number in one cache line, whether its block is full or still
//! open. The number of an open block includes a mark, which makes it larger than that of any full
//! block.
//!
//! ```text
//! absent (not open or full)   65535
//! open                        32768 + Np − pages superseded since it was opened
//! full                        valid pages, at most Np
//! ```

use nand::{BlockId, Geometry};

use crate::contract::{Violation, ensure};
use crate::part::index::min_tree::MinTree;

/// The mark of a block that is open.
const OPEN: u16 = 1 << 15;
/// The number of a block that is neither open nor full.
const ABSENT: u16 = u16::MAX;

/// The valid pages of each block.
#[derive(Clone, Debug)]
pub struct ValidCounts {
    tree: MinTree,
    pages_per_block: u16,
}

impl ValidCounts {
    /// No block is open or full yet.
    pub fn new(geometry: &Geometry) -> ValidCounts {
        let pages_per_block = geometry.pages_per_block() as u16;
        assert!(
            pages_per_block < OPEN,
            "blocks of {pages_per_block} pages reach the mark of open blocks"
        );
        ValidCounts { tree: MinTree::new(geometry.blocks() as usize), pages_per_block }
    }

    /// The pages of a block.
    pub fn pages_per_block(&self) -> u16 {
        self.pages_per_block
    }

    /// Starts to count a block that is about to be filled.
    pub fn open(&mut self, block: BlockId) {
        assert!(self.get(block) == ABSENT, "{block:?} is opened while it is in use");
        self.tree.set(block.0 as usize, OPEN + self.pages_per_block);
    }

    /// Makes an open block a full one, in which `programmed` pages hold data. Returns the number of
    /// valid pages.
    pub fn close(&mut self, block: BlockId, programmed: u32) -> u16 {
        assert!(self.is_open(block), "{block:?} is closed, but it was not open");
        let superseded = OPEN + self.pages_per_block - self.get(block);
        assert!(
            u32::from(superseded) <= programmed,
            "{block:?}: {superseded} pages were superseded, but only {programmed} programmed"
        );
        let valid = programmed as u16 - superseded;
        self.tree.set(block.0 as usize, valid);
        valid
    }

    /// Subtracts one from the valid pages of an open or full block.
    #[inline]
    pub fn invalidate(&mut self, block: BlockId) {
        debug_assert!(self.get(block) != ABSENT, "{block:?} has no pages to invalidate");
        debug_assert!(self.get(block) & !OPEN > 0, "{block:?} has no valid page left");
        self.tree.decrement(block.0 as usize);
    }

    /// Removes a full block. Returns its number of valid pages.
    pub fn release(&mut self, block: BlockId) -> u16 {
        let valid = self.get(block);
        assert!(valid < OPEN, "{block:?} is released, but it is not full");
        self.tree.set(block.0 as usize, ABSENT);
        valid
    }

    /// The valid pages of a full block; none if the block is not full.
    #[inline]
    pub fn of_full(&self, block: BlockId) -> Option<u16> {
        Some(self.get(block)).filter(|&count| count < OPEN)
    }

    /// The pages of a block that are valid or still erased; none if the block is neither open nor
    /// full.
    pub fn valid_or_erased(&self, block: BlockId) -> Option<u16> {
        let count = self.get(block);
        (count != ABSENT).then_some(count & !OPEN)
    }

    /// The valid pages of a block that is known to be full.
    #[inline]
    pub fn of_candidate(&self, block: BlockId) -> u16 {
        debug_assert!(self.get(block) < OPEN, "{block:?} is not full");
        self.get(block)
    }

    /// The full block with the fewest valid pages, and their number. The lowest block wins a tie.
    pub fn fewest(&self) -> Option<(BlockId, u16)> {
        let (block, valid) = self.tree.first_minimum();
        (valid < OPEN).then_some((BlockId(block as u32), valid))
    }

    /// The same, if it has a dead page.
    pub fn fewest_with_dead(&self) -> Option<BlockId> {
        let (block, valid) = self.fewest()?;
        (valid < self.pages_per_block).then_some(block)
    }

    /// Whether a block is being filled.
    pub fn is_open(&self, block: BlockId) -> bool {
        let count = self.get(block);
        count >= OPEN && count != ABSENT
    }

    /// Compares the count of an open or full block with a recount of its valid pages. `programmed`
    /// of its pages hold data.
    ///
    /// # Errors
    /// The two differ.
    pub fn audit(&self, block: BlockId, programmed: u32, recount: u32) -> Result<(), Violation> {
        let count = self.get(block);
        let counted = match count < OPEN {
            true => u32::from(count),
            false => programmed + u32::from(count) - u32::from(OPEN + self.pages_per_block),
        };
        ensure!(counted == recount, "{block:?} has {recount} valid pages, counted as {counted}");
        Ok(())
    }

    /// Bytes of RAM that a controller spends on the counts.
    pub fn ram_bytes(&self) -> u64 {
        2 * self.tree.leaves().len() as u64
    }

    #[inline]
    fn get(&self, block: BlockId) -> u16 {
        self.tree.get(block.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    /// Four blocks of four pages.
    fn counts() -> ValidCounts {
        ValidCounts::new(&Geometry::new(512, 64, 4, 4, ProgramOrder::Sequential).unwrap())
    }

    #[test]
    fn pages_superseded_while_a_block_is_open_are_not_valid_when_it_closes() {
        let (mut counts, block) = (counts(), BlockId(2));
        counts.open(block);
        counts.invalidate(block);
        assert!(counts.is_open(block) && counts.fewest().is_none());
        counts.audit(block, 3, 2).unwrap();
        assert_eq!(counts.close(block, 4), 3);
        assert_eq!((counts.of_full(block), counts.fewest()), (Some(3), Some((block, 3))));
        counts.audit(block, 4, 3).unwrap();
        assert!(counts.audit(block, 4, 2).is_err());
        assert_eq!(counts.release(block), 3);
        assert_eq!((counts.of_full(block), counts.is_open(block)), (None, false));
    }

    #[test]
    #[should_panic(expected = "opened while it is in use")]
    fn a_block_is_opened_once() {
        let mut counts = counts();
        counts.open(BlockId(1));
        counts.open(BlockId(1));
    }

    #[test]
    #[should_panic(expected = "released, but it is not full")]
    fn an_open_block_is_not_released() {
        let mut counts = counts();
        counts.open(BlockId(1));
        counts.release(BlockId(1));
    }

    #[test]
    #[should_panic(expected = "only 1 programmed")]
    fn a_block_has_no_more_superseded_pages_than_programmed_ones() {
        let mut counts = counts();
        counts.open(BlockId(1));
        counts.invalidate(BlockId(1));
        counts.invalidate(BlockId(1));
        counts.close(BlockId(1), 1);
    }
}
