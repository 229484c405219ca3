//! The pages of a chip that keeps them: composes records for the store, and checks the records that
//! come back.

use alloc::borrow::Cow;
use core::ops::Range;

use super::numbered_store::NumberedStore;
use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::cells;
use crate::error::{Error, Result};
use crate::geometry::Geometry;
use crate::page_store::{Area, Extent, Health, PageRecord, PageStore, Shape};
use crate::payload::{Content, Data, Page, Sink};
use crate::spare::{Header, PageState, Spare};

/// The part of a spare area that a copy does not inherit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySpare<'a> {
    /// Where the copy stands in the order of programs.
    pub(crate) sequence: u64,
    /// Whether the copy is tentative.
    pub(crate) tentative: bool,
    /// Another kind.
    pub(crate) kind: Option<u8>,
    /// Other scheme bytes.
    pub(crate) extra: Option<&'a [u8]>,
}

/// A store, and one page on its way into or out of it.
pub(crate) struct StoredPages {
    store: NumberedStore,
    /// The page that was loaded or composed last.
    page: PageRecord,
    /// Copies without their data areas yet. A long copy is faster than several short ones.
    unfinished: Option<CopyRun>,
    /// Unreadable pages for which others stand in.
    stand_ins: Vec<StandIn>,
}

/// Consecutive pages of a block, and their copies, which are consecutive pages of another block.
#[derive(Clone, Copy)]
struct CopyRun {
    from: Ppn,
    to: Ppn,
    pages: u32,
}

impl CopyRun {
    /// Whether a copy of `from` to `to` follows the others.
    fn continues_with(&self, from: Ppn, to: Ppn, geometry: &Geometry) -> bool {
        let follows = from == self.from.plus(self.pages) && to == self.to.plus(self.pages);
        // The next block begins at offset 0.
        follows && geometry.offset_of(from) > 0 && geometry.offset_of(to) > 0
    }
}

/// An unreadable page, the page that holds its data, and the spare area that it had.
#[derive(Clone)]
struct StandIn {
    page: Ppn,
    by: Ppn,
    spare: Spare,
    extra: Box<[u8]>,
}

impl StoredPages {
    pub(crate) fn new(store: Box<dyn PageStore>) -> StoredPages {
        StoredPages::on(NumberedStore::new(store))
    }

    fn on(store: NumberedStore) -> StoredPages {
        let page = PageRecord::new(store.shape().mode);
        StoredPages { store, page, unfinished: None, stand_ins: Vec::new() }
    }

    pub(crate) fn try_clone(&self) -> Result<StoredPages> {
        Ok(StoredPages::on(self.store.try_clone()?))
    }

    /// A view in which pages stand in for others, too.
    pub(crate) fn view_as_it_is(&self) -> Result<StoredPages> {
        let stand_ins = self.stand_ins.clone();
        Ok(StoredPages { stand_ins, ..StoredPages::on(self.store.view()?) })
    }

    pub(crate) fn into_store(self) -> Box<dyn PageStore> {
        self.store.into_store()
    }

    pub(crate) fn shape(&self) -> &Shape {
        self.store.shape()
    }

    pub(crate) fn store(&self) -> &NumberedStore {
        &self.store
    }

    pub(crate) fn store_mut(&mut self) -> &mut NumberedStore {
        &mut self.store
    }

    // ---- Operations ------------------------------------------------------------------------

    /// Composes a page to be programmed. Returns its data area, or those of `run` pages from it on:
    /// of several pages that are programmed together, the first has them all, and the others none.
    pub(crate) fn compose<'a>(
        &mut self,
        page: &Page<'a>,
        run: u32,
        sequence: u64,
        tentative: bool,
    ) -> Result<Area<'a>> {
        let Page { owner, kind, extra, content } = *page;
        let area = self.compose_data(owner, content, run)?;
        self.set_spare(Spare { owner, version: sequence, sequence, kind, tentative }, extra);
        if matches!(content, Content::Host { data: Data::Lost, .. }) {
            self.lose_data();
        }
        Ok(area)
    }

    /// Composes a copy of a page of `owner`, to be programmed: its contents, owner and
    /// version, and its kind and scheme bytes unless new ones are given. If the data of the page
    /// are lost, so are those of the copy. Else the result is the page that holds them.
    pub(crate) fn compose_copy(
        &mut self,
        from: Ppn,
        owner: Lpn,
        new: CopySpare,
    ) -> Result<Option<Ppn>> {
        let (old, source) = self.load_to_copy(from, owner)?;
        let is_lost = self.page.health == Health::DataLost;
        let CopySpare { sequence, tentative, kind, extra } = new;
        let spare = Spare { sequence, tentative, kind: kind.unwrap_or(old.kind), ..old };
        match extra {
            Some(extra) => self.set_spare(spare, extra),
            None => self.page.renew_header(spare),
        }
        if is_lost {
            self.lose_data();
            return Ok(None);
        }
        Ok(Some(source))
    }

    /// Loads a page of other pages, to be programmed here.
    pub(crate) fn load_from(&mut self, other: &StoredPages, ppn: Ppn) -> Result<()> {
        other.store.load(ppn, &mut self.page, Extent::Whole).map(drop)
    }

    /// Loads what can be read of a page, to be programmed elsewhere as it is. A page that cannot be
    /// read becomes one whose program is known to be useless: it may have gone astray, and the
    /// place that its header names may be the one where it moves.
    pub(crate) fn load_to_move(&mut self, ppn: Ppn) -> Result<()> {
        self.store.load(ppn, &mut self.page, Extent::Whole)?;
        self.page.health = match (self.page.health, self.page.header) {
            (Health::Good | Health::Unstable, Header::Intact(_)) => Health::Good,
            (Health::DataLost, Header::Intact(_)) => Health::DataLost,
            _ => Health::Torn,
        };
        Ok(())
    }

    /// Writes the composed page with this data area. A copy gets its data from the page `from`, at
    /// the latest when [copies are finished](Self::finish_copies).
    pub(crate) fn save(&mut self, ppn: Ppn, area: Area, from: Option<Ppn>) -> Result<()> {
        let Some(from) = from.filter(|_| self.shape().takes_runs) else {
            return self.store.save(ppn, &self.page, area);
        };
        self.store.save(ppn, &self.page, Area::Apart)?;
        let geometry = self.shape().geometry;
        match &mut self.unfinished {
            Some(run) if run.continues_with(from, ppn, &geometry) => run.pages += 1,
            _ => {
                self.finish_copies();
                self.unfinished = Some(CopyRun { from, to: ppn, pages: 1 });
            }
        }
        Ok(())
    }

    /// Copies the data areas of the pages that were copied last.
    pub(crate) fn finish_copies(&mut self) {
        if let Some(CopyRun { from, to, pages }) = self.unfinished.take() {
            self.store.copy_data(from, to, pages);
        }
    }

    /// Copies the sectors in `mask` of a page of `owner` to the sink.
    pub(crate) fn read(
        &mut self,
        ppn: Ppn,
        owner: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
    ) -> Result<()> {
        let sectors = self.shape().geometry.sectors_per_page();
        debug_assert!(self.unfinished.is_none(), "{ppn:?} is read before copies are finished");
        let (spare, lent) = match self.stand_ins.iter().position(|it| it.page == ppn) {
            Some(at) => (self.load_stand_in(at, owner)?, None),
            None => {
                let lent = self.store.load(ppn, &mut self.page, Extent::Lent)?;
                (self.loaded_spare(ppn, owner)?, lent)
            }
        };
        self.readable(ppn, spare)?;
        match lent {
            Some(bytes) => cells::read_bytes(bytes, sectors, owner, mask, sink),
            None => self.page.cells.read(0, sectors, owner, mask, sink),
        }
        Ok(())
    }

    /// The state that a reader of the spare area finds. Unlike [`state`](Self::state) it needs no
    /// memory: a mount reads every spare area.
    pub(crate) fn read_spare(&mut self, ppn: Ppn) -> Result<PageState> {
        if self.stand_ins.iter().any(|it| it.page == ppn) {
            return self.state(ppn);
        }
        self.store.load(ppn, &mut self.page, Extent::Spare)?;
        Ok(self.page.state())
    }

    /// Whether the data of a page of `owner` can be read.
    pub(crate) fn is_readable(&mut self, ppn: Ppn, owner: Lpn) -> Result<bool> {
        match self.load(ppn, owner) {
            Ok(_) => Ok(true),
            Err(Error::Unreadable(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The metadata of a page of `owner`.
    pub(crate) fn read_meta(&mut self, ppn: Ppn, owner: Lpn) -> Result<&[u8]> {
        self.load(ppn, owner)?;
        Ok(&self.page.meta)
    }

    /// Erases a block, which has these pages.
    pub(crate) fn erase(&mut self, block: BlockId, pages: Range<usize>) -> Result<()> {
        self.stand_ins.retain(|stand_in| !pages.contains(&(stand_in.page.0 as usize)));
        self.store.erase(block)
    }

    // ---- Looking at pages ------------------------------------------------------------------

    pub(crate) fn stand_in(&mut self, page: Ppn, by: Ppn, spare: Spare, extra: &[u8]) {
        self.stand_ins.push(StandIn { page, by, spare, extra: extra.into() });
    }

    pub(crate) fn end_stand_ins(&mut self) {
        self.stand_ins.clear();
    }

    pub(crate) fn stand_ins(&self) -> impl Iterator<Item = Ppn> + '_ {
        self.stand_ins.iter().map(|stand_in| stand_in.page)
    }

    pub(crate) fn state(&self, ppn: Ppn) -> Result<PageState> {
        if let Some(stand_in) = self.stand_ins.iter().find(|it| it.page == ppn) {
            return Ok(PageState::Programmed(stand_in.spare));
        }
        Ok(self.store.spare(ppn)?.state())
    }

    /// The header and the scheme bytes of a page, if it can be read.
    pub(crate) fn peek_spare(&self, ppn: Ppn) -> Result<Option<(Spare, Cow<'_, [u8]>)>> {
        if let Some(stand_in) = self.stand_ins.iter().find(|it| it.page == ppn) {
            return Ok(Some((stand_in.spare, Cow::Borrowed(&*stand_in.extra))));
        }
        let record = self.store.spare(ppn)?;
        Ok(match record.state() {
            PageState::Programmed(spare) => Some((spare, record.extra.into())),
            _ => None,
        })
    }

    /// The metadata of a page, if it can be read.
    pub(crate) fn peek_meta(&self, ppn: Ppn) -> Option<Vec<u8>> {
        let mut page = PageRecord::new(self.shape().mode);
        self.store.load(ppn, &mut page, Extent::Whole).ok()?;
        let is_programmed = matches!(page.state(), PageState::Programmed(_));
        (is_programmed && page.health != Health::DataLost).then_some(page.meta)
    }

    // ---- Records ---------------------------------------------------------------------------

    /// Composes the data area of a page of `owner`. Whole pages of bytes are not copied, and go to
    /// the store together if it takes runs: long copies are faster.
    fn compose_data<'a>(&mut self, owner: Lpn, content: Content<'a>, run: u32) -> Result<Area<'a>> {
        let geometry = self.shape().geometry;
        let sectors = geometry.sectors_per_page();
        if let Content::Host { data: Data::Bytes(bytes), mask, .. } = content
            && mask == geometry.full_mask()
        {
            self.page.meta.clear();
            let pages = if self.shape().takes_runs { run } else { 1 };
            return Ok(match pages {
                0 => Area::Apart,
                _ => Area::Lent(&bytes[..(pages * geometry.page_bytes()) as usize]),
            });
        }
        self.page.clear(sectors);
        match content {
            Content::Host { data, mask, base } => {
                if let Some(base) = base.filter(|_| mask != geometry.full_mask()) {
                    self.load(base, owner)?;
                    self.page.meta.clear();
                }
                self.page.cells.overlay(0, sectors, owner, mask, data);
            }
            Content::Sectors { data, mask, meta } => {
                self.page.cells.overlay(0, sectors, owner, mask, data);
                self.page.meta.extend_from_slice(meta);
            }
            Content::Meta(bytes) => self.page.meta.extend_from_slice(bytes),
            Content::Pad => {}
        }
        Ok(Area::Recorded)
    }

    fn set_spare(&mut self, spare: Spare, extra: &[u8]) {
        let room = self.shape().geometry.scheme_bytes() as usize;
        assert!(extra.len() <= room, "{} scheme bytes do not fit into {room}", extra.len());
        self.page.set_spare(spare, extra);
    }

    fn lose_data(&mut self) {
        let sectors = self.shape().geometry.sectors_per_page();
        self.page.lose_data(sectors);
    }

    /// Loads a page whose data can be read.
    fn load(&mut self, ppn: Ppn, owner: Lpn) -> Result<Spare> {
        debug_assert!(self.unfinished.is_none(), "{ppn:?} is loaded before copies are finished");
        let spare = match self.stand_ins.iter().position(|it| it.page == ppn) {
            Some(at) => self.load_stand_in(at, owner)?,
            None => {
                self.store.load(ppn, &mut self.page, Extent::Whole)?;
                self.loaded_spare(ppn, owner)?
            }
        };
        self.readable(ppn, spare)
    }

    /// The spare area of the loaded page, unless its data is lost.
    fn readable(&self, ppn: Ppn, spare: Spare) -> Result<Spare> {
        match self.page.health {
            Health::DataLost => Err(Error::Unreadable(ppn)),
            _ => Ok(spare),
        }
    }

    /// Loads a page that is to be copied. Its spare area can be read; its data may be lost. Returns
    /// also the page that holds them, which may be its stand-in.
    fn load_to_copy(&mut self, ppn: Ppn, owner: Lpn) -> Result<(Spare, Ppn)> {
        if let Some(at) = self.stand_ins.iter().position(|it| it.page == ppn) {
            return Ok((self.load_stand_in(at, owner)?, self.stand_ins[at].by));
        }
        let extent = if self.shape().takes_runs { Extent::Spare } else { Extent::Whole };
        self.store.load(ppn, &mut self.page, extent)?;
        Ok((self.loaded_spare(ppn, owner)?, ppn))
    }

    /// The spare area of the loaded page. It must name the owner that the chip knows: a page that
    /// names another one is as useless to the reader as a page that is torn.
    fn loaded_spare(&self, ppn: Ppn, owner: Lpn) -> Result<Spare> {
        match self.page.state() {
            PageState::Programmed(spare) if spare.owner == owner => Ok(spare),
            _ => Err(Error::Unreadable(ppn)),
        }
    }

    fn load_stand_in(&mut self, at: usize, owner: Lpn) -> Result<Spare> {
        let StandIn { page, by, spare, ref extra } = self.stand_ins[at];
        self.store.load(by, &mut self.page, Extent::Whole)?;
        let readable = matches!(self.page.state(), PageState::Programmed(_));
        self.page.extra.clear();
        self.page.extra.extend_from_slice(extra);
        match readable && spare.owner == owner {
            true => Ok(spare),
            false => Err(Error::Unreadable(page)),
        }
    }
}
