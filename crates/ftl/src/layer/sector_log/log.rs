//! The sector log itself: reading, writing, cleaning and auditing. `mod.rs` describes it.

use core::ops::Range;

use nand::{Cause, Content, Lpn, Nand, Page, Ppn, SectorMask, Sink};

use super::counts::SectorLogCounts;
use super::laws::LOG;
use super::mask::{bits, sectors};
use super::page_buffer::PageBuffer;
use super::payload::Payload;
use super::sector_map::{EntryId, SectorMap};
use super::sector_pages::{self, Addresses, Sector, TrimmedRange};
use super::sector_ring::SectorRing;
use super::size::SectorLogSize;
use crate::contract::{
    Base, BlockRole, Durability, Error, Extent, Facet, FacetKind, Ftl, MountConfig, Report, Result,
    Run, Span, Violation, base_is,
};
use crate::layer::below::Below;
use crate::part::recovery::page_kind;

/// A sector log above an FTL.
pub(super) struct SectorLog {
    pub(super) below: Below,
    pub(super) ring: SectorRing,
    pub(super) map: SectorMap,
    /// The sector in each place of the log, live or not.
    pub(super) held: Vec<Sector>,
    pub(super) buffer: PageBuffer,
    /// The contents of sectors in DRAM; none if the chip only counts.
    pub(super) payload: Option<Payload>,
    pub(super) addresses: Addresses,
    /// Number of sectors that a page of the log has room for.
    pub(super) room: u32,
    pub(super) map_bytes_max: u64,
    pub(super) full: SectorMask,
    pub(super) page_bytes: u32,
    pub(super) sectors_per_page: u32,
    /// For each logical page the number of its sectors in the log, live or not; none if trims need
    /// not survive.
    pub(super) copies: Option<Vec<u32>>,
    /// The addresses or the trim in the page being programmed.
    pub(super) composed: Vec<u8>,
    /// The number of the last cleaning that read each page of the log.
    pub(super) read_in: Vec<u64>,
    pub(super) cleanings: u64,
    pub(super) counts: SectorLogCounts,
    /// A page whose sectors were lost since the last flush.
    pub(super) lost: Option<Lpn>,
}

impl SectorLog {
    /// A log above an FTL, which was mounted on the other blocks of this device.
    pub(super) fn new(
        ftl: Box<dyn Ftl>,
        nand: &Nand,
        device: &MountConfig,
        ring: SectorRing,
        layout: SectorLogSize,
    ) -> SectorLog {
        let geometry = nand.geometry();
        let sectors_per_page = geometry.sectors_per_page();
        let addresses = Addresses::of(geometry, device.durability);
        let all = ring.pages() as usize * sectors_per_page as usize;
        let logical_pages = device.logical_blocks as usize * geometry.pages_per_block() as usize;
        SectorLog {
            below: Below::new(ftl),
            map: SectorMap::new(
                ring.pages().next_power_of_two(),
                logical_pages as u32,
                all.min(logical_pages),
                sectors_per_page,
            ),
            held: vec![Sector::NONE; all],
            buffer: PageBuffer::new(sectors_per_page),
            payload: Payload::new(nand),
            addresses,
            room: addresses.sectors(geometry),
            map_bytes_max: layout.map_bytes_max.unwrap_or(u64::MAX),
            full: geometry.full_mask(),
            page_bytes: geometry.page_bytes(),
            sectors_per_page,
            copies: (device.durability == Durability::Full).then(|| vec![0; logical_pages]),
            composed: Vec::with_capacity(geometry.page_bytes() as usize),
            read_in: vec![0; ring.pages() as usize],
            cleanings: 0,
            counts: SectorLogCounts::default(),
            lost: None,
            ring,
        }
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// The waiting sectors of a page, and its entry in the map.
    pub(super) fn look_up(&mut self, lpn: Lpn) -> (SectorMask, Option<EntryId>) {
        let entry = if self.map.is_empty() { None } else { self.map.find(lpn) };
        (self.buffer.mask(lpn), entry)
    }

    pub(super) fn live(&self, entry: Option<EntryId>) -> SectorMask {
        entry.map_or(0, |entry| self.map.live(entry))
    }

    /// Whether no sector is in the page buffer or live in the log.
    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty() && self.buffer.is_empty()
    }

    /// Whether a sector of the run waits in the page buffer.
    fn holds_waiting(&self, run: &Run) -> bool {
        let mut waiting = (0..run.pages).map(|page| self.buffer.mask(run.first.plus(page)));
        !self.buffer.is_empty() && waiting.any(|mask| mask != 0)
    }

    /// Number of distinct sectors in page buffer and log.
    pub(super) fn distinct_sectors(&self) -> u64 {
        let logged = |waiting: &crate::layer::sector_log::page_buffer::Waiting| {
            let entry = self.map.peek(waiting.lpn);
            self.live(entry) >> waiting.index & 1 == 1
        };
        self.map.sectors() + self.buffer.iter().filter(|waiting| !logged(waiting)).count() as u64
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Passes whole pages to the FTL, then removes their sectors from the log.
    pub(super) fn write_whole(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        pages: Range<u32>,
    ) -> Result<()> {
        self.counts.whole += u64::from(pages.end - pages.start);
        let (first, count) = (run.first.plus(pages.start), pages.end - pages.start);
        match count == run.pages {
            true => self.below.write(nand, run)?,
            false => self.below.write(nand, &run.part(pages, self.full, self.page_bytes))?,
        }
        self.forget_all(first, count);
        Ok(())
    }

    /// Puts the sectors of a sub-page write into the page buffer.
    pub(super) fn write_part(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<()> {
        let (lpn, mask) = (run.first.plus(index), run.mask(index, self.full));
        if let Some(payload) = &mut self.payload {
            payload.arrive(lpn, mask, run.data.from_page(index, self.page_bytes));
        }
        self.counts.parts += 1;
        self.counts.part_sectors += sectors(mask);
        self.counts.dram_accesses += 1;
        let hits_before = self.counts.hits;
        let (mut waiting, mut entry) = self.look_up(lpn);
        if entry.is_none() {
            self.map.prefetch_insertion(lpn);
        }
        for index in bits(mask) {
            let older = waiting | self.live(entry);
            self.counts.hits += older >> index & 1;
            self.put(lpn, index, waiting >> index & 1 == 1);
            if self.buffer.len() == self.room {
                self.settle(nand, self.room)?;
                (waiting, entry) = self.look_up(lpn);
            }
        }
        self.counts.hits_any += u64::from(self.counts.hits > hits_before);
        Ok(())
    }

    /// Puts an arrived sector into the page buffer, which must have room.
    pub(super) fn put(&mut self, lpn: Lpn, index: u32, waits: bool) {
        let cell = match waits {
            true => self.buffer.cell(lpn, index).expect("the sector waits"),
            false => self.buffer.push(lpn, index),
        };
        self.counts.replaced += u64::from(waits);
        if let Some(payload) = &mut self.payload {
            payload.wait(index, cell);
        }
    }

    /// Programs the page buffer while at least `least` sectors wait in it. Cleans until there is
    /// room.
    pub(super) fn settle(&mut self, nand: &mut Nand, least: u32) -> Result<()> {
        while self.buffer.len() >= least {
            match self.ring.free_pages() > 0 && self.map_may_grow() {
                true => self.program(nand)?,
                false => self.clean(nand)?,
            }
        }
        Ok(())
    }

    /// Whether the map may grow by the waiting pages. It always may if cleaning could not make it
    /// smaller.
    pub(super) fn map_may_grow(&self) -> bool {
        let fits = |pages: u64| {
            self.map.ram_bytes() + pages * self.map.entry_bytes() <= self.map_bytes_max
        };
        fits(self.buffer.len().into()) || self.ring.is_empty() || fits(self.new_pages())
    }

    /// Number of pages with waiting sectors that are not in the map.
    pub(super) fn new_pages(&self) -> u64 {
        let is_first = |(at, lpn): &(usize, Lpn)| {
            !self.buffer.iter().take(*at).any(|earlier| earlier.lpn == *lpn)
        };
        let pages = self.buffer.iter().map(|sector| sector.lpn).enumerate().filter(is_first);
        pages.filter(|&(_, lpn)| self.map.peek(lpn).is_none()).count() as u64
    }

    /// Programs the page buffer to the head of the log, and updates the map.
    pub(super) fn program(&mut self, nand: &mut Nand) -> Result<()> {
        let page = self.ring.append(nand)?;
        let ppn = self.ring.ppn(nand.geometry(), page);
        self.compose();
        let (extra, meta) = match self.addresses {
            Addresses::Spare => (&self.composed[..], &[][..]),
            Addresses::Data => (&[][..], &self.composed[..]),
            Addresses::Nowhere => (&[][..], &[][..]),
        };
        let data = self.payload.as_mut().map_or(nand::Data::None, |it| it.gather(&self.buffer));
        let mask = self.full >> (self.sectors_per_page - self.buffer.len());
        let content = Content::Sectors { data, mask, meta };
        let page_to_program = Page { owner: Lpn::SYSTEM, kind: page_kind::SECTORS, extra, content };
        nand.program(ppn, &page_to_program, Cause::Log)?;
        self.counts.programs(self.buffer.len(), self.room, self.sectors_per_page);
        self.follow(page);
        Ok(())
    }

    pub(super) fn compose(&mut self) {
        self.composed.clear();
        for waiting in self.buffer.iter() {
            let sector = Sector { lpn: waiting.lpn, index: waiting.index };
            sector_pages::put_address(&mut self.composed, sector, self.sectors_per_page);
        }
    }

    /// Enters the sectors of the page buffer, which was programmed to a page of the log, into the
    /// map.
    pub(super) fn follow(&mut self, page: u32) {
        let mut last = None;
        for (place, waiting) in (page * self.sectors_per_page..).zip(self.buffer.iter()) {
            let (lpn, index) = (waiting.lpn, waiting.index);
            let known = last.filter(|&(other, _)| other == lpn).map(|(_, entry)| entry);
            let entry = known.unwrap_or_else(|| self.map.find_or_insert(lpn));
            self.map.set(entry, index.into(), place);
            debug_assert_eq!(
                self.held[place as usize],
                Sector::NONE,
                "place {place} was not freed"
            );
            self.held[place as usize] = Sector { lpn, index };
            if let Some(copies) = &mut self.copies {
                copies[lpn.0 as usize] += 1;
            }
            last = Some((lpn, entry));
        }
        self.buffer.clear();
    }

    /// Removes the sectors of some pages from the page buffer and the map.
    pub(super) fn forget_all(&mut self, first: Lpn, pages: u32) {
        for lpn in (0..pages).map(|page| first.plus(page)) {
            if self.is_empty() {
                return;
            }
            let (waiting, entry) = self.look_up(lpn);
            if waiting != 0 || entry.is_some() {
                self.forget(lpn, entry);
            }
        }
    }

    pub(super) fn forget(&mut self, lpn: Lpn, entry: Option<EntryId>) {
        let live = self.live(entry);
        if let Some(entry) = entry {
            self.map.remove(lpn, entry);
        }
        let waited = self.buffer.remove(lpn);
        self.counts.taken += sectors(waited);
        self.counts.left += sectors(live | waited);
    }

    // ---- Reading ------------------------------------------------------------------------------

    /// Reads sectors of a page from the log, reading each page of the log once.
    pub(super) fn read_log(
        &mut self,
        nand: &mut Nand,
        entry: EntryId,
        wanted: SectorMask,
        cleaning: bool,
    ) -> Result<()> {
        let per_page = self.sectors_per_page;
        let mut left = wanted;
        while left != 0 {
            let page = self.map.place(entry, left.trailing_zeros()) / per_page;
            let ppn = self.ring.ppn(nand.geometry(), page);
            let mut sink = self.payload.as_mut().map_or(Sink::None, Payload::page_sink);
            nand.read(ppn, Lpn::SYSTEM, self.full, &mut sink, Cause::Log)?;
            for index in bits(left) {
                let place = self.map.place(entry, index);
                if place / per_page == page {
                    left &= !(1 << index);
                    if let Some(payload) = &mut self.payload {
                        payload.merge_read(place % per_page, index);
                    }
                }
            }
            self.counts.reads(&mut self.read_in[page as usize], self.cleanings, cleaning);
        }
        Ok(())
    }

    /// Passes sectors of a page that wait or are live in the log to the sink.
    pub(super) fn read_here(
        &mut self,
        nand: &mut Nand,
        lpn: Lpn,
        (waiting, entry): (SectorMask, Option<EntryId>),
        here: SectorMask,
        sink: &mut Sink,
    ) -> Result<()> {
        if let Some(entry) = entry {
            self.read_log(nand, entry, here & !waiting, false)?;
        }
        self.counts.dram_accesses += u64::from(here & waiting != 0);
        if let Some(payload) = &mut self.payload {
            payload.merge_waiting(&self.buffer, lpn, here & waiting);
            payload.hand_over(lpn, here, sink);
        }
        Ok(())
    }

    pub(super) fn read_below(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        pages: Range<u32>,
        sink: &mut Sink,
    ) -> Result<()> {
        match pages.end - pages.start {
            0 => Ok(()),
            all if all == run.pages => self.below.read(nand, run, sink),
            _ => self.below.read(nand, &run.part(pages, self.full, self.page_bytes), sink),
        }
    }

    // ---- Trims --------------------------------------------------------------------------------

    /// Records a trim in the log, if it must survive and the log holds any copy of these pages.
    pub(super) fn note_trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        while self.has_copies(first, pages) {
            if self.ring.free_pages() > 0 {
                return self.write_trim(nand, TrimmedRange { first: first.0, pages });
            }
            self.clean(nand)?;
        }
        Ok(())
    }

    pub(super) fn has_copies(&self, first: Lpn, pages: u32) -> bool {
        let span = first.0 as usize..(first.0 + pages) as usize;
        self.copies.as_ref().is_some_and(|copies| copies[span].iter().any(|&count| count > 0))
    }

    pub(super) fn write_trim(&mut self, nand: &mut Nand, trim: TrimmedRange) -> Result<()> {
        let page = self.ring.append(nand)?;
        let ppn = self.ring.ppn(nand.geometry(), page);
        self.composed.clear();
        sector_pages::put_trim(&mut self.composed, trim);
        let content = Content::Meta(&self.composed);
        let page = Page { owner: Lpn::SYSTEM, kind: page_kind::SECTOR_TRIMS, extra: &[], content };
        self.counts.trim_pages += 1;
        Ok(nand.program(ppn, &page, Cause::Meta)?)
    }

    // ---- A log without blocks -----------------------------------------------------------------

    pub(super) fn pass(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        let masks = [run.head, run.tail];
        let ends = masks.iter().take(run.pages.min(2) as usize);
        let parts: Vec<SectorMask> = ends.copied().filter(|&mask| mask != self.full).collect();
        self.counts.pass(run.pages, &parts);
        self.below.write(nand, run)
    }
}

impl Base for SectorLog {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let mut from = 0;
        for index in 0..run.pages {
            if self.is_empty() {
                break;
            }
            let lpn = run.first.plus(index);
            let (waiting, entry) = self.look_up(lpn);
            let wanted = run.mask(index, self.full);
            let here = wanted & (waiting | self.live(entry));
            if here == 0 {
                continue;
            }
            self.read_below(nand, run, from..index, sink)?;
            self.read_here(nand, lpn, (waiting, entry), here, sink)?;
            let rest = wanted & !here;
            if rest != 0 {
                let page = run.part(index..index + 1, self.full, self.page_bytes);
                self.below.read(nand, &Run { head: rest, tail: rest, ..page }, sink)?;
            }
            from = index + 1;
        }
        self.read_below(nand, run, from..run.pages, sink)
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.note_trim(nand, first, pages)?;
        self.forget_all(first, pages);
        self.below.trim(nand, first, pages)
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        if only.is_none_or(|run| self.holds_waiting(run)) {
            self.settle(nand, 1)?;
        }
        self.below.ftl.flush(nand, only)?;
        Error::of_lost(self.lost.take())
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        if !self.map.is_empty() {
            for span in spans {
                let pages = (span.first..).take(span.pages.min(16) as usize);
                pages.for_each(|page| self.map.prefetch(Lpn(page)));
            }
        }
        self.below.ftl.base().prefetch(spans, read_from);
    }

    /// The page of the log with the newest sector. Without a sector in the log, the FTL knows it.
    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        let Some(entry) = self.map.peek(lpn) else { return self.below.ftl.place(nand, lpn) };
        let places = bits(self.map.live(entry)).map(|index| self.map.place(entry, index));
        let newest = places.map(|place| place / self.sectors_per_page);
        let newest = newest.max_by_key(|&page| self.ring.order(page));
        newest.map(|page| self.ring.ppn(nand.geometry(), page))
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        let holds = |lpn| self.buffer.mask(lpn) | self.live(self.map.peek(lpn)) != 0;
        self.below.extent_with(lpns, holds)
    }

    /// The log takes its page buffer and its map from the DRAM of a buffer above it.
    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        if kind != FacetKind::Layers {
            return self.below.ftl.facet(kind);
        }
        let mut totals = self.below.totals();
        totals.dram_accesses += self.counts.dram_accesses;
        if self.ring.blocks() > 0 {
            totals.borrowed_bytes += u64::from(self.page_bytes) + self.map.ram_bytes();
        }
        Some(Facet::Layers(totals))
    }
}

impl Ftl for SectorLog {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        if self.ring.blocks() == 0 {
            self.pass(nand, run)?;
            return Ok(0);
        }
        let mut index = 0;
        while index < run.pages {
            match run.whole_pages_from(index, self.full) {
                0 => {
                    self.write_part(nand, run, index)?;
                    index += 1;
                }
                whole => {
                    self.write_whole(nand, run, index..index + whole)?;
                    index += whole;
                }
            }
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.ring.audit(nand)?;
        self.map.audit()?;
        self.audit_places(nand)?;
        self.audit_buffer()?;
        self.audit_copies()?;
        self.below.ftl.audit(nand)
    }

    fn roles(&self, nand: &Nand, roles: &mut Vec<BlockRole>) {
        self.below.ftl.roles(nand, roles);
        let used = self.ring.used().map(|frame| self.ring.block(frame));
        roles.extend(used.map(|block| BlockRole::plain(block, "sector log")));
    }

    /// Beside the map a controller keeps the page buffer (a page, and an address per sector) and,
    /// under full durability, for each logical page the number of its sectors in the log.
    fn report(&self) -> Report {
        let mut report = self.below.report(LOG, self.figures());
        report.gauges.push(("logged_pages", f64::from(self.map.len())));
        if self.ring.blocks() > 0 {
            let addresses = 5 * u64::from(self.sectors_per_page);
            let copies = self.copies.as_ref().map_or(0, |copies| 4 * copies.len() as u64);
            report.ram.sector_map = self.map.ram_bytes();
            report.ram.other += u64::from(self.page_bytes) + addresses + copies;
        }
        report
    }

    fn reset_report(&mut self) {
        self.counts = SectorLogCounts::from_here(self.buffer.len().into(), self.distinct_sectors());
        (self.map.look_ups, self.map.probes) = (0, 0);
        self.below.reset_report();
    }
}
