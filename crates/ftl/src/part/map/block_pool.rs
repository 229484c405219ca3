//! The blocks of a scheme: the free ones, taken in the order in which they were freed, and the log
//! of trims, which must know of every erase. If wear is levelled by `dynamic`, the least worn of
//! the free ones is taken instead; of those with the same wear, the one that was freed longest ago.
//!
//! A mount cannot tell a half-finished erase from a complete one. A block that a mount found
//! without useful contents is therefore *doubtful*: the pool erases it again before it hands it
//! out. Doubtful blocks that hold pages become void when the mount commits, so this erase needs no
//! record in the trim log. A mount may take a doubtful block before it commits. Then too the block
//! is erased without a record, because it holds nothing that the next mount needs.

use std::collections::VecDeque;

use crate::contract::{BlockLender, MountConfig, Result, Violation, ensure};
use crate::part::recovery::block_audit;
use crate::part::recovery::trim_log::TrimLog;
use nand::{BlockId, Cause, Nand};

/// The free blocks of a scheme, and its trims.
#[derive(Clone, Debug, Default)]
pub struct BlockPool {
    /// The blocks in the order in which they were freed, and whether each is doubtful.
    free: VecDeque<(BlockId, bool)>,
    /// Number of blocks of the scheme, free or not, without system blocks.
    blocks: u32,
    /// The log of trims; none if trims need not survive a power cut.
    pub trims: Option<TrimLog>,
}

impl BlockPool {
    /// The pool of an empty device, on which all blocks are free.
    pub fn format(nand: &Nand, device: &MountConfig) -> BlockPool {
        let (data, trims) = TrimLog::split(nand, device);
        let free = data.iter().map(|&block| (block, false)).collect();
        BlockPool { free, blocks: data.len() as u32, trims }
    }

    /// Number of blocks of the scheme, free or not, without system blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Number of free blocks.
    #[inline]
    pub fn len(&self) -> u32 {
        self.free.len() as u32
    }

    /// Whether no block is free.
    pub fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// Takes the next block, ready to be programmed. The pool must not be empty.
    ///
    /// # Errors
    /// The power fails while a doubtful block is erased.
    #[inline]
    pub fn take(&mut self, nand: &mut Nand) -> Result<BlockId> {
        let next = match nand.takes_least_worn() {
            true => self.take_least_worn(nand),
            false => self.free.pop_front(),
        };
        let (block, doubtful) = next.expect("took a block from an empty pool");
        if doubtful {
            nand.erase(block, Cause::Meta)?;
        }
        debug_assert_eq!(block_audit::erased(nand, block), Ok(()), "{block:?} was free");
        Ok(block)
    }

    /// The least worn block, apart from the path of all who do not level wear.
    #[cold]
    fn take_least_worn(&mut self, nand: &Nand) -> Option<(BlockId, bool)> {
        let wear = nand.array().wear_of_blocks();
        let erases = |&at: &usize| wear[self.free[at].0.0 as usize];
        self.free.remove((0..self.free.len()).min_by_key(erases)?)
    }

    /// Erases a block in which no page counts, and adds it. A mount that has not committed does not
    /// erase it: the block is doubtful until it is taken.
    ///
    /// # Errors
    /// The power fails.
    pub fn erase(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        let is_erased = self.void(nand, block, cause)?;
        self.insert(block, !is_erased);
        Ok(())
    }

    /// As [`TrimLog::erase`]; without a trim log the block is erased at once.
    fn void(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<bool> {
        match &mut self.trims {
            Some(trims) => trims.erase(nand, block, cause),
            None => Ok(nand.erase(block, cause).map(|()| true)?),
        }
    }

    /// Takes out all free blocks. A mount does so, and adds those again that are free.
    pub fn drain(&mut self) -> Vec<BlockId> {
        self.free.drain(..).map(|(block, _)| block).collect()
    }

    /// Adds a block in which a mount found nothing to keep. It is erased again before its next
    /// program.
    pub fn give_doubtful(&mut self, block: BlockId) {
        self.insert(block, true);
    }

    /// The doubtful blocks.
    pub fn doubtful(&self) -> Vec<BlockId> {
        self.free.iter().filter(|(_, doubtful)| *doubtful).map(|&(block, _)| block).collect()
    }

    fn insert(&mut self, block: BlockId, doubtful: bool) {
        debug_assert!(self.iter().all(|free| free != block), "{block:?} was freed twice");
        self.free.push_back((block, doubtful));
    }

    /// Erases the doubtful blocks for which `is_chosen` holds, now instead of when they are taken.
    ///
    /// # Errors
    /// The power fails.
    pub fn erase_doubtful(
        &mut self,
        nand: &mut Nand,
        is_chosen: impl Fn(BlockId) -> bool,
    ) -> Result<()> {
        for (block, doubtful) in &mut self.free {
            if *doubtful && is_chosen(*block) {
                nand.erase(*block, Cause::Meta)?;
                *doubtful = false;
            }
        }
        Ok(())
    }

    /// Writes all waiting trims to flash.
    ///
    /// # Errors
    /// The power fails.
    pub fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.trims.as_mut().map_or(Ok(()), |trims| trims.flush(nand))
    }

    /// Bytes of RAM for the trims.
    pub fn trim_bytes(&self) -> u64 {
        self.trims.as_ref().map_or(0, TrimLog::ram_bytes)
    }

    /// Checks that each block is free only once, that it is erased unless it is doubtful, and the
    /// trims.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let mut seen = vec![false; nand.geometry().blocks() as usize];
        for &(block, doubtful) in &self.free {
            let twice = core::mem::replace(&mut seen[block.0 as usize], true);
            ensure!(!twice, "{block:?} is free twice");
            if !doubtful {
                block_audit::erased(nand, block)?;
            }
        }
        self.trims.as_ref().map_or(Ok(()), |trims| trims.audit(nand))
    }

    /// The free blocks.
    pub fn iter(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.free.iter().map(|&(block, _)| block)
    }
}

impl BlockLender for BlockPool {
    fn lend(&mut self, nand: &mut Nand) -> Result<Option<BlockId>> {
        match self.free.is_empty() {
            true => Ok(None),
            false => self.take(nand).map(Some),
        }
    }

    fn give_back(&mut self, block: BlockId) {
        self.insert(block, false);
    }

    fn erase(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        self.void(nand, block, cause).map(drop)
    }

    fn free_blocks(&self) -> u32 {
        self.len()
    }
}
