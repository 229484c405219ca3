//! What an FTL does before the chip programs pages, and pages that stand in for others. Both serve
//! to survive that an interrupted program destroys other pages of the same cells.

use super::{Nand, ProgramGuard};
use crate::address::{BlockId, Ppn};
use crate::error::Result;
use crate::spare::Spare;

impl Nand {
    /// Attaches a guard until the power fails. It replaces an earlier one.
    pub fn attach_guard(&mut self, guard: Box<dyn ProgramGuard>) {
        self.guard = Some(guard);
    }

    /// Whether a guard is attached.
    #[inline]
    pub fn has_guard(&self) -> bool {
        self.guard.is_some()
    }

    /// Tells the guard, if there is one, that the FTL relies on all pages programmed so far.
    #[inline]
    pub fn barrier(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.barrier();
        }
    }

    /// The pages that share the cells of a page and precede it in its block: an interrupted program
    /// of this page can destroy them.
    pub fn lower_pages(&self, ppn: Ppn) -> impl Iterator<Item = Ppn> + use<> {
        self.array.lower_pages(ppn)
    }

    /// Uses an erased block with one bit per cell until its next erase. It then has only
    /// [that many](crate::Geometry::slc_pages) pages, and none of them can destroy another.
    ///
    /// # Panics
    /// The block is not erased.
    pub fn use_as_slc(&mut self, block: BlockId) {
        self.array.use_as_slc(block);
    }

    /// Lets the page `by` stand in for an unreadable page that had this spare area, until the mount
    /// is complete: whoever reads or copies the unreadable page gets the data of `by`.
    pub fn stand_in(&mut self, page: Ppn, by: Ppn, spare: Spare, extra: &[u8]) {
        self.array.stand_in(page, by, spare, extra);
    }

    /// Whether another page stands in for this one.
    pub fn has_stand_in(&self, page: Ppn) -> bool {
        self.array.stand_ins().any(|it| it == page)
    }

    #[inline]
    pub(super) fn run_guard(&mut self, first: Ppn, pages: u32) -> Result<()> {
        if self.guard.is_some() { self.guarded(first, pages) } else { Ok(()) }
    }

    #[cold]
    fn guarded(&mut self, first: Ppn, pages: u32) -> Result<()> {
        let Some(mut guard) = self.guard.take() else { return Ok(()) };
        let done = guard.before_program(self, first, pages);
        self.guard = Some(guard);
        done
    }
}
