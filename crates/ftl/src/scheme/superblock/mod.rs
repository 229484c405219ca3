//! superblock: a few logical blocks share a few physical blocks (Kang, Jo, Kim and Lee 2006).
//!
//! ```text
//! superblock 3   logical blocks 12 13 14 15      N = 4
//!                data   [ … ] [ … ] [ … ] [ … ]
//!                update [ … ] [ … ] [5 7 _ _]    at most M = 4 more
//! RAM    PGD     LBN 13 ─▶ its newest page       spare areas  PMD: four entries, PT: sixteen
//! ```
//! The pages of a superblock can be anywhere in its blocks. It has at most eight blocks, because
//! the block index of an entry has three bits: seven block numbers in the PBMT, and "this block".
//! [`carriers`] describes the entries in spare areas. Updates are appended to the open block. When
//! the open block is full and no other may be opened, the superblock reclaims blocks of its own, in
//! one of three ways:
//!
//! * If there are dead blocks, all of them are erased.
//! * Otherwise, if the free pages suffice, the full block with the fewest valid pages is emptied:
//!   its valid pages are copied to the free pages (*partial merge*).
//! * Otherwise the two full blocks with the most dead pages are emptied with the help of a free
//!   block (*full merge*).
//!
//! So a superblock that has its maximum of blocks must collect even while many blocks are free.
//! This is what lsb improves on (LSB §II.C). If the device runs out of free blocks and the
//! superblock has no more blocks than logical ones, the victim is chosen over the whole device: see
//! [`spare_mapped`].
//!
//! Invariants: a superblock has at most `physical` blocks, and `RESERVE` blocks are erased,
//! whenever no block is being emptied. No chain passes through a dead page.
//!
//! **Recovery**: [`spare_mount`]. The whole block of a suspect page is moved, so that its
//! superblock needs no additional block. A mount restores the reserve after its commit.
//!
//! Choices: the look-up comes before making room, with one look-up for each logical block of a
//! request. Reads and trims of a logical block without pages need no look-up. A superblock that has
//! its maximum of blocks, but no block with a dead page, does not collect. (With seven logical
//! blocks there may be nothing to gain.) If a trim removes the newest page of a group or of a
//! logical block, its lowest remaining page is copied at once, cause map. With `open_victims`, a
//! dead open block of another superblock may be a victim like a dead full one, and full merges
//! consider open blocks with dead pages too.

pub mod carriers;

use core::ops::Range;

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Mode, Nand, Ppn};
use spec::{Kind, Param, Params};

use self::carriers::{BLOCKS_MAX, Carriers};
use crate::contract::{
    Base, Error, Ftl, Metric, MountConfig, Report, Result, Run, Scheme, Span, Violation,
    table_bytes,
};
use crate::part::map::rmw;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_mapped::{self, Lbn, PageSource, SpareMap, SpareMapped};
use crate::part::spare::spare_mount;
use crate::part::spare::spare_sheet::BLOCK_BITS;
use crate::part::spare::superblocks::Sbn;

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 1;

static PARAMS: &[Param] = &[
    Param {
        name: "blocks",
        kind: Kind::Count,
        default: "4",
        unit: "blocks",
        doc: "the number of logical blocks in a superblock, at most 7",
    },
    Param {
        name: "physical",
        kind: Kind::Count,
        default: "8",
        unit: "blocks",
        doc: "the largest number of physical blocks of a superblock, at most 8",
    },
    Param {
        name: "map_cache",
        kind: Kind::Count,
        default: "48",
        unit: "entries",
        doc: "the number of logical blocks with their map in the RAM cache",
    },
    Param {
        name: "open_victims",
        kind: Kind::Switch,
        default: "false",
        unit: "",
        doc: "whether open blocks of other superblocks may be victims; their free pages are lost",
    },
];

/// Superblocks of a few blocks.
pub static SCHEME: Scheme = Scheme {
    name: "superblock",
    summary: "a few logical blocks share a few physical blocks; page mapping with the map in \
              spare areas",
    source: "Kang, Jo, Kim, Lee: A superblock-based flash translation layer for NAND flash memory, \
             EMSOFT 2006; counts as in Lin, Chiao, Chang 2010, II.C",
    params: PARAMS,
    corners: &["blocks=1,map_cache=1", "blocks=2,physical=3", "blocks=7", "blocks=1,physical=2"],
    refuses,
    least_extra: |_, _, _| RESERVE + 1,
    memory: simulation_memory,
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, chip: &ChipModel) -> Option<String> {
    let [blocks, physical, cache] = ["blocks", "physical", "map_cache"].map(|n| params.count(n));
    let most = u64::from(BLOCKS_MAX);
    if !(1..most).contains(&blocks) {
        return Some(format!("blocks={blocks}; 1 to {} are possible", most - 1));
    }
    if !(blocks + 1..=most).contains(&physical) {
        let least = blocks + 1;
        return Some(format!("physical={physical} of {blocks}; {least} to {most} are possible"));
    }
    if !(1..1 << BLOCK_BITS).contains(&cache) {
        return Some(format!("map_cache={cache}; 1 to 2^{BLOCK_BITS} are possible"));
    }
    carriers::refuses(chip, physical as u32)
}

/// Every page keeps its part of the map in its spare area: with the defaults 44 bytes, in an
/// allocation of its own. With the pointer to it and the allocator's overhead these are 76 bytes.
fn simulation_memory(_: &Params, geometry: &Geometry, mode: Mode) -> u64 {
    let kept_bytes = match mode {
        Mode::Count => 0,
        _ => 76,
    };
    table_bytes(geometry, 5 + kept_bytes, 40)
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let np = nand.geometry().pages_per_block();
    let count = |name| device.params.count(name) as u32;
    if nand.geometry().blocks() > 1 << BLOCK_BITS {
        let blocks = nand.geometry().blocks();
        let why = format!("{blocks} blocks; a spare area's block numbers have {BLOCK_BITS} bits");
        return Err(Error::Refused { scheme: "superblock", why });
    }
    let open_victims = device.params.switch("open_victims");
    let mut ftl = Superblock {
        map: SpareMap::format(nand, device, count("blocks"), count("map_cache"), open_victims),
        carriers: Carriers::new(device.logical_blocks, np, count("physical")),
        blocks_max: count("physical"),
        open_victims,
        pages_per_block: np,
        moving: Vec::with_capacity(np as usize),
        bytes: Vec::new(),
    };
    if !nand.is_factory_new() {
        ftl.recover(nand, device)?;
    }
    Ok(Box::new(ftl))
}

struct Superblock {
    map: SpareMap,
    carriers: Carriers,
    /// Blocks that a superblock may have.
    blocks_max: u32,
    open_victims: bool,
    pages_per_block: u32,
    /// Pages that are about to move, or were trimmed. This and the next are reused to save
    /// allocations.
    moving: Vec<Lpn>,
    /// The scheme bytes being composed.
    bytes: Vec<u8>,
}

impl Superblock {
    // ---- Writing ------------------------------------------------------------------------------

    /// Writes one page with its spare area. There must be room for it.
    fn write_page(&mut self, nand: &mut Nand, source: PageSource, lpn: Lpn) -> Result<()> {
        let superblock = self.superblock_of(lpn);
        let room = self.map.room(superblock);
        debug_assert!(room > 0, "there is no room for {lpn:?} of superblock {superblock}");
        let to = self.map.next(nand, superblock)?;
        let old = self.map.supersede(nand, lpn, to);
        self.map.blocks.fill(nand.geometry(), superblock, 1);
        self.note(lpn);
        let kind = match nand.array().keeps_pages() {
            true => {
                let flat = &self.map.flat;
                self.carriers.compose(nand.geometry(), flat, lpn, &mut self.bytes)
            }
            false => page_kind::DIRECTORY,
        };
        self.map.program(nand, source, lpn, [old, to], kind, &self.bytes)?;
        // Later pages refer to this one.
        nand.barrier();
        Ok(())
    }

    /// Writes pages of a run that are in one logical block: a single page or, if the chip keeps no
    /// spare areas, as many as fit the open block. Returns how many.
    fn write_pages(&mut self, nand: &mut Nand, run: &Run, first: Lpn, most: u32) -> Result<u32> {
        if most == 1 || nand.array().keeps_pages() || nand.has_guard() {
            self.write_page(nand, PageSource::Host(run), first)?;
            return Ok(1);
        }
        let superblock = self.superblock_of(first);
        let to = self.map.next(nand, superblock)?;
        let most = most.min(self.map.blocks.room(superblock));
        let index = first.0 - run.first.0;
        let (part, newest) = ((run, index, most), |lpn| self.map.flat.newest(lpn));
        let done = rmw::program(nand, part, to, page_kind::DIRECTORY, newest)?;
        for page in 0..done {
            self.map.supersede(nand, first.plus(page), to.plus(page));
            self.map.flat.note_written(first.plus(page));
            self.note(first.plus(page));
        }
        self.map.blocks.fill(nand.geometry(), superblock, done);
        Ok(done)
    }

    fn move_one_by_one(&mut self, nand: &mut Nand, cause: Cause, pages: &[Lpn]) -> Result<()> {
        for &lpn in pages {
            self.write_page(nand, PageSource::Copy(cause), lpn)?;
        }
        Ok(())
    }

    /// Copies the valid pages of a block, if the chip keeps no spare areas: in as few steps as
    /// blocks allow.
    fn move_at_once(
        &mut self,
        nand: &mut Nand,
        block: BlockId,
        cause: Cause,
        pages: &[Lpn],
    ) -> Result<()> {
        let (superblock, mut rest) = (self.map.blocks.owner(block), pages);
        while !rest.is_empty() {
            let to = self.map.next(nand, superblock)?;
            let most = rest.len().min(self.map.blocks.room(superblock) as usize);
            let (moved, later) = rest.split_at(most);
            self.map.copy(nand, moved, to, cause)?;
            for (ppn, &lpn) in (to.0..).map(Ppn).zip(moved) {
                self.map.flat.point(lpn, ppn);
                self.note(lpn);
            }
            self.map.blocks.fill(nand.geometry(), superblock, most as u32);
            rest = later;
        }
        self.map.blocks.supersede(block, pages.len() as u16);
        Ok(())
    }

    #[inline]
    fn note(&mut self, lpn: Lpn) {
        self.carriers.note(lpn);
        self.map.set_directory(lpn);
    }

    fn superblock_of(&self, lpn: Lpn) -> Sbn {
        self.map.superblock_of(self.map.lbn_of(lpn))
    }

    // ---- Room ---------------------------------------------------------------------------------

    /// Makes sure that a superblock can take `pages` pages.
    fn make_room(&mut self, nand: &mut Nand, superblock: Sbn, pages: u32) -> Result<()> {
        loop {
            let blocks = &self.map.blocks;
            let (has, room) = (blocks.blocks_of(superblock), blocks.room(superblock));
            let may_open = has < self.blocks_max && self.map.flat.pool.len() > RESERVE;
            let there = room + if may_open { self.pages_per_block } else { 0 };
            if self.must_collect(superblock) {
                self.collect_inside(nand, superblock)?;
            } else if there >= pages {
                return Ok(());
            } else if has > self.map.logical_blocks_of(superblock) {
                self.collect_inside(nand, superblock)?;
            } else {
                self.collect(nand)?;
            }
        }
    }

    /// Whether a superblock with its maximum of blocks must collect now: another page would leave
    /// too few free pages for the valid pages of its emptiest block.
    fn must_collect(&self, superblock: Sbn) -> bool {
        let blocks = &self.map.blocks;
        if blocks.blocks_of(superblock) < self.blocks_max {
            return false;
        }
        let emptiest = blocks.emptiest(superblock).map(|block| blocks.valid(block));
        let worth = emptiest.filter(|&valid| valid < self.pages_per_block);
        worth.is_some_and(|valid| blocks.room(superblock) <= valid)
    }

    /// Reclaims blocks of a superblock.
    fn collect_inside(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<()> {
        let emptiest = self.map.blocks.emptiest(superblock);
        let emptiest = emptiest.map(|block| (block, self.map.blocks.valid(block)));
        match emptiest {
            Some((_, 0)) => self.erase_dead(nand, superblock),
            Some((block, valid)) if valid <= self.map.blocks.room(superblock) => {
                self.reclaim(nand, block)
            }
            _ => self.merge_fully(nand, superblock),
        }
    }

    fn erase_dead(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<()> {
        while let Some(block) = self.map.blocks.emptiest(superblock) {
            if self.map.blocks.valid(block) > 0 {
                break;
            }
            self.reclaim(nand, block)?;
        }
        Ok(())
    }

    /// Reclaims a block: of all blocks with valid pages that fit into their superblock, the one
    /// with the most dead pages. If there is none, does a full merge in the superblock with the
    /// most dead pages.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.map.blocks.choose(|_, valid, _| valid);
        if let Some(victim) = victim {
            if self.map.blocks.is_open(victim) {
                self.map.blocks.close(nand.geometry(), self.map.blocks.owner(victim));
            }
            return self.reclaim(nand, victim);
        }
        let superblock = self.map.blocks.deadest();
        let superblock = superblock.expect("with the minimum of extra blocks some page is dead");
        if self.open_victims && self.is_open_worse(nand, superblock) {
            self.map.blocks.close(nand.geometry(), superblock);
        }
        self.merge_fully(nand, superblock)
    }

    /// Whether the open block of a superblock has more dead pages than the second of its emptiest
    /// full blocks.
    fn is_open_worse(&mut self, nand: &Nand, superblock: Sbn) -> bool {
        let blocks = &mut self.map.blocks;
        let Some(open) = blocks.open_block(nand.geometry(), superblock) else { return false };
        let programmed = self.pages_per_block - blocks.room(superblock);
        let dead = programmed - blocks.valid(open);
        let [_, second] = blocks.two_emptiest(superblock);
        let second = second.map_or(0, |block| self.pages_per_block - blocks.valid(block));
        dead > second
    }

    // ---- Trims --------------------------------------------------------------------------------

    /// Lists the pages that must be copied if these pages are trimmed. Returns how many.
    fn find_anchors(
        &self,
        lbn: Lbn,
        pages: &Range<u32>,
        anchors: &mut [Option<Lpn>; ANCHORS_MAX],
    ) -> usize {
        let flat = &self.map.flat;
        let mut found = self.carriers.anchors(flat, pages);
        *anchors = core::array::from_fn(|_| found.next());
        assert!(found.next().is_none(), "consecutive pages have two ends");
        let loses_directory = self.map.directory(lbn).is_some_and(|lpn| pages.contains(&lpn.0));
        if anchors[0].is_none() && loses_directory {
            anchors[0] = self.map.lowest_but(lbn, pages);
        }
        anchors.iter().flatten().count()
    }

    /// Unmaps pages. Returns those that were mapped.
    fn unmap(&mut self, nand: &Nand, lbn: Lbn, pages: &Range<u32>) -> Vec<Lpn> {
        let mut trimmed = core::mem::take(&mut self.moving);
        self.map.unmap(nand, lbn, pages, &mut trimmed);
        self.carriers.forget(&self.map.flat, lbn);
        trimmed
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = spare_mount::recover(nand, device, &mut self.map, &mut self.carriers)?;
        if let Some(&suspect) = recovered.to_copy.first() {
            let block = nand.geometry().block_of(suspect);
            self.move_out(nand, block, Cause::Meta)?;
            self.map.erase(nand, block, Cause::Meta)?;
        }
        spare_mount::commit_recovery(nand, &mut self.map, &recovered)?;
        while self.map.flat.pool.len() < RESERVE {
            self.collect(nand)?;
        }
        // A full merge that was cut off may have left a block too many.
        let last = self.map.superblock_of(self.map.logical_blocks() - 1);
        for superblock in 0..=last {
            while self.map.blocks.blocks_of(superblock) > self.blocks_max {
                self.collect_inside(nand, superblock)?;
            }
        }
        Ok(())
    }
}

/// Maximum number of pages that must be copied because of a trim. Of the groups that a range of
/// pages touches, only the first and the last can keep pages.
const ANCHORS_MAX: usize = 2;

impl SpareMapped for Superblock {
    fn map(&self) -> &SpareMap {
        &self.map
    }

    fn map_mut(&mut self) -> &mut SpareMap {
        &mut self.map
    }

    fn look_up(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        if !self.map.cache.touch(lbn) {
            nand.book_spare_reads(self.carriers.spares(&self.map.flat, lbn), Cause::Map)?;
        }
        Ok(())
    }

    fn trim_portion(&mut self, nand: &mut Nand, lbn: Lbn, pages: Range<u32>) -> Result<()> {
        self.look_up(nand, lbn)?;
        let mut anchors = [None; ANCHORS_MAX];
        if self.find_anchors(lbn, &pages, &mut anchors) > 0 {
            self.make_room(nand, self.map.superblock_of(lbn), ANCHORS_MAX as u32)?;
            self.find_anchors(lbn, &pages, &mut anchors);
        }
        // Copied first, while all pages to which their entries refer still exist.
        for lpn in anchors.into_iter().flatten() {
            self.map.counts.trim_copies += 1;
            self.write_page(nand, PageSource::Copy(Cause::Map), lpn)?;
        }
        let trimmed = self.unmap(nand, lbn, &pages);
        // Recorded last: a mount that finds the record also finds these copies.
        self.map.note_trimmed(nand, lbn, &trimmed)?;
        self.moving = trimmed;
        Ok(())
    }

    fn prefetch_own(&self, lpn: Lpn) {
        self.carriers.prefetch(lpn);
    }

    fn move_out(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        let mut pages = core::mem::take(&mut self.moving);
        spare_mapped::gather(&self.map.flat, nand, block, &mut pages);
        match nand.array().keeps_pages() || nand.has_guard() {
            true => self.move_one_by_one(nand, cause, &pages)?,
            false => self.move_at_once(nand, block, cause, &pages)?,
        }
        self.moving = pages;
        Ok(())
    }

    fn needs(&mut self, _nand: &Nand, block: BlockId) -> u32 {
        self.map.blocks.valid(block)
    }
}

impl Ftl for Superblock {
    fn base(&self) -> &dyn Base {
        self
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        self
    }

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        for (first, pages) in self.map.portions(run.first, run.pages) {
            let lbn = self.map.lbn_of(first);
            self.look_up(nand, lbn)?;
            let (superblock, mut at) = (self.map.superblock_of(lbn), 0);
            while at < pages {
                self.make_room(nand, superblock, 1)?;
                let is_near = self.map.blocks.blocks_of(superblock) + 1 >= self.blocks_max;
                let most = if is_near { 1 } else { pages - at };
                at += self.write_pages(nand, run, first.plus(at), most)?;
            }
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, RESERVE)?;
        self.map.blocks.audit_limit(self.blocks_max)?;
        let spares = |lbn| self.carriers.spares(&self.map.flat, lbn).collect();
        spare_mount::audit(nand, &self.map, &self.carriers, spares)
    }

    fn report(&self) -> Report {
        let mut report = self.map.report(self.carriers.entry_bytes());
        report.figures.push(("spare_bits", Metric::Count(self.carriers.bits().into())));
        report
    }

    fn reset_report(&mut self) {
        self.map.reset_figures();
    }
}
