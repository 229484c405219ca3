//! The chip: a flash array whose operations are booked and whose power can fail.
//!
//! An FTL borrows the chip and never owns it, so dropping an FTL and mounting another on the same
//! chip is exactly a power cycle. The rules of flash are those of the [flash array](FlashArray).
//!
//! In count mode operations take a short way, because simulations spend their time there: owners
//! change and the ledger books, nothing else. Such a chip has no store and its power cannot fail.

use alloc::borrow::Cow;
use core::any::Any;

use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::error::{Error, Result};
use crate::flash_array::FlashArray;
use crate::geometry::Geometry;
use crate::op::{Cause, Tally};
use crate::op_sink::{Ledger, OpSink, Operation};
use crate::payload::{Content, Data, Mode, Page, Sink};
use crate::power_cut::{Cut, Interruptible, Outcome, Snapshot, TestPower};
use crate::spare::{PageState, Spare};
use crate::stored_pages::CopySpare;

/// A single-plane NAND chip.
pub struct Nand {
    array: FlashArray,
    ledger: Ledger,
    /// The sequence of the next program. None from power-on until the mount has found it.
    sequence: Option<u64>,
    /// Lost pages of the array at the last reset of the counters.
    lost_pages_before: u64,
    /// Present while a cut is armed, snapshots are recorded or the power is off.
    power: Option<Box<TestPower>>,
}

impl Nand {
    /// A factory-fresh chip: all blocks erased.
    pub fn new(geometry: Geometry, mode: Mode) -> Nand {
        Nand { sequence: Some(1), ..Nand::power_up(FlashArray::new(geometry, mode)) }
    }

    /// A chip that was just powered up, with this flash. A mount must find the sequence again.
    pub fn power_up(array: FlashArray) -> Nand {
        Nand {
            ledger: Ledger::default(),
            sequence: None,
            lost_pages_before: array.lost_pages(),
            power: None,
            array,
        }
    }

    /// The flash of the chip.
    pub fn array(&self) -> &FlashArray {
        &self.array
    }

    /// Ends the chip and returns its flash.
    pub fn into_array(self) -> FlashArray {
        self.array
    }

    /// A chip with the same flash, in the same place of the order of programs. Counters start at
    /// zero; nothing is attached or armed.
    ///
    /// # Errors
    /// The storage failed.
    pub fn try_clone(&self) -> Result<Nand> {
        Ok(Nand { sequence: self.sequence, ..Nand::power_up(self.array.try_clone()?) })
    }

    /// Pages, blocks and program order.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.array.geometry()
    }

    /// How much the chip keeps of its pages.
    pub fn mode(&self) -> Mode {
        self.array.mode()
    }

    // ---- Reads --------------------------------------------------------------------------------

    /// Reads page `ppn`, which must hold `lpn`, and copies the sectors in `mask` to the sink.
    ///
    /// # Errors
    /// Power lost, the page cannot be read, or the storage failed.
    #[inline]
    pub fn read(
        &mut self,
        ppn: Ppn,
        lpn: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
        cause: Cause,
    ) -> Result<()> {
        if self.array.keeps_pages() {
            return self.read_stored(ppn, lpn, mask, sink, cause);
        }
        self.array.expect_owner(ppn, lpn)?;
        self.ledger.book(cause, Operation::Read { ppn, owner: lpn });
        Ok(())
    }

    fn read_stored(
        &mut self,
        ppn: Ppn,
        lpn: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
        cause: Cause,
    ) -> Result<()> {
        self.powered()?;
        self.ledger.book(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        self.array.read(ppn, lpn, mask, sink)
    }

    /// Reads the spare area of page `ppn`.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    pub fn read_spare(&mut self, ppn: Ppn, cause: Cause) -> Result<PageState> {
        self.book_spare_read(ppn, cause)?;
        self.array.state(ppn)
    }

    /// Books the read of a spare area whose contents the caller knows from elsewhere. Works in
    /// every mode.
    ///
    /// # Errors
    /// Power lost.
    pub fn book_spare_read(&mut self, ppn: Ppn, cause: Cause) -> Result<()> {
        self.powered()?;
        self.ledger.book(cause, Operation::SpareRead { ppn, owner: self.array.owner(ppn) });
        Ok(())
    }

    /// Reads the metadata of a page.
    ///
    /// # Errors
    /// Power lost, the page cannot be read, or the storage failed.
    pub fn read_meta(&mut self, ppn: Ppn, cause: Cause) -> Result<&[u8]> {
        self.powered()?;
        self.ledger.book(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        self.array.read_meta(ppn)
    }

    // ---- Programs, copies, erases ---------------------------------------------------------------

    /// Programs one page. It gets a new version.
    ///
    /// # Errors
    /// Power lost, the base of a partial page cannot be read, or the storage failed.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, page: &Page, cause: Cause) -> Result<()> {
        if self.array.keeps_pages() {
            return self.program_stored(ppn, page, cause);
        }
        assert!(page.owner != Lpn::NONE, "programmed {ppn:?} without an owner");
        self.count_programs(ppn, page.owner, 1, cause);
        Ok(())
    }

    /// Programs whole pages of the host, `first` and the following, to consecutive pages of one
    /// block from `to` on. They are booked at once.
    ///
    /// # Errors
    /// Power lost or storage failed, with some of the pages programmed.
    #[inline]
    pub fn program_run(
        &mut self,
        to: Ppn,
        first: Lpn,
        pages: u32,
        kind: u8,
        data: Data,
        cause: Cause,
    ) -> Result<()> {
        if self.array.keeps_pages() {
            return self.program_run_stored(to, first, pages, kind, data, cause);
        }
        self.count_programs(to, first, pages, cause);
        Ok(())
    }

    /// Copies pages, in the order given, to consecutive pages of one block from `to` on. They are
    /// booked at once. Owner, contents and version are kept; the kind too, unless a new one is
    /// given.
    ///
    /// # Errors
    /// Power lost, a page cannot be read, or the storage failed, with some of the pages copied.
    #[inline]
    pub fn copy_many(
        &mut self,
        from: &[Ppn],
        to: Ppn,
        kind: Option<u8>,
        cause: Cause,
    ) -> Result<()> {
        if self.array.keeps_pages() {
            return self.copy_stored(from, to, kind, None, cause);
        }
        self.count_copies(from, to, cause);
        Ok(())
    }

    /// Copies one page and gives the copy another kind and other scheme bytes. Owner, contents and
    /// version are kept.
    ///
    /// # Errors
    /// Power lost, the page cannot be read, or the storage failed.
    pub fn copy(&mut self, from: Ppn, to: Ppn, kind: u8, extra: &[u8], cause: Cause) -> Result<()> {
        if self.array.keeps_pages() {
            return self.copy_stored(&[from], to, Some(kind), Some(extra), cause);
        }
        self.count_copies(&[from], to, cause);
        Ok(())
    }

    /// Erases a block.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    pub fn erase(&mut self, block: BlockId, cause: Cause) -> Result<()> {
        let operation = Interruptible::Erase(block);
        let cut = self.begin(operation)?;
        let erased = self.array.erase(block);
        self.ledger.book(cause, Operation::Erase { block });
        erased?;
        self.end(operation, cut)
    }

    /// Makes everything that was programmed and erased so far outlive the process.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    pub fn sync(&mut self) -> Result<()> {
        self.powered()?;
        self.array.sync()
    }

    #[inline]
    fn count_programs(&mut self, to: Ppn, first: Lpn, pages: u32, cause: Cause) {
        self.take_sequences(pages);
        let owners = self.array.count_run(to, first, pages);
        self.ledger.book(cause, Operation::Program { first: to, owners });
    }

    #[inline]
    fn count_copies(&mut self, from: &[Ppn], to: Ppn, cause: Cause) {
        self.take_sequences(from.len() as u32);
        let owners = self.array.count_copies(from, to);
        self.ledger.book(cause, Operation::Copy { from, to, owners });
    }

    fn program_stored(&mut self, ppn: Ppn, page: &Page, cause: Cause) -> Result<()> {
        self.write_stored(ppn, 1, None, cause, |array, _, sequence| {
            array.program(ppn, page, sequence)
        })
    }

    fn program_run_stored(
        &mut self,
        to: Ppn,
        first: Lpn,
        pages: u32,
        kind: u8,
        data: Data,
        cause: Cause,
    ) -> Result<()> {
        let (mask, page_bytes) = (self.geometry().full_mask(), self.geometry().page_bytes());
        self.write_stored(to, pages, None, cause, |array, index, sequence| {
            let data = data.from_page(index, page_bytes);
            let content = Content::Host { data, mask, base: None };
            let page = Page { owner: first.plus(index), kind, extra: &[], content };
            array.program(to.plus(index), &page, sequence)
        })
    }

    fn copy_stored(
        &mut self,
        from: &[Ppn],
        to: Ppn,
        kind: Option<u8>,
        extra: Option<&[u8]>,
        cause: Cause,
    ) -> Result<()> {
        self.write_stored(to, from.len() as u32, Some(from), cause, |array, index, sequence| {
            let new = CopySpare { sequence, kind, extra };
            array.copy(from[index as usize], to.plus(index), new)
        })
    }

    /// Writes a run of pages one by one and books it as a whole. While the power can fail, each
    /// page is a run of its own.
    fn write_stored(
        &mut self,
        to: Ppn,
        pages: u32,
        from: Option<&[Ppn]>,
        cause: Cause,
        mut write: impl FnMut(&mut FlashArray, u32, u64) -> Result<()>,
    ) -> Result<()> {
        let step = if self.power.is_some() { 1 } else { pages.max(1) };
        for start in (0..pages).step_by(step as usize) {
            let operation = Interruptible::Program(to.plus(start));
            let cut = self.begin(operation)?;
            let mut written = Ok(());
            let mut end = start;
            while written.is_ok() && end < start + step {
                let sequence = self.take_sequence();
                written = write(&mut self.array, end, sequence);
                end += u32::from(written.is_ok());
            }
            self.book_written(to, start..end, from, cause);
            if written.is_err() {
                self.book_failed_copy(from, end, cause);
            }
            written?;
            self.end(operation, cut)?;
        }
        Ok(())
    }

    /// Books the pages of a run, by their numbers in it, that were programmed or copied.
    fn book_written(
        &mut self,
        to: Ppn,
        written: core::ops::Range<u32>,
        from: Option<&[Ppn]>,
        cause: Cause,
    ) {
        let first = to.plus(written.start);
        let owners = self.array.owners_of_run(first, written.len() as u32);
        let operation = match from {
            Some(from) => {
                let from = &from[written.start as usize..written.end as usize];
                Operation::Copy { from, to: first, owners }
            }
            None => Operation::Program { first, owners },
        };
        self.ledger.book(cause, operation);
    }

    /// A copy that failed has read its source all the same.
    #[cold]
    fn book_failed_copy(&mut self, from: Option<&[Ppn]>, index: u32, cause: Cause) {
        if let Some(ppn) = from.map(|from| from[index as usize]) {
            self.ledger.book(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        }
    }

    // ---- Knowledge that costs no operation ------------------------------------------------------

    /// The true owners of a block's pages, [`Lpn::NONE`] where erased. They stand for the P2L table
    /// that a controller keeps in RAM; a mount must not use them.
    #[inline]
    pub fn owners(&self, block: BlockId) -> &[u32] {
        self.array.owners(block)
    }

    /// The owner of a page, as in [`owners`](Self::owners).
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> Lpn {
        self.array.owner(ppn)
    }

    /// Whether scheme bytes of spare areas are kept. If not, schemes need not compose them; no
    /// operation may depend on it.
    #[inline]
    pub fn keeps_spares(&self) -> bool {
        self.array.keeps_pages()
    }

    /// Header and scheme bytes of a page, for audits; none if it cannot be read. A mount may look
    /// only at spare areas that it has [read](Self::read_spare).
    pub fn peek_spare(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        self.array.peek_spare(ppn)
    }

    /// The metadata of a page, for audits; none if it cannot be read, or in count mode.
    pub fn peek_meta(&self, ppn: Ppn) -> Option<Vec<u8>> {
        self.array.peek_meta(ppn)
    }

    // ---- Order of programs ----------------------------------------------------------------------

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

    /// Whether the chip comes from the factory: it was never off, and nothing was erased.
    pub fn is_factory_new(&self) -> bool {
        self.sequence == Some(1) && self.wear().iter().all(|&erases| erases == 0)
    }

    // ---- Counters -------------------------------------------------------------------------------

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

    // ---- Sink of operations ---------------------------------------------------------------------

    /// From now on the sink sees every operation.
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

    // ---- Power ----------------------------------------------------------------------------------

    /// Arms a cut.
    pub fn cut_after(&mut self, cut: Cut) {
        self.test_power().cut_after(cut);
    }

    /// From now on keeps the flash as it is after every program and erase.
    pub fn record_snapshots(&mut self) {
        self.test_power().record();
    }

    /// The snapshots since the last call. Recording goes on.
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        self.power.as_mut().map_or_else(Vec::new, |power| power.take_snapshots())
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.power.as_ref().is_none_or(|power| power.is_on())
    }

    /// Turns the power off and on again between two operations. Pages that an earlier cut left
    /// unstable have decayed by then.
    ///
    /// # Errors
    /// The storage failed.
    pub fn power_cycle(&mut self) -> Result<()> {
        self.decay()?;
        self.power_on();
        Ok(())
    }

    /// Turns the power on after a cut. Counters in RAM are gone: a mount must find the sequence
    /// again. No cut is armed and nothing is recorded.
    pub fn power_on(&mut self) {
        self.power = None;
        self.sequence = None;
    }

    /// Makes pages that a cut left unstable unreadable, as they will be some day.
    ///
    /// # Errors
    /// The storage failed.
    pub fn decay(&mut self) -> Result<()> {
        self.array.decay()
    }

    fn test_power(&mut self) -> &mut TestPower {
        let keeps_pages = self.array.keeps_pages();
        assert!(keeps_pages, "a chip in count mode cannot be mounted after a cut");
        self.power.get_or_insert_default()
    }

    #[inline]
    fn powered(&self) -> Result<()> {
        if self.is_on() { Ok(()) } else { Err(Error::PowerLost) }
    }

    #[inline]
    fn begin(&mut self, operation: Interruptible) -> Result<Option<Outcome>> {
        match &mut self.power {
            Some(power) => power.begin(&mut self.array, operation),
            None => Ok(None),
        }
    }

    #[inline]
    fn end(&mut self, operation: Interruptible, cut: Option<Outcome>) -> Result<()> {
        match &mut self.power {
            Some(power) => power.end(&mut self.array, operation, cut),
            None => Ok(()),
        }
    }
}
