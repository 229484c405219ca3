//! Operations of the chip: the flash array carries each one out, and the ledger records it.
//!
//! In count mode they take a shortcut, because simulations spend most of their time there: only the
//! owners change, and the ledger records the operation. Such a chip has no store, and its power
//! cannot fail.

use core::ops::Range;

use super::Nand;
use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::error::{Error, Result};
use crate::flash_array::{CopySpare, FlashArray};
use crate::op::{Cause, Op};
use crate::op_sink::Operation;
use crate::page_store::{SyncBy, SyncJob};
use crate::payload::{Copies, Page, Pages, Sink};
use crate::power_cut::Interruptible;
use crate::spare::PageState;

impl Nand {
    // ---- Reads -----------------------------------------------------------------------------

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
        self.ledger.record(cause, Operation::Read { ppn, owner: lpn });
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
        self.check_power()?;
        self.ledger.record(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        self.book_second_read(ppn);
        self.array.read(ppn, lpn, mask, sink)
    }

    /// Reads the spare area of page `ppn`.
    ///
    /// # Errors
    /// Power lost, or the storage failed; or the running mount has read this page before and cannot
    /// read it any more, so it must start again.
    pub fn read_spare(&mut self, ppn: Ppn, cause: Cause) -> Result<PageState> {
        self.book_spare_read(ppn, cause)?;
        let state = self.array.read_spare(ppn)?;
        let readable = matches!(state, PageState::Programmed(_));
        let is_as_before =
            self.seen.as_mut().is_none_or(|seen| seen.read(ppn.0 as usize, readable));
        if is_as_before { Ok(state) } else { Err(Error::Unreadable(ppn)) }
    }

    /// Books the reads of spare areas whose contents the caller knows from elsewhere. Works in
    /// every mode.
    ///
    /// # Errors
    /// Power lost.
    #[inline]
    pub fn book_spare_reads(
        &mut self,
        ppns: impl IntoIterator<Item = Ppn>,
        cause: Cause,
    ) -> Result<()> {
        let mut ppns = ppns.into_iter();
        if self.power.is_none() && self.ledger.sink.is_none() {
            self.ledger.tally.add(Op::SpareRead, cause, ppns.count() as u64);
            return Ok(());
        }
        ppns.try_for_each(|ppn| self.book_spare_read(ppn, cause))
    }

    fn book_spare_read(&mut self, ppn: Ppn, cause: Cause) -> Result<()> {
        self.check_power()?;
        self.ledger.record(cause, Operation::SpareRead { ppn, owner: self.array.owner(ppn) });
        Ok(())
    }

    /// Whether the data of page `ppn`, which must hold `lpn`, can be read. Counts no operation: the
    /// caller will read the page and count that.
    ///
    /// # Errors
    /// The storage failed.
    ///
    /// # Panics
    /// In count mode.
    pub fn is_readable(&mut self, ppn: Ppn, lpn: Lpn) -> Result<bool> {
        self.array.is_readable(ppn, lpn)
    }

    /// Reads the metadata of a page.
    ///
    /// # Errors
    /// Power lost, the page cannot be read, or the storage failed.
    pub fn read_meta(&mut self, ppn: Ppn, cause: Cause) -> Result<&[u8]> {
        self.check_power()?;
        self.ledger.record(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        self.book_second_read(ppn);
        self.array.read_meta(ppn)
    }

    // ---- Programs, copies, erases ----------------------------------------------------------

    /// Programs pages to consecutive pages of one block, from `to` on: one page, a run or a list of
    /// them. Each gets a new version. The ledger records them together.
    ///
    /// # Errors
    /// Power lost, the base of a partial page cannot be read, or the storage failed, with some of
    /// the pages programmed.
    ///
    /// # Panics
    /// The data do not fit the mode of the chip, or a rule of flash is broken.
    #[inline(always)]
    pub fn program<'a>(
        &mut self,
        to: Ppn,
        pages: impl Into<Pages<'a>>,
        cause: Cause,
    ) -> Result<()> {
        let pages = pages.into();
        if !self.run_guard(to, pages.count())? {
            let copied = pages;
            return self.program_on_media(to, &copied, cause);
        }
        self.program_now(to, pages, cause)
    }

    #[inline(always)]
    pub(super) fn program_now(&mut self, to: Ppn, pages: Pages, cause: Cause) -> Result<()> {
        if self.array.keeps_pages() {
            // A copy, so that the original need not be in memory when the chip only counts.
            let copied = pages;
            return self.program_stored(to, &copied, cause);
        }
        self.take_sequences(pages.count());
        let owners = match pages {
            Pages::One(&Page { owner, .. }) => {
                assert!(owner != Lpn::NONE, "programmed {to:?} without an owner");
                self.array.count_run(to, owner, 1)
            }
            Pages::Run { first, pages, .. } => self.array.count_run(to, first, pages),
            Pages::List { lpns, .. } => self.array.count_pages(to, lpns),
        };
        self.ledger.record(cause, Operation::Program { first: to, owners });
        Ok(())
    }

    /// Copies pages, in the order given, to consecutive pages of one block from `to` on. The ledger
    /// records them together. Owner, contents and version are kept; kind and scheme bytes too,
    /// unless the caller gives others. If the data of a page cannot be read, but its spare area
    /// can, the data of its copy cannot be read either.
    ///
    /// # Errors
    /// Power lost, the spare area of a page cannot be read, or the storage failed, with some of the
    /// pages copied. A mount gets [`Error::Unreadable`] for such a page and starts again, because
    /// the page has decayed. Later it is [`Error::Immovable`].
    ///
    /// # Panics
    /// A rule of flash is broken.
    #[inline(always)]
    pub fn copy<S: Iterator<Item = u32>>(
        &mut self,
        to: Ppn,
        copies: Copies<'_, S>,
        cause: Cause,
    ) -> Result<()> {
        if !self.run_guard(to, copies.from.len() as u32)? {
            let Copies { from, kind, extra, .. } = copies;
            return self.copy_on_media(to, &Copies { from, kind, extra, around: None }, cause);
        }
        self.copy_now(to, copies, cause)
    }

    #[inline(always)]
    pub(super) fn copy_now<S: Iterator<Item = u32>>(
        &mut self,
        to: Ppn,
        copies: Copies<'_, S>,
        cause: Cause,
    ) -> Result<()> {
        let Copies { from, kind, extra, around } = copies;
        if self.array.keeps_pages() {
            return self.copy_stored(to, Copies { from, kind, extra, around: None }, cause);
        }
        self.take_sequences(from.len() as u32);
        let owners = match around {
            Some((base, strays)) => self.array.count_copies_around(base, from, strays, to),
            None => self.array.count_copies(from, to),
        };
        self.ledger.record(cause, Operation::Copy { from, to, owners });
        Ok(())
    }

    /// Erases a block. On a chip with several dies it begins when all are idle: what made the block
    /// garbage must be complete.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    pub fn erase(&mut self, block: BlockId, cause: Cause) -> Result<()> {
        self.let_dies_end();
        let operation = Interruptible::Erase(block);
        let cut = self.begin(operation)?;
        let erased = self.array.erase(block);
        if let Some(seen) = &mut self.seen {
            seen.add(self.array.geometry().span(block));
        }
        self.ledger.record(cause, Operation::Erase { block });
        erased?;
        match self.array.lives().is_some() {
            true => self.end_erase_on_media(block, cut),
            false => self.end(operation, cut),
        }
    }

    /// Makes everything that was programmed and erased so far outlive the process.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    pub fn sync(&mut self) -> Result<()> {
        self.check_power()?;
        self.expect_lasting()?;
        self.array.sync(SyncBy::Store).map(drop)
    }

    /// Begins to make everything that was programmed and erased so far outlive the process. The job
    /// does the slow part, in any thread; its result goes to [`end_sync`](Self::end_sync).
    /// Meanwhile the chip can be used in every other way. Without a job, all is done already.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    ///
    /// # Panics
    /// Another sync has begun that has not ended.
    pub fn begin_sync(&mut self) -> Result<Option<SyncJob>> {
        self.check_power()?;
        self.expect_lasting()?;
        self.array.sync(SyncBy::Caller)
    }

    /// Ends a sync that was begun, with the result of its job. The power may have failed since:
    /// what was programmed before the begin outlives the process all the same.
    ///
    /// # Errors
    /// The storage failed.
    ///
    /// # Panics
    /// No sync has begun.
    pub fn end_sync(&mut self, done: Result<()>) -> Result<()> {
        self.array.end_sync(done)
    }

    // ---- With a store ----------------------------------------------------------------------

    #[inline(never)]
    fn program_stored(&mut self, to: Ppn, pages: &Pages, cause: Cause) -> Result<()> {
        let (tentative, step) = (self.tentative, self.pages_at_once(pages.count()));
        self.write_stored(to, pages.count(), None, cause, |array, index, sequence| {
            let page = pages.page(index, array.geometry());
            let run = if index % step == 0 { step } else { 0 };
            array.program(to.plus(index), &page, run, sequence, tentative)
        })
    }

    fn copy_stored(&mut self, to: Ppn, copies: Copies, cause: Cause) -> Result<()> {
        let Copies { from, kind, extra, .. } = copies;
        let (tentative, is_mounting) = (self.tentative, self.seen.is_some());
        self.write_stored(to, from.len() as u32, Some(from), cause, |array, index, sequence| {
            let new = CopySpare { sequence, tentative, kind, extra };
            match array.copy(from[index as usize], to.plus(index), new) {
                Err(Error::Unreadable(ppn)) if !is_mounting => Err(Error::Immovable(ppn)),
                done => done,
            }
        })
    }

    /// While the power can fail, each page is a run of its own.
    fn pages_at_once(&self, pages: u32) -> u32 {
        if self.power.is_some() { 1 } else { pages.max(1) }
    }

    /// Writes a run of pages one by one and records it as a whole.
    fn write_stored(
        &mut self,
        to: Ppn,
        pages: u32,
        from: Option<&[Ppn]>,
        cause: Cause,
        mut write: impl FnMut(&mut FlashArray, u32, u64) -> Result<()>,
    ) -> Result<()> {
        let step = self.pages_at_once(pages);
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
            self.array.finish_copies();
            if let Some(seen) = &mut self.seen {
                seen.add(to.0 as usize + start as usize..to.0 as usize + end as usize);
            }
            if start < end {
                self.book_written(to, start..end, from, cause);
            }
            if written.is_err() {
                self.book_failed_copy(from, end, cause);
            }
            written?;
            self.lose_if_due(to.plus(start))?;
            self.end(operation, cut)?;
        }
        Ok(())
    }

    /// Books the pages of a run, by their numbers in it, that were programmed or copied.
    fn book_written(&mut self, to: Ppn, written: Range<u32>, from: Option<&[Ppn]>, cause: Cause) {
        let first = to.plus(written.start);
        let owners = self.array.owners_of_run(first, written.len() as u32);
        let operation = match from {
            Some(from) => {
                let from = &from[written.start as usize..written.end as usize];
                Operation::Copy { from, to: first, owners }
            }
            None => Operation::Program { first, owners },
        };
        self.ledger.record(cause, operation);
        let from = from.map_or(&[][..], |from| &from[written.start as usize..written.end as usize]);
        from.iter().for_each(|&ppn| self.book_second_read(ppn));
    }

    /// Books the read of a copy that failed after it.
    #[cold]
    fn book_failed_copy(&mut self, from: Option<&[Ppn]>, index: u32, cause: Cause) {
        if let Some(ppn) = from.map(|from| from[index as usize]) {
            self.ledger.record(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        }
    }
}
