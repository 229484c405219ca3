//! What the blocks of a chip can take, and what they have taken.

use std::collections::BTreeSet;

use crate::address::BlockId;

/// Instead of a number of erases: the block came bad from the factory.
pub(crate) const FACTORY_BAD: u32 = u32::MAX;

/// The lives of all blocks, where blocks can fail. A block keeps its life when it gets another
/// number.
#[derive(Clone, Debug)]
pub(crate) struct BlockLives {
    /// Erases that succeed, or [`FACTORY_BAD`].
    limits: Vec<u32>,
    /// Erases so far, those that failed too.
    erases: Vec<u32>,
    /// The block behind each number.
    blocks: Vec<BlockId>,
    /// Blocks that the FTL has marked as bad.
    marked: BTreeSet<BlockId>,
}

impl BlockLives {
    /// Blocks that can take these numbers of erases.
    pub(crate) fn new(limits: Vec<u32>) -> BlockLives {
        let blocks = (0..limits.len() as u32).map(BlockId).collect();
        BlockLives { erases: vec![0; limits.len()], limits, blocks, marked: BTreeSet::new() }
    }

    /// Whether a block came bad from the factory, as its spare area says.
    pub(crate) fn is_factory_bad(&self, block: BlockId) -> bool {
        self.limits[block.0 as usize] == FACTORY_BAD
    }

    /// Whether a block came bad from the factory, or is marked as bad.
    pub(crate) fn is_marked_bad(&self, block: BlockId) -> bool {
        self.is_factory_bad(block) || self.marked.contains(&block)
    }

    /// Marks a block as bad.
    pub(crate) fn mark_bad(&mut self, block: BlockId) {
        self.marked.insert(block);
    }

    /// Whether the last erase of a block was one too many.
    pub(crate) fn is_worn_out(&self, block: BlockId) -> bool {
        self.erases[block.0 as usize] > self.limits[block.0 as usize]
    }

    /// The next erase of a block is one too many.
    pub(crate) fn wear_out(&mut self, block: BlockId) {
        self.limits[block.0 as usize] = self.erases[block.0 as usize];
    }

    /// The block behind a number.
    pub(crate) fn behind(&self, number: BlockId) -> BlockId {
        self.blocks[number.0 as usize]
    }

    /// Erases of the block behind a number.
    pub(crate) fn erases_of(&self, number: BlockId) -> u32 {
        self.erases[number.0 as usize]
    }

    /// Erases of each block.
    pub(crate) fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// The blocks have taken these numbers of erases already.
    pub(crate) fn resume(&mut self, erases: &[u32]) {
        self.erases.copy_from_slice(erases);
    }

    /// Counts an erase.
    pub(crate) fn erase(&mut self, block: BlockId) {
        self.erases[block.0 as usize] += 1;
    }

    /// Two blocks exchange their numbers.
    pub(crate) fn exchange(&mut self, one: BlockId, other: BlockId) {
        self.limits.swap(one.0 as usize, other.0 as usize);
        self.erases.swap(one.0 as usize, other.0 as usize);
        self.blocks.swap(one.0 as usize, other.0 as usize);
    }
}
