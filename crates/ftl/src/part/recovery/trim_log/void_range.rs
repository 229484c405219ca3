//! Void pages: physical pages that do not count.

use core::ops::Range;

use nand::{Nand, Ppn};

/// Physical pages of one block that do not count.
#[derive(Clone, Debug)]
pub(super) struct VoidRange {
    pub pages: Range<u32>,
    /// They count again once they have been programmed at this place in the order of programs, or
    /// later.
    pub before: u64,
    /// Erases of the block when the pages became void. With more erases, the range is obsolete.
    wear: u32,
}

impl VoidRange {
    pub fn new(nand: &Nand, pages: Range<u32>, before: u64) -> VoidRange {
        let wear = VoidRange::wear(nand, &pages);
        VoidRange { pages, before, wear }
    }

    pub fn is_current(&self, nand: &Nand) -> bool {
        VoidRange::wear(nand, &self.pages) == self.wear
    }

    fn wear(nand: &Nand, pages: &Range<u32>) -> u32 {
        nand.array().wear()[nand.geometry().block_of(Ppn(pages.start)).0 as usize]
    }
}
