//! The accounts of a mount: the order of programs, tentative programs, pages that stand in for
//! others.

use super::{Nand, ProgramGuard};
use crate::address::Ppn;
use crate::spare::Spare;

/// What a mount tells the chip, and what the chip remembers of it.
///
/// The mount reads spare areas, [resumes](Self::resume) the order of programs and only then
/// programs. If it cannot trust its own programs before it has recorded that they count, they are
/// [tentative](Self::begin_tentative) until it [commits](Self::commit). It ends with
/// [`finish`](Self::finish).
///
/// The chip panics if a running mount asks for the [owner](Nand::owners) of a page that it has not
/// seen. It forgets all of this when the power fails.
pub struct Mounting<'a>(&'a mut Nand);

impl Nand {
    /// The accounts of the mount. A chip from the factory is mounted already, but they work.
    #[inline]
    pub fn mounting(&mut self) -> Mounting<'_> {
        Mounting(self)
    }
}

impl Mounting<'_> {
    /// Whether a mount is running.
    pub fn is_running(&self) -> bool {
        self.0.seen.is_some()
    }

    /// The mount starts again, because a page has decayed. That page may have stood in for another
    /// one, so no page stands in for another one any more.
    pub fn start_again(&mut self) {
        self.0.array.end_stand_ins();
        if let Some(seen) = &mut self.0.seen {
            seen.forget_readable();
        }
    }

    /// Continues the order of programs. The caller guarantees that the sequence is above all that
    /// it found.
    pub fn resume(&mut self, next_sequence: u64) {
        self.0.sequence = Some(next_sequence.max(self.0.sequence.unwrap_or(1)));
    }

    /// From now on, programs are [tentative](Spare::tentative).
    pub fn begin_tentative(&mut self) {
        self.0.tentative = true;
    }

    /// Whether programs are tentative.
    pub fn is_tentative(&self) -> bool {
        self.0.tentative
    }

    /// Programs are no longer tentative. The mount has recorded on flash that its pages count.
    pub fn commit(&mut self) {
        self.0.tentative = false;
    }

    /// Attaches a guard until the power fails. It replaces an earlier one.
    pub fn attach_guard(&mut self, guard: Box<dyn ProgramGuard>) {
        self.0.attach_guard(guard);
    }

    /// Lets the page `by` stand in for an unreadable page that had this spare area, until the mount
    /// is complete: whoever reads or copies the unreadable page gets the data of `by`.
    pub fn stand_in(&mut self, page: Ppn, by: Ppn, spare: Spare, extra: &[u8]) {
        self.0.array.stand_in(page, by, spare, extra);
    }

    /// Whether another page stands in for this one.
    pub fn has_stand_in(&self, page: Ppn) -> bool {
        self.0.array.stand_ins().any(|it| it == page)
    }

    /// The mount is complete: from now on the FTL knows the [owner](Nand::owners) of every page.
    ///
    /// # Panics
    /// Programs are tentative.
    pub fn finish(&mut self) {
        assert!(!self.0.tentative, "a mount ended without a commit");
        self.0.array.end_stand_ins();
        self.0.seen = None;
    }
}
