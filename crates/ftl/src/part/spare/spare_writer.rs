//! Programs of schemes that keep their map in spare areas.
//!
//! ```text
//! chip with spare areas     7 ─▶ compose ─▶ program      9 ─▶ compose ─▶ program
//! chip that only counts     7, 9, 4 wait                 one program of three pages
//! ```
//! A scheme writes page by page, because the spare area of a page depends on the pages before it. A
//! chip that only counts has no spare areas. There, consecutive pages are booked in the map at once
//! and programmed together: when their block is full, when a page of another cause follows, or when
//! the scheme [finishes](SpareMap::finish). A guard would see the programs too late, so with a
//! guard no page waits.

use nand::{Cause, Content, Copies, Data, Geometry, Lpn, Nand, Page, Pages, Ppn};

use crate::contract::{Result, Run};
use crate::part::map::flat_map::FlatMap;
use crate::part::map::rmw;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_map::SpareMap;
use crate::part::spare::superblocks::Sbn;
use crate::part::spare::waiting_pages::WaitingPages;

/// Where the contents of a page to be programmed come from.
#[derive(Clone, Copy, Debug)]
pub enum PageSource<'a> {
    /// The host writes the page.
    Host(&'a Run<'a>),
    /// The page is copied from its present place, for this cause.
    Copy(Cause),
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

    /// The page to program next in a superblock. If its open block has no room, a free block is
    /// opened; there must be one. All pages that wait must be of this superblock.
    ///
    /// # Errors
    /// The power fails.
    #[inline]
    pub fn next(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<Ppn> {
        if self.waiting.room > 0 {
            return Ok(self.waiting.next);
        }
        if self.blocks.room(superblock) == 0 {
            let block = self.flat.pool.take(nand)?;
            self.blocks.open(nand.geometry(), superblock, block);
        }
        Ok(self.blocks.next(superblock))
    }

    /// Writes a page to the [next](Self::next) place `to`. `compose` composes its scheme bytes and
    /// returns its kind. It is called once the map has the new place.
    ///
    /// # Errors
    /// The power fails, or the old page of a partial write cannot be read.
    #[inline]
    pub fn write(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        to: Ppn,
        compose: impl FnOnce(&Geometry, &FlatMap, &mut Vec<u8>) -> u8,
    ) -> Result<()> {
        let old = self.flat.point(lpn, to);
        if !nand.array().keeps_pages() && !nand.has_guard() {
            match source {
                PageSource::Copy(cause) => {
                    self.join(nand, cause, to)?;
                    self.waiting.from.push(old);
                    return self.note_joined(nand);
                }
                PageSource::Host(run) if run.pages > 1 && is_whole(nand, run, lpn) => {
                    self.join(nand, Cause::Host, to)?;
                    self.leave(nand, old);
                    self.flat.note_written(lpn);
                    let host = &mut self.waiting.host;
                    host.start = if host.start == host.end { lpn.0 } else { host.start };
                    host.end = lpn.0 + 1;
                    return self.note_joined(nand);
                }
                PageSource::Host(_) => self.finish(nand)?,
            }
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

    /// Programs a page with this kind and these scheme bytes; `old` is its former place.
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
        let run = match source {
            PageSource::Copy(cause) => {
                let copies = [old];
                let copies = Copies::of(&copies).with_kind(Some(kind)).with_extra(extra);
                return Ok(nand.copy(to, copies, cause)?);
            }
            PageSource::Host(run) => run,
        };
        let (full, index) = (nand.geometry().full_mask(), lpn.0 - run.first.0);
        let mask = run.mask(index, full);
        let base = (mask != full && old != Ppn::NONE).then_some(old);
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        let content = Content::Host { data, mask, base };
        rmw::program_partial(nand, to, &Page { owner: lpn, kind, extra, content })?;
        self.flat.note_written(lpn);
        Ok(())
    }

    // ---- Pages that wait ----------------------------------------------------------------------

    /// Lets a page of this cause wait for its program at `to`, with those before it.
    #[inline]
    fn join(&mut self, nand: &mut Nand, cause: Cause, to: Ppn) -> Result<()> {
        if self.waiting.room > 0 && self.waiting.cause != cause {
            self.finish(nand)?;
        }
        if self.waiting.room == 0 {
            let superblock = self.blocks.owner(nand.geometry().block_of(to));
            let waiting = &mut self.waiting;
            (waiting.cause, waiting.next, waiting.room) = (cause, to, self.blocks.room(superblock));
        }
        Ok(())
    }

    /// Notes that a page has joined those that wait. If their block is full, none waits any more.
    #[inline]
    fn note_joined(&mut self, nand: &mut Nand) -> Result<()> {
        self.waiting.next = self.waiting.next.plus(1);
        self.waiting.room -= 1;
        if self.waiting.room == 0 { self.finish(nand) } else { Ok(()) }
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
        if from.is_empty() {
            let (first, kind, data) = (Lpn(host.start), page_kind::DATA, Data::None);
            nand.program(to, Pages::Run { first, pages, kind, data }, *cause)?;
        } else {
            nand.copy(to, Copies::of(from), *cause)?;
            let block_of = |ppn: Ppn| nand.geometry().block_of(ppn);
            for left in from.chunk_by(|&a, &b| block_of(a) == block_of(b)) {
                self.blocks.supersede(block_of(left[0]), left.len() as u16);
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
    #[inline]
    fn fill(&mut self, nand: &Nand, to: Ppn, pages: u32) {
        let superblock = self.blocks.owner(nand.geometry().block_of(to));
        self.blocks.fill(nand.geometry(), superblock, pages);
    }
}

/// Whether the host writes all sectors of a page.
fn is_whole(nand: &Nand, run: &Run, lpn: Lpn) -> bool {
    let full = nand.geometry().full_mask();
    run.mask(lpn.0 - run.first.0, full) == full
}
