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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::recovery::trim_log::TrimLog;
    use crate::part::recovery::trim_log::tests::{chip, log};
    use nand::{BlockId, Cause, Content, Lpn, Page, Ppn};

    #[test]
    fn a_page_is_void_if_it_is_older_than_a_range_that_is_current() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        let page = Page { owner: Lpn(0), kind: 1, extra: &[], content: Content::Pad };
        for ppn in [8, 9] {
            nand.program(Ppn(ppn), &page, Cause::Host).unwrap();
        }
        let (first, _) = nand.array().peek_spare(Ppn(8)).unwrap().unwrap();
        let (second, _) = nand.array().peek_spare(Ppn(9)).unwrap().unwrap();
        let is_void =
            |log: &TrimLog, nand: &Nand| [8, 9, 10].map(|ppn| log.is_void(nand, Ppn(ppn)));
        assert_eq!(is_void(&log, &nand), [false; 3]);
        log.voids.push(VoidRange::new(&nand, 8..12, second.sequence));
        assert_eq!(is_void(&log, &nand), [true, false, false]);
        assert!(first.sequence < second.sequence);
        nand.erase(BlockId(2), Cause::Host).unwrap();
        nand.program(Ppn(8), &page, Cause::Host).unwrap();
        assert_eq!(is_void(&log, &nand), [false; 3], "the block was erased since");
    }
}
