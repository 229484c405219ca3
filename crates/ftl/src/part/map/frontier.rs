//! A block that is being filled, page after page.

use nand::{BlockId, Geometry, Ppn};

/// The next page to program of a block, and how many are left in it.
#[derive(Clone, Copy, Debug)]
pub struct Frontier {
    next: Ppn,
    room: u32,
}

impl Frontier {
    /// No block.
    pub const NONE: Frontier = Frontier { next: Ppn::NONE, room: 0 };

    /// The start of an erased block.
    pub fn open(block: BlockId, geometry: &Geometry) -> Frontier {
        Frontier { next: geometry.first_page(block), room: geometry.pages_per_block() }
    }

    /// The page to program next.
    #[inline]
    pub fn next(&self) -> Ppn {
        debug_assert!(self.room > 0);
        self.next
    }

    /// Pages left in the block.
    #[inline]
    pub fn room(&self) -> u32 {
        self.room
    }

    /// The block, while it is not full.
    pub fn block(&self, geometry: &Geometry) -> Option<BlockId> {
        (self.room > 0).then(|| geometry.block_of(self.next))
    }

    /// Goes `pages` on; the block, if that fills it.
    #[inline]
    pub fn advance(&mut self, pages: u32, geometry: &Geometry) -> Option<BlockId> {
        debug_assert!(pages <= self.room);
        let block = geometry.block_of(self.next);
        self.next = self.next.plus(pages);
        self.room -= pages;
        (self.room == 0).then_some(block)
    }
}
