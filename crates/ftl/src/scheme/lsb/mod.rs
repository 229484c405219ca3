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
//! Garbage collection is greedy over the device, as [`spare_mapped`] describes it. The valid pages
//! of a block are written as one portion for each logical block.
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
pub mod group_chains;

use core::ops::Range;

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Mode, Nand, Ppn};
use spec::{Kind, Param, Params};

use self::group_chains::{GroupChains, GroupLayout, Role};
use crate::contract::{
    Base, Error, Ftl, Metric, MountConfig, Ram, Report, Result, Run, Scheme, Violation, table_bytes,
};
use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_mapped::{self, Lbn, PageSource, SpareMap, SpareMapped};
use crate::part::spare::spare_mount;
use crate::part::spare::spare_sheet::BLOCK_BITS;
use crate::part::spare::superblocks::Sbn;

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
    params: PARAMS,
    corners: &["blocks=1", "blocks=2,map_cache=1", "blocks=1,groups=1", "groups=1"],
    refuses,
    map_budget: None,
    least_extra: |_, _, _| RESERVE + 1,
    takes_policy: false,
    memory: simulation_memory,
    mount,
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

/// Some pages have a part of the map in their spare areas.
fn simulation_memory(_: &Params, geometry: &Geometry, mode: Mode) -> u64 {
    let kept_bytes = if mode == Mode::Count { 0 } else { 22 };
    table_bytes(geometry, 5 + kept_bytes, 16)
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let np = nand.geometry().pages_per_block();
    let count = |name| device.params.count(name) as u32;
    if nand.geometry().blocks() > 1 << BLOCK_BITS {
        let blocks = nand.geometry().blocks();
        let why = format!("{blocks} blocks; a spare area's block numbers have {BLOCK_BITS} bits");
        return Err(Error::Refused { scheme: "lsb", why });
    }
    let layout = GroupLayout::on(nand.geometry(), count("groups"));
    let mut ftl = Lsb {
        map: SpareMap::format(nand, device, count("blocks"), count("map_cache"), false),
        chains: GroupChains::new(layout, device.logical_blocks, nand.geometry()),
        portion: Vec::with_capacity(np as usize),
        trimmed: Vec::with_capacity(np as usize),
        victim: VictimPages::new(np),
        copies: CopyBatch::new(np),
        spares: Vec::new(),
        bytes: Vec::with_capacity(layout.directory.bytes()),
        pages_per_block: np,
        attempts: 0,
        is_tight: false,
        tight: TightCounts::default(),
    };
    if !nand.is_factory_new() {
        ftl.recover(nand, device)?;
    }
    Ok(Box::new(ftl))
}

struct Lsb {
    map: SpareMap,
    chains: GroupChains,
    /// The pages of the portion being written. This and the next lists are reused to save
    /// allocations.
    portion: Vec<Lpn>,
    /// The pages that a trim unmaps.
    trimmed: Vec<Lpn>,
    /// The valid pages of the block that is being emptied, or was examined last.
    victim: VictimPages,
    /// The copies that a move has not made yet.
    copies: CopyBatch,
    /// The pages whose spare areas a look-up reads.
    spares: Vec<Ppn>,
    /// The scheme bytes being composed.
    bytes: Vec<u8>,
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

/// The valid pages of a full block, in logical order. A block is often examined before it is
/// emptied, so the list is kept. Until the block is erased, it can only lose pages.
#[derive(Debug)]
struct VictimPages {
    block: Option<BlockId>,
    pages: Vec<Lpn>,
}

impl VictimPages {
    fn new(pages_per_block: u32) -> VictimPages {
        VictimPages { block: None, pages: Vec::with_capacity(pages_per_block as usize) }
    }

    /// Lists the valid pages of a block.
    fn list(&mut self, flat: &FlatMap, nand: &Nand, block: BlockId) -> &[Lpn] {
        let VictimPages { block: known, pages } = self;
        if *known == Some(block) {
            let stays = |lpn: &Lpn| nand.geometry().block_of(flat.entry(lpn.0)) == block;
            pages.retain(stays);
        } else {
            spare_mapped::gather(flat, nand, block, pages);
            pages.sort_unstable();
            *known = Some(block);
        }
        pages
    }

    /// Takes the list of a block that is being emptied.
    fn take(&mut self) -> Vec<Lpn> {
        self.block = None;
        core::mem::take(&mut self.pages)
    }
}

/// Copies of pages of a victim that are made together, to consecutive pages of an open block. The
/// map and the chains know the new places already.
#[derive(Debug)]
struct CopyBatch {
    from: Vec<Ppn>,
    to: Ppn,
    /// Number of pages that the open block can take.
    room: u32,
    cause: Cause,
}

impl CopyBatch {
    fn new(pages_per_block: u32) -> CopyBatch {
        let from = Vec::with_capacity(pages_per_block as usize);
        CopyBatch { from, to: Ppn::NONE, room: 0, cause: Cause::Gc }
    }
}

impl Lsb {
    // ---- Portions -----------------------------------------------------------------------------

    /// Writes a portion: ascending pages of one logical block. There must be room for it.
    fn write_portion(&mut self, nand: &mut Nand, source: PageSource, pages: &[Lpn]) -> Result<()> {
        let (&last, before) = pages.split_last().expect("a portion has a page");
        let (needs, room) = (pages.len() as u32, || self.map.room(self.superblock_of(last)));
        debug_assert!(room() >= needs, "{needs} pages up to {last:?} have room for {}", room());
        match nand.keeps_spares() {
            true => self.write_one_by_one(nand, source, before, last)?,
            false => self.write_at_once(nand, source, before, last)?,
        }
        let role = match self.chains.is_alone(pages) {
            true => self.make_fit(nand, source, last)?,
            false => Role::Directory,
        };
        self.write_page(nand, source, last, role)?;
        // Later pages refer to these.
        nand.barrier();
        Ok(())
    }

    /// The role of page `at` of a portion. The last page, which is not in `before`, is the PMD
    /// page.
    fn role(&self, before: &[Lpn], last: Lpn, at: usize) -> Role {
        let group = |lpn| self.chains.group_of(lpn);
        let next = before.get(at + 1).copied();
        match (next, group(before[at])) {
            (None, own) if own == group(last) => Role::Table { but: Some(last) },
            (None, _) => Role::Table { but: None },
            (Some(next), own) if own != group(next) => Role::Table { but: None },
            _ => Role::Plain,
        }
    }

    fn write_one_by_one(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        before: &[Lpn],
        last: Lpn,
    ) -> Result<()> {
        for (at, &lpn) in before.iter().enumerate() {
            self.write_page(nand, source, lpn, self.role(before, last, at))?;
        }
        Ok(())
    }

    /// Writes the same pages if the chip keeps no spare areas: in as few steps as blocks allow.
    fn write_at_once(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        before: &[Lpn],
        last: Lpn,
    ) -> Result<()> {
        let mut rest = before;
        while let Some(&first) = rest.first() {
            let superblock = self.superblock_of(first);
            let to = self.map.next(nand, superblock)?;
            let most = rest.len().min(self.map.blocks.room(superblock) as usize);
            let done = self.program_some(nand, source, &rest[..most], to)?;
            let (written, later) = rest.split_at(done);
            for (ppn, &lpn) in (to.0..).map(Ppn).zip(written) {
                self.map.supersede(nand, lpn, ppn);
                if matches!(source, PageSource::Host(_)) {
                    self.map.flat.note_written(lpn);
                }
            }
            self.map.blocks.fill(nand.geometry(), superblock, done as u32);
            rest = later;
        }
        for (at, &lpn) in before.iter().enumerate() {
            self.chains.note(lpn, self.role(before, last, at));
        }
        Ok(())
    }

    /// Programs pages of a portion, to `to` and the pages after it. Returns how many.
    fn program_some(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        pages: &[Lpn],
        to: Ppn,
    ) -> Result<usize> {
        match source {
            PageSource::Host(run) => {
                let (index, most) = (pages[0].0 - run.first.0, pages.len() as u32);
                Ok(self.map.flat.program(nand, run, index, most, to, page_kind::DATA)? as usize)
            }
            PageSource::Copy(cause) => {
                self.map.copy(nand, pages, to, cause)?;
                Ok(pages.len())
            }
        }
    }

    /// Writes one page with its spare area.
    fn write_page(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        role: Role,
    ) -> Result<()> {
        let superblock = self.superblock_of(lpn);
        let to = self.map.next(nand, superblock)?;
        let old = self.map.supersede(nand, lpn, to);
        self.map.blocks.fill(nand.geometry(), superblock, 1);
        self.chains.note(lpn, role);
        if role.is_directory() {
            self.map.set_directory(lpn);
        }
        if nand.keeps_spares() {
            let (geometry, flat) = (nand.geometry(), &self.map.flat);
            self.chains.compose(geometry, flat, lpn, role, &mut self.bytes);
        }
        self.map.program(nand, source, lpn, [old, to], role.kind(), &self.bytes)
    }

    /// Makes sure that the entries of a PMD page fit: if they would refer to too many blocks,
    /// copies the PT page of its group first, or makes it a wide PMD page. Returns its role.
    fn make_fit(&mut self, nand: &mut Nand, source: PageSource, lpn: Lpn) -> Result<Role> {
        let to = self.map.next(nand, self.superblock_of(lpn))?;
        let (geometry, flat) = (nand.geometry(), &self.map.flat);
        let block = geometry.block_of(to);
        let Some(table) = self.chains.mapping_write(geometry, flat, lpn, block) else {
            return Ok(Role::Directory);
        };
        if self.is_tight && matches!(source, PageSource::Copy(Cause::Gc)) {
            self.tight.pages += 1;
            return Ok(Role::WideDirectory);
        }
        self.map.counts.mapping_writes += 1;
        self.finish_copies(nand)?;
        self.write_page(nand, PageSource::Copy(Cause::Map), table, Role::Table { but: Some(lpn) })?;
        Ok(Role::Directory)
    }

    // ---- Moves --------------------------------------------------------------------------------

    fn move_by_portions(&mut self, nand: &mut Nand, pages: &[Lpn], cause: Cause) -> Result<()> {
        let np = self.pages_per_block;
        for portion in pages.chunk_by(|a, b| a.0 / np == b.0 / np) {
            self.write_portion(nand, PageSource::Copy(cause), portion)?;
        }
        Ok(())
    }

    /// Moves all valid pages out of a block if the chip keeps no spare areas: what
    /// [`write_portion`](Self::write_portion) does for each portion, in as few steps as blocks and
    /// induced writes allow. There must be no guard, which would see the programs too late.
    fn move_at_once(&mut self, nand: &mut Nand, pages: &[Lpn], cause: Cause) -> Result<()> {
        let np = self.pages_per_block;
        for portion in pages.chunk_by(|a, b| a.0 / np == b.0 / np) {
            let (&last, before) = portion.split_last().expect("a portion has a page");
            for (at, &lpn) in before.iter().enumerate() {
                self.move_page(nand, lpn, self.role(before, last, at), cause)?;
            }
            let role = match self.chains.is_alone(portion) {
                true => self.make_fit(nand, PageSource::Copy(cause), last)?,
                false => Role::Directory,
            };
            self.move_page(nand, last, role, cause)?;
            self.map.set_directory(last);
        }
        self.finish_copies(nand)
    }

    /// Gives a page its new place; the copy is made later.
    #[inline]
    fn move_page(&mut self, nand: &mut Nand, lpn: Lpn, role: Role, cause: Cause) -> Result<()> {
        if self.copies.from.is_empty() {
            let superblock = self.superblock_of(lpn);
            self.copies.to = self.map.next(nand, superblock)?;
            self.copies.room = self.map.blocks.room(superblock);
            self.copies.cause = cause;
        }
        let copies = &mut self.copies;
        let to = copies.to.plus(copies.from.len() as u32);
        copies.from.push(self.map.flat.point(lpn, to));
        self.chains.note(lpn, role);
        match copies.from.len() as u32 == copies.room {
            true => self.finish_copies(nand),
            false => Ok(()),
        }
    }

    /// Makes the copies that are missing.
    fn finish_copies(&mut self, nand: &mut Nand) -> Result<()> {
        let CopyBatch { from, to, cause, .. } = &mut self.copies;
        let Some(&first) = from.first() else { return Ok(()) };
        nand.copy_many(from, *to, None, *cause)?;
        let (geometry, blocks) = (nand.geometry(), &mut self.map.blocks);
        let victim = geometry.block_of(first);
        blocks.supersede(victim, from.len() as u16);
        blocks.fill(geometry, blocks.owner(victim), from.len() as u32);
        from.clear();
        Ok(())
    }

    fn superblock_of(&self, lpn: Lpn) -> Sbn {
        self.map.superblock_of(self.map.lbn_of(lpn))
    }

    // ---- Room ---------------------------------------------------------------------------------

    /// Makes sure that a superblock can take `pages` pages.
    fn make_room(&mut self, nand: &mut Nand, superblock: Sbn, pages: u32) -> Result<()> {
        self.want_room(nand, |lsb| lsb.has_room(superblock, pages))
    }

    /// Collects until there is enough room. Ends tight collection first if the paper's rule gains
    /// again.
    fn want_room(
        &mut self,
        nand: &mut Nand,
        mut is_enough: impl FnMut(&Lsb) -> bool,
    ) -> Result<()> {
        if self.is_tight && !is_enough(self) && self.would_gain(nand) {
            self.is_tight = false;
        }
        self.collect_until(nand, is_enough)
    }

    fn collect_until(
        &mut self,
        nand: &mut Nand,
        mut is_enough: impl FnMut(&Lsb) -> bool,
    ) -> Result<()> {
        self.attempts = 0;
        while !is_enough(self) {
            match self.collect(nand) {
                Err(Error::NoRoom { .. }) if self.can_tighten() => self.tighten(),
                done => done?,
            }
        }
        Ok(())
    }

    /// Whether each block that a full merge would empty frees more pages than it may take under the
    /// paper's rule.
    fn would_gain(&mut self, nand: &Nand) -> bool {
        let superblock = self.deadest();
        let Lsb { map, chains, victim, pages_per_block, .. } = self;
        let mut victims = map.blocks.two_emptiest(superblock).into_iter().flatten();
        victims.all(|block| needs(&map.flat, chains, nand, block, victim) < *pages_per_block)
    }

    fn can_tighten(&self) -> bool {
        !self.is_tight && self.chains.layout().wide.is_some()
    }

    /// Makes collection tight. It induces no writes from now on, so blocks that were set aside are
    /// offered again.
    fn tighten(&mut self) {
        self.is_tight = true;
        self.attempts = 0;
        self.map.blocks.offer_all_again();
    }

    /// The superblock with the most dead pages.
    fn deadest(&mut self) -> Sbn {
        self.map.blocks.deadest().expect("with the minimum of extra blocks some page is dead")
    }

    /// Whether a superblock can take `pages` pages without touching the reserve.
    fn has_room(&self, superblock: Sbn, pages: u32) -> bool {
        let missing = pages.saturating_sub(self.map.blocks.room(superblock));
        missing == 0 || self.map.pool.len() >= RESERVE + missing.div_ceil(self.pages_per_block)
    }

    /// Reclaims a block: of all blocks with valid pages that fit into their superblock, the one
    /// with the most dead pages. If there is none, does a full merge in the superblock with the
    /// most dead pages.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        self.attempts += 1;
        if self.attempts > ATTEMPTS_PER_BLOCK * nand.geometry().blocks() {
            return Err(Error::NoRoom { needs: 2 * self.pages_per_block, room: 0 });
        }
        self.tight.collections += u64::from(self.is_tight);
        let Lsb { map, chains, victim, is_tight, .. } = self;
        let (blocks, flat) = (&mut map.blocks, &map.flat);
        let victim = blocks.choose(|block, valid, room| match 2 * valid {
            _ if *is_tight => valid,
            most if most <= room => most,
            _ => needs(flat, chains, nand, block, victim),
        });
        match victim {
            Some(victim) => self.reclaim(nand, victim),
            None => {
                let superblock = self.deadest();
                self.merge_fully(nand, superblock)
            }
        }
    }

    // ---- Trims --------------------------------------------------------------------------------

    /// Lists the pages that must be copied if these pages are trimmed.
    fn find_anchors(&self, lbn: Lbn, pages: &Range<u32>, anchors: &mut Vec<Lpn>) {
        anchors.clear();
        let flat = &self.map.flat;
        let groups = self.chains.groups_between(pages);
        anchors.extend(groups.filter_map(|group| self.chains.anchor(flat, group, pages)));
        let loses_directory = self.map.directory(lbn).is_some_and(|lpn| pages.contains(&lpn.0));
        if anchors.is_empty() && loses_directory {
            anchors.extend(self.map.lowest_but(lbn, pages));
        }
    }

    /// Unmaps pages. Returns those that were mapped.
    fn unmap(&mut self, nand: &Nand, lbn: Lbn, pages: &Range<u32>) -> Vec<Lpn> {
        let mut trimmed = core::mem::take(&mut self.trimmed);
        self.map.unmap(nand, lbn, pages, &mut trimmed);
        for group in self.chains.groups_between(pages) {
            self.chains.forget(&self.map.flat, group);
        }
        trimmed
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = spare_mount::recover(nand, device, &mut self.map, &mut self.chains)?;
        for &suspect in &recovered.to_copy {
            let lpn = nand.owner(suspect);
            self.write_portion(nand, PageSource::Copy(Cause::Meta), &[lpn])?;
        }
        spare_mount::commit_recovery(nand, &mut self.map, &recovered)?;
        // Under the paper's rule the duration of a mount would have no bound.
        if self.can_tighten() {
            self.tighten();
        }
        self.collect_until(nand, |lsb| lsb.map.pool.len() >= RESERVE)?;
        self.is_tight = false;
        Ok(())
    }
}

/// The maximum number of programs that moving a block's valid pages can take, including induced
/// writes.
fn needs(
    flat: &FlatMap,
    chains: &GroupChains,
    nand: &Nand,
    block: BlockId,
    victim: &mut VictimPages,
) -> u32 {
    chains.programs_max(victim.list(flat, nand, block))
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
            self.chains.spares(&self.map.flat, lbn, &mut self.spares);
            for &ppn in &self.spares {
                nand.book_spare_read(ppn, Cause::Map)?;
            }
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
        let trimmed = self.unmap(nand, lbn, &pages);
        if !anchors.is_empty() {
            self.map.counts.trim_copies += anchors.len() as u64;
            self.write_portion(nand, PageSource::Copy(Cause::Map), &anchors)?;
        }
        self.portion = anchors;
        // Recorded last: a mount that finds the record also finds these copies.
        self.map.note_trimmed(nand, lbn, &trimmed)?;
        self.trimmed = trimmed;
        Ok(())
    }

    fn prefetch_own(&self, lpn: Lpn) {
        self.chains.prefetch(lpn);
    }

    fn move_out(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        self.victim.list(&self.map.flat, nand, block);
        let pages = self.victim.take();
        pages.iter().for_each(|&lpn| self.chains.prefetch(lpn));
        match nand.keeps_spares() || nand.has_guard() {
            true => self.move_by_portions(nand, &pages, cause)?,
            false => self.move_at_once(nand, &pages, cause)?,
        }
        self.victim.pages = pages;
        Ok(())
    }

    fn needs(&mut self, nand: &Nand, block: BlockId) -> u32 {
        if self.is_tight {
            return self.map.blocks.valid(block);
        }
        let needs = needs(&self.map.flat, &self.chains, nand, block, &mut self.victim);
        // An open block can gain pages.
        if self.map.blocks.is_open(block) {
            self.victim.block = None;
        }
        needs
    }
}

impl Ftl for Lsb {
    fn base(&self) -> &dyn Base {
        self
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        self
    }

    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
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
            self.portion = portion;
        }
        Ok(())
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, 1)?;
        let spares = |lbn| {
            let mut places = Vec::new();
            self.chains.spares(&self.map.flat, lbn, &mut places);
            places
        };
        spare_mount::audit(nand, &self.map, &self.chains, spares)
    }

    /// The PGD is the part of the map that is entirely in RAM. A cached entry takes the bits of a
    /// PMD page, and an offset and a block number per page: 300 bytes at 64 pages in 8 groups
    /// (§III.D).
    fn ram(&self) -> Ram {
        let np = u64::from(self.pages_per_block);
        let entry = self.chains.layout().directory.bytes() as u64 + np + 3 * np;
        Ram {
            map: self.map.map_bytes(),
            cache: entry * u64::from(self.map.cache.entries_max()),
            other: self.map.other_bytes(),
            ..Ram::default()
        }
    }

    fn report(&self) -> Report {
        let layout = self.chains.layout();
        let count = |n: u32| Metric::Count(n.into());
        let mut figures = self.map.figures();
        figures.extend([
            ("groups", count(layout.groups)),
            ("group_pages", count(layout.group_pages)),
            ("pmd_bits", count(layout.directory.bits())),
            ("pt_bits", count(layout.table.bits())),
            ("wide_pmd_bits", count(layout.wide.map_or(0, |wide| wide.bits()))),
            ("tight_collections", Metric::Count(self.tight.collections)),
            ("wide_pages", Metric::Count(self.tight.pages)),
        ]);
        Report { merges: None, figures }
    }

    fn reset_report(&mut self) {
        self.map.reset_figures();
        self.tight = TightCounts::default();
    }
}
