//! dftl: page mapping with the map in flash and a cache of its entries in RAM (Gupta, Kim and
//! Urgaonkar 2009).
//!
//! ```text
//! RAM    CMT  7─▶p  12─▶q* …        cached entries; the least recently used is evicted   *: dirty
//!        GTD  [T0 T1 T2 …]          the place of each translation page
//! flash  data blocks [a b c …]      translation blocks [T0 T1 x T2 …]
//! ```
//! A *translation page* holds the entries of as many consecutive logical pages as fit into it (page
//! bytes / 4). The cached mapping table (CMT) has room for `cmt` bytes, at eight bytes per entry. A
//! read that misses the cache reads a translation page. A write only makes an entry dirty. When the
//! cache is full, the least recently used entry is evicted. If it is dirty, its translation page is
//! read and programmed again, which cleans all dirty entries of that page (*batch update*; F_b is
//! their mean number).
//!
//! Garbage collection chooses greedily among data and translation blocks. When a data block is
//! emptied, the entries of its pages change. Cached ones become dirty (*lazy* update). The
//! translation pages of the others are rewritten at once, in ascending order, before the erase. In
//! the [page map](crate::part::page::page_map) translation pages have numbers of their own, after
//! those of the host's pages. The page map thus serves as GTD, and it holds the current value of
//! all entries. For each dirty entry the cache also keeps the value in flash.
//!
//! Invariants: an entry that is clean or not cached has its current value in flash. A mapped page
//! that is not cached has a translation page. At least one block is erased whenever no victim is
//! being emptied. (Collections begin when `RESERVE` blocks are left. Before its own erase gives one
//! block back, a data victim may need one block for its pages and one for translation pages.)
//!
//! **Recovery.** The newest copies of pages and of translation pages are found as in `page`. Then
//! the mount reads every translation page. If the current value of an entry differs from the one in
//! flash, the entry enters the cache as dirty. The cache may exceed its size for the time being.
//! Until the reserve of erased blocks is restored, no translation page is written, and the entries
//! of victims wait in the cache too.
//!
//! The entries of a victim also wait in the cache, beyond its size, if the block for their
//! translation pages would be the last erased one, or if none is left. While no block is erased,
//! only copies may be programmed; otherwise a mount could find no block to start with. Only devices
//! of a few blocks get into this situation.
//!
//! **Translation pages that cannot be read**: see `reading.rs`.
//!
//! Choices: reads and trims of an unmapped page need no look-up. A write of part of a page looks up
//! its entry once, like any write; finding the old version needs no second look-up. The look-up,
//! and the eviction that it may cause, come before making room for the page.

mod audit;
pub mod cache_account;
pub mod cached_map;
mod collection;
mod filling;
mod reading;
mod recovery;
mod slot_table;

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Mode, Nand, Ppn, Sink};
use spec::{Kind, Param, Params};

use self::cache_account::{Access, CacheAccount};
use self::cached_map::CachedMap;
use crate::contract::{
    Act, Base, BlockRole, Facet, FacetKind, Ftl, Lecture, MapBudget, MapEvent, MissCosts,
    MountConfig, Report, ResizableMap, Result, Run, Scheme, Span, Violation, base_is, table_bytes,
};
use crate::part::map::flat_map::answered_by_flat;
use crate::part::map::frontier::Frontier;
use crate::part::page::page_map::PageMap;
use crate::part::page::victims::greedy;
use crate::part::recovery::page_kind;

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 3;
/// Bytes of a cached entry: logical and physical page number.
const CACHED_BYTES: u64 = 8;
/// Bytes of an entry in a translation page, and of one of the GTD.
const ENTRY_BYTES: u32 = 4;

static PARAMS: &[Param] = &[
    Param {
        name: "cmt",
        kind: Kind::Size,
        default: "256KiB",
        unit: "bytes",
        doc: "the RAM of the cached mapping table, 8 bytes per entry; at least one entry",
    },
    Param {
        name: "entries",
        kind: Kind::Count,
        default: "0",
        unit: "entries",
        doc: "the number of entries per translation page; 0: as many as fit, page bytes / 4",
    },
];

/// Demand-based mapping.
pub static SCHEME: Scheme = Scheme {
    name: "dftl",
    summary: "page mapping with the map in flash and a cache of its entries in RAM",
    source: "Gupta, Kim, Urgaonkar: DFTL: a flash translation layer employing demand-based \
             selective caching of page-level address mappings, ASPLOS 2009; counts as in adaptive \
             partitioning, II.C.1 and III.D",
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[
        Act {
            cause: Cause::Map,
            from: "",
            to: "translation",
            name: "translation page",
            says: "The map of dftl is in flash, in translation pages; RAM has only a cache of \
               its entries, the CMT. A changed entry that leaves the cache, or that moves \
               during garbage collection, is written back: its translation page is read \
               and programmed anew.",
        },
        Act {
            cause: Cause::Gc,
            from: "translation",
            to: "translation",
            name: "collection of a translation block",
            says: "A block with translation pages has the fewest valid pages. They are copied, \
               and the block is erased.",
        },
    ],
    params: PARAMS,
    corners: &["cmt=8,entries=4", "cmt=24,entries=3", "cmt=64,entries=8"],
    refuses,
    map_budget: Some(MapBudget {
        replaces: "cmt",
        unit_bytes: |_| CACHED_BYTES,
        entry_bytes: CACHED_BYTES,
        interval: 1000,
    }),
    least_extra,
    memory: simulation_memory,
    mount,
    ..Scheme::PLAIN
};

/// Entries that a translation page holds.
fn entries_per_page(params: &Params, page_bytes: u32) -> u32 {
    match params.count("entries") as u32 {
        0 => page_bytes / ENTRY_BYTES,
        entries => entries,
    }
}

fn refuses(params: &Params, chip: &ChipModel) -> Option<String> {
    let (entries, most) = (params.count("entries"), chip.page_bytes / ENTRY_BYTES);
    if entries > u64::from(most) {
        return Some(format!("entries={entries}; a page of this chip holds at most {most}"));
    }
    match params.size("cmt") {
        ..CACHED_BYTES => {
            Some(format!("cmt={}; at least one entry of 8 bytes is needed", params.size("cmt")))
        }
        _ => None,
    }
}

fn least_extra(params: &Params, chip: &ChipModel, logical_blocks: u32) -> u32 {
    let pages = u64::from(logical_blocks) * u64::from(chip.pages_per_block);
    let translation_pages = pages.div_ceil(entries_per_page(params, chip.page_bytes).into());
    translation_pages.div_ceil(chip.pages_per_block.into()) as u32 + RESERVE + 1
}

/// The whole map, and the entries that are cached.
fn simulation_memory(params: &Params, geometry: &Geometry, _: Mode) -> u64 {
    let cached = (params.size("cmt") / CACHED_BYTES).min(geometry.pages().into());
    table_bytes(geometry, 4, 24) + CachedMap::memory_bytes(cached)
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let geometry = nand.geometry();
    let entries = entries_per_page(device.params, geometry.page_bytes());
    let pages = device.logical_blocks * geometry.pages_per_block();
    let mut ftl = Dftl {
        map: PageMap::format(nand, device, &greedy::POLICY, pages.div_ceil(entries)),
        cmt: CachedMap::new(pages, entries),
        capacity: device.params.size("cmt") / CACHED_BYTES,
        entries,
        data: Frontier::NONE,
        translation: Frontier::NONE,
        is_mounting: false,
        composed: vec![0xFF; geometry.page_bytes() as usize],
        uncached: Vec::new(),
        outdated: Vec::new(),
        account: CacheAccount::new(device.timing, geometry.pages_per_block()),
    };
    if !nand.is_factory_new() {
        ftl.recover(nand, device)?;
    }
    Ok(Box::new(ftl))
}

struct Dftl {
    map: PageMap,
    cmt: CachedMap,
    /// Entries that the CMT may hold, at least one.
    capacity: u64,
    /// Entries of a translation page.
    entries: u32,
    /// The open data block, used by host writes and garbage collection.
    data: Frontier,
    /// The open translation block.
    translation: Frontier,
    is_mounting: bool,
    /// The translation page being composed.
    composed: Vec<u8>,
    /// Pages of a victim without a cached entry, and their old places; reused to save allocations.
    uncached: Vec<(Lpn, Ppn)>,
    /// Their translation pages, in ascending order.
    outdated: Vec<u32>,
    account: CacheAccount,
}

/// What a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockContent {
    Data,
    Entries,
}

impl Dftl {
    // ---- The cached mapping table -------------------------------------------------------------

    fn translation_page_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.entries
    }

    /// Number of translation pages, if all are written.
    fn translation_pages(&self) -> u32 {
        self.map.logical_pages().div_ceil(self.entries)
    }

    /// The owner number of a translation page in the page map. These numbers follow those of host
    /// pages.
    fn owner_of(&self, page: u32) -> Lpn {
        Lpn(self.map.logical_pages() + page)
    }

    /// Looks up the entry of a page. Afterwards it is cached, and dirty if the look-up was for a
    /// write.
    fn look_up(&mut self, nand: &mut Nand, lpn: Lpn, access: Access) -> Result<()> {
        let hit = self.cmt.touch(lpn);
        self.account.looked_up(lpn, access, hit.is_some());
        let slot = match hit {
            Some(slot) => slot,
            None => self.cache(nand, lpn, access)?,
        };
        if access == Access::Write {
            self.cmt.mark_slot_dirty(slot, self.entry(lpn));
        }
        Ok(())
    }

    /// Caches an entry. Returns its slot.
    fn cache(&mut self, nand: &mut Nand, lpn: Lpn, access: Access) -> Result<u32> {
        self.shrink_to(nand, self.capacity - 1)?;
        // An eviction may collect garbage, which caches the entries of a victim if they must wait.
        if let Some(slot) = self.cmt.touch(lpn) {
            return Ok(slot);
        }
        let page = self.translation_page_of(lpn);
        let is_in_flash = access == Access::Write || self.read_page(nand, page)?;
        Ok(self.insert(lpn, is_in_flash))
    }

    /// Adds an entry to the cache. Returns its slot.
    fn insert(&mut self, lpn: Lpn, is_in_flash: bool) -> u32 {
        let slot = self.cmt.insert(lpn);
        if !is_in_flash {
            // Its eviction will write the translation page anew.
            self.cmt.mark_slot_dirty(slot, self.entry(lpn));
        }
        slot
    }

    /// The current value of an entry; [`Ppn::NONE`] if the page is unmapped.
    fn entry(&self, lpn: Lpn) -> Ppn {
        self.map.flat.newest(lpn).unwrap_or(Ppn::NONE)
    }

    /// Evicts entries until at most `entries` are left.
    fn shrink_to(&mut self, nand: &mut Nand, entries: u64) -> Result<()> {
        while u64::from(self.cmt.entries()) > entries {
            self.evict(nand)?;
        }
        Ok(())
    }

    /// Evicts the least recently used entry. If it is dirty, its translation page is rewritten
    /// first.
    fn evict(&mut self, nand: &mut Nand) -> Result<()> {
        let (lpn, dirty) = self.cmt.least_recent().expect("a full cache has an entry");
        if dirty {
            self.make_room(nand, BlockContent::Entries)?;
            let page = self.translation_page_of(lpn);
            self.compose(nand, page, true);
            self.rewrite(nand, page)?;
            let cleaned = self.cmt.clean(page);
            self.account.rewrote(cleaned);
        }
        self.cmt.remove(lpn);
        self.account.left(lpn);
        Ok(())
    }

    /// Composes a translation page from the current values of all entries, if the chip keeps it.
    /// Without `batch`, dirty entries keep their value in flash.
    fn compose(&mut self, nand: &Nand, page: u32, batch: bool) {
        const BYTES: usize = ENTRY_BYTES as usize;
        if !nand.array().keeps_pages() {
            return;
        }
        let first = page * self.entries;
        let end = self.map.logical_pages().min(first + self.entries);
        let entries =
            self.map.flat.entries(first..end).iter().chain(core::iter::repeat(&Ppn::NONE));
        for (place, ppn) in self.composed.chunks_exact_mut(BYTES).zip(entries) {
            place.copy_from_slice(&ppn.0.to_le_bytes());
        }
        for (lpn, flash) in self.cmt.dirty_in(page).filter(|_| !batch) {
            let at = (lpn.0 - first) as usize * BYTES;
            self.composed[at..at + BYTES].copy_from_slice(&flash.0.to_le_bytes());
        }
    }

    /// Reads the old version of a translation page, if there is one, and programs the composed
    /// page. There must be room.
    fn rewrite(&mut self, nand: &mut Nand, page: u32) -> Result<()> {
        let owner = self.owner_of(page);
        if let Some(ppn) = self.map.flat.newest(owner) {
            self.read_entries(nand, ppn, owner)?;
        }
        let (bytes, frontier) = (&self.composed, &mut self.translation);
        self.map.write_own(nand, owner, bytes, frontier, page_kind::TRANSLATION, Cause::Map)
    }

    // ---- Room ---------------------------------------------------------------------------------

    fn frontier(&mut self, holds: BlockContent) -> &mut Frontier {
        match holds {
            BlockContent::Data => &mut self.data,
            BlockContent::Entries => &mut self.translation,
        }
    }

    /// Makes sure that a frontier has room.
    fn make_room(&mut self, nand: &mut Nand, holds: BlockContent) -> Result<()> {
        while self.frontier(holds).room() == 0 {
            if self.map.flat.pool.len() > RESERVE {
                *self.frontier(holds) = self.map.open(nand)?;
            } else {
                self.collect(nand)?;
            }
        }
        Ok(())
    }
}

impl Base for Dftl {
    answered_by_flat!([map.flat] flush place extent facet);

    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let full = nand.geometry().full_mask();
        for index in 0..run.pages {
            let lpn = run.first.plus(index);
            if self.map.flat.newest(lpn).is_some() {
                self.look_up(nand, lpn, Access::Read)?;
                let ppn = self.entry(lpn);
                nand.read(ppn, lpn, run.mask(index, full), sink, Cause::Host)?;
            }
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        for lpn in (0..pages).map(|page| first.plus(page)) {
            if self.map.flat.newest(lpn).is_some() {
                self.look_up(nand, lpn, Access::Write)?;
                self.map.trim(nand, lpn, 1)?;
            }
        }
        Ok(())
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        self.map.prefetch(spans, read_from);
        for span in spans {
            let pages = 0..span.pages.min(16);
            pages.for_each(|page| self.cmt.prefetch(Lpn(span.first + page)));
        }
    }
}

impl Ftl for Dftl {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        for index in 0..run.pages {
            self.look_up(nand, run.first.plus(index), Access::Write)?;
            self.make_room(nand, BlockContent::Data)?;
            self.map.write(nand, run, index, 1, &mut self.data, page_kind::DATA)?;
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, &[self.data, self.translation], 1)?;
        self.audit_contents(nand)?;
        self.audit_entries(nand)
    }

    fn roles(&self, nand: &Nand, roles: &mut Vec<BlockRole>) {
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let used = blocks.filter(|&block| nand.array().filled(block) > 0);
        let entries = used.filter(|&it| self.content_of(nand, it) == BlockContent::Entries);
        roles.extend(entries.map(|block| BlockRole::plain(block, "translation")));
    }

    /// The GTD is the part of the map that is entirely in RAM; the CMT is a cache of the rest.
    fn report(&self) -> Report {
        let mut report = self.map.report();
        report.ram.map = u64::from(self.translation_pages() * ENTRY_BYTES);
        report.ram.cache = self.capacity * CACHED_BYTES;
        report.figures = self.account.figures(self.cmt.entries());
        report.gauges = vec![("cmt_entries", self.cmt.entries().into())];
        report
    }

    fn reset_report(&mut self) {
        self.account.reset_counts();
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Map => Some(Facet::Map(self)),
            _ => self.map.facet(kind),
        }
    }
}

impl ResizableMap for Dftl {
    fn resize(&mut self, nand: &mut Nand, bytes: u64) -> Result<u64> {
        self.capacity = (bytes / CACHED_BYTES).max(1);
        self.shrink_to(nand, self.capacity)?;
        Ok(self.capacity * CACHED_BYTES)
    }

    fn fill(&mut self, nand: &mut Nand) -> Result<()> {
        self.load_pages(nand)?;
        self.release_pages(nand);
        Ok(())
    }

    fn watch(&mut self) {
        self.account.watch();
    }

    fn take_events(&mut self, events: &mut Vec<MapEvent>) {
        self.account.take_events(events);
    }

    fn miss_costs(&mut self) -> MissCosts {
        self.account.miss_costs()
    }
}
