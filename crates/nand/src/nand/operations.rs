//! Operations of the chip: the flash array carries each one out, and the ledger records it.
//!
//! In count mode they take a shortcut, because simulations spend most of their time there: only the
//! owners change, and the ledger records the operation. Such a chip has no store, and its power
//! cannot fail.

use core::ops::Range;

use super::Nand;
use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::error::{Error, Result};
use crate::flash_array::FlashArray;
use crate::op::{Cause, Op};
use crate::op_sink::Operation;
use crate::page_store::SyncJob;
use crate::payload::{Content, Data, Page, Sink};
use crate::power_cut::Interruptible;
use crate::spare::PageState;
use crate::stored_pages::CopySpare;

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
        self.array.read(ppn, lpn, mask, sink)
    }

    /// Reads the spare area of page `ppn`.
    ///
    /// # Errors
    /// Power lost, or the storage failed; or the running mount has read this page before and cannot
    /// read it any more, so it must start again.
    pub fn read_spare(&mut self, ppn: Ppn, cause: Cause) -> Result<PageState> {
        self.book_spare_read(ppn, cause)?;
        let state = self.array.state(ppn)?;
        let readable = matches!(state, PageState::Programmed(_));
        let is_as_before =
            self.seen.as_mut().is_none_or(|seen| seen.read(ppn.0 as usize, readable));
        if is_as_before { Ok(state) } else { Err(Error::Unreadable(ppn)) }
    }

    /// Books the read of a spare area whose contents the caller knows from elsewhere. Works in
    /// every mode.
    ///
    /// # Errors
    /// Power lost.
    pub fn book_spare_read(&mut self, ppn: Ppn, cause: Cause) -> Result<()> {
        self.check_power()?;
        self.ledger.record(cause, Operation::SpareRead { ppn, owner: self.array.owner(ppn) });
        Ok(())
    }

    /// Books the reads of several spare areas, as [`book_spare_read`](Self::book_spare_read) does.
    ///
    /// # Errors
    /// Power lost.
    #[inline]
    pub fn book_spare_reads(
        &mut self,
        mut ppns: impl Iterator<Item = Ppn>,
        cause: Cause,
    ) -> Result<()> {
        if self.power.is_none() && self.ledger.sink.is_none() {
            self.ledger.tally.add(Op::SpareRead, cause, ppns.count() as u64);
            return Ok(());
        }
        ppns.try_for_each(|ppn| self.book_spare_read(ppn, cause))
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
        self.array.read_meta(ppn)
    }

    // ---- Programs, copies, erases ----------------------------------------------------------

    /// Programs one page. It gets a new version.
    ///
    /// # Errors
    /// Power lost, the base of a partial page cannot be read, or the storage failed.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, page: &Page, cause: Cause) -> Result<()> {
        self.run_guard(ppn, 1)?;
        if self.array.keeps_pages() {
            return self.program_stored(ppn, page, cause);
        }
        assert!(page.owner != Lpn::NONE, "programmed {ppn:?} without an owner");
        self.count_programs(ppn, page.owner, 1, cause);
        Ok(())
    }

    /// Programs whole pages of the host, `first` and the following, to consecutive pages of one
    /// block from `to` on. The ledger records them together.
    ///
    /// # Errors
    /// Power lost or storage failed, with some of the pages programmed.
    #[inline(always)]
    pub fn program_run(
        &mut self,
        to: Ppn,
        first: Lpn,
        pages: u32,
        kind: u8,
        data: Data,
        cause: Cause,
    ) -> Result<()> {
        self.run_guard(to, pages)?;
        if self.array.keeps_pages() {
            return self.program_run_stored(to, first, pages, kind, data, cause);
        }
        self.count_programs(to, first, pages, cause);
        Ok(())
    }

    /// Programs whole pages of the host, which need not be consecutive, to consecutive pages of one
    /// block from `to` on. The ledger records them together.
    ///
    /// # Errors
    /// Power lost.
    ///
    /// # Panics
    /// The chip keeps pages: there are no data.
    #[inline]
    pub fn program_pages(&mut self, to: Ppn, lpns: &[u32], cause: Cause) -> Result<()> {
        assert!(!self.array.keeps_pages(), "programmed {to:?} without data");
        self.run_guard(to, lpns.len() as u32)?;
        self.take_sequences(lpns.len() as u32);
        let owners = self.array.count_pages(to, lpns);
        self.ledger.record(cause, Operation::Program { first: to, owners });
        Ok(())
    }

    /// Copies pages, in the order given, to consecutive pages of one block from `to` on. The ledger
    /// records them together. Owner, contents and version are kept; the kind too, unless a new one
    /// is given. If the data of a page cannot be read, but its spare area can, the data of its copy
    /// cannot be read either.
    ///
    /// # Errors
    /// Power lost, the spare area of a page cannot be read, or the storage failed, with some of the
    /// pages copied. A mount gets [`Error::Unreadable`] for such a page and starts again, because
    /// the page has decayed. Later it is [`Error::Immovable`].
    #[inline]
    pub fn copy_many(
        &mut self,
        from: &[Ppn],
        to: Ppn,
        kind: Option<u8>,
        cause: Cause,
    ) -> Result<()> {
        self.run_guard(to, from.len() as u32)?;
        if self.array.keeps_pages() {
            return self.copy_stored(from, to, kind, None, cause);
        }
        self.count_copies(from, to, cause);
        Ok(())
    }

    /// Copies pages as [`copy_many`](Self::copy_many) does, faster if only a few are `strays`: all
    /// others are consecutive, page `n` of `from` at `base + n`. The strays are named by their
    /// numbers in `from`.
    ///
    /// # Errors
    /// As for `copy_many`.
    #[inline]
    pub fn copy_around(
        &mut self,
        base: Ppn,
        from: &[Ppn],
        strays: impl Iterator<Item = u32>,
        to: Ppn,
        kind: Option<u8>,
        cause: Cause,
    ) -> Result<()> {
        if self.guard.is_some() || self.array.keeps_pages() {
            return self.copy_many(from, to, kind, cause);
        }
        self.take_sequences(from.len() as u32);
        let owners = self.array.count_copies_around(base, from, strays, to);
        self.ledger.record(cause, Operation::Copy { from, to, owners });
        Ok(())
    }

    /// Copies one page as [`copy_many`](Self::copy_many) does, and gives the copy another kind and
    /// other scheme bytes.
    ///
    /// # Errors
    /// As for `copy_many`.
    pub fn copy(&mut self, from: Ppn, to: Ppn, kind: u8, extra: &[u8], cause: Cause) -> Result<()> {
        self.run_guard(to, 1)?;
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
        if let Some(seen) = &mut self.seen {
            seen.add(self.array.geometry().span(block));
        }
        self.ledger.record(cause, Operation::Erase { block });
        erased?;
        self.end(operation, cut)
    }

    /// Makes everything that was programmed and erased so far outlive the process.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    pub fn sync(&mut self) -> Result<()> {
        self.check_power()?;
        self.array.sync()
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
        self.array.begin_sync()
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

    // ---- In count mode ---------------------------------------------------------------------

    #[inline(always)]
    fn count_programs(&mut self, to: Ppn, first: Lpn, pages: u32, cause: Cause) {
        self.take_sequences(pages);
        let owners = self.array.count_run(to, first, pages);
        self.ledger.record(cause, Operation::Program { first: to, owners });
    }

    #[inline]
    fn count_copies(&mut self, from: &[Ppn], to: Ppn, cause: Cause) {
        self.take_sequences(from.len() as u32);
        let owners = self.array.count_copies(from, to);
        self.ledger.record(cause, Operation::Copy { from, to, owners });
    }

    // ---- With a store ----------------------------------------------------------------------

    fn program_stored(&mut self, ppn: Ppn, page: &Page, cause: Cause) -> Result<()> {
        let tentative = self.tentative;
        self.write_stored(ppn, 1, None, cause, |array, _, sequence| {
            array.program(ppn, page, sequence, tentative)
        })
    }

    #[inline(never)]
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
        let tentative = self.tentative;
        self.write_stored(to, pages, None, cause, |array, index, sequence| {
            let data = data.from_page(index, page_bytes);
            let content = Content::Host { data, mask, base: None };
            let page = Page { owner: first.plus(index), kind, extra: &[], content };
            array.program(to.plus(index), &page, sequence, tentative)
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
        let (tentative, is_mounting) = (self.tentative, self.is_mounting());
        self.write_stored(to, from.len() as u32, Some(from), cause, |array, index, sequence| {
            let new = CopySpare { sequence, tentative, kind, extra };
            match array.copy(from[index as usize], to.plus(index), new) {
                Err(Error::Unreadable(ppn)) if !is_mounting => Err(Error::Immovable(ppn)),
                done => done,
            }
        })
    }

    /// Writes a run of pages one by one and records it as a whole. While the power can fail, each
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
    }

    /// Books the read of a copy that failed after it.
    #[cold]
    fn book_failed_copy(&mut self, from: Option<&[Ppn]>, index: u32, cause: Cause) {
        if let Some(ppn) = from.map(|from| from[index as usize]) {
            self.ledger.record(cause, Operation::Read { ppn, owner: self.array.owner(ppn) });
        }
    }
}
