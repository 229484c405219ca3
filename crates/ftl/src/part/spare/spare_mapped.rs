//! The common part of schemes that keep their map in spare areas: a PGD in RAM, superblocks, a map
//! cache, and the ways to reclaim a block (LSB §II.C, §III).
//!
//! ```text
//! RAM          PGD   per logical block: its newest PMD page
//! spare area   PMD   per group: its carrier
//!              PT    per page of the group: where the page is
//! ```
//! Each scheme decides which pages carry which entries, when it writes them and in
//! [`SpareMapped::move_out`]. The simulation also keeps all entries in a [flat
//! map](crate::part::map::flat_map). Audits follow the spare areas and compare them with it; a
//! mount has the spare areas only.
//!
//! A block is reclaimed in one of three ways:
//!
//! * *Dead*: it holds no valid page and is erased.
//! * *Partial merge*: its valid pages are copied to free pages of its superblock.
//! * *Full merge*, if no superblock has enough free pages for that: the two full blocks of one
//!   superblock with the most dead pages are emptied one after the other, into its open block and
//!   then into a free one. If fewer than two full blocks have a dead page, the open block is
//!   closed, which loses its free pages, and emptied last.

use core::ops::Range;

use nand::{BlockId, Cause, Copies, Lpn, Nand, Ppn, Sink};

use crate::contract::{
    Base, Error, Extent, Facet, FacetKind, Metric, MountConfig, Ram, Report, Result, Run, Span,
    Violation, ensure,
};
use crate::part::map::flat_map::FlatMap;
use crate::part::map::rmw;
use crate::part::spare::map_cache::MapCache;
use crate::part::spare::superblocks::{Sbn, Superblocks};

/// The number of a logical block.
pub type Lbn = u32;

/// The offset that stands for no page.
pub const NO_PAGE: u16 = u16::MAX;

/// Where the contents of a page to be programmed come from.
#[derive(Clone, Copy, Debug)]
pub enum PageSource<'a> {
    /// The host writes the page.
    Host(&'a Run<'a>),
    /// The page is copied from its present place, for this cause.
    Copy(Cause),
}

/// The map, the blocks, and the counts of a scheme of this family.
#[derive(Debug)]
pub struct SpareMap {
    /// All entries, the free blocks and the trims.
    pub flat: FlatMap,
    /// The blocks of each superblock.
    pub blocks: Superblocks,
    /// The logical blocks that have their entries in RAM.
    pub cache: MapCache,
    /// The PGD: for each logical block, the offset of the page that is its newest PMD page.
    pub pgd: Vec<u16>,
    /// Logical blocks per superblock.
    pub blocks_per_superblock: u32,
    /// The counts since the last reset.
    pub counts: SpareMapCounts,
    /// The places of pages that are about to be copied. Kept to reuse its memory.
    from: Vec<Ppn>,
    logical_blocks: u32,
    pages_per_block: u32,
    /// log2 of the pages per block if it is an integer: every write would otherwise need divisions.
    shift: Option<u32>,
}

/// Counts of schemes of this family.
#[derive(Clone, Debug, Default)]
pub struct SpareMapCounts {
    /// Blocks that held no valid page when they were chosen.
    pub dead: u64,
    /// Partial merges: blocks emptied into free pages of their superblock.
    pub partial: u64,
    /// Full merges: pairs of blocks emptied with the help of a free block.
    pub full: u64,
    /// Mapping-induced writes: pages copied only to renew the map in their spare areas.
    pub mapping_writes: u64,
    /// Pages copied because a trim removed a page that held map entries of others.
    pub trim_copies: u64,
    /// Number of erased blocks by the number of pages that were programmed in them.
    pub utilisation: Vec<u64>,
}

impl SpareMap {
    /// The map of an empty device.
    pub fn format(
        nand: &Nand,
        device: &MountConfig,
        blocks_per_superblock: u32,
        cache_entries: u32,
        open_victims: bool,
    ) -> SpareMap {
        let geometry = nand.geometry();
        let superblocks = device.logical_blocks.div_ceil(blocks_per_superblock);
        SpareMap {
            flat: FlatMap::format(nand, device, 0),
            blocks: Superblocks::new(geometry, superblocks, open_victims),
            cache: MapCache::new(device.logical_blocks, cache_entries),
            pgd: vec![NO_PAGE; device.logical_blocks as usize],
            blocks_per_superblock,
            counts: SpareMapCounts::new(geometry.pages_per_block()),
            from: Vec::with_capacity(geometry.pages_per_block() as usize),
            logical_blocks: device.logical_blocks,
            pages_per_block: geometry.pages_per_block(),
            shift: Some(geometry.pages_per_block())
                .filter(|pages| pages.is_power_of_two())
                .map(u32::trailing_zeros),
        }
    }

    // ---- Page and block numbers ---------------------------------------------------------------

    /// Number of logical blocks of the device.
    pub fn logical_blocks(&self) -> u32 {
        self.logical_blocks
    }

    /// The logical block of a page.
    #[inline]
    pub fn lbn_of(&self, lpn: Lpn) -> Lbn {
        match self.shift {
            Some(shift) => lpn.0 >> shift,
            None => lpn.0 / self.pages_per_block,
        }
    }

    /// Page `offset` of a logical block.
    #[inline]
    pub fn page(&self, lbn: Lbn, offset: u32) -> Lpn {
        Lpn(lbn * self.pages_per_block + offset)
    }

    /// The superblock of a logical block.
    #[inline]
    pub fn superblock_of(&self, lbn: Lbn) -> Sbn {
        lbn / self.blocks_per_superblock
    }

    /// Number of logical blocks of one superblock; the last superblock may be smaller.
    pub fn logical_blocks_of(&self, superblock: Sbn) -> u32 {
        let first = superblock * self.blocks_per_superblock;
        self.blocks_per_superblock.min(self.logical_blocks - first)
    }

    /// Cuts consecutive pages at the borders of logical blocks.
    pub fn portions(&self, first: Lpn, pages: u32) -> impl Iterator<Item = (Lpn, u32)> + use<> {
        let (np, end) = (self.pages_per_block, first.0 + pages);
        let mut at = first.0;
        core::iter::from_fn(move || {
            let start = at;
            at = end.min((start / np + 1) * np);
            (start < end).then(|| (Lpn(start), at - start))
        })
    }

    /// The newest PMD page of a logical block; none if no page of it is mapped.
    #[inline]
    pub fn directory(&self, lbn: Lbn) -> Option<Lpn> {
        let offset = self.pgd[lbn as usize];
        (offset != NO_PAGE).then(|| self.page(lbn, offset.into()))
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// The page to program next in a superblock. If its open block has no room, a free block is
    /// opened; there must be one.
    ///
    /// # Errors
    /// The power fails.
    #[inline]
    pub fn next(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<Ppn> {
        if self.blocks.room(superblock) == 0 {
            let block = self.flat.pool.take(nand)?;
            self.blocks.open(nand.geometry(), superblock, block);
        }
        Ok(self.blocks.next(superblock))
    }

    /// Points the entry of a page to a new place, or to none. Returns the old place.
    #[inline]
    pub fn supersede(&mut self, nand: &Nand, lpn: Lpn, to: Ppn) -> Ppn {
        let old = self.flat.point(lpn, to);
        if old != Ppn::NONE {
            self.blocks.supersede(nand.geometry().block_of(old), 1);
        }
        old
    }

    /// Makes a page the newest PMD page of its logical block.
    #[inline]
    pub fn set_directory(&mut self, lpn: Lpn) {
        debug_assert!(self.flat.newest(lpn).is_some(), "the PMD page {lpn:?} is unmapped");
        let lbn = self.lbn_of(lpn);
        self.pgd[lbn as usize] = (lpn.0 - self.page(lbn, 0).0) as u16;
    }

    /// Unmaps pages of a logical block, and lists those that were mapped. If no mapped page is
    /// left, the logical block has no PMD page any more.
    pub fn unmap(&mut self, nand: &Nand, lbn: Lbn, pages: &Range<u32>, mapped: &mut Vec<Lpn>) {
        mapped.clear();
        mapped.extend(pages.clone().map(Lpn).filter(|&lpn| self.flat.newest(lpn).is_some()));
        for &lpn in &*mapped {
            self.supersede(nand, lpn, Ppn::NONE);
        }
        if self.flat.mapped_run(self.page(lbn, 0).0..self.page(lbn + 1, 0).0).is_none() {
            self.pgd[lbn as usize] = NO_PAGE;
        }
    }

    /// Notes that pages of a logical block were trimmed. If no page is left, notes a trim of the
    /// whole logical block; otherwise a mount could take an old PMD page for the newest.
    ///
    /// # Errors
    /// The power fails.
    pub fn note_trimmed(&mut self, nand: &mut Nand, lbn: Lbn, trimmed: &[Lpn]) -> Result<()> {
        if self.directory(lbn).is_none() {
            return self.flat.note_trimmed(nand, self.page(lbn, 0).0..self.page(lbn + 1, 0).0);
        }
        for run in trimmed.chunk_by(|a, b| a.0 + 1 == b.0) {
            self.flat.note_trimmed(nand, run[0].0..run[run.len() - 1].0 + 1)?;
        }
        Ok(())
    }

    /// The lowest mapped page of a logical block that is not among the pages `but`.
    pub fn lowest_but(&self, lbn: Lbn, but: &Range<u32>) -> Option<Lpn> {
        let (first, end) = (self.page(lbn, 0).0, self.page(lbn + 1, 0).0);
        let mut others = (first..but.start).chain(but.end..end).map(Lpn);
        others.find(|&lpn| self.flat.newest(lpn).is_some())
    }

    /// Programs a page with the given kind and scheme bytes; `old` is its former place.
    ///
    /// # Errors
    /// The power fails, or the old page of a partial write cannot be read.
    pub fn program(
        &mut self,
        nand: &mut Nand,
        source: PageSource,
        lpn: Lpn,
        [old, to]: [Ppn; 2],
        kind: u8,
        extra: &[u8],
    ) -> Result<()> {
        debug_assert!(self.flat.newest(lpn) == Some(to), "{lpn:?} is programmed at {to:?}");
        let run = match source {
            PageSource::Copy(cause) => {
                return Ok(nand.copy(
                    to,
                    Copies::of(&[old]).with_kind(Some(kind)).with_extra(extra),
                    cause,
                )?);
            }
            PageSource::Host(run) => run,
        };
        let (full, index) = (nand.geometry().full_mask(), lpn.0 - run.first.0);
        let mask = run.mask(index, full);
        let base = (mask != full && old != Ppn::NONE).then_some(old);
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        let content = nand::Content::Host { data, mask, base };
        rmw::program_partial(nand, to, &nand::Page { owner: lpn, kind, extra, content })?;
        self.flat.note_written(lpn);
        Ok(())
    }

    /// Copies valid pages, in this order, to `to` and the pages after it. Their spare areas keep
    /// their old contents, so this is only for chips that keep none. The caller must then point the
    /// entries of the pages there.
    ///
    /// # Errors
    /// The power fails.
    pub fn copy(&mut self, nand: &mut Nand, pages: &[Lpn], to: Ppn, cause: Cause) -> Result<()> {
        let place = |&lpn: &Lpn| self.flat.newest(lpn).expect("only valid pages are copied");
        self.from.clear();
        self.from.extend(pages.iter().map(place));
        Ok(nand.copy(to, Copies::of(&self.from), cause)?)
    }

    // ---- Reclaiming ---------------------------------------------------------------------------

    /// Number of pages that a superblock could program if it took all free blocks.
    pub fn room(&self, superblock: Sbn) -> u32 {
        self.blocks.room(superblock) + self.flat.pool.len() * self.pages_per_block
    }

    /// Erases a full block without valid pages, after writing all waiting trims to flash.
    ///
    /// # Errors
    /// The power fails.
    pub fn erase(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()> {
        self.flat.pool.erase(nand, block, cause)?;
        self.counts.utilisation[self.blocks.occupied(block) as usize] += 1;
        self.blocks.release(block);
        Ok(())
    }

    // ---- Reporting ----------------------------------------------------------------------------

    /// What all schemes of this family report. The PGD, a physical page number a logical block, is
    /// the part of the map that is entirely in RAM; the cache holds the entries of some logical
    /// blocks, `entry_bytes` each. Beside them there are valid counts and trims.
    pub fn report(&self, entry_bytes: u64) -> Report {
        let (counts, cache) = (&self.counts, &self.cache);
        let ram = Ram {
            map: 4 * u64::from(self.logical_blocks),
            cache: entry_bytes * u64::from(cache.entries_max()),
            other: self.blocks.ram_bytes() + self.flat.pool.trim_bytes(),
            ..Ram::default()
        };
        let figures = vec![
            ("dead_merges", Metric::Count(counts.dead)),
            ("partial_merges", Metric::Count(counts.partial)),
            ("full_merges", Metric::Count(counts.full)),
            ("miw", Metric::Count(counts.mapping_writes)),
            ("trim_copies", Metric::Count(counts.trim_copies)),
            ("victim_utilisation", Metric::Counts(counts.utilisation.clone())),
            ("map_cache_hit_ratio", Metric::Real(cache.hit_ratio())),
            ("map_cache_hits", Metric::Count(cache.hits)),
            ("map_cache_misses", Metric::Count(cache.misses)),
        ];
        Report { ram, free_blocks: self.flat.pool.len(), figures, ..Report::default() }
    }

    /// Resets the counts.
    pub fn reset_figures(&mut self) {
        self.counts = SpareMapCounts::new(self.pages_per_block);
        self.cache.reset();
    }

    /// Checks that each block belongs to the superblock of its pages.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit_superblocks(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        for lpn in (0..self.flat.pages()).map(Lpn) {
            let Some(ppn) = self.flat.newest(lpn) else { continue };
            let own = self.superblock_of(self.lbn_of(lpn));
            let owner = self.blocks.owner(nand.geometry().block_of(ppn));
            ensure!(
                own == owner,
                "{lpn:?} of superblock {own} is in a block of superblock {owner}"
            );
        }
        Ok(())
    }

    /// Checks that no two pages share a place, that each block is free or belongs to the superblock
    /// of its pages, and that counts equal a recount.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand, reserve: u32) -> core::result::Result<(), Violation> {
        let geometry = nand.geometry();
        let valid = self.flat.audit(nand)?;
        self.blocks.audit(geometry, &valid)?;
        self.blocks.audit_programmed(nand)?;
        self.audit_superblocks(nand)?;
        let used = self.flat.pool.iter().find(|&block| !self.blocks.is_free(block));
        ensure!(used.is_none(), "{used:?} is in the pool and in use");
        let listed = self.flat.pool.len() + self.blocks.count();
        let blocks = self.flat.pool.blocks();
        ensure!(listed == blocks, "{listed} of {blocks} blocks are in a list");
        ensure!(
            self.flat.pool.len() >= reserve,
            "only {} blocks are free, fewer than the reserve of {reserve}",
            self.flat.pool.len()
        );
        Ok(())
    }
}

impl SpareMapCounts {
    fn new(pages_per_block: u32) -> SpareMapCounts {
        let utilisation = vec![0; pages_per_block as usize + 1];
        SpareMapCounts { utilisation, ..SpareMapCounts::default() }
    }
}

/// Lists the valid pages of a block, in physical order.
pub fn gather(flat: &FlatMap, nand: &Nand, block: BlockId, valid: &mut Vec<Lpn>) {
    let owners = nand.owners(block);
    owners.iter().for_each(|&owner| flat.prefetch_entry(owner));
    // No branch on validity: the processor could not predict it.
    valid.resize(owners.len(), Lpn::NONE);
    let mut found = 0;
    for (&owner, ppn) in owners.iter().zip(nand.geometry().first_page(block).0..) {
        valid[found] = Lpn(owner);
        found += usize::from(flat.is_newest(owner, Ppn(ppn)));
    }
    valid.truncate(found);
}

/// A scheme that keeps its map in spare areas.
pub trait SpareMapped: Send {
    /// Its map.
    fn map(&self) -> &SpareMap;

    /// Its map, mutable.
    fn map_mut(&mut self) -> &mut SpareMap;

    /// Looks up the map of a logical block in the map cache. A miss reads the spare areas that hold
    /// it.
    ///
    /// # Errors
    /// The power fails.
    fn look_up(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()>;

    /// Trims pages of one logical block, which has a PMD page.
    ///
    /// # Errors
    /// The power fails, or no room can be made for pages that must be copied.
    fn trim_portion(&mut self, nand: &mut Nand, lbn: Lbn, pages: Range<u32>) -> Result<()>;

    /// Prefetches what the scheme itself keeps about this page.
    fn prefetch_own(&self, lpn: Lpn);

    /// Copies the valid pages of a block into its superblock's open block, then into free blocks.
    ///
    /// # Errors
    /// The power fails.
    fn move_out(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()>;

    /// The maximum number of programs that moving a block's valid pages can take.
    fn needs(&mut self, nand: &Nand, block: BlockId) -> u32;

    /// Copies the valid pages of a full block, if it has any, to free pages of its superblock, and
    /// erases it.
    ///
    /// # Errors
    /// The power fails.
    fn reclaim(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        match self.map().blocks.valid(victim) {
            0 => self.map_mut().counts.dead += 1,
            _ => self.map_mut().counts.partial += 1,
        }
        self.move_out(nand, victim, Cause::Gc)?;
        self.map_mut().erase(nand, victim, Cause::Gc)
    }

    /// Empties the two full blocks of a superblock that have the most dead pages. If fewer than two
    /// have any, the open block is emptied last. The second block stays as it is if the free blocks
    /// might not have room for its pages.
    ///
    /// # Errors
    /// The power fails; or the free blocks might not have room for the pages of the first block,
    /// and then nothing was done.
    fn merge_fully(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<()> {
        let [first, mut second] = self.map_mut().blocks.two_emptiest(superblock);
        self.check_room_for_merge(nand, superblock, [first, second])?;
        if second.is_none() {
            second = self.map_mut().blocks.close(nand.geometry(), superblock);
        }
        self.map_mut().counts.full += 1;
        for (at, victim) in [first, second].into_iter().flatten().enumerate() {
            if at == 0 || self.needs(nand, victim) <= self.map().room(superblock) {
                self.move_out(nand, victim, Cause::Gc)?;
                self.map_mut().erase(nand, victim, Cause::Gc)?;
            }
        }
        Ok(())
    }

    /// Checks that there is room for the first victim of a full merge. The merge closes the open
    /// block if there is no second victim.
    ///
    /// # Errors
    /// There is not enough room.
    fn check_room_for_merge(
        &mut self,
        nand: &Nand,
        superblock: Sbn,
        [first, second]: [Option<BlockId>; 2],
    ) -> Result<()> {
        let map = self.map();
        let open = map.blocks.open_block(nand.geometry(), superblock);
        let lost = if second.is_none() { map.blocks.room(superblock) } else { 0 };
        let room = map.room(superblock) - lost;
        let needs = first.or(open).map_or(0, |victim| self.needs(nand, victim));
        if needs > room {
            return Err(Error::NoRoom { needs, room });
        }
        Ok(())
    }
}

impl<S: SpareMapped> Base for S {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        for (first, _) in self.map().portions(run.first, run.pages) {
            let lbn = self.map().lbn_of(first);
            if self.map().directory(lbn).is_some() {
                self.look_up(nand, lbn)?;
            }
        }
        self.map().flat.read(nand, run, sink)
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        for (first, pages) in self.map().portions(first, pages) {
            let lbn = self.map().lbn_of(first);
            if self.map().directory(lbn).is_some() {
                self.trim_portion(nand, lbn, first.0..first.0 + pages)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        self.map_mut().flat.flush(nand, only)
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        let map = self.map();
        map.flat.prefetch(spans, read_from);
        for lpn in spans.iter().map(|span| Lpn(span.first)) {
            map.blocks.prefetch(map.superblock_of(map.lbn_of(lpn)));
            self.prefetch_own(lpn);
        }
    }

    fn place(&self, _: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.map().flat.newest(lpn)
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.map().flat.extent(lpns)
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        self.map_mut().flat.facet(kind)
    }
}
