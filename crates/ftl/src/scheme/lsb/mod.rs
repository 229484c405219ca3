//! lsb: large superblocks with the map in spare areas (Lin, Chiao and Chang 2010).
//!
//! ```text
//! RAM          PGD   LBN 0 ─▶ its page 9, the newest PMD page
//! spare area   PMD   of 9:  group 0 ─▶ 3   group 1: page 8 direct, the others through 14
//!              PT    of 14: 10, 11, 12, 13, 15            of 3: 0, 1, 2
//! ```
//! A *superblock* consists of `blocks` consecutive logical blocks. Their pages can be anywhere in
//! the physical blocks that they share. The map is by page and takes four bytes of RAM per logical
//! block. A request is divided into *portions*, one for each logical block. In each group that a
//! portion touches, the page written last becomes the group's PT page. In the last group it becomes
//! the PMD page of the logical block, and the page before it the PT page.
//!
//! If the portion has only one page of its last group, this page becomes a PMD page. It refers to
//! the other pages of its group through the group's PT page, as far as that is up to date, and
//! directly otherwise. If this takes more block numbers than its spare area has room for, the PT
//! page is copied first (*mapping-induced write*). [`group_chains`] has the rules for chains of
//! spare areas, [`spare_sheet`](crate::part::spare::spare_sheet) the bits.
//!
//! Garbage collection is greedy over the device, as
//! [`spare_mapped`](crate::part::spare::spare_mapped) describes it. The valid pages of a block are
//! written as one portion for each logical block.
//!
//! **Tight collection** (ours, not the paper's). *Problem:* if each page of a logical block is in a
//! block of its own, every second page that is moved alone induces a write. A victim with 50 valid
//! pages then takes 75 programs and frees 64 pages, until no collection finds room. *Decision:*
//! from then on a PMD page that would induce a write is written as a *wide* PMD page. Each of its
//! (N − 1) + (G − 1) entries is a full page number. At 8 × 8 they fit 352 bits, on chips of up to
//! 2²⁵ pages. *Consequence:* v valid pages take v programs, so each victim with a dead page gains.
//!
//! Collection stays tight at least until the portion that found no room has its room. It ends when
//! room is needed again and both blocks of the next full merge would gain under the paper's rule
//! too. The host's own pages always follow the paper. Larger chips have no wide format; there a
//! write may fail with an error.
//!
//! Invariants: room for a portion exists before its first page is written. After the portion,
//! `RESERVE` blocks are erased, and at least one block is erased whenever no victim is being
//! emptied. No chain passes through a dead page.
//!
//! **Recovery**: [`spare_mount`]. A portion without its PMD page was never written. A mount
//! restores the reserve after its commit. Its collections are tight, so that it ends soon.
//!
//! Choices: the look-up comes before making room. Reads and trims of a logical block without pages
//! need no look-up. If a trim removes a page that holds map entries of others, the lowest remaining
//! page of the group is copied at once, cause map; if it removes only the newest PMD page, the
//! lowest remaining page of the logical block is copied. If Np is no multiple of the pages per
//! group, the last group is shorter. A group of one page never induces a write. A full merge leaves
//! its second block as it is if the erased blocks might not have room for its pages.

pub mod block_counter;
pub mod chain_links;
pub mod group_chains;
pub mod layout;
mod portions;
mod room;
pub mod spare_bytes;
mod victim_pages;

use core::ops::Range;

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Mode, Nand, Ppn};
use spec::{Kind, Param, Params};

use self::group_chains::GroupChains;
use self::layout::GroupLayout;
use self::victim_pages::VictimPages;
use crate::contract::{
    Act, BlockRole, Durability, Ftl, Lecture, Metric, MountConfig, Report, Result, Run, Scheme,
    Span, Violation, base_is, table_bytes,
};
use crate::part::recovery::survey;
use crate::part::spare::spare_map::{Lbn, SpareMap};
use crate::part::spare::spare_mapped::SpareMapped;
use crate::part::spare::spare_mount;
use crate::part::spare::spare_sheet::BLOCK_BITS;
use crate::part::spare::spare_writer::PageSource;

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 2;

/// Maximum number of collections for one portion, per block of the device. After these no further
/// one will make room: each induces as many writes as it frees pages. Tight collection empties no
/// block twice, so it ends long before that.
const ATTEMPTS_PER_BLOCK: u32 = 64;

static PARAMS: &[Param] = &[
    Param {
        name: "blocks",
        kind: Kind::Count,
        default: "512",
        unit: "blocks",
        doc: "the number of logical blocks in a superblock, up to the whole device",
    },
    Param {
        name: "map_cache",
        kind: Kind::Count,
        default: "16",
        unit: "entries",
        doc: "the number of logical blocks with their map in the RAM cache",
    },
    Param {
        name: "groups",
        kind: Kind::Count,
        default: "0",
        unit: "groups",
        doc: "the number of groups in a logical block; 0: the smallest power of two that is at \
              least the square root of the pages per block, such as 8 for 64",
    },
];

/// Large superblocks.
pub static SCHEME: Scheme = Scheme {
    name: "lsb",
    summary: "superblock with hundreds of logical blocks per superblock, or with the whole device \
              as one",
    source: "Lin, Chiao, Chang: Improving flash translation layer performance by supporting large \
             superblocks, IEEE Trans. Consumer Electronics 2010; counts as there, III",
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[
        Act {
            cause: Cause::Gc,
            from: "superblock",
            to: "superblock",
            name: "collection in a superblock",
            says: "The valid pages of the emptiest block are copied to the open block of the \
               superblock, and the emptied block is erased. The copies carry the changed \
               parts of the map in their spare areas.",
        },
        Act {
            cause: Cause::Map,
            from: "",
            to: "superblock",
            name: "mapping chain",
            says: "The map is a chain through spare areas: page tables (PT) and the \
               directories (PMD) that lead to them. A link must be written again, so the \
               page that carries it is copied with the new entries in its spare area.",
        },
    ],
    params: PARAMS,
    corners: &["blocks=1", "blocks=2,map_cache=1", "blocks=1,groups=1", "groups=1"],
    refuses,
    least_extra: |_, _, _| RESERVE + 1,
    scheme_bytes,
    memory: simulation_memory,
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, chip: &ChipModel) -> Option<String> {
    for (name, least) in [("blocks", 1), ("map_cache", 1), ("groups", 0)] {
        let count = params.count(name);
        if !(least..1 << BLOCK_BITS).contains(&count) {
            return Some(format!("{name}={count}; {least} to 2^{BLOCK_BITS} are possible"));
        }
    }
    GroupLayout::new(chip.pages_per_block, params.count("groups") as u32).refuses(chip)
}

fn scheme_bytes(params: &Params, geometry: &Geometry, durability: Durability) -> u32 {
    GroupLayout::bytes(geometry, params.count("groups") as u32, durability)
}

/// Some pages have a part of the map in their spare areas.
fn simulation_memory(_: &Params, geometry: &Geometry, mode: Mode) -> u64 {
    let kept_bytes = if mode == Mode::Count { 0 } else { 22 };
    table_bytes(geometry, 5 + kept_bytes, 64)
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let map = SpareMap::format(nand, device, SCHEME.name)?;
    let np = nand.geometry().pages_per_block();
    let groups = device.params.count("groups") as u32;
    let layout = GroupLayout::on(nand.geometry(), groups, device.durability);
    let ftl = Lsb {
        chains: GroupChains::new(layout, device.logical_blocks, nand.geometry()),
        portion: Vec::with_capacity(np as usize),
        victim: VictimPages::new(device.logical_blocks.min(map.blocks_per_superblock) * np),
        spares: Vec::new(),
        pages_per_block: np,
        attempts: 0,
        is_tight: false,
        tight: TightCounts::default(),
        map,
    };
    survey::mounted(nand, device, ftl, Lsb::recover)
}

struct Lsb {
    map: SpareMap,
    chains: GroupChains,
    /// The pages of the portion being written. Kept to reuse its memory.
    portion: Vec<Lpn>,
    /// The valid pages of the block that is being emptied, or was examined last.
    victim: VictimPages,
    /// The pages whose spare areas a look-up reads. Kept to reuse its memory.
    spares: Vec<Ppn>,
    pages_per_block: u32,
    /// Number of collections since room was needed.
    attempts: u32,
    /// Whether collection is tight: it writes wide PMD pages and induces no writes.
    is_tight: bool,
    tight: TightCounts,
}

/// Counts of tight collection. If there was none, all counts of the scheme follow the paper.
#[derive(Clone, Copy, Debug, Default)]
struct TightCounts {
    collections: u64,
    /// Wide PMD pages: each avoided an induced write.
    pages: u64,
}

impl Lsb {
    // ---- Trims --------------------------------------------------------------------------------

    /// Lists the pages that must be copied if these pages are trimmed.
    fn find_anchors(&self, lbn: Lbn, pages: &Range<u32>, anchors: &mut Vec<Lpn>) {
        anchors.clear();
        let flat = &self.map.flat;
        let groups = self.chains.groups.between(pages);
        anchors.extend(groups.filter_map(|group| self.chains.anchor(flat, group, pages)));
        if anchors.is_empty() {
            anchors.extend(self.map.directory_anchor(lbn, pages));
        }
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = spare_mount::recover(nand, device, &mut self.map, &mut self.chains)?;
        // Under the paper's rule the duration of a mount would have no bound.
        if self.can_tighten() {
            self.tighten();
        }
        match recovered.to_copy.first() {
            Some(&destroyed) if recovered.suspects.are_destroyed => {
                self.move_block(nand, nand.geometry().block_of(destroyed))?;
            }
            _ => self.copy_suspects(nand, &recovered.to_copy)?,
        }
        self.map.flat.commit_recovery(nand, &recovered.suspects)?;
        self.collect_until(nand, |lsb| lsb.map.flat.pool.len() >= RESERVE)?;
        self.is_tight = false;
        Ok(())
    }

    fn copy_suspects(&mut self, nand: &mut Nand, suspects: &[Ppn]) -> Result<()> {
        suspects.iter().try_for_each(|&suspect| {
            let lpn = nand.owner(suspect);
            self.write_portion(nand, PageSource::Copy(Cause::Meta), &[lpn])
        })
    }

    /// Moves all valid pages of the block with destroyed pages. If only the destroyed ones were
    /// copied to the last free block, the collection after the commit would go on in that block,
    /// and a cut there would leave no free block, and one that cannot be given up.
    fn move_block(&mut self, nand: &mut Nand, block: BlockId) -> Result<()> {
        self.move_out(nand, block, Cause::Meta)?;
        self.map.erase(nand, block, Cause::Meta)
    }
}

impl SpareMapped for Lsb {
    fn map(&self) -> &SpareMap {
        &self.map
    }

    fn map_mut(&mut self) -> &mut SpareMap {
        &mut self.map
    }

    fn look_up(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        if !self.map.cache.touch(lbn) {
            self.spares.clear();
            self.chains.spares(&self.map.flat, lbn, &mut self.spares);
            nand.book_spare_reads(self.spares.iter().copied(), Cause::Map)?;
        }
        Ok(())
    }

    fn trim_portion(&mut self, nand: &mut Nand, lbn: Lbn, pages: Range<u32>) -> Result<()> {
        self.look_up(nand, lbn)?;
        let mut anchors = core::mem::take(&mut self.portion);
        self.want_room(nand, |lsb| {
            lsb.find_anchors(lbn, &pages, &mut anchors);
            let programs = lsb.chains.programs_max(&anchors);
            lsb.has_room(lsb.map.superblock_of(lbn), programs)
        })?;
        self.map.unmap(nand, lbn, &pages);
        for group in self.chains.groups.between(&pages) {
            self.chains.forget(&self.map.flat, group);
        }
        if !anchors.is_empty() {
            self.map.counts.trim_copies += anchors.len() as u64;
            self.write_portion(nand, PageSource::Copy(Cause::Map), &anchors)?;
        }
        self.portion = anchors;
        // Recorded last: a mount that finds the record also finds these copies.
        self.map.note_trimmed(nand, lbn)
    }

    fn prefetch_own(&self, lpn: Lpn) {
        self.chains.prefetch(lpn);
    }

    fn move_out(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        self.victim.list(&self.map.flat, nand, block);
        let pages = self.victim.take();
        pages.iter().for_each(|&lpn| self.chains.prefetch(lpn));
        let mut rest = &pages[..];
        while let Some(&first) = rest.first() {
            let lbn = self.map.lbn_of(first);
            let is_other = |&lpn: &Lpn| self.map.lbn_of(lpn) != lbn;
            let pages = rest.iter().position(is_other).unwrap_or(rest.len());
            let (portion, later) = rest.split_at(pages);
            self.write_portion(nand, PageSource::Move(cause), portion)?;
            rest = later;
        }
        self.victim.give_back(pages);
        self.map.finish(nand)
    }

    fn needs(&mut self, nand: &Nand, block: BlockId) -> u32 {
        if self.is_tight {
            return self.map.blocks.valid(block);
        }
        let needs = self.victim.needs(&self.map.flat, &self.chains, nand, block);
        // An open block can gain pages.
        if self.map.blocks.is_open(block) {
            self.victim.forget();
        }
        needs
    }
}

impl Ftl for Lsb {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        for (first, pages) in self.map.portions(run.first, run.pages) {
            let lbn = self.map.lbn_of(first);
            self.look_up(nand, lbn)?;
            let mut portion = core::mem::take(&mut self.portion);
            portion.clear();
            portion.extend((first.0..first.0 + pages).map(Lpn));
            let programs = self.chains.programs_max(&portion);
            self.make_room(nand, self.map.superblock_of(lbn), programs)?;
            self.write_portion(nand, PageSource::Host(run), &portion)?;
            self.map.finish(nand)?;
            self.portion = portion;
        }
        self.map.end_write()?;
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, 1)?;
        self.chains.audit_homes(nand.geometry(), &self.map.flat)?;
        let spares = |lbn| {
            let mut places = Vec::new();
            self.chains.spares(&self.map.flat, lbn, &mut places);
            places
        };
        spare_mount::audit(nand, &self.map, &self.chains, spares)
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(self.map.blocks.roles());
    }

    /// A cached entry takes the bits of a PMD page, and an offset and a block number per page: 300
    /// bytes at 64 pages in 8 groups (§III.D).
    fn report(&self) -> Report {
        let layout = self.chains.layout();
        let count = |n: u32| Metric::Count(n.into());
        let np = u64::from(self.pages_per_block);
        let mut report = self.map.report(layout.directory.bytes() as u64 + np + 3 * np);
        report.figures.extend([
            ("groups", count(layout.groups)),
            ("group_pages", count(layout.group_pages)),
            ("pmd_bits", count(layout.directory.bits())),
            ("pt_bits", count(layout.table.bits())),
            ("wide_pmd_bits", count(layout.wide.map_or(0, |wide| wide.bits()))),
            ("tight_collections", Metric::Count(self.tight.collections)),
            ("wide_pages", Metric::Count(self.tight.pages)),
        ]);
        report
    }

    fn reset_report(&mut self) {
        self.map.reset_figures();
        self.tight = TightCounts::default();
    }
}
