//! The write buffer: pages wait in DRAM until they are the least recently used (SL §3 and §5.1, AP
//! §II.B).
//!
//! ```text
//! write 7 (sectors 0, 1)     3 ── 9 ── 7[xx__]            least recently used ◀───▶ most
//! write 7 (sector 2)         3 ── 9 ── 7[xxx_]            absorbed
//! write 5, four pages fit    3 ── 9 ── 7 ── 5
//! write 1                    9 ── 7 ── 5 ── 1             3 is evicted, with its mask
//! ```
//! Requests are divided into pages, in ascending order. A page takes a whole slot, even if few of
//! its sectors are written. A write to a page makes it the most recent one, and so does a read that
//! it serves at least in part. A new page is inserted first. Then the least recently used page is
//! evicted: the FTL receives a write of those of its sectors that the host wrote, and reads the
//! missing ones itself if it needs them. Reads take from the buffer the sectors that it holds, and
//! the rest from the FTL.
//!
//! With `reads=true` pages that were read stay too. They are clean: they leave without a write, and
//! a write makes them dirty like any other page. With `evict=run` the neighbours of a page in the
//! same logical block are evicted with it as one run. The run ends at a partial page, because only
//! its first and last page may be partial.
//!
//! **Durability.** Dirty pages are lost when the power fails; the FTL's older versions, which are
//! complete, then become the newest. A flush writes all dirty pages to the FTL, the least recently
//! used first, and then flushes the FTL. Forced unit access does the same for its own pages. Clean
//! pages stay. A trim removes pages from the buffer before it is passed to the FTL.
//!
//! **Size.** `size` bytes pay for the pages. A sector log below takes the RAM of its map from them:
//! as the map grows, pages are evicted, but one always stays.
//!
//! Invariants: a dirty page has written sectors, and holds them. Between two calls there are never
//! more pages than the capacity.
//!
//! Choices: an evicted page reports the size of the last request that wrote it. A run reports the
//! largest of these sizes, and at least its own size, because for the FTL it is the request. It has
//! the stream of the last request too, so a run also ends at a page of another stream. A buffer
//! that also keeps reads passes on only the written sectors of a page, not all sectors that
//! it holds. A read is a miss if its page is in the buffer but holds none of the wanted sectors;
//! such a read does not make the page recent. Inserting, removing or reading a page is one access
//! to DRAM.

use core::ops::Range;

use nand::{Cells, ChipModel, Data, Geometry, Lpn, Mode, Nand, Ppn, SectorMask, Sink};
use spec::{Kind, Param, Params};

use crate::contract::{
    Base, BlockRole, Error, Extent, Facet, FacetKind, Ftl, LayerTotals, Metric, MountConfig,
    Report, Result, Run, Span, Violation, base_is, ensure,
};
use crate::layer::below::Below;
use crate::layer::definition::{Layer, LayerBlocks, LayerEvidence, equal, read_size_and_keys};
use crate::layer::ghost_buffer::GhostBuffer;
use crate::layer::option::LayerOption;
use crate::part::index::prefetch::prefetch;
use crate::part::index::recency::Recency;

const SECTOR_BYTES: u64 = nand::geometry::SECTOR_BYTES as u64;
const NONE: u32 = u32::MAX;

/// The write buffer.
pub static LAYER: Layer = Layer {
    name: "buffer",
    summary: "a write buffer in DRAM; the least recently used page is evicted to the FTL",
    source: "Jin, Kim, Kim, Huh, Maeng: Sector log, SAC 2011 (§3); Shim, Seo, Kim, Maeng: An \
             adaptive partitioning scheme for DRAM-based cache in solid state drives, MSST 2010 \
             (§II.B): a page-level LRU of writes",
    params: &[
        Param {
            name: "size",
            kind: Kind::Size,
            default: "",
            unit: "bytes",
            doc: "the DRAM for buffered pages and for the map of a sector log; at least one page",
        },
        Param {
            name: "reads",
            kind: Kind::Switch,
            default: "false",
            unit: "",
            doc: "whether pages that were read are kept in the buffer too",
        },
        Param {
            name: "evict",
            kind: Kind::Choice(&["page", "run"]),
            default: "page",
            unit: "",
            doc: "page: one page is evicted at a time; run: its neighbours in the same logical \
                  block are evicted with it, as one run",
        },
    ],
    corners: &[&[("buffer", "3KiB")], &[("buffer", "6KiB,reads=true,evict=run")]],
    options: &[LayerOption {
        name: "buffer",
        kind: Kind::Text,
        default: "none",
        value_name: "SIZE|none",
        help: "Write buffer above the FTL, as SIZE[,key=value…] such as 8MiB,evict=run; see \
               `ftlab list layers`",
    }],
    read: |options| read_size_and_keys(&LAYER, options),
    refuses: |setting, _, chip| refuses(&setting.params, chip),
    blocks: |_, _| LayerBlocks::default(),
    memory: |params, _, geometry, mode| {
        WriteBuffer::memory_bytes(params.size("size"), geometry, mode)
    },
    mount: |params, _, nand, config, below| {
        let below = below(nand, config)?;
        Ok(Box::new(WriteBuffer::new(below, nand, config, params)))
    },
    laws: buffered_pages_are_accounted_for,
};

/// The reason why a buffer with these parameters cannot stand above such a chip, if there is one.
fn refuses(params: &Params, chip: &ChipModel) -> Option<String> {
    let (size, page) = (params.size("size"), u64::from(chip.page_bytes));
    (size < page)
        .then(|| format!("{size} bytes are less than a page of {page} bytes; give more, or `none`"))
}

/// Checks three laws. Every page that was asked for is a hit or a miss. Every page that became
/// dirty has left the buffer or is still dirty. Every dirty page that left was handed down.
fn buffered_pages_are_accounted_for(evidence: &LayerEvidence) -> core::result::Result<(), String> {
    let sum = |names: &[&str]| evidence.sum(names);
    let asked = &evidence.came;
    equal("buffered writes = asked for", sum(&["write_hits", "write_misses"]), asked.written)?;
    equal("buffered reads = asked for", sum(&["read_hits", "read_misses"]), asked.read)?;
    let came = sum(&["waiting_before", "soiled"]);
    let went = sum(&["waiting", "evicted", "drained", "dropped"]);
    equal("waiting before + soiled = waiting + evicted + drained + dropped", came, went)?;
    let down = sum(&["evicted", "drained"]);
    equal("evicted + drained = pages handed down", down, evidence.went_down.written)
}

/// A page in the buffer.
#[derive(Clone, Copy, Debug)]
struct Slot {
    lpn: Lpn,
    /// Sectors that the buffer holds.
    held: SectorMask,
    /// The held sectors that are dirty, which the FTL has not received yet.
    written: SectorMask,
    /// Bytes of the request that wrote it last.
    request_bytes: u64,
    /// The stream of that request.
    stream: u8,
}

/// Counts since the last reset.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    write_hits: u64,
    write_misses: u64,
    read_hits: u64,
    read_misses: u64,
    /// Pages that became dirty: new pages, and pages that were clean before.
    dirtied: u64,
    /// Dirty pages evicted for lack of room, and dirty pages written because of a flush.
    evicted: u64,
    drained: u64,
    /// Dirty pages that were trimmed.
    dropped: u64,
    /// Runs written to the FTL, and the sectors in them.
    runs: u64,
    sectors: u64,
    /// Partial pages written to the FTL, and their sectors.
    subpages: u64,
    subpage_sectors: u64,
    dram_accesses: u64,
    /// Number of dirty pages at the last reset.
    waiting_before: u64,
}

/// The reason why a page is written to the FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteReason {
    Room,
    Flush,
}

/// A write buffer above an FTL.
pub(super) struct WriteBuffer {
    /// The FTL below.
    pub(super) below: Below,
    /// The pages evicted for lack of room, if a partitioner estimates the value of more room.
    pub(super) ghost: Option<GhostBuffer>,
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    recency: Recency,
    /// Number of dirty pages.
    waiting: u32,
    /// The contents of the pages; none if the chip only counts.
    cells: Option<Cells>,
    /// The contents of a run that is being evicted, side by side.
    gathered: Option<Cells>,
    /// Bytes that pay for the pages and for the map of a sector log below.
    budget: u64,
    /// The current maximum number of pages, and the lowest value that it may take.
    capacity: u32,
    capacity_min: u32,
    keeps_reads: bool,
    evicts_runs: bool,
    full: SectorMask,
    page_bytes: u32,
    sectors_per_page: u32,
    pages_per_block: u32,
    counts: Counts,
    /// A page whose dirty sectors were lost since the last flush.
    lost: Option<Lpn>,
}

impl WriteBuffer {
    fn new(below: Box<dyn Ftl>, nand: &Nand, device: &MountConfig, params: &Params) -> WriteBuffer {
        let mut buffer = WriteBuffer::of_a_share(below, nand, device, params.size("size"));
        buffer.keeps_reads = params.switch("reads");
        buffer.evicts_runs = params.choice("evict") == "run";
        buffer.capacity_min = 1;
        buffer.capacity = buffer.affordable();
        if buffer.evicts_runs && nand.array().mode() != Mode::Count {
            let pages = buffer.pages_per_block;
            buffer.gathered = Some(Cells::new(nand.array().mode(), pages, buffer.sectors_per_page));
        }
        buffer
    }

    /// Memory that simulating a buffer takes that may be given this budget: its slots with their
    /// order and contents, and the table that finds the slot of a logical page.
    pub(super) fn memory_bytes(budget: u64, geometry: &Geometry, mode: Mode) -> u64 {
        let logical_pages = u64::from(geometry.pages());
        let slots = (budget / u64::from(geometry.page_bytes())).min(logical_pages);
        let slot_bytes = size_of::<Slot>() + size_of::<u32>();
        let kept_bytes = Cells::bytes_of_page(mode, geometry.sectors_per_page());
        slots * (slot_bytes as u64 + Recency::BYTES_A_NUMBER + kept_bytes) + 4 * logical_pages
    }

    /// A write buffer that evicts single pages and has no room yet. It may be
    /// [given](Self::set_budget) at most `budget` bytes.
    pub(super) fn of_a_share(
        below: Box<dyn Ftl>,
        nand: &Nand,
        device: &MountConfig,
        budget: u64,
    ) -> WriteBuffer {
        let geometry = nand.geometry();
        let (page_bytes, sectors_per_page) = (geometry.page_bytes(), geometry.sectors_per_page());
        let pages = device.logical_blocks * geometry.pages_per_block();
        // One additional page, for the moment between insertion and eviction.
        let most = (budget / u64::from(page_bytes)).min(pages.into()) as u32 + 1;
        let cells = || Cells::new(nand.array().mode(), most, sectors_per_page);
        WriteBuffer {
            below: Below::new(below),
            ghost: None,
            slot_of: vec![NONE; pages as usize],
            slots: Vec::with_capacity(most as usize),
            free: Vec::with_capacity(most as usize),
            recency: Recency::new(most),
            waiting: 0,
            cells: (nand.array().mode() != Mode::Count).then(cells),
            gathered: None,
            budget,
            capacity: 0,
            capacity_min: 0,
            keeps_reads: false,
            evicts_runs: false,
            full: geometry.full_mask(),
            page_bytes,
            sectors_per_page,
            pages_per_block: geometry.pages_per_block(),
            counts: Counts::default(),
            lost: None,
        }
    }

    // ---- Order of the pages -------------------------------------------------------------------

    /// Sets the budget. Pages that it does not pay for are evicted at once.
    ///
    /// # Errors
    /// The power fails.
    pub(super) fn set_budget(&mut self, nand: &mut Nand, bytes: u64) -> Result<()> {
        self.budget = bytes;
        self.capacity = self.affordable();
        self.shrink(nand)
    }

    /// Number of pages that the budget pays for, after a layer below has taken its part of it.
    fn affordable(&mut self) -> u32 {
        let left = self.budget.saturating_sub(self.below.totals().borrowed_bytes);
        let pages = (left / u64::from(self.page_bytes)).min(self.slot_of.len() as u64);
        (pages as u32).max(self.capacity_min)
    }

    fn slot(&self, lpn: Lpn) -> Option<u32> {
        Some(self.slot_of[lpn.0 as usize]).filter(|&slot| slot != NONE)
    }

    /// Inserts a page, which must have no slot, as the most recent one. Its contents are zero.
    fn insert(&mut self, lpn: Lpn) -> u32 {
        let page = Slot { lpn, held: 0, written: 0, request_bytes: 0, stream: 0 };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(page);
                self.slots.len() as u32 - 1
            }
        };
        self.slots[slot as usize] = page;
        self.slot_of[lpn.0 as usize] = slot;
        self.recency.push(slot);
        if let Some(cells) = &mut self.cells {
            cells.copy(slot, self.sectors_per_page, None);
        }
        slot
    }

    /// Removes a page. Its contents can be read until the next insertion.
    fn take(&mut self, slot: u32) -> Slot {
        let page = self.slots[slot as usize];
        self.slot_of[page.lpn.0 as usize] = NONE;
        self.recency.remove(slot);
        self.free.push(slot);
        self.waiting -= u32::from(page.written != 0);
        page
    }

    // ---- Eviction -----------------------------------------------------------------------------

    /// Evicts pages until their number does not exceed the capacity.
    fn shrink(&mut self, nand: &mut Nand) -> Result<()> {
        while self.recency.len() > self.capacity {
            let slot = self.recency.first().expect("a buffer with too many pages is not empty");
            self.evict(nand, slot, WriteReason::Room)?;
            self.capacity = self.affordable();
        }
        Ok(())
    }

    /// Evicts a page, with a write if it is dirty.
    fn evict(&mut self, nand: &mut Nand, slot: u32, reason: WriteReason) -> Result<()> {
        match self.slots[slot as usize].written {
            0 => {
                self.take(slot);
                Ok(())
            }
            _ => self.evict_run(nand, slot, reason),
        }
    }

    /// Evicts a dirty page, or the run around it, as one write.
    fn evict_run(&mut self, nand: &mut Nand, slot: u32, reason: WriteReason) -> Result<()> {
        let Slot { lpn, stream, .. } = self.slots[slot as usize];
        let (first, pages) = if self.evicts_runs { self.run_around(lpn, stream) } else { (lpn, 1) };
        let whole = Run::whole(first, pages, self.page_bytes, Data::None);
        let mut run = Run { request_bytes: 0, stream, ..whole };
        let mut bytes = 0;
        for index in 0..pages {
            let slot = self.slot(first.plus(index)).expect("a page of the run");
            let Slot { written, request_bytes, .. } = self.take(slot);
            self.counts.count_write(reason, written, self.full);
            bytes += SECTOR_BYTES * u64::from(written.count_ones());
            run.request_bytes = run.request_bytes.max(request_bytes);
            run.head = if index == 0 { written } else { run.head };
            run.tail = written;
            if let (Some(gathered), Some(cells)) = (&mut self.gathered, &self.cells) {
                gathered.copy(index, self.sectors_per_page, Some((cells, slot)));
            }
        }
        self.counts.runs += 1;
        if self.evicts_runs {
            run.request_bytes = run.request_bytes.max(bytes);
        }
        if let Some(ghost) = self.ghost.as_mut().filter(|_| reason == WriteReason::Room) {
            ghost.enter(lpn);
        }
        let (cells, slot) = match &self.gathered {
            Some(gathered) => (Some(gathered), 0),
            None => (self.cells.as_ref(), slot),
        };
        let data = cells.map_or(Data::None, |cells| cells.data(slot, self.sectors_per_page));
        let run = Run { data, ..run };
        self.lost = self.below.write_leaving(nand, &run)?.or(self.lost);
        Ok(())
    }

    /// The longest run of dirty pages of this stream around one, within its logical block. It is
    /// extended downwards first, then upwards, as long as only its ends are partial.
    fn run_around(&self, lpn: Lpn, stream: u8) -> (Lpn, u32) {
        let block = lpn.0 - lpn.0 % self.pages_per_block;
        let end = (block + self.pages_per_block).min(self.slot_of.len() as u32);
        let is_of_stream = |slot: u32| self.slots[slot as usize].stream == stream;
        let waits = |page: u32| {
            self.written(Lpn(page)) != 0 && self.slot(Lpn(page)).is_some_and(is_of_stream)
        };
        let whole = |page: u32| self.written(Lpn(page)) == self.full;
        let (mut first, mut last) = (lpn.0, lpn.0);
        while first > block && (first == last || whole(first)) && waits(first - 1) {
            first -= 1;
        }
        while last + 1 < end && (first == last || whole(last)) && waits(last + 1) {
            last += 1;
        }
        (Lpn(first), last - first + 1)
    }

    /// The dirty sectors of a page.
    fn written(&self, lpn: Lpn) -> SectorMask {
        self.slot(lpn).map_or(0, |slot| self.slots[slot as usize].written)
    }

    /// Writes the dirty pages of a run to the FTL.
    fn evict_waiting(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        for lpn in (0..run.pages).map(|page| run.first.plus(page)) {
            if self.written(lpn) != 0 {
                let slot = self.slot(lpn).expect("a dirty page has a slot");
                self.evict(nand, slot, WriteReason::Flush)?;
            }
        }
        Ok(())
    }

    /// Writes all dirty pages to the FTL, the least recently used first. Clean pages keep their
    /// order.
    fn drain(&mut self, nand: &mut Nand) -> Result<()> {
        let mut clean = self.recency.len() - self.waiting;
        while self.waiting > 0 || clean > 0 {
            let slot = self.recency.first().expect("a page that was not examined yet");
            match self.slots[slot as usize].written {
                0 => {
                    self.recency.touch(slot);
                    clean -= 1;
                }
                _ => self.evict(nand, slot, WriteReason::Flush)?,
            }
        }
        Ok(())
    }

    // ---- One page of a request ----------------------------------------------------------------

    /// Writes one page of a run.
    ///
    /// # Errors
    /// The FTL below fails.
    pub(super) fn write_page(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<()> {
        let (lpn, mask) = (run.first.plus(index), run.mask(index, self.full));
        let slot = match self.slot(lpn) {
            Some(slot) => {
                self.counts.write_hits += 1;
                self.recency.touch(slot);
                slot
            }
            None => {
                self.counts.write_misses += 1;
                self.ghost.iter_mut().for_each(|ghost| ghost.write(lpn));
                self.insert(lpn)
            }
        };
        self.counts.dram_accesses += 1;
        let page = &mut self.slots[slot as usize];
        if page.written == 0 {
            self.counts.dirtied += 1;
            self.waiting += 1;
        }
        page.held |= mask;
        page.written |= mask;
        page.request_bytes = run.request_bytes;
        page.stream = run.stream;
        if let Some(cells) = &mut self.cells {
            let data = run.data.from_page(index, self.page_bytes);
            cells.overlay(slot, self.sectors_per_page, lpn, mask, data);
        }
        self.shrink(nand)
    }

    /// Reads one page of a run.
    ///
    /// # Errors
    /// The FTL below fails.
    pub(super) fn read_page(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        sink: &mut Sink,
    ) -> Result<()> {
        let (lpn, wanted) = (run.first.plus(index), run.mask(index, self.full));
        let slot = self.slot(lpn);
        let here = slot.map_or(0, |slot| self.slots[slot as usize].held) & wanted;
        match slot {
            Some(slot) if here != 0 => {
                self.counts.read_hits += 1;
                self.counts.dram_accesses += 1;
                self.recency.touch(slot);
                if let Some(cells) = &self.cells {
                    cells.read(slot, self.sectors_per_page, lpn, here, sink);
                }
            }
            _ => {
                self.counts.read_misses += 1;
                self.ghost.iter_mut().for_each(|ghost| ghost.read(lpn));
            }
        }
        let missing = wanted & !here;
        let page = Run { first: lpn, pages: 1, head: missing, tail: missing, ..*run };
        match missing {
            0 => Ok(()),
            _ if self.keeps_reads => self.read_and_keep(nand, &page, sink),
            _ => self.below.read(nand, &page, sink),
        }
    }

    /// Reads the missing sectors of a page into the buffer, and passes them on.
    fn read_and_keep(&mut self, nand: &mut Nand, page: &Run, sink: &mut Sink) -> Result<()> {
        let (lpn, missing, sectors) = (page.first, page.head, self.sectors_per_page);
        let slot = match self.slot(lpn) {
            Some(slot) => {
                self.recency.touch(slot);
                slot
            }
            None => self.insert(lpn),
        };
        self.counts.dram_accesses += 1;
        let mut into = self.cells.as_mut().map_or(Sink::None, |it| it.sink(slot, sectors, lpn));
        if let Err(error) = self.below.read(nand, page, &mut into) {
            if self.slots[slot as usize].held == 0 {
                self.take(slot);
            }
            return Err(error);
        }
        self.slots[slot as usize].held |= missing;
        if let Some(cells) = &self.cells {
            cells.read(slot, sectors, lpn, missing, sink);
        }
        self.shrink(nand)
    }
}

impl Counts {
    /// Counts a dirty page that is written to the FTL.
    fn count_write(&mut self, reason: WriteReason, written: SectorMask, full: SectorMask) {
        match reason {
            WriteReason::Room => self.evicted += 1,
            WriteReason::Flush => self.drained += 1,
        }
        let sectors = u64::from(written.count_ones());
        self.sectors += sectors;
        self.dram_accesses += 1;
        if written != full {
            self.subpages += 1;
            self.subpage_sectors += sectors;
        }
    }
}

/// `a / b`; NaN if b is 0.
fn ratio(a: u64, b: u64) -> Metric {
    Metric::Real(if b == 0 { f64::NAN } else { a as f64 / b as f64 })
}

impl WriteBuffer {
    fn figures(&self) -> Vec<(&'static str, Metric)> {
        let c = &self.counts;
        let down = c.evicted + c.drained;
        let waiting = self.recency.iter().map(|slot| self.slots[slot as usize].written);
        let waiting_sectors = waiting.map(|written| u64::from(written.count_ones())).sum();
        vec![
            ("pages_max", Metric::Count(self.capacity.into())),
            ("write_hits", Metric::Count(c.write_hits)),
            ("write_misses", Metric::Count(c.write_misses)),
            ("write_hit_ratio", ratio(c.write_hits, c.write_hits + c.write_misses)),
            ("read_hits", Metric::Count(c.read_hits)),
            ("read_misses", Metric::Count(c.read_misses)),
            ("read_hit_ratio", ratio(c.read_hits, c.read_hits + c.read_misses)),
            ("soiled", Metric::Count(c.dirtied)),
            ("evicted", Metric::Count(c.evicted)),
            ("drained", Metric::Count(c.drained)),
            ("dropped", Metric::Count(c.dropped)),
            ("runs", Metric::Count(c.runs)),
            ("subpages", Metric::Count(c.subpages)),
            ("subpage_share", ratio(c.subpages, down)),
            ("mean_sectors", ratio(c.sectors, down)),
            ("mean_subpage_sectors", ratio(c.subpage_sectors, c.subpages)),
            ("waiting_before", Metric::Count(c.waiting_before)),
            ("waiting", Metric::Count(self.waiting.into())),
            ("waiting_sectors", Metric::Count(waiting_sectors)),
            ("dram_accesses", Metric::Count(c.dram_accesses)),
        ]
    }

    fn audit_pages(&self) -> core::result::Result<(), Violation> {
        let (pages, most) = (self.recency.len(), self.capacity);
        ensure!(pages <= most, "{pages} pages are in a buffer for at most {most}");
        let found = self.slot_of.iter().filter(|&&slot| slot != NONE).count() as u32;
        ensure!(
            found == pages,
            "{found} pages have a slot in the buffer, but {pages} are in order of use"
        );
        let mut waiting = 0;
        for slot in self.recency.iter() {
            let Slot { lpn, held, written, .. } = self.slots[slot as usize];
            ensure!(self.slot(lpn) == Some(slot), "{lpn:?} is in order of use, but has no slot");
            ensure!(written & !held == 0, "{lpn:?} has dirty sectors that are not held");
            ensure!(self.keeps_reads || written != 0, "{lpn:?} is clean in a buffer of writes");
            let in_both = self.ghost.as_ref().is_some_and(|ghost| ghost.contains(lpn));
            ensure!(!in_both, "{lpn:?} is in the buffer and in its ghost");
            waiting += u32::from(written != 0);
        }
        self.ghost.as_ref().map_or(Ok(()), GhostBuffer::audit)?;
        let known = self.waiting;
        ensure!(waiting == known, "{waiting} pages are dirty, but {known} are counted");
        Ok(())
    }
}

impl Base for WriteBuffer {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        (0..run.pages).try_for_each(|index| self.read_page(nand, run, index, sink))
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        for lpn in (0..pages).map(|page| first.plus(page)) {
            if let Some(slot) = self.slot(lpn) {
                let written = self.take(slot).written;
                self.counts.dropped += u64::from(written != 0);
            }
            self.ghost.iter_mut().for_each(|ghost| ghost.forget(lpn));
        }
        self.below.trim(nand, first, pages)
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        match only {
            None => self.drain(nand)?,
            Some(run) => self.evict_waiting(nand, run)?,
        }
        self.below.ftl.flush(nand, only)?;
        Error::of_lost(self.lost.take())
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        for span in spans {
            let pages = (span.first..).take(span.pages.min(16) as usize);
            pages.for_each(|page| prefetch(&self.slot_of, page as usize));
        }
        self.below.ftl.base().prefetch(spans, read_from);
    }

    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.below.ftl.place(nand, lpn)
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.below.extent_with(lpns, |lpn| self.written(lpn) != 0)
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Layers => {
                let mut totals = self.below.totals();
                totals.dram_accesses += self.counts.dram_accesses;
                Some(Facet::Layers(LayerTotals { borrowed_bytes: 0, ..totals }))
            }
            _ => self.below.ftl.facet(kind),
        }
    }
}

impl Ftl for WriteBuffer {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        (0..run.pages).try_for_each(|index| self.write_page(nand, run, index))?;
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.audit_pages()?;
        self.below.ftl.audit(nand)
    }

    fn roles(&self, nand: &Nand, roles: &mut Vec<BlockRole>) {
        self.below.ftl.roles(nand, roles);
    }

    /// A controller keeps for each page its number, two links and one bit per sector.
    fn report(&self) -> Report {
        let mut report = self.below.report(LAYER.name, self.figures());
        let capacity = u64::from(self.capacity);
        let entry = 4 + 8 + u64::from(self.sectors_per_page.div_ceil(8));
        report.ram.buffer += capacity * u64::from(self.page_bytes);
        report.ram.other += capacity * entry;
        report.gauges.push(("buffer_pages", f64::from(self.recency.len())));
        report
    }

    fn reset_report(&mut self) {
        self.counts = Counts { waiting_before: self.waiting.into(), ..Counts::default() };
        self.below.reset_report();
    }
}
