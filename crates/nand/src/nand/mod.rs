//! The chip: a flash array that counts its operations and can lose its power.
//!
//! An FTL borrows the chip and never owns it, so dropping an FTL and mounting another on the same
//! chip is exactly a power cycle. The rules of flash are those of the [flash array](FlashArray).
//!
//! Its operations are in `operations`, its power in `power`.

mod guard;
mod operations;
mod power;
mod seen_pages;

use alloc::borrow::Cow;
use core::any::Any;

use crate::address::{BlockId, Lpn, Ppn};
use crate::error::Result;
use crate::flash_array::FlashArray;
use crate::geometry::Geometry;
use crate::op::Tally;
use crate::op_sink::{Ledger, OpSink};
use crate::payload::Mode;
use crate::power_cut::TestPower;
use crate::spare::Spare;
use seen_pages::SeenPages;

/// Work of an FTL before programs. It sees all of them, whoever starts them, except its own.
pub trait ProgramGuard: Send {
    /// The chip is about to program these pages, which are consecutive and in one block.
    ///
    /// # Errors
    /// The power fails.
    fn before_program(&mut self, nand: &mut Nand, first: Ppn, pages: u32) -> Result<()>;

    /// From now on, the FTL relies on all pages that have been programmed.
    fn barrier(&mut self);
}

/// A single-plane NAND chip.
pub struct Nand {
    array: FlashArray,
    ledger: Ledger,
    /// The sequence of the next program. None from power-on until the mount has found it.
    sequence: Option<u64>,
    /// Whether programs are tentative: a mount is running that has not committed.
    tentative: bool,
    /// The pages that a mount knows. None unless a mount is running.
    seen: Option<SeenPages>,
    /// Works before programs, if the FTL has attached it.
    guard: Option<Box<dyn ProgramGuard>>,
    /// Lost pages of the array at the last reset of the counters.
    lost_pages_before: u64,
    /// Present while a cut is armed, snapshots are recorded or the power is off.
    power: Option<Box<TestPower>>,
}

impl Nand {
    /// A factory-fresh chip: all blocks erased.
    pub fn new(geometry: Geometry, mode: Mode) -> Nand {
        Nand::never_used(FlashArray::new(geometry, mode))
    }

    /// A factory-fresh chip with this flash, which was never programmed nor erased.
    ///
    /// # Panics
    /// It was.
    pub fn never_used(array: FlashArray) -> Nand {
        assert!(array.is_untouched(), "the flash was used");
        Nand { sequence: Some(1), seen: None, ..Nand::power_up(array) }
    }

    /// A chip that was just powered up, with this flash. A mount must find the sequence again.
    pub fn power_up(mut array: FlashArray) -> Nand {
        array.forget_slc();
        Nand {
            ledger: Ledger::default(),
            sequence: None,
            tentative: false,
            guard: None,
            seen: Some(SeenPages::none(array.geometry())),
            lost_pages_before: array.lost_pages(),
            power: None,
            array,
        }
    }

    /// The flash of the chip.
    pub fn array(&self) -> &FlashArray {
        &self.array
    }

    /// Returns the flash and drops the rest of the chip.
    pub fn into_array(self) -> FlashArray {
        self.array
    }

    /// A chip with the same flash, at the same place in the order of programs, on which no mount is
    /// running. Counters start at zero; nothing is attached or armed.
    ///
    /// # Errors
    /// The storage failed.
    pub fn try_clone(&self) -> Result<Nand> {
        let array = self.array.try_clone()?;
        Ok(Nand { sequence: self.sequence, seen: None, ..Nand::power_up(array) })
    }

    /// Pages, blocks and program order.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.array.geometry()
    }

    /// What the chip stores of each page.
    pub fn mode(&self) -> Mode {
        self.array.mode()
    }

    // ---- Knowledge that costs no operation -------------------------------------------------

    /// The true owners of a block's pages, [`Lpn::NONE`] where erased. They stand for the P2L table
    /// that a controller keeps in RAM.
    ///
    /// # Panics
    /// A mount is running that has neither read the spare areas of these pages nor programmed them:
    /// it cannot know their owners yet.
    #[inline]
    pub fn owners(&self, block: BlockId) -> &[u32] {
        if let Some(seen) = &self.seen {
            seen.expect(self.geometry().span(block));
        }
        self.array.owners(block)
    }

    /// The owner of a page, as in [`owners`](Self::owners).
    ///
    /// # Panics
    /// As for `owners`.
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> Lpn {
        if let Some(seen) = &self.seen {
            seen.expect(ppn.0 as usize..ppn.0 as usize + 1);
        }
        self.array.owner(ppn)
    }

    /// The owners of consecutive pages of a block, as in [`owners`](Self::owners).
    ///
    /// # Panics
    /// As for `owners`.
    #[inline]
    pub fn owners_of_run(&self, first: Ppn, pages: u32) -> &[u32] {
        if let Some(seen) = &self.seen {
            seen.expect(first.0 as usize..first.0 as usize + pages as usize);
        }
        self.array.owners_of_run(first, pages)
    }

    /// Whether scheme bytes of spare areas, and metadata of pages, are kept. If not, schemes need
    /// not compose them; no operation may depend on it.
    #[inline]
    pub fn keeps_spares(&self) -> bool {
        self.array.keeps_pages()
    }

    /// Header and scheme bytes of a page; none if error correction or the checksum failed, or in
    /// count mode. For audits, and for mounts that have [read](Self::read_spare) this spare area.
    ///
    /// # Errors
    /// The storage failed.
    pub fn peek_spare(&self, ppn: Ppn) -> Result<Option<(Spare, Cow<'_, [u8]>)>> {
        self.array.peek_spare(ppn)
    }

    /// The number of pages of a block up to the last one that does not read as erased, for audits.
    ///
    /// # Errors
    /// The storage failed.
    pub fn fill_level(&self, block: BlockId) -> Result<u32> {
        self.array.fill_level(block)
    }

    /// The metadata of a page, for audits; none if it cannot be read, or in count mode.
    pub fn peek_meta(&self, ppn: Ppn) -> Option<Vec<u8>> {
        self.array.peek_meta(ppn)
    }

    // ---- Order of programs -----------------------------------------------------------------

    /// Takes the next place in the order of programs, for something that is not a program: the
    /// version of a tombstone.
    pub fn take_sequence(&mut self) -> u64 {
        self.take_sequences(1)
    }

    /// Takes several places, and returns the first.
    #[inline]
    fn take_sequences(&mut self, places: u32) -> u64 {
        let next =
            self.sequence.as_mut().expect("programmed before the mount resumed the sequence");
        let first = *next;
        *next += u64::from(places);
        first
    }

    /// Continues the order of programs. A mount calls it with a sequence above all that it found.
    pub fn resume_sequence(&mut self, next_sequence: u64) {
        self.sequence = Some(next_sequence.max(self.sequence.unwrap_or(1)));
    }

    /// From now on, programs are [tentative](Spare::tentative).
    pub fn begin_tentative(&mut self) {
        self.tentative = true;
    }

    /// Whether programs are tentative.
    pub fn is_tentative(&self) -> bool {
        self.tentative
    }

    /// Programs are no longer tentative. The mount has recorded on flash that its pages count.
    pub fn commit(&mut self) {
        self.tentative = false;
    }

    /// Whether a mount is running.
    pub fn is_mounting(&self) -> bool {
        self.seen.is_some()
    }

    /// The mount is complete: from now on the FTL knows the [owner](Self::owners) of every page.
    pub fn finish_mount(&mut self) {
        assert!(!self.tentative, "a mount ended without a commit");
        self.array.end_stand_ins();
        self.seen = None;
    }

    /// Whether the chip comes from the factory: it was never off, and nothing was erased.
    pub fn is_factory_new(&self) -> bool {
        let untouched = self.sequence == Some(1) && self.seen.is_none();
        untouched && self.wear().iter().all(|&erases| erases == 0)
    }

    // ---- Counters --------------------------------------------------------------------------

    /// Operations since the last reset.
    #[inline]
    pub fn tally(&self) -> &Tally {
        &self.ledger.tally
    }

    /// Pages skipped, or unused when their block was erased, since the last reset.
    pub fn lost_pages(&self) -> u64 {
        self.array.lost_pages() - self.lost_pages_before
    }

    /// Sets all counters to zero. The flash and its wear stay as they are.
    pub fn reset_tally(&mut self) {
        self.ledger.tally = Tally::default();
        self.lost_pages_before = self.array.lost_pages();
    }

    /// Erases of each block since it was made.
    pub fn wear(&self) -> &[u32] {
        self.array.wear()
    }

    /// Pages that can still be programmed before the next erase. Walks all blocks.
    pub fn free_pages(&self) -> u64 {
        self.array.free_pages()
    }

    // ---- Sink of operations ----------------------------------------------------------------

    /// Passes every operation from now on to the sink.
    ///
    /// # Panics
    /// Another sink is attached.
    pub fn attach(&mut self, sink: Box<dyn OpSink>) {
        assert!(self.ledger.sink.is_none(), "the chip has an operation sink already");
        self.ledger.sink = Some(sink);
    }

    /// Detaches the sink and returns it.
    pub fn detach(&mut self) -> Option<Box<dyn OpSink>> {
        self.ledger.sink.take()
    }

    /// The attached sink, if it is an `S`.
    pub fn sink_mut<S: OpSink>(&mut self) -> Option<&mut S> {
        let sink: &mut dyn Any = &mut **self.ledger.sink.as_mut()?;
        sink.downcast_mut()
    }
}
