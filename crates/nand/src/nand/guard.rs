//! What happens before the chip programs pages. An FTL may have something to do, to survive that an
//! interrupted program destroys other pages of the same cells; and the program may fail.

use super::{Guards, Nand, ProgramGuard};
use crate::address::{BlockId, Ppn};
use crate::error::Result;

impl Nand {
    /// Whether a [guard](super::ProgramGuard) is attached.
    #[inline]
    pub fn has_guard(&self) -> bool {
        self.guards.as_ref().is_some_and(|guards| guards.ftl.is_some())
    }

    /// Attaches a guard, in place of an earlier one.
    pub(super) fn attach_guard(&mut self, guard: Box<dyn ProgramGuard>) {
        self.guards.get_or_insert_default().ftl = Some(guard);
    }

    /// Tells the guard, if there is one, that the FTL relies on all pages programmed so far.
    #[inline]
    pub fn barrier(&mut self) {
        if let Some(guard) = self.guards.as_mut().and_then(|guards| guards.ftl.as_mut()) {
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

    /// What happens before programs. Returns whether all of them will succeed.
    #[inline(always)]
    pub(super) fn run_guard(&mut self, first: Ppn, pages: u32) -> Result<bool> {
        let Some(guards) = &mut self.guards else { return Ok(true) };
        if let Guards { ftl: None, media: Some(media) } = &mut **guards
            && media.are_quiet_for(pages)
        {
            return Ok(true);
        }
        self.guarded(first, pages)
    }

    #[cold]
    fn guarded(&mut self, first: Ppn, pages: u32) -> Result<bool> {
        let guard = self.guards.as_mut().and_then(|guards| guards.ftl.take());
        if let Some(mut guard) = guard {
            let done = guard.before_program(self, first, pages);
            self.attach_guard(guard);
            done?;
        }
        Ok(self.media_mut().is_none_or(|media| media.are_quiet_for(pages)))
    }
}
