//! block: block mapping without a log. An update rewrites the whole block.
//!
//! ```text
//! map  LBN 0 ─▶ [0 1 2 3]     every page at its own offset
//!          1 ─▶ [4 5 _ _]     write 6: its home is erased, so it is written in place
//!          2 ─▶ [8 9 x _]     write 8: the block is written to a free one and erased
//! ```
//! This is the baseline for all other schemes: the smallest map (four bytes per block) and the most
//! expensive small updates. A run rewrites each data block that it touches once: the pages of the
//! run are host programs, the others are copies of cause merge, followed by one erase.
//!
//! A run is written in place only if the homes of all its pages in a block are erased and the
//! program order allows it. On sequential chips a hole below a page is padded, with programs of
//! cause merge. Trimmed pages are not copied. A block with all pages trimmed stays until it is
//! written again, because nothing is erased before a write needs room.
//!
//! Invariant: while no block is being rewritten, each logical block has at most one physical block,
//! and all others are free. At least one block is free.
//!
//! **Recovery.** If a mount finds two blocks for one logical block, a rewrite was cut off before
//! the host was answered, because the old block becomes void and is erased before the answer. The
//! mount keeps the old block and gives up the new one, so that no later mount takes the new one for
//! complete: the new one becomes void with the commit. Without a trim log (durability `paper`) it
//! is erased at once. The block of the page programmed last is rewritten, because that page may
//! become unreadable. In blocks that were being filled, the erased pages are not used any more,
//! because one of them may be torn.

use core::ops::Range;

use nand::{BlockId, Cause, Content, Copies, Geometry, Lpn, Nand, Page, Ppn, ProgramOrder, Sink};

use crate::contract::{
    Act, Base, BlockRole, Error, Extent, Facet, FacetKind, Ftl, Lecture, Metric, MountConfig, Ram,
    Report, Result, Run, Scheme, Span, Violation, base_is, ensure, table_bytes,
};
use crate::part::index::bit_set::BitSet;
use crate::part::index::prefetch::prefetch;
use crate::part::map::block_pool::BlockPool;
use crate::part::map::rmw;
use crate::part::recovery::block_audit;
use crate::part::recovery::page_kind;
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, Suspects};
use crate::part::recovery::survey::{self, Survey};

/// Block mapping.
pub static SCHEME: Scheme = Scheme {
    name: "block",
    summary: "block mapping without a log: the smallest map; every update rewrites a block",
    source: "the classical baseline; the documentation of the design has the counting rules",
    lecture: Lecture::of(file!(), include_str!("block.rs")),
    acts: &[Act {
        cause: Cause::Merge,
        from: "",
        to: "data",
        name: "rewrite of a block",
        says: "Block mapping has one place for each page of a logical block. To update a \
               page, the whole block is copied to a clean block with the new page in its \
               place, and the old block is erased.",
    }],
    least_extra: |_, _, _| 1,
    memory: |_, geometry, _| table_bytes(geometry, 0, 40),
    mount,
    ..Scheme::PLAIN
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let ftl = BlockMapped::format(nand, device);
    survey::mounted(nand, device, ftl, BlockMapped::recover)
}

/// Logical block number: the pages of a block, in the host's address space.
type Lbn = u32;

struct BlockMapped {
    /// The data block of each logical block.
    map: Vec<Option<BlockId>>,
    /// Pages that were written and not trimmed since.
    live: BitSet,
    /// Pages with a programmed home in the data block. After a mount these are all pages of the
    /// blocks that it found, because a mount trusts no erased page.
    used: BitSet,
    pool: BlockPool,
    /// Pages about to be copied; kept for its capacity.
    moving: Vec<Ppn>,
    rewrites: u64,
    in_place_pages: u64,
    padded_pages: u64,
}

/// The part of a run that lies in one logical block.
#[derive(Clone, Copy)]
struct Portion<'a> {
    lbn: Lbn,
    /// The offset of its first page in the logical block, and of the page after its last.
    start: u32,
    end: u32,
    run: &'a Run<'a>,
    /// The number of its first page in the run.
    index: u32,
}

/// Cuts a run at the borders of logical blocks.
fn portions<'a>(run: &'a Run, pages_per_block: u32) -> impl Iterator<Item = Portion<'a>> {
    let mut index = 0;
    core::iter::from_fn(move || {
        if index == run.pages {
            return None;
        }
        let lpn = run.first.plus(index).0;
        let start = lpn % pages_per_block;
        let end = pages_per_block.min(start + (run.pages - index));
        let portion = Portion { lbn: lpn / pages_per_block, start, end, run, index };
        index += end - start;
        Some(portion)
    })
}

impl BlockMapped {
    fn format(nand: &Nand, device: &MountConfig) -> BlockMapped {
        let pages = device.logical_blocks * nand.geometry().pages_per_block();
        BlockMapped {
            map: vec![None; device.logical_blocks as usize],
            live: BitSet::new(pages),
            used: BitSet::new(pages),
            pool: BlockPool::format(nand, device),
            moving: Vec::with_capacity(nand.geometry().pages_per_block() as usize),
            rewrites: 0,
            in_place_pages: 0,
            padded_pages: 0,
        }
    }

    fn ppn(&self, lpn: Lpn, geometry: &Geometry) -> Option<Ppn> {
        let per_block = geometry.pages_per_block();
        let block = self.map[(lpn.0 / per_block) as usize]?;
        self.live.contains(lpn.0).then(|| geometry.page(block, lpn.0 % per_block))
    }

    // ---- Writing ------------------------------------------------------------------------------

    fn write_portion(&mut self, nand: &mut Nand, portion: Portion) -> Result<()> {
        match self.map[portion.lbn as usize] {
            None => {
                let block = self.pool.take(nand)?;
                self.pad(nand, block, portion.lbn, 0..portion.start)?;
                self.map[portion.lbn as usize] = Some(block);
                self.program(nand, block, portion, None)?;
            }
            Some(block) if self.fits_in_place(nand.geometry(), portion) => {
                self.in_place_pages += u64::from(portion.end - portion.start);
                self.program(nand, block, portion, None)?;
            }
            Some(old) => self.rewrite(nand, portion.lbn, old, Some(portion))?,
        }
        let first = portion.run.first.plus(portion.index);
        self.live.insert_all(first.0..first.0 + portion.end - portion.start);
        Ok(())
    }

    fn fits_in_place(&self, geometry: &Geometry, portion: Portion) -> bool {
        let base = portion.lbn * geometry.pages_per_block();
        let (start, end) = (base + portion.start, base + portion.end);
        let unused = |pages| self.used.first_in(pages).is_none();
        let above = start..base + geometry.pages_per_block();
        match geometry.program_order() {
            ProgramOrder::Any => unused(start..end),
            ProgramOrder::Ascending => unused(above),
            ProgramOrder::Sequential => {
                unused(above) && (start == base || self.used.contains(start - 1))
            }
        }
    }

    /// Rewrites a logical block in a free block, including the portion, and erases the old block.
    fn rewrite(
        &mut self,
        nand: &mut Nand,
        lbn: Lbn,
        old: BlockId,
        portion: Option<Portion>,
    ) -> Result<()> {
        let per_block = nand.geometry().pages_per_block();
        let (start, end) = portion.map_or((per_block, per_block), |p| (p.start, p.end));
        let cause = if portion.is_some() { Cause::Merge } else { Cause::Meta };
        // Pending trims need not be recorded now: there is no older copy of a page that could come
        // back.
        let new = self.pool.take(nand)?;
        self.used.remove_all(lbn * per_block..(lbn + 1) * per_block);
        let filled = self.copy_live(nand, lbn, old, new, 0..start, cause)?;
        if let Some(portion) = portion {
            self.pad(nand, new, lbn, filled..start)?;
            self.program(nand, new, portion, Some(old))?;
            self.copy_live(nand, lbn, old, new, end..per_block, cause)?;
        }
        debug_assert!(
            self.holds_live_pages(nand, lbn, new),
            "{old:?} holds pages that {new:?} lacks"
        );
        self.pool.erase(nand, old, cause)?;
        let replaced = self.map[lbn as usize].replace(new);
        assert!(replaced == Some(old), "LBN {lbn} was rewritten from {old:?}, not {replaced:?}");
        self.rewrites += 1;
        Ok(())
    }

    /// Whether a block holds every live page of a logical block at its own offset.
    fn holds_live_pages(&self, nand: &Nand, lbn: Lbn, block: BlockId) -> bool {
        let pages = lbn * nand.geometry().pages_per_block()..;
        let mut owners = pages.zip(nand.owners(block));
        owners.all(|(lpn, &owner)| owner == lpn || !self.live.contains(lpn))
    }

    /// Copies the live pages among `offsets` to the same offsets of the new block. Returns its next
    /// offset.
    fn copy_live(
        &mut self,
        nand: &mut Nand,
        lbn: Lbn,
        old: BlockId,
        new: BlockId,
        offsets: Range<u32>,
        cause: Cause,
    ) -> Result<u32> {
        let base = lbn * nand.geometry().pages_per_block();
        let mut filled = offsets.start;
        while let Some(run) = self.live.run(base + filled..base + offsets.end) {
            let (start, end) = (run.start - base, run.end - base);
            self.pad(nand, new, lbn, filled..start)?;
            let (from, to) = (nand.geometry().page(old, start), nand.geometry().page(new, start));
            self.moving.clear();
            self.moving.extend((0..end - start).map(|page| from.plus(page)));
            nand.copy(to, Copies::of(&self.moving).around(from, core::iter::empty()), cause)?;
            self.used.insert_all(run);
            filled = end;
        }
        Ok(filled)
    }

    /// Programs a portion at its own offsets. The missing sectors of partial pages come from `old`.
    fn program(
        &mut self,
        nand: &mut Nand,
        block: BlockId,
        portion: Portion,
        old: Option<BlockId>,
    ) -> Result<()> {
        let Portion { run, start, end, .. } = portion;
        let mut offset = start;
        while offset < end {
            let some = (run, portion.index + offset - start, end - offset);
            let (to, old) = (
                nand.geometry().page(block, offset),
                old.map(|old| nand.geometry().page(old, offset)),
            );
            let base = |lpn: Lpn| old.filter(|_| self.live.contains(lpn.0));
            offset += rmw::program(nand, some, to, page_kind::DATA, base)?;
        }
        let first = run.first.plus(portion.index);
        let pages = portion.end - portion.start;
        self.used.insert_all(first.0..first.0 + pages);
        if let Some(trims) = &mut self.pool.trims {
            (0..pages).for_each(|page| trims.written(first.plus(page)));
        }
        Ok(())
    }

    /// Fills a hole with padding, if the chip cannot skip pages.
    fn pad(&mut self, nand: &mut Nand, block: BlockId, lbn: Lbn, hole: Range<u32>) -> Result<()> {
        if nand.geometry().program_order() != ProgramOrder::Sequential {
            return Ok(());
        }
        let base = lbn * nand.geometry().pages_per_block();
        self.used.insert_all(base + hole.start..base + hole.end.max(hole.start));
        for offset in hole {
            let content = Content::Pad;
            let page = Page { owner: Lpn::SYSTEM, kind: page_kind::PAD, extra: &[], content };
            nand.program(nand.geometry().page(block, offset), &page, Cause::Merge)?;
            self.padded_pages += 1;
        }
        Ok(())
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let Survey { scan, suspects, .. } = survey::read(nand, device, &mut self.pool.trims)?;
        scan.is_within(self.live.bound())?;
        let unfinished = self.find_data_blocks(nand.geometry(), &scan)?;
        for copy in scan.alive() {
            let lpn = copy.spare.owner;
            let block = self.map[(lpn.0 / nand.geometry().pages_per_block()) as usize];
            if block == Some(nand.geometry().block_of(copy.ppn)) {
                self.live.insert(lpn.0);
            }
        }
        drop(scan);
        for block in unfinished {
            self.pool.erase(nand, block, Cause::Meta)?;
        }
        self.secure(nand, &suspects)?;
        let left = suspects.valid(|copy| !self.is_in_use(copy, nand.geometry()));
        let (live, free) = (&self.live, self.pool.doubtful());
        if let Some(trims) = &mut self.pool.trims {
            trims.commit(nand, |lpn| live.contains(lpn.0), &left, &free)?;
        }
        Ok(())
    }

    /// Finds the data block of each logical block, and closes it; the other blocks are free.
    /// Returns the new blocks of rewrites that were never answered.
    fn find_data_blocks(&mut self, geometry: &Geometry, scan: &SpareScan) -> Result<Vec<BlockId>> {
        let per_block = geometry.pages_per_block();
        let mut born = vec![u64::MAX; geometry.blocks() as usize];
        let mut lbn_of: Vec<Option<Lbn>> = vec![None; geometry.blocks() as usize];
        for copy in scan.host_copies() {
            let block = geometry.block_of(copy.ppn).0 as usize;
            let lpn = copy.spare.owner.0;
            let at_home = geometry.offset_of(copy.ppn) == lpn % per_block;
            if !at_home || lbn_of[block].is_some_and(|lbn| lbn != lpn / per_block) {
                let why = format!("block {block} holds logical page {lpn} out of its place");
                return Err(Error::Unmountable(why));
            }
            lbn_of[block] = Some(lpn / per_block);
            born[block] = born[block].min(copy.spare.sequence);
        }
        let blocks: Vec<BlockId> = self.pool.drain();
        let mut unfinished = Vec::new();
        for block in blocks {
            let Some(lbn) = lbn_of[block.0 as usize] else {
                self.pool.give_doubtful(block);
                continue;
            };
            let slot = &mut self.map[lbn as usize];
            let older = slot.filter(|other| born[other.0 as usize] < born[block.0 as usize]);
            let newer = if older.is_some() { Some(block) } else { slot.replace(block) };
            self.used.insert_all(lbn * per_block..(lbn + 1) * per_block);
            unfinished.extend(newer);
        }
        Ok(unfinished)
    }

    /// Rewrites the block of the suspect pages that are in use.
    fn secure(&mut self, nand: &mut Nand, suspects: &Suspects) -> Result<()> {
        let geometry = *nand.geometry();
        let used = suspects.valid(|copy| self.is_in_use(copy, &geometry)).pages;
        used.first().map_or(Ok(()), |copy| {
            let lbn = copy.spare.owner.0 / geometry.pages_per_block();
            self.rewrite(nand, lbn, geometry.block_of(copy.ppn), None)
        })
    }

    fn is_in_use(&self, copy: &PageCopy, geometry: &Geometry) -> bool {
        let owner = copy.spare.owner;
        owner.is_host() && self.ppn(owner, geometry) == Some(copy.ppn)
    }
}

impl Base for BlockMapped {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let full = nand.geometry().full_mask();
        for index in 0..run.pages {
            let lpn = run.first.plus(index);
            if let Some(ppn) = self.ppn(lpn, nand.geometry()) {
                nand.read(ppn, lpn, run.mask(index, full), sink, Cause::Host)?;
            }
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        let mut rest = first.0..first.0 + pages;
        while let Some(run) = self.live.run(rest.clone()) {
            rest.start = run.end;
            self.live.remove_all(run.clone());
            if let Some(trims) = &mut self.pool.trims {
                trims.trim(nand, run)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand, _: Option<&Run>) -> Result<()> {
        self.pool.flush(nand)
    }

    fn prefetch(&self, spans: &[Span], _: Option<&Nand>) {
        let per_block = (self.live.bound() / self.map.len().max(1) as u32).max(1);
        spans.iter().for_each(|span| prefetch(&self.map, (span.first / per_block) as usize));
    }

    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.ppn(lpn, nand.geometry())
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        Extent::first_of(lpns.clone(), self.live.run(lpns))
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Lender => Some(Facet::Lender(&mut self.pool)),
            _ => None,
        }
    }
}

impl Ftl for BlockMapped {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        let geometry = *nand.geometry();
        rmw::check_bases(nand, run, |lpn| self.ppn(lpn, &geometry))?;
        let per_block = geometry.pages_per_block();
        portions(run, per_block).try_for_each(|portion| self.write_portion(nand, portion))?;
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let geometry = nand.geometry();
        let mut seen = vec![false; geometry.blocks() as usize];
        let data = self.map.iter().flatten().copied();
        for block in data.chain(self.pool.iter()) {
            let twice = core::mem::replace(&mut seen[block.0 as usize], true);
            ensure!(!twice, "{block:?} is in two lists");
        }
        self.pool.audit(nand)?;
        for (lbn, block) in (0..).zip(&self.map) {
            let Some(block) = *block else { continue };
            block_audit::each_page(nand, block, &self.used, lbn * geometry.pages_per_block())?;
        }
        for lpn in self.live.runs(0..self.live.bound()).flatten().map(Lpn) {
            let ppn = self.ppn(lpn, geometry);
            let owner = ppn.map(|ppn| nand.owner(ppn));
            ensure!(owner == Some(lpn), "{lpn:?} maps to {ppn:?}, which holds {owner:?}");
        }
        ensure!(!self.pool.is_empty(), "no block is free");
        Ok(())
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        let data =
            |(lbn, block): (u32, &Option<BlockId>)| Some(BlockRole::of((*block)?, "data", lbn));
        roles.extend((0..).zip(&self.map).filter_map(data));
    }

    fn report(&self) -> Report {
        let bits = u64::from(self.live.bound() + self.used.bound()).div_ceil(8);
        let other = bits + self.pool.trim_bytes();
        let figures = vec![
            ("rewrites", Metric::Count(self.rewrites)),
            ("in_place_pages", Metric::Count(self.in_place_pages)),
            ("padded_pages", Metric::Count(self.padded_pages)),
        ];
        Report {
            ram: Ram { map: 4 * self.map.len() as u64, other, ..Ram::default() },
            free_blocks: self.pool.len(),
            figures,
            ..Report::default()
        }
    }

    fn reset_report(&mut self) {
        (self.rewrites, self.in_place_pages, self.padded_pages) = (0, 0, 0);
    }
}
