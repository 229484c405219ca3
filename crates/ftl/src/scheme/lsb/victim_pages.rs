//! The valid pages of the block that lsb empties next.

use nand::{BlockId, Lpn, Nand};

use crate::part::map::flat_map::FlatMap;
use crate::part::spare::spare_mapped;

/// The valid pages of a full block, in logical order. A block is often examined before it is
/// emptied, so the list is kept. Until the block is erased, it can only lose pages.
#[derive(Debug)]
pub(super) struct VictimPages {
    block: Option<BlockId>,
    pages: Vec<Lpn>,
}

impl VictimPages {
    pub fn new(pages_per_block: u32) -> VictimPages {
        VictimPages { block: None, pages: Vec::with_capacity(pages_per_block as usize) }
    }

    /// Lists the valid pages of a block.
    pub fn list(&mut self, flat: &FlatMap, nand: &Nand, block: BlockId) -> &[Lpn] {
        let VictimPages { block: known, pages } = self;
        if *known == Some(block) {
            let stays = |lpn: &Lpn| nand.geometry().block_of(flat.entry(lpn.0)) == block;
            pages.retain(stays);
        } else {
            spare_mapped::gather(flat, nand, block, pages);
            pages.sort_unstable();
            *known = Some(block);
        }
        pages
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
}
