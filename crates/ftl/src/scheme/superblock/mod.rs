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
//! [`spare_mapped`](crate::part::spare::spare_mapped).
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

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Mode, Nand};
use spec::{Kind, Param, Params};

use self::carriers::{BLOCKS_MAX, Carriers};
use crate::contract::{
    Act, BlockRole, Ftl, Lecture, Metric, MountConfig, Report, Result, Run, Scheme, Span,
    Violation, base_is, table_bytes,
};
use crate::part::recovery::survey;
use crate::part::spare::spare_map::{Lbn, SpareMap};
use crate::part::spare::spare_mapped::SpareMapped;
use crate::part::spare::spare_mount;
use crate::part::spare::spare_sheet::BLOCK_BITS;
use crate::part::spare::spare_writer::PageSource;
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
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[
        Act {
            cause: Cause::Gc,
            from: "superblock",
            to: "superblock",
            name: "collection in a superblock",
            says: "Some blocks share the logical blocks of a superblock. The valid pages of \
               the emptiest one are copied to the open block of the same superblock, and \
               the emptied block is erased. The copies carry the changed parts of the map \
               in their spare areas.",
        },
        Act {
            cause: Cause::Map,
            from: "",
            to: "superblock",
            name: "map entries in a spare area",
            says: "The map is in the spare areas of pages. A part of it must be written again, \
               so the page that carries it is copied with the new entries in its spare \
               area.",
        },
    ],
    params: PARAMS,
    corners: &["blocks=1,map_cache=1", "blocks=2,physical=3", "blocks=7", "blocks=1,physical=2"],
    refuses,
    least_extra: |_, _, _| RESERVE + 1,
    scheme_bytes: |params, geometry, _| {
        carriers::bytes(geometry.pages_per_block(), params.count("physical") as u32)
    },
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
    let mut map = SpareMap::format(nand, device, SCHEME.name)?;
    map.blocks.offers_open = device.params.switch("open_victims");
    let np = nand.geometry().pages_per_block();
    let blocks_max = device.params.count("physical") as u32;
    let ftl = Superblock {
        map,
        carriers: Carriers::new(device.logical_blocks, np, blocks_max),
        blocks_max,
        pages_per_block: np,
        moving: Vec::with_capacity(np as usize),
        anchors: Vec::new(),
    };
    survey::mounted(nand, device, ftl, Superblock::recover)
}

struct Superblock {
    map: SpareMap,
    carriers: Carriers,
    /// Blocks that a superblock may have.
    blocks_max: u32,
    pages_per_block: u32,
    /// Pages that are about to move. This and the next are reused to save allocations.
    moving: Vec<Lpn>,
    /// Pages that must be copied because of a trim.
    anchors: Vec<Lpn>,
}

impl Superblock {
    // ---- Writing ------------------------------------------------------------------------------

    /// Writes pages of one superblock, in this order. There must be room for them.
    fn write_pages(&mut self, nand: &mut Nand, source: PageSource, pages: &[Lpn]) -> Result<()> {
        self.map.write_all(nand, source, pages, &mut self.carriers)
    }

    // ---- Room ---------------------------------------------------------------------------------

    /// Makes sure that a superblock can take `pages` pages.
    fn make_room(&mut self, nand: &mut Nand, superblock: Sbn, pages: u32) -> Result<()> {
        loop {
            let has = self.map.blocks.blocks_of(superblock);
            let may_open = has < self.blocks_max && self.map.flat.pool.len() > RESERVE;
            let room = self.map.open_room(superblock);
            let there = room + if may_open { self.pages_per_block } else { 0 };
            let must_collect = self.must_collect(superblock);
            if there >= pages && !must_collect {
                return Ok(());
            }
            self.map.finish(nand)?;
            if must_collect || has > self.map.logical_blocks_of(superblock) {
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
        worth.is_some_and(|valid| self.map.open_room(superblock) <= valid)
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
        if self.map.blocks.offers_open && self.is_open_worse(nand, superblock) {
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

    /// Lists the pages that must be copied if these pages are trimmed.
    fn find_anchors(&self, lbn: Lbn, pages: &Range<u32>, anchors: &mut Vec<Lpn>) {
        anchors.clear();
        anchors.extend(self.carriers.anchors(&self.map.flat, pages));
        if anchors.is_empty() {
            anchors.extend(self.map.directory_anchor(lbn, pages));
        }
        debug_assert!(anchors.len() <= ANCHORS_MAX as usize, "consecutive pages have two ends");
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = spare_mount::recover(nand, device, &mut self.map, &mut self.carriers)?;
        if let Some(&suspect) = recovered.to_copy.first() {
            let block = nand.geometry().block_of(suspect);
            // First the suspect page: the maps in spare areas of further copies name its place.
            let lpn = nand.owner(suspect);
            self.write_pages(nand, PageSource::Move(Cause::Meta), &[lpn])?;
            self.move_out(nand, block, Cause::Meta)?;
            self.map.erase(nand, block, Cause::Meta)?;
        }
        self.map.flat.commit_recovery(nand, &recovered.suspects)?;
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
const ANCHORS_MAX: u32 = 2;

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
        let mut anchors = core::mem::take(&mut self.anchors);
        self.find_anchors(lbn, &pages, &mut anchors);
        if !anchors.is_empty() {
            self.make_room(nand, self.map.superblock_of(lbn), ANCHORS_MAX)?;
            self.find_anchors(lbn, &pages, &mut anchors);
        }
        // Copied first, while all pages to which their entries refer still exist.
        self.map.counts.trim_copies += anchors.len() as u64;
        self.write_pages(nand, PageSource::Copy(Cause::Map), &anchors)?;
        self.anchors = anchors;
        self.map.unmap(nand, lbn, &pages);
        self.carriers.forget(&self.map.flat, lbn);
        // Recorded last: a mount that finds the record also finds these copies.
        self.map.note_trimmed(nand, lbn)
    }

    fn prefetch_own(&self, lpn: Lpn) {
        self.carriers.prefetch(lpn);
    }

    fn move_out(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        let mut pages = core::mem::take(&mut self.moving);
        self.map.flat.gather(nand, block, &mut pages, |lpn, _| lpn);
        self.write_pages(nand, PageSource::Move(cause), &pages)?;
        self.moving = pages;
        self.map.finish(nand)
    }
}

impl Ftl for Superblock {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        for (first, pages) in self.map.portions(run.first, run.pages) {
            let lbn = self.map.lbn_of(first);
            self.look_up(nand, lbn)?;
            let superblock = self.map.superblock_of(lbn);
            for lpn in (first.0..first.0 + pages).map(Lpn) {
                self.make_room(nand, superblock, 1)?;
                self.write_pages(nand, PageSource::Host(run), &[lpn])?;
            }
            self.map.finish(nand)?;
        }
        self.map.end_write()?;
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, RESERVE)?;
        self.map.blocks.audit_limit(self.blocks_max)?;
        let spares = |lbn| self.carriers.spares(&self.map.flat, lbn).collect();
        spare_mount::audit(nand, &self.map, &self.carriers, spares)
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(self.map.blocks.roles());
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
