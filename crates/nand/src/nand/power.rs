//! The power of the chip: it can be turned off and on, and a test can cut it.

use super::Nand;
use super::seen_pages::SeenPages;
use crate::address::Ppn;
use crate::error::{Error, Result};
use crate::power_cut::{Cut, DieDraw, Interruptible, Left, Outcome, Snapshot, TestPower};

/// The power supply of a chip, and the damage that time does. It is for tests, for checks and for
/// served disks; an FTL sees none of it but [`Error::PowerLost`].
///
/// Only a chip that keeps pages can be mounted after a cut: on any other, arming one, or recording
/// snapshots, panics.
pub struct Power<'a>(&'a mut Nand);

impl Nand {
    /// The power supply.
    #[inline]
    pub fn power(&mut self) -> Power<'_> {
        Power(self)
    }

    fn lose_ram(&mut self) {
        self.sequence = None;
        self.tentative = false;
        self.guards = None;
        self.array.thaw();
        self.array.end_stand_ins();
        self.array.forget_slc();
        self.array.forget_moves();
        self.seen = Some(SeenPages::none(self.geometry()));
    }

    #[inline]
    pub(super) fn check_power(&mut self) -> Result<()> {
        match &mut self.power {
            Some(power) if power.is_on() => power.pass(&mut self.array),
            Some(_) => Err(Error::PowerLost),
            None => Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, operation: Interruptible) -> Result<Option<Outcome>> {
        if self.power.is_none() { Ok(None) } else { self.begin_under_test(operation) }
    }

    #[cold]
    #[inline(never)]
    fn begin_under_test(&mut self, operation: Interruptible) -> Result<Option<Outcome>> {
        match &mut self.power {
            Some(power) if self.array.is_frozen() => {
                power.pass_in_memory(&mut self.array).map(|()| None)
            }
            Some(power) => power.begin(&mut self.array, operation),
            None => Ok(None),
        }
    }

    #[inline]
    pub(super) fn end(&mut self, operation: Interruptible, cut: Option<Outcome>) -> Result<()> {
        match &mut self.power {
            Some(power) if !self.array.is_frozen() => power.end(&mut self.array, operation, cut),
            _ => Ok(()),
        }
    }
}

impl Power<'_> {
    /// Arms a cut.
    pub fn cut_after(&mut self, cut: Cut) {
        self.test().cut_after(cut);
    }

    /// Draws how far each die is after a cut with the outcome
    /// [`Reordered`](crate::Outcome::Reordered) or
    /// [`BrownedOut`](crate::Outcome::BrownedOut).
    pub fn draw_dies(&mut self, draw: impl Into<DieDraw>) {
        self.test().draw_dies(draw.into());
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.0.power.as_ref().is_none_or(|power| power.is_on())
    }

    /// What the cut that has struck left. An operation that has no such outcome as the cut was to
    /// have is left [`Untouched`](crate::Outcome::Untouched).
    pub fn struck(&self) -> Option<Outcome> {
        self.0.power.as_ref()?.struck()
    }

    /// What the cut has left of the operations in flight, the one that it struck last; empty if
    /// that was in memory only.
    pub fn left(&self) -> &[Left] {
        self.0.power.as_ref().map_or(&[], |power| power.left())
    }

    /// Turns the power on after a cut, or off and on again between two operations. What the chip
    /// had in RAM is gone: a mount must find the sequence again, and read what it must know about
    /// pages. No cut is armed and nothing is recorded.
    pub fn cycle(&mut self) {
        self.0.power = None;
        self.0.lose_ram();
    }

    /// From now on records a snapshot of the flash after every program and erase.
    pub fn record_snapshots(&mut self) {
        self.test().record();
    }

    /// The snapshots since the last call. Recording goes on.
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        self.0.power.as_mut().map_or_else(Vec::new, |power| power.take_snapshots())
    }

    /// Makes pages that a cut left unstable unreadable after this number of operations, reads
    /// included.
    pub fn decay_after(&mut self, operations: u64) {
        self.test().decay_after(operations);
    }

    /// Makes pages that a cut left unstable unreadable, as time would.
    ///
    /// # Errors
    /// The storage failed.
    pub fn decay(&mut self) -> Result<()> {
        self.0.array.decay()
    }

    /// Makes the data area of a page unreadable, as wear or damage would. Its spare area can still
    /// be read. A page without readable data stays as it is.
    ///
    /// # Errors
    /// The storage failed.
    pub fn lose_data(&mut self, ppn: Ppn) -> Result<()> {
        self.0.array.lose_data(ppn)
    }

    fn test(&mut self) -> &mut TestPower {
        let keeps_pages = self.0.array.keeps_pages();
        assert!(keeps_pages, "a chip in count mode cannot be mounted after a cut");
        self.0.power.get_or_insert_default()
    }
}
