//! What an FTL does before the chip programs pages, to survive that an interrupted program destroys
//! other pages of the same cells.

use super::Nand;
use crate::address::{BlockId, Ppn};
use crate::error::Result;

impl Nand {
    /// Whether a [guard](super::ProgramGuard) is attached.
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

    /// Waits until all dies are idle: what was programmed and erased so far is complete before
    /// anything that follows begins. With one die that is always so, and it costs nothing. Returns
    /// the place of the next program in their order.
    ///
    /// # Panics
    /// As [`take_sequence`](Self::take_sequence).
    #[inline]
    pub fn wait(&mut self) -> u64 {
        self.let_dies_end();
        self.sequence.expect("a mount has not resumed the sequence")
    }

    #[inline]
    pub(super) fn let_dies_end(&mut self) {
        if self.geometry().dies() > 1 {
            self.wait_for_dies();
        }
    }

    #[cold]
    fn wait_for_dies(&mut self) {
        if let Some(power) = &mut self.power {
            power.all_idle();
        }
        self.ledger.all_idle();
    }

    /// Uses an erased block with one bit per cell until its next erase. It then has only
    /// [`slc_pages`](crate::Geometry::slc_pages) pages, and none of them can destroy another.
    ///
    /// # Panics
    /// The block is not erased.
    pub fn use_as_slc(&mut self, block: BlockId) {
        self.array.use_as_slc(block);
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
