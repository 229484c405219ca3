//! The map of schemes that keep it in spare areas: its entries, its blocks, and its page directory.

use core::ops::Range;

use nand::{BlockId, Cause, Lpn, Nand, Ppn};

use crate::contract::{Error, Metric, MountConfig, Ram, Report, Result, Violation, ensure};
use crate::part::map::flat_map::FlatMap;
use crate::part::spare::map_cache::MapCache;
use crate::part::spare::spare_sheet::BLOCK_BITS;
use crate::part::spare::superblocks::{Sbn, Superblocks};
use crate::part::spare::waiting_pages::WaitingPages;

/// The number of a logical block.
pub type Lbn = u32;

/// The offset that stands for no page.
pub const NO_PAGE: u16 = u16::MAX;

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
    /// The mapped pages that were unmapped last. Kept to reuse its memory.
    trimmed: Vec<u32>,
    /// Programs that wait, and scheme bytes.
    pub(super) waiting: WaitingPages,
    /// A page that the write under way needs and that cannot be read.
    pub(super) lost_base: Option<Ppn>,
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
    /// The map of an empty device, whose parameters `blocks` and `map_cache` are the logical blocks
    /// per superblock and the entries of the cache.
    ///
    /// # Errors
    /// The chip has more blocks than a spare area can name.
    pub fn format(nand: &Nand, device: &MountConfig, scheme: &'static str) -> Result<SpareMap> {
        let geometry = nand.geometry();
        if geometry.blocks() > 1 << BLOCK_BITS {
            let blocks = geometry.blocks();
            let why =
                format!("{blocks} blocks; a spare area's block numbers have {BLOCK_BITS} bits");
            return Err(Error::Refused { scheme, why });
        }
        let [blocks_per_superblock, cache_entries] =
            ["blocks", "map_cache"].map(|name| device.params.count(name) as u32);
        let superblocks = device.logical_blocks.div_ceil(blocks_per_superblock);
        Ok(SpareMap {
            flat: FlatMap::format(nand, device, 0),
            blocks: Superblocks::new(geometry, superblocks),
            cache: MapCache::new(device.logical_blocks, cache_entries),
            pgd: vec![NO_PAGE; device.logical_blocks as usize],
            blocks_per_superblock,
            counts: SpareMapCounts::new(geometry.pages_per_block()),
            trimmed: Vec::with_capacity(geometry.pages_per_block() as usize),
            waiting: WaitingPages::default(),
            lost_base: None,
            logical_blocks: device.logical_blocks,
            pages_per_block: geometry.pages_per_block(),
            shift: Some(geometry.pages_per_block())
                .filter(|pages| pages.is_power_of_two())
                .map(u32::trailing_zeros),
        })
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

    /// The superblock of a page.
    #[inline]
    pub fn superblock_of_page(&self, lpn: Lpn) -> Sbn {
        self.superblock_of(self.lbn_of(lpn))
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

    // ---- Updates ------------------------------------------------------------------------------

    /// Makes a page the newest PMD page of its logical block.
    #[inline]
    pub fn set_directory(&mut self, lpn: Lpn) {
        debug_assert!(self.flat.newest(lpn).is_some(), "the PMD page {lpn:?} is unmapped");
        let lbn = self.lbn_of(lpn);
        self.pgd[lbn as usize] = (lpn.0 - self.page(lbn, 0).0) as u16;
    }

    /// Unmaps pages of a logical block. If no mapped page is left, the logical block has no PMD
    /// page any more.
    pub fn unmap(&mut self, nand: &Nand, lbn: Lbn, pages: &Range<u32>) {
        self.trimmed.clear();
        for lpn in pages.clone() {
            let old = self.flat.point(Lpn(lpn), Ppn::NONE);
            if old != Ppn::NONE {
                self.blocks.supersede(nand.geometry().block_of(old), 1);
                self.trimmed.push(lpn);
            }
        }
        if self.flat.mapped_run(self.page(lbn, 0).0..self.page(lbn + 1, 0).0).is_none() {
            self.pgd[lbn as usize] = NO_PAGE;
        }
    }

    /// Notes that the pages [unmapped](Self::unmap) last were trimmed. If no page of their logical
    /// block is left, notes a trim of the whole block; otherwise a mount could take an old PMD page
    /// for the newest.
    ///
    /// # Errors
    /// The power fails.
    pub fn note_trimmed(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        if self.directory(lbn).is_none() {
            return self.flat.note_trimmed(nand, self.page(lbn, 0).0..self.page(lbn + 1, 0).0);
        }
        for run in self.trimmed.chunk_by(|a, b| a + 1 == *b) {
            self.flat.note_trimmed(nand, run[0]..run[run.len() - 1] + 1)?;
        }
        Ok(())
    }

    /// The page to copy if the trim of these pages removes the newest PMD page of a logical block:
    /// the lowest remaining one.
    pub fn directory_anchor(&self, lbn: Lbn, pages: &Range<u32>) -> Option<Lpn> {
        self.directory(lbn).filter(|lpn| pages.contains(&lpn.0))?;
        let (first, end) = (self.page(lbn, 0).0, self.page(lbn + 1, 0).0);
        let mut others = (first..pages.start).chain(pages.end..end).map(Lpn);
        others.find(|&lpn| self.flat.newest(lpn).is_some())
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
            let own = self.superblock_of_page(lpn);
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
