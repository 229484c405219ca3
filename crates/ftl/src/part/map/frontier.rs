//! A frontier: an open block to which pages are appended.

use nand::{BlockId, Geometry, Nand, Ppn};

use crate::contract::Violation;
use crate::part::recovery::block_audit;

/// The next page to program in a block, and the number of pages left.
#[derive(Clone, Copy, Debug)]
pub struct Frontier {
    next: Ppn,
    room: u32,
}

impl Frontier {
    /// No open block.
    pub const NONE: Frontier = Frontier { next: Ppn::NONE, room: 0 };

    /// A frontier at the start of an erased block.
    pub fn open(block: BlockId, geometry: &Geometry) -> Frontier {
        Frontier { next: geometry.first_page(block), room: geometry.pages_per_block() }
    }

    /// The page to program next.
    #[inline]
    pub fn next(&self) -> Ppn {
        debug_assert!(self.room > 0, "a full block has no next page: {:?} is beyond it", self.next);
        self.next
    }

    /// Number of pages left in the block.
    #[inline]
    pub fn room(&self) -> u32 {
        self.room
    }

    /// The block, unless it is full.
    pub fn block(&self, geometry: &Geometry) -> Option<BlockId> {
        (self.room > 0).then(|| geometry.block_of(self.next))
    }

    /// Advances by `pages` programmed pages. Returns the block if that fills it.
    #[inline]
    pub fn advance(&mut self, pages: u32, geometry: &Geometry) -> Option<BlockId> {
        let room = self.room;
        debug_assert!(pages <= room, "{pages} pages were programmed where {room} were left");
        let first = self.next;
        self.next = first.plus(pages);
        self.room -= pages;
        (self.room == 0).then(|| geometry.block_of(first))
    }

    /// Compares the open block, if there is one, with the chip.
    ///
    /// # Errors
    /// The next page is not the first one that can be programmed.
    pub fn audit(&self, nand: &Nand) -> Result<(), Violation> {
        let Some(block) = self.block(nand.geometry()) else { return Ok(()) };
        block_audit::programmed(nand, block, nand.geometry().offset_of(self.next))
    }
}
