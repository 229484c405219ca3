//! The map of a log-block scheme: the data block of each logical block, and the place of the newest
//! version of each page.
//!
//! ```text
//!            data block        log blocks              newest
//! LBN 0 ─▶  [0 1 2 3]         [1 5 1 _]               0 data, 1 log slot 2, 2 data, 3 data
//!     1 ─▶  [4 5 6 7]                                 4 data, 5 log slot 1, 6 data, 7 data
//! ```
//! A controller would keep four bytes for each data block and for each page of the log. Here
//! `newest` is a flat array with one entry per logical page, so neither reads nor writes search
//! anything. A page of a data block is valid exactly if `newest` points at it. The pages whose
//! newest version is outside the data block are *away*. There are few of them, so one bit per page
//! leads to them without a look at their siblings.
//!
//! **Home.** The home of page `i` of a logical block is offset `i` of its data block. If the home
//! is still erased, a write goes there, provided that the chip allows it; this rule comes before
//! all others. A chip with program order `ascending` allows it if no higher page of the block is
//! programmed, one with `sequential` if the home is the next page of the block. The first such
//! write takes the data block from the pool. All other writes are for the scheme's log. On a
//! `sequential` chip that includes the first write to a logical block if it is not at offset 0.
//! Data blocks that a mount found are closed, because one of their erased pages may be torn.

use core::ops::Range;

use nand::{BlockId, Cause, Content, Copies, Geometry, Lpn, Nand, Page, Ppn, ProgramOrder};

use super::block_observer::{BlockObserver, Unobserved};
use crate::contract::{
    Base, BlockRole, Metric, MountConfig, Ram, Report, Result, Run, Violation, ensure, table_bytes,
};
use crate::part::index::bit_set::BitSet;
use crate::part::map::flat_map::{FlatMap, answered_by_flat};
use crate::part::map::rmw;
use crate::part::recovery::block_audit;
use crate::part::recovery::page_kind;

/// Logical block number: the pages of a block, in the host's address space.
pub type Lbn = u32;

/// Where the next pages of a run must be written, and the number of these pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTarget {
    /// In the data block, each page at its home.
    Home(u32),
    /// In the log.
    Log(u32),
}

/// The data block of a logical block.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    block: Option<BlockId>,
    /// The lowest offset that may still be programmed. Meaningless if pages may be programmed in
    /// any order.
    filled: u32,
}

/// Memory that a scheme with a log map takes at most, with `for_block` bytes for each block: an
/// entry and a bit for each page.
pub fn memory_bytes(geometry: &Geometry, for_block: u64) -> u64 {
    table_bytes(geometry, 4, for_block) + u64::from(geometry.pages()).div_ceil(8)
}

/// Data blocks, newest pages, free blocks and trims of a log-block scheme.
#[derive(Clone, Debug)]
pub struct LogMap<O = Unobserved> {
    /// The places of the newest pages, and the trims.
    pub flat: FlatMap,
    homes: Vec<Home>,
    /// Mapped pages whose newest version is not in their data block.
    away: BitSet,
    /// Pages whose home is programmed, or lies in a data block that a mount has closed. Kept only
    /// if pages may be programmed in any order.
    used: Option<BitSet>,
    /// Number of valid pages in each physical block.
    valid: Vec<u16>,
    /// The scheme's account of its log blocks.
    pub observer: O,
    pages_per_block: u32,
    /// Number of host pages that were written at home.
    pub in_place_pages: u64,
    /// Number of padding pages.
    pub padded_pages: u64,
}

impl LogMap {
    /// The map of an empty device without an observer: all blocks are free.
    pub fn format(nand: &Nand, device: &MountConfig) -> LogMap {
        LogMap::observed(nand, device, Unobserved)
    }
}

impl<O: BlockObserver> LogMap<O> {
    /// The map of an empty device: all blocks are free.
    pub fn observed(nand: &Nand, device: &MountConfig, observer: O) -> LogMap<O> {
        let geometry = nand.geometry();
        let pages = device.logical_blocks * geometry.pages_per_block();
        LogMap {
            flat: FlatMap::format(nand, device, 0),
            homes: vec![Home::default(); device.logical_blocks as usize],
            away: BitSet::new(pages),
            used: (geometry.program_order() == ProgramOrder::Any).then(|| BitSet::new(pages)),
            valid: vec![0; geometry.blocks() as usize],
            observer,
            pages_per_block: geometry.pages_per_block(),
            in_place_pages: 0,
            padded_pages: 0,
        }
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Number of logical pages: the exported capacity.
    pub fn logical_pages(&self) -> u32 {
        self.flat.pages()
    }

    /// Pages per block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Number of logical blocks.
    pub fn logical_blocks(&self) -> u32 {
        self.homes.len() as u32
    }

    /// Number of blocks beyond the exported capacity.
    pub fn extra_blocks(&self) -> u32 {
        self.flat.pool.blocks() - self.logical_blocks()
    }

    /// The logical block of a page.
    #[inline]
    pub fn lbn_of(&self, lpn: Lpn) -> Lbn {
        lpn.0 / self.pages_per_block
    }

    /// The pages of a logical block.
    #[inline]
    fn pages_of(&self, lbn: Lbn) -> Range<u32> {
        let first = lbn * self.pages_per_block;
        first..first + self.pages_per_block
    }

    /// The places of the newest pages of a logical block; [`Ppn::NONE`] for unmapped ones.
    pub fn newest_of(&self, lbn: Lbn) -> &[Ppn] {
        self.flat.entries(self.pages_of(lbn))
    }

    /// The places of the pages of a logical block that are away.
    #[inline]
    pub fn away_of(&self, lbn: Lbn) -> impl Iterator<Item = Ppn> + '_ {
        self.away.members(self.pages_of(lbn)).map(|lpn| self.flat.entry(lpn))
    }

    /// Whether a page is mapped and its newest version is not in its data block.
    #[inline]
    pub fn is_away(&self, lpn: Lpn) -> bool {
        self.away.contains(lpn.0)
    }

    /// Whether the newest version of a page is in its data block.
    #[inline]
    pub fn is_home(&self, lpn: Lpn) -> bool {
        self.flat.newest(lpn).is_some() && !self.is_away(lpn)
    }

    /// Number of valid pages in a block.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.valid[block.0 as usize].into()
    }

    /// The valid pages in these slots of a block, in ascending order of slots.
    pub fn valid_pages<'a>(
        &'a self,
        nand: &'a Nand,
        block: BlockId,
        slots: Range<u32>,
    ) -> impl Iterator<Item = (Lpn, Ppn)> + 'a {
        let first = nand.geometry().first_page(block).plus(slots.start);
        let owners = &nand.owners(block)[slots.start as usize..slots.end as usize];
        let pages = owners.iter().map(|&owner| Lpn(owner)).zip((first.0..).map(Ppn));
        pages.filter(|&(owner, ppn)| self.flat.is_newest(owner.0, ppn))
    }

    /// The data block of a logical block.
    pub fn data_block(&self, lbn: Lbn) -> Option<BlockId> {
        self.homes[lbn as usize].block
    }

    /// Decides where page `lpn` must be written now, and how many of the `most` pages from it on go
    /// there too. All of these are within its logical block.
    #[inline(always)]
    pub fn place(&self, order: ProgramOrder, lpn: Lpn, most: u32) -> WriteTarget {
        let lbn = self.lbn_of(lpn);
        let offset = lpn.0 - lbn * self.pages_per_block;
        let most = most.min(self.pages_per_block - offset);
        if let Some(used) = &self.used {
            return match used.run(lpn.0..lpn.0 + most) {
                Some(run) if run.start == lpn.0 => WriteTarget::Log(run.end - run.start),
                Some(run) => WriteTarget::Home(run.start - lpn.0),
                None => WriteTarget::Home(most),
            };
        }
        let filled = self.homes[lbn as usize].filled;
        match order {
            ProgramOrder::Sequential if offset > filled => WriteTarget::Log(most),
            _ if offset >= filled => WriteTarget::Home(most),
            _ => WriteTarget::Log(most.min(filled - offset)),
        }
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Programs up to `most` pages of a run at home, where [`place`](Self::place) said that they
    /// belong. Returns how many it programmed.
    ///
    /// # Errors
    /// The power fails.
    #[inline(never)]
    pub fn write_home(&mut self, nand: &mut Nand, run: &Run, index: u32, most: u32) -> Result<u32> {
        let lpn = run.first.plus(index);
        let (lbn, offset) = (self.lbn_of(lpn), lpn.0 % self.pages_per_block);
        let block = match self.homes[lbn as usize].block {
            Some(block) => block,
            None => self.flat.pool.take(nand)?,
        };
        let to = nand.geometry().page(block, offset);
        debug_assert!(!self.is_used(lbn, offset), "the home of {lpn:?} is programmed already");
        let done = self.write(nand, run, index, most, to)?;
        self.away.remove_all(lpn.0..lpn.0 + done);
        self.in_place_pages += u64::from(done);
        self.homes[lbn as usize] = Home { block: Some(block), filled: offset + done };
        if let Some(used) = &mut self.used {
            used.insert_all(lpn.0..lpn.0 + done);
        }
        Ok(done)
    }

    /// Programs pages of a run, from page `index` on, to `to` and the pages after it. Returns how
    /// many it programmed: up to `most` whole pages, or a single page of which the host wrote only
    /// some sectors.
    ///
    /// # Errors
    /// The power fails.
    #[inline(always)]
    pub fn write(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        most: u32,
        to: Ppn,
    ) -> Result<u32> {
        self.write_as(nand, run, index, most, to, page_kind::DATA)
    }

    /// Does the same as [`write`](Self::write), with a page kind of the scheme's choice.
    ///
    /// # Errors
    /// The power fails.
    #[inline(always)]
    pub fn write_as(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        most: u32,
        to: Ppn,
        kind: u8,
    ) -> Result<u32> {
        let done = rmw::program(nand, (run, index, most), to, kind, |lpn| self.flat.newest(lpn))?;
        let first = run.first.plus(index);
        for page in 0..done {
            self.supersede(nand.geometry(), first.plus(page), to.plus(page));
            self.flat.note_written(first.plus(page));
        }
        Ok(done)
    }

    /// Points a page to its newest version, which is away until the data block is known to hold it.
    #[inline(always)]
    fn supersede(&mut self, geometry: &Geometry, lpn: Lpn, to: Ppn) {
        let block = geometry.block_of(to);
        let old = self.flat.point(lpn, to);
        self.away.insert(lpn.0);
        self.valid[block.0 as usize] += 1;
        if self.observer.observes(block) {
            let is_alone = !self.has_sibling_in(geometry, lpn, block);
            self.observer.enters(block, is_alone);
        }
        if old != Ppn::NONE {
            self.leave(geometry, lpn, old);
        }
        let (valid, pages) = (self.valid(block), self.pages_per_block);
        debug_assert!(valid <= pages, "{block:?} of {pages} pages has {valid} valid ones");
    }

    /// Records that the copy of a page at its old place is stale. The page points elsewhere
    /// already.
    #[inline(always)]
    fn leave(&mut self, geometry: &Geometry, lpn: Lpn, old: Ppn) {
        let block = geometry.block_of(old);
        debug_assert!(self.valid(block) > 0, "{lpn:?} leaves {block:?}, which has no valid page");
        self.valid[block.0 as usize] -= 1;
        if self.observer.observes(block) {
            let is_alone = !self.has_sibling_in(geometry, lpn, block);
            self.observer.leaves(block, is_alone);
        }
    }

    /// Whether another page of the logical block of `lpn`, one that is away, is in a block.
    #[inline]
    fn has_sibling_in(&self, geometry: &Geometry, lpn: Lpn, block: BlockId) -> bool {
        let first = geometry.first_page(block).0;
        let is_there = |page| self.flat.entry(page).0.wrapping_sub(first) < self.pages_per_block;
        let mut siblings = self.away.members(self.pages_of(self.lbn_of(lpn)));
        siblings.any(|page| page != lpn.0 && is_there(page))
    }

    // ---- Moving -------------------------------------------------------------------------------

    /// Copies the newest pages of a logical block, those with an offset among `offsets`, from
    /// wherever they are to their own offsets of block `to`. Their kind becomes plain data. Returns
    /// the next offset of that block.
    ///
    /// # Errors
    /// The power fails.
    pub fn gather(
        &mut self,
        nand: &mut Nand,
        lbn: Lbn,
        offsets: Range<u32>,
        to: BlockId,
        cause: Cause,
    ) -> Result<u32> {
        let first = lbn * self.pages_per_block;
        let mut filled = offsets.start;
        while let Some(run) = self.flat.mapped_run(first + filled..first + offsets.end) {
            self.pad(nand, to, filled..run.start - first, cause)?;
            filled = run.end - first;
            let target = nand.geometry().page(to, run.start - first);
            self.copy_run(nand, lbn, run.clone(), target, cause)?;
            self.supersede_run(nand.geometry(), lbn, run, target);
        }
        Ok(filled)
    }

    /// Copies consecutive mapped pages of a logical block. All but those that are away are next to
    /// each other in the data block.
    fn copy_run(
        &self,
        nand: &mut Nand,
        lbn: Lbn,
        run: Range<u32>,
        to: Ppn,
        cause: Cause,
    ) -> Result<()> {
        let (from, kind) = (self.flat.entries(run.clone()), Some(page_kind::DATA));
        let Some(home) = self.data_block(lbn) else {
            return Ok(nand.copy(to, Copies::of(from).with_kind(kind), cause)?);
        };
        let base = nand.geometry().page(home, run.start % self.pages_per_block);
        let strays = self.away.members(run.clone()).map(|lpn| lpn - run.start);
        Ok(nand.copy(to, Copies::of(from).with_kind(kind).around(base, strays), cause)?)
    }

    /// Points consecutive mapped pages of a logical block to their copies, from `to` on. Most are
    /// in the data block: these are counted together.
    fn supersede_run(&mut self, geometry: &Geometry, lbn: Lbn, run: Range<u32>, to: Ppn) {
        let block = geometry.block_of(to);
        debug_assert!(!self.observer.observes(block), "{block:?} takes whole logical blocks");
        let pages = run.end - run.start;
        let (mut at_home, mut rest) = (pages, run.clone());
        while let Some(lpn) = self.away.first_in(rest.clone()) {
            let old = self.flat.point(Lpn(lpn), to.plus(lpn - run.start));
            if O::OBSERVES {
                // Its siblings are found sooner without it. In the end it is away all the same.
                self.away.remove(lpn);
            }
            self.leave(geometry, Lpn(lpn), old);
            rest.start = lpn + 1;
            at_home -= 1;
        }
        if at_home > 0 {
            let old = self.data_block(lbn).expect("pages at home have a data block");
            debug_assert!(self.valid(old) >= at_home, "{at_home} pages leave {old:?}");
            self.valid[old.0 as usize] -= at_home as u16;
        }
        self.valid[block.0 as usize] += pages as u16;
        self.flat.point_run(run.clone(), to);
        self.away.insert_all(run);
    }

    /// Copies valid pages, in the given order, to `to` and the pages after it. They keep their kind
    /// unless a new one is given.
    ///
    /// # Errors
    /// The power fails.
    pub fn move_pages(
        &mut self,
        nand: &mut Nand,
        from: &[Ppn],
        to: Ppn,
        kind: Option<u8>,
        cause: Cause,
    ) -> Result<()> {
        nand.copy(to, Copies::of(from).with_kind(kind), cause)?;
        for (to, &from) in (to.0..).map(Ppn).zip(from) {
            let lpn = nand.owner(from);
            debug_assert!(self.flat.is_newest(lpn.0, from), "{from:?} was moved, but is stale");
            self.supersede(nand.geometry(), lpn, to);
        }
        Ok(())
    }

    /// Fills a hole with padding, if the chip cannot skip pages.
    ///
    /// # Errors
    /// The power fails.
    pub fn pad(
        &mut self,
        nand: &mut Nand,
        block: BlockId,
        hole: Range<u32>,
        cause: Cause,
    ) -> Result<()> {
        if nand.geometry().program_order() != ProgramOrder::Sequential {
            return Ok(());
        }
        for offset in hole {
            let content = Content::Pad;
            let page = Page { owner: Lpn::SYSTEM, kind: page_kind::PAD, extra: &[], content };
            nand.program(nand.geometry().page(block, offset), &page, cause)?;
            self.padded_pages += 1;
        }
        Ok(())
    }

    /// Makes `block` the data block of a logical block. It is programmed below offset `filled`. If
    /// pages may be programmed in any order, exactly its valid pages are programmed.
    pub fn set_data_block(&mut self, geometry: &Geometry, lbn: Lbn, block: BlockId, filled: u32) {
        let (at_home, valid) = (self.at_home(geometry, lbn, block), self.valid(block));
        assert!(self.data_block(lbn) != Some(block), "{block:?} is the data block of LBN {lbn}");
        assert!(at_home == valid, "{at_home} of {valid} valid pages in {block:?} are at home");
        let pages = self.pages_of(lbn);
        if let Some(used) = &mut self.used {
            used.remove_all(pages);
        }
        self.settle(geometry, lbn, block, filled);
    }

    /// Makes `block` the data block of a logical block, and closes it: none of its pages will be
    /// programmed again before its erase.
    pub fn set_closed_data_block(&mut self, geometry: &Geometry, lbn: Lbn, block: BlockId) {
        let other = self.data_block(lbn);
        assert!(other.is_none(), "LBN {lbn} is given {block:?} and has {other:?}");
        let (first, filled) = (lbn * self.pages_per_block, self.pages_per_block);
        self.settle(geometry, lbn, block, filled);
        if let Some(used) = &mut self.used {
            used.insert_all(first..first + filled);
        }
    }

    /// Records the data block of a logical block, and that its valid pages are at home.
    fn settle(&mut self, geometry: &Geometry, lbn: Lbn, block: BlockId, filled: u32) {
        self.homes[lbn as usize] = Home { block: Some(block), filled };
        let pages = self.pages_of(lbn);
        if self.valid(block) == self.pages_per_block {
            return self.arrive(pages);
        }
        for (lpn, home) in pages.zip(geometry.first_page(block).0..) {
            if self.flat.is_newest(lpn, Ppn(home)) {
                self.arrive(lpn..lpn + 1);
            }
        }
    }

    /// Records that the newest versions of these pages are at home.
    fn arrive(&mut self, lpns: Range<u32>) {
        if let Some(used) = &mut self.used {
            used.insert_all(lpns.clone());
        }
        self.away.remove_all(lpns);
    }

    /// Number of pages of a logical block whose newest version is at its own offset of `block`.
    fn at_home(&self, geometry: &Geometry, lbn: Lbn, block: BlockId) -> u32 {
        let homes = geometry.first_page(block).0..;
        self.newest_of(lbn).iter().zip(homes).map(|(at, home)| u32::from(at.0 == home)).sum()
    }

    /// Erases a block without valid pages and frees it.
    ///
    /// # Errors
    /// The power fails.
    pub fn release(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        let valid = self.valid(block);
        assert!(valid == 0, "{block:?} is about to be erased, but holds {valid} valid pages");
        self.flat.pool.erase(nand, block, cause)
    }

    /// Points every entry to the copy that a mount found.
    pub fn adopt(&mut self, geometry: &Geometry, newest: &[Ppn]) {
        for (lpn, &ppn) in (0..).map(Lpn).zip(newest).filter(|(_, ppn)| **ppn != Ppn::NONE) {
            self.supersede(geometry, lpn, ppn);
        }
    }

    // ---- Answers common to all log-block schemes ------------------------------------------------

    /// Whether the home of a page counts as programmed.
    fn is_used(&self, lbn: Lbn, offset: u32) -> bool {
        match &self.used {
            Some(used) => used.contains(lbn * self.pages_per_block + offset),
            None => offset < self.homes[lbn as usize].filled,
        }
    }

    /// What all log-block schemes report: a block map of four bytes a block, trims, which pages are
    /// programmed, and free blocks.
    pub fn report(&self) -> Report {
        let map = 4 * u64::from(self.logical_blocks());
        let used = self.used.as_ref().map_or(0, |used| u64::from(used.bound()).div_ceil(8));
        let ram = Ram { map, other: used + self.flat.pool.trim_bytes(), ..Ram::default() };
        let figures = vec![
            ("in_place_pages", Metric::Count(self.in_place_pages)),
            ("padded_pages", Metric::Count(self.padded_pages)),
        ];
        Report { ram, free_blocks: self.flat.pool.len(), figures, ..Report::default() }
    }

    /// The role of each data block.
    pub fn data_roles(&self) -> impl Iterator<Item = BlockRole> + '_ {
        let home = |(lbn, home): (Lbn, &Home)| Some(BlockRole::of(home.block?, "data", lbn));
        (0..).zip(&self.homes).filter_map(home)
    }

    /// Sets the counts of the report to zero.
    pub fn reset_report(&mut self) {
        (self.in_place_pages, self.padded_pages) = (0, 0);
    }

    /// Compares the map with itself, with the chip, and with the scheme's log blocks.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        nand: &Nand,
        logs: impl Iterator<Item = BlockId>,
    ) -> core::result::Result<(), Violation> {
        self.audit_pages(nand)?;
        self.audit_blocks(logs)?;
        self.audit_homes(nand)
    }

    fn audit_pages(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        for (block, recount) in (0..).map(BlockId).zip(self.flat.audit(nand)?) {
            let count = self.valid(block);
            ensure!(count == recount, "{block:?} has {recount} valid pages, counted {count}");
        }
        for lpn in (0..self.logical_pages()).map(Lpn) {
            let block = self.flat.newest(lpn).map(|ppn| nand.geometry().block_of(ppn));
            let is_away = block.is_some() && block != self.data_block(self.lbn_of(lpn));
            ensure!(is_away == self.is_away(lpn), "{lpn:?} is in {block:?}; away: {is_away}");
        }
        Ok(())
    }

    fn audit_blocks(
        &self,
        logs: impl Iterator<Item = BlockId>,
    ) -> core::result::Result<(), Violation> {
        let mut seen = vec![false; self.valid.len()];
        let data = self.homes.iter().filter_map(|home| home.block);
        for block in self.flat.pool.iter().chain(data).chain(logs) {
            let twice = core::mem::replace(&mut seen[block.0 as usize], true);
            ensure!(!twice, "{block:?} is in two lists");
        }
        let listed = seen.iter().filter(|&&seen| seen).count();
        let blocks = self.flat.pool.blocks();
        ensure!(listed == blocks as usize, "{listed} of {blocks} blocks are in a list");
        for block in self.flat.pool.iter() {
            let valid = self.valid(block);
            ensure!(valid == 0, "{block:?} is free, but holds {valid} valid pages");
        }
        ensure!(!self.flat.pool.is_empty(), "no block is left for merging");
        Ok(())
    }

    fn audit_homes(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let geometry = nand.geometry();
        for (lbn, home) in (0..).zip(&self.homes) {
            let Some(block) = home.block else { continue };
            let (at_home, valid) = (self.at_home(geometry, lbn, block), self.valid(block));
            ensure!(at_home == valid, "{at_home} of {valid} valid pages of {block:?} are at home");
            self.audit_used(nand, lbn, block)?;
        }
        Ok(())
    }

    /// Compares the pages of a data block that count as programmed with the chip, unless the block
    /// is closed.
    fn audit_used(
        &self,
        nand: &Nand,
        lbn: Lbn,
        block: BlockId,
    ) -> core::result::Result<(), Violation> {
        match &self.used {
            Some(used) => block_audit::each_page(nand, block, used, lbn * self.pages_per_block),
            None => match self.homes[lbn as usize].filled {
                filled if filled == self.pages_per_block => Ok(()),
                filled => block_audit::programmed_up_to(nand, block, filled),
            },
        }
    }
}

impl<O: BlockObserver + Send> Base for LogMap<O> {
    answered_by_flat!([flat] read flush prefetch place extent facet);

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        let (mut at, end) = (first.0, first.0 + pages);
        while let Some(run) = self.flat.mapped_run(at..end) {
            at = run.end;
            for lpn in run.clone().map(Lpn) {
                let old = self.flat.point(lpn, Ppn::NONE);
                self.away.remove(lpn.0);
                self.leave(nand.geometry(), lpn, old);
            }
            self.flat.note_trimmed(nand, run)?;
        }
        Ok(())
    }
}
