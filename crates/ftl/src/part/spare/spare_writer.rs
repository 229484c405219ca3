//! Programs of schemes that keep their map in spare areas.
//!
//! ```text
//! chip with spare areas     7 ─▶ compose ─▶ program      9 ─▶ compose ─▶ program
//! chip that only counts     7, 9, 4 wait                 one program of three pages
//! ```
//! A scheme writes page by page, because the spare area of a page depends on the pages before it. A
//! chip that only counts has no spare areas. There, consecutive pages are booked in the map at once
//! and programmed together: when their block is full, before any other program, and when the scheme
//! [finishes](SpareMap::finish). Whole pages of a longer run wait, and pages of a block that is
//! being emptied. A guard would see the programs too late, so with a guard no page waits.

use nand::{Cause, Content, Copies, Data, Geometry, Lpn, Nand, Page, Pages, Ppn};

use crate::contract::{Error, Result, Run};
use crate::part::map::flat_map::FlatMap;
use crate::part::map::rmw;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_map::{Lbn, SpareMap};
use crate::part::spare::superblocks::Sbn;
use crate::part::spare::waiting_pages::WaitingPages;

/// Where the contents of a page to be programmed come from.
#[derive(Clone, Copy, Debug)]
pub enum PageSource<'a> {
    /// The host writes the page.
    Host(&'a Run<'a>),
    /// The page is copied from its present place, for this cause.
    Copy(Cause),
    /// The same, for a page of a block that is being emptied.
    Move(Cause),
}

/// What a scheme whose pages are all PMD pages keeps for them.
pub trait SpareForm {
    /// Notes that a page gets a new place. Returns its logical block, and its offset there.
    fn note(&mut self, lpn: Lpn) -> (Lbn, u16);

    /// Composes the scheme bytes of a page that has its new place. Returns its kind.
    fn compose(&self, geometry: &Geometry, flat: &FlatMap, lpn: Lpn, bytes: &mut Vec<u8>) -> u8;
}

impl SpareMap {
    /// Number of pages that the open block of a superblock can take, after those that wait.
    #[inline]
    pub fn open_room(&self, superblock: Sbn) -> u32 {
        match self.waiting.room {
            0 => self.blocks.room(superblock),
            room => room,
        }
    }

    /// The page to program next in the superblock of a page. If its open block has no room, a free
    /// block is opened; there must be one. All pages that wait must be of this superblock.
    ///
    /// # Errors
    /// The power fails.
    #[inline(always)]
    pub fn next(&mut self, nand: &mut Nand, lpn: Lpn) -> Result<Ppn> {
        match self.waiting.room {
            0 => self.next_of_open(nand, self.superblock_of_page(lpn)),
            _ => Ok(self.waiting.next),
        }
    }

    fn next_of_open(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<Ppn> {
        if self.blocks.room(superblock) == 0 {
            self.open_block(nand, superblock)?;
        }
        Ok(self.blocks.next(superblock))
    }

    /// Stands apart, so that most pages are spared its registers.
    #[inline(never)]
    fn open_block(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<()> {
        let block = self.flat.pool.take(nand)?;
        self.blocks.open(nand.geometry(), superblock, block);
        Ok(())
    }

    /// Writes a page to the [next](Self::next) place `to`. `compose` composes its scheme bytes and
    /// returns its kind. It is called once the map has the new place.
    ///
    /// # Errors
    /// The power fails, or the old page of a partial write cannot be read.
    #[inline(always)]
    pub fn write(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        to: Ppn,
        compose: impl FnOnce(&Geometry, &FlatMap, &mut Vec<u8>) -> u8,
    ) -> Result<()> {
        let old = self.flat.point(lpn, to);
        match source {
            PageSource::Move(_) if self.waiting.room > 0 => {
                self.waiting.from.push(old);
                self.note_waiting(nand, 1)
            }
            _ => self.begin(nand, source, lpn, [old, to], compose),
        }
    }

    /// Programs a page, or lets it wait as the first one of those that are programmed together.
    #[inline(never)]
    fn begin(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        [old, to]: [Ppn; 2],
        compose: impl FnOnce(&Geometry, &FlatMap, &mut Vec<u8>) -> u8,
    ) -> Result<()> {
        match source {
            PageSource::Move(cause) if may_wait(nand) => {
                self.open_batch(nand, cause, to);
                self.waiting.from.push(old);
                return self.note_waiting(nand, 1);
            }
            PageSource::Host(run)
                if may_wait(nand) && run.pages > 1 && is_whole(nand, run, lpn) =>
            {
                self.open_batch(nand, Cause::Host, to);
                self.leave(nand, old);
                self.flat.note_written(lpn);
                let host = &mut self.waiting.host;
                host.start = if host.start == host.end { lpn.0 } else { host.start };
                host.end = lpn.0 + 1;
                return self.note_waiting(nand, 1);
            }
            _ => self.finish(nand)?,
        }
        let mut bytes = core::mem::take(&mut self.waiting.bytes);
        let kind = match nand.array().keeps_pages() {
            true => compose(nand.geometry(), &self.flat, &mut bytes),
            false => page_kind::DATA,
        };
        let done = self.program(nand, source, lpn, [old, to], (kind, &bytes));
        self.waiting.bytes = bytes;
        done
    }

    /// Writes PMD pages of one superblock, in this order. There must be room for them.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_all(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        pages: &[Lpn],
        form: &mut impl SpareForm,
    ) -> Result<()> {
        let mut rest = pages;
        while let Some(&lpn) = rest.first() {
            let to = self.next(nand, lpn)?;
            if let PageSource::Move(cause) = source
                && may_wait(nand)
            {
                self.open_batch(nand, cause, to);
                let (some, later) = rest.split_at(rest.len().min(self.waiting.room as usize));
                let mut next = to.0;
                self.waiting.from.extend(some.iter().map(|&lpn| {
                    let (lbn, offset) = form.note(lpn);
                    self.pgd[lbn as usize] = offset;
                    next += 1;
                    self.flat.point(lpn, Ppn(next - 1))
                }));
                self.note_waiting(nand, some.len() as u32)?;
                rest = later;
                continue;
            }
            let (lbn, offset) = form.note(lpn);
            self.pgd[lbn as usize] = offset;
            self.write(nand, source, lpn, to, |geometry, flat, bytes| {
                form.compose(geometry, flat, lpn, bytes)
            })?;
            // Later pages refer to this one.
            nand.barrier();
            rest = &rest[1..];
        }
        Ok(())
    }

    /// Programs a page with this kind and these scheme bytes; `old` is its former place.
    #[inline(always)]
    fn program(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        [old, to]: [Ppn; 2],
        (kind, extra): (u8, &[u8]),
    ) -> Result<()> {
        self.leave(nand, old);
        self.fill(nand, to, 1);
        let copy = |nand: &mut Nand, cause| {
            let copies = [old];
            let copies = Copies::of(&copies).with_kind(Some(kind)).with_extra(extra);
            nand.copy(to, copies, cause)
        };
        let run = match source {
            PageSource::Copy(cause) | PageSource::Move(cause) => return Ok(copy(nand, cause)?),
            PageSource::Host(run) => run,
        };
        let (full, index) = (nand.geometry().full_mask(), lpn.0 - run.first.0);
        let mask = run.mask(index, full);
        let base = (mask != full && old != Ppn::NONE).then_some(old);
        match rmw::read_rest(nand, lpn, mask, base) {
            Err(Error::Chip(nand::Error::Unreadable(_))) => {
                // Its data were lost when it moved in this very write. Other pages refer to its new
                // place, so it moves on as it is.
                self.lost_base = Some(old);
                return Ok(copy(nand, Cause::Rmw)?);
            }
            done => done?,
        }
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        let content = Content::Host { data, mask, base };
        nand.program(to, &Page { owner: lpn, kind, extra, content }, Cause::Host)?;
        self.flat.note_written(lpn);
        Ok(())
    }

    /// Ends a write of pages to which later ones refer. Pages wait only where no guard must know.
    #[inline]
    pub fn barrier(&self, nand: &mut Nand) {
        if self.waiting.room == 0 {
            nand.barrier();
        }
    }

    /// Ends a write of the host.
    ///
    /// # Errors
    /// A page of which the host wrote only some sectors could not be read, and was not written.
    pub fn end_write(&mut self) -> Result<()> {
        let lost = self.lost_base.take();
        lost.map_or(Ok(()), |ppn| Err(Error::Chip(nand::Error::Unreadable(ppn))))
    }

    // ---- Pages that wait ----------------------------------------------------------------------

    /// Lets pages of this cause wait from now on, the first one for its program at `to`, unless
    /// some wait already.
    fn open_batch(&mut self, nand: &Nand, cause: Cause, to: Ppn) {
        if self.waiting.room == 0 {
            let superblock = self.blocks.owner(nand.geometry().block_of(to));
            let waiting = &mut self.waiting;
            (waiting.cause, waiting.next, waiting.room) = (cause, to, self.blocks.room(superblock));
        }
        debug_assert_eq!(self.waiting.cause, cause, "pages of another cause wait");
    }

    /// Notes that more pages wait. If their block is full, none waits any more.
    #[inline(always)]
    fn note_waiting(&mut self, nand: &mut Nand, pages: u32) -> Result<()> {
        let waiting = &mut self.waiting;
        waiting.next = waiting.next.plus(pages);
        waiting.room -= pages;
        if waiting.room == 0 { self.finish(nand) } else { Ok(()) }
    }

    /// Programs the pages that wait.
    ///
    /// # Errors
    /// The power fails.
    pub fn finish(&mut self, nand: &mut Nand) -> Result<()> {
        let WaitingPages { from, host, cause, next, room, .. } = &mut self.waiting;
        *room = 0;
        let pages = (from.len() + host.len()) as u32;
        if pages == 0 {
            return Ok(());
        }
        let to = Ppn(next.0 - pages);
        match from.first() {
            None => {
                let (first, kind, data) = (Lpn(host.start), page_kind::DATA, Data::None);
                nand.program(to, Pages::Run { first, pages, kind, data }, *cause)?;
            }
            Some(&first) => {
                nand.copy(to, Copies::of(from), *cause)?;
                self.blocks.supersede(nand.geometry().block_of(first), pages as u16);
            }
        }
        from.clear();
        *host = 0..0;
        self.fill(nand, to, pages);
        Ok(())
    }

    /// Notes that a page has left its former place, if it had one.
    #[inline]
    fn leave(&mut self, nand: &Nand, old: Ppn) {
        if old != Ppn::NONE {
            self.blocks.supersede(nand.geometry().block_of(old), 1);
        }
    }

    /// Notes that the pages from `to` on are programmed.
    #[inline(always)]
    fn fill(&mut self, nand: &Nand, to: Ppn, pages: u32) {
        let superblock = self.blocks.owner(nand.geometry().block_of(to));
        self.blocks.fill(nand.geometry(), superblock, pages);
    }
}

/// Whether pages may wait for their programs.
#[inline]
fn may_wait(nand: &Nand) -> bool {
    !nand.array().keeps_pages() && !nand.has_guard()
}

/// Whether the host writes all sectors of a page.
fn is_whole(nand: &Nand, run: &Run, lpn: Lpn) -> bool {
    let full = nand.geometry().full_mask();
    run.mask(lpn.0 - run.first.0, full) == full
}
