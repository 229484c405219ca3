//! The valid pages of the block that lsb empties next, in logical order.

use nand::{BlockId, Lpn, Nand};

use super::group_chains::GroupChains;
use crate::part::map::flat_map::FlatMap;

/// The valid pages of a full block, in logical order. A block is often examined before it is
/// emptied, so the list is kept. Until the block is erased, it can only lose pages.
#[derive(Debug, Default)]
pub(super) struct VictimPages {
    block: Option<BlockId>,
    pages: Vec<Lpn>,
}

impl VictimPages {
    /// Lists the valid pages of a block.
    pub fn list(&mut self, flat: &FlatMap, nand: &Nand, block: BlockId) -> &[Lpn] {
        if self.block == Some(block) {
            let stays = |lpn: &Lpn| nand.geometry().block_of(flat.entry(lpn.0)) == block;
            self.pages.retain(stays);
        } else {
            flat.gather(nand, block, &mut self.pages, |lpn, _| lpn);
            self.pages.sort_unstable();
            self.block = Some(block);
        }
        &self.pages
    }

    /// Forgets the list, because its block may gain pages.
    pub fn forget(&mut self) {
        self.block = None;
    }

    /// Takes the list of a block that is being emptied.
    pub fn take(&mut self) -> Vec<Lpn> {
        self.block = None;
        core::mem::take(&mut self.pages)
    }

    /// Takes the memory of such a list back.
    pub fn give_back(&mut self, pages: Vec<Lpn>) {
        self.pages = pages;
    }

    /// The maximum number of programs that moving a block's valid pages can take, including induced
    /// writes.
    pub fn needs(
        &mut self,
        flat: &FlatMap,
        chains: &GroupChains,
        nand: &Nand,
        block: BlockId,
    ) -> u32 {
        chains.programs_max(self.list(flat, nand, block))
    }
}
