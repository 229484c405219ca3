//! Recovery of schemes that keep their map in spare areas. One scan finds the newest PMD page of
//! each logical block; a chain of spare areas leads from there to every other page.
//!
//! ```text
//! scan       newest PMD page of LBN 3: page 77, sequence 812
//! chain      77 ─▶ 41 ─▶ 40 ─▶ page 12 of the logical block is at 38
//! ```
//! A page is valid only if a chain leads to it, however new it is. A write of several pages takes
//! effect with its last page, the PMD page. Owners of pages serve as a cross-check only.
//!
//! * A page to which a chain leads must be readable, must have the right owner and must be newer
//!   than its tombstone. Only a page that was trimmed since the chain was written may be missing.
//! * **The page programmed last may become unreadable.** If it is in the map, the scheme copies it
//!   to a clean block before anything else. Before the commit, no block may be erased that the
//!   logical block of this page would need if the page were lost. These blocks are the *fallback*.
//! * **There may be no free block**, or only the fallback. Let R be the block programmed last. If
//!   the power failed while a victim was being copied into R, the last free block, everything in R
//!   is still where it was. The mount gives up R: its pages do not count, and older PMD pages are
//!   the newest again. R is free, and becomes void with the commit. Otherwise R holds more than
//!   copies. Then another block was free when R's last page was programmed, so that page was
//!   complete long ago.
//! * Blocks that were open are closed. Blocks without valid pages become void with the commit, and
//!   are erased again before use.
//! * Without a trim log (durability `paper`) there is no commit. R is erased at once, and the
//!   fallback is kept until the suspect page has been copied. One page of R may have no twin: a
//!   copy, made by an earlier mount, of a suspect page that has become unreadable since. Its write
//!   was never answered.

use core::cell::RefCell;
use std::borrow::Cow;

use nand::{BlockId, Geometry, Lpn, Nand, Ppn, Spare};

use crate::contract::{Durability, Error, MountConfig, Result, Violation, ensure};
use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::recovery_plan;
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, Suspects};
use crate::part::recovery::survey::{self, Survey};
use crate::part::recovery::tombstones::Tombstones;
use crate::part::spare::spare_map::{Lbn, SpareMap};

/// The chain from the newest PMD page of a logical block to one of its pages.
#[derive(Clone, Debug)]
pub struct LookupPath {
    /// The pages whose spare areas are read, the PMD page first.
    pub spares: Vec<Ppn>,
    /// The place to which the chain leads; none if it says that the page is unmapped.
    pub page: Option<Ppn>,
}

impl LookupPath {
    /// A chain that consists of the PMD page only.
    pub fn new(directory: Ppn) -> LookupPath {
        LookupPath { spares: vec![directory], page: None }
    }

    /// Ends the chain at the place of the page, or at none.
    pub fn to(self, page: Option<Ppn>) -> LookupPath {
        LookupPath { page, ..self }
    }
}

/// A source of spare areas: the chip, or those of its pages that count.
pub trait SpareAreas {
    /// The header and the scheme bytes of a page, if it can be read.
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)>;
}

impl SpareAreas for Nand {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        self.array().peek_spare(ppn).ok().flatten()
    }
}

/// How a scheme builds its chains.
pub trait SpareChains {
    /// Whether a page of this kind is a PMD page.
    fn is_directory(&self, kind: u8) -> bool;

    /// The chain from the PMD page at `directory` to a page.
    fn path(
        &self,
        geometry: &Geometry,
        spares: &dyn SpareAreas,
        directory: Ppn,
        lpn: Lpn,
    ) -> LookupPath;

    /// Restores what the scheme keeps in RAM beside the map, from the spare areas that count.
    fn recall(&mut self, geometry: &Geometry, spares: &dyn SpareAreas, map: &SpareMap);
}

/// The spare areas of the pages that a scan found and that count. Their scheme bytes are taken from
/// the chip.
struct FoundSpares<'a> {
    nand: &'a Nand,
    scan: &'a SpareScan,
    /// The first page whose scheme bytes could not be read.
    failure: RefCell<Option<nand::Error>>,
}

impl SpareAreas for FoundSpares<'_> {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        let copy = self.scan.copy(ppn)?;
        let error = match self.nand.array().peek_spare(ppn) {
            Ok(Some((_, bytes))) => return Some((copy.spare, bytes)),
            Ok(None) => nand::Error::Unreadable(ppn),
            Err(error) => error,
        };
        self.failure.borrow_mut().get_or_insert(error);
        None
    }
}

impl<'a> FoundSpares<'a> {
    fn new(nand: &'a Nand, scan: &'a SpareScan) -> FoundSpares<'a> {
        FoundSpares { nand, scan, failure: RefCell::default() }
    }

    /// Checks that all spare areas could be read.
    fn check(self) -> Result<()> {
        self.failure.into_inner().map_or(Ok(()), |error| Err(error.into()))
    }
}

/// The state of a mount after the map has been filled.
#[derive(Debug)]
pub struct SpareRecovery {
    /// The suspect pages that are valid: the scheme must copy them.
    pub to_copy: Vec<Ppn>,
    /// The suspect pages, for the commit.
    pub suspects: Suspects,
}

/// Fills a freshly formatted map, and what the scheme keeps beside it, with what is on the flash.
///
/// # Errors
/// The power is lost again, or the flash is in a state that no sequence of writes and power cuts
/// can produce.
pub fn recover(
    nand: &mut Nand,
    device: &MountConfig,
    map: &mut SpareMap,
    chains: &mut dyn SpareChains,
) -> Result<SpareRecovery> {
    let Survey { scan, suspects, tombstones } =
        survey::read(nand, device, &mut map.flat.pool.trims)?;
    scan.is_within(map.flat.pages())?;
    let spares = FoundSpares::new(nand, &scan);
    let search = ChainSearch {
        geometry: *nand.geometry(),
        scan: &scan,
        spares: &spares,
        chains,
        tombstones: &tombstones,
        logical_blocks: map.logical_blocks(),
        is_full: device.durability == Durability::Full,
    };
    let blocks: Vec<BlockId> = map.flat.pool.iter().collect();
    let planned = search.plan(&mut map.flat, &blocks, &suspects);
    if let Ok(plan) = &planned {
        adopt(&scan, map, &blocks, plan);
        chains.recall(nand.geometry(), &spares, map);
    }
    spares.check()?;
    let plan = planned?;
    if let Some(block) = plan.given_up {
        map.flat.give_up(nand, block)?;
    }
    map.audit_superblocks(nand).map_err(|violation| Error::Unmountable(violation.0))?;
    Ok(SpareRecovery { to_copy: plan.to_copy, suspects })
}

struct SpareMountPlan {
    /// The newest PMD page of each logical block; [`Ppn::NONE`] if there is none.
    directories: Vec<Ppn>,
    to_copy: Vec<Ppn>,
    given_up: Option<BlockId>,
    /// The blocks that must not be erased before the suspect page has been copied.
    fallback: Vec<BlockId>,
}

struct ChainSearch<'a> {
    geometry: Geometry,
    scan: &'a SpareScan,
    spares: &'a dyn SpareAreas,
    chains: &'a dyn SpareChains,
    tombstones: &'a Tombstones,
    logical_blocks: u32,
    is_full: bool,
}

impl ChainSearch<'_> {
    /// Plans the mount, and points the entries of the map to the places of all pages.
    fn plan(
        &self,
        flat: &mut FlatMap,
        blocks: &[BlockId],
        suspects: &Suspects,
    ) -> Result<SpareMountPlan> {
        let directories = self.directories(|_| true);
        self.fill(flat, 0..self.logical_blocks, &directories)?;
        let suspects = suspects.valid(|copy| flat.is_newest(copy.spare.owner.0, copy.ppn));
        let fallback = suspects.endangered().map_or(Vec::new(), |suspect| self.fallback(suspect));
        let places = flat.entries(0..flat.pages());
        let free = recovery_plan::free_blocks(&self.geometry, blocks, places);
        if free.iter().any(|block| !fallback.contains(block)) {
            let to_copy = suspects.pages.iter().map(|copy| copy.ppn).collect();
            return Ok(SpareMountPlan { directories, to_copy, given_up: None, fallback });
        }
        let block = self.block_programmed_last()?;
        let without = self.directories(|ppn| self.geometry.block_of(ppn) != block);
        let changed = (0..self.logical_blocks)
            .filter(|&lbn| directories[lbn as usize] != without[lbn as usize]);
        let (to_copy, fallback) = (Vec::new(), Vec::new());
        match self.can_lose(block, flat, changed.clone(), &without) {
            Ok(()) => {
                self.fill(flat, changed, &without)?;
                let (directories, given_up) = (without, Some(block));
                Ok(SpareMountPlan { directories, to_copy, given_up, fallback })
            }
            Err(_) if !free.is_empty() => {
                Ok(SpareMountPlan { directories, to_copy, given_up: None, fallback })
            }
            Err(only) => Err(only),
        }
    }

    /// Points the entries of these logical blocks to the places to which their PMD pages lead.
    fn fill(
        &self,
        flat: &mut FlatMap,
        lbns: impl Iterator<Item = Lbn>,
        directories: &[Ppn],
    ) -> Result<()> {
        for lbn in lbns {
            let places = self.places(lbn, directories)?;
            for (lpn, place) in self.pages(lbn).zip(places) {
                if flat.newest(lpn).unwrap_or(Ppn::NONE) != place {
                    flat.point(lpn, place);
                }
            }
        }
        Ok(())
    }

    /// The newest of those PMD pages for which `counts` holds, of each logical block.
    fn directories(&self, counts: impl Fn(Ppn) -> bool) -> Vec<Ppn> {
        let np = self.geometry.pages_per_block();
        let mut directories = vec![Ppn::NONE; self.logical_blocks as usize];
        let is_directory = |copy: &PageCopy| self.chains.is_directory(copy.spare.kind);
        for copy in self.scan.host_copies().filter(is_directory).filter(|copy| counts(copy.ppn)) {
            let newest = &mut directories[(copy.spare.owner.0 / np) as usize];
            if self.sequence(*newest) < copy.spare.sequence {
                *newest = copy.ppn;
            }
        }
        directories
    }

    /// The pages of a logical block.
    fn pages(&self, lbn: Lbn) -> impl Iterator<Item = Lpn> + use<> {
        let np = self.geometry.pages_per_block();
        (lbn * np..(lbn + 1) * np).map(Lpn)
    }

    /// The place of each page of a logical block, according to its PMD page; [`Ppn::NONE`] if it is
    /// unmapped.
    fn places(&self, lbn: Lbn, directories: &[Ppn]) -> Result<Vec<Ppn>> {
        let directory = directories[lbn as usize];
        self.pages(lbn).map(|lpn| self.place(directory, lpn)).collect()
    }

    /// The place of a page, if its chain leads to a page with the right owner that no tombstone
    /// kills. A page of the chain that is newer than its PMD page took the place of another one,
    /// which was trimmed before its block was erased.
    fn place(&self, directory: Ppn, lpn: Lpn) -> Result<Ppn> {
        if directory == Ppn::NONE {
            return Ok(Ppn::NONE);
        }
        let path = self.chains.path(&self.geometry, self.spares, directory, lpn);
        let Some(ppn) = path.page else { return Ok(Ppn::NONE) };
        let (tombstone, written) = (self.tombstones.of(lpn), self.sequence(directory));
        let newest = path.spares.iter().chain([&ppn]).map(|&ppn| self.sequence(ppn)).max();
        match self.scan.copy(ppn) {
            Some(PageCopy { spare, .. }) if spare.owner == lpn && newest == Some(written) => {
                Ok(if spare.version > tombstone { ppn } else { Ppn::NONE })
            }
            _ if !self.is_full || tombstone > written => Ok(Ppn::NONE),
            _ if tombstone > self.written(&path) => Ok(Ppn::NONE),
            _ => Err(Error::Unmountable(format!(
                "the map says that logical page {} is at page {}, which belongs to another",
                lpn.0, ppn.0
            ))),
        }
    }

    /// The sequence of a page; 0 if it cannot be read.
    fn sequence(&self, ppn: Ppn) -> u64 {
        self.scan.copy(ppn).map_or(0, |copy| copy.spare.sequence)
    }

    /// The sequence of the spare area at the end of a chain.
    fn written(&self, path: &LookupPath) -> u64 {
        let last = path.spares.last().and_then(|&ppn| self.scan.copy(ppn));
        last.map_or(u64::MAX, |copy| copy.spare.sequence)
    }

    /// The blocks that the logical block of the suspect page would need if that page were lost. If
    /// the chains are broken without it, a block was erased after the page was programmed; so it is
    /// complete, and nothing needs care.
    fn fallback(&self, suspect: PageCopy) -> Vec<BlockId> {
        let lbn = suspect.spare.owner.0 / self.geometry.pages_per_block();
        let directories = self.directories(|ppn| ppn != suspect.ppn);
        let Ok(places) = self.places(lbn, &directories) else { return Vec::new() };
        if is_unmapped(&places) {
            return Vec::new();
        }
        let mut needed = Vec::new();
        for (lpn, place) in self.pages(lbn).zip(&places) {
            let directory = directories[lbn as usize];
            let path = self.chains.path(&self.geometry, self.spares, directory, lpn);
            let pages = path.spares.iter().chain([place]).filter(|&&ppn| ppn != Ppn::NONE);
            needed.extend(pages.map(|&ppn| self.geometry.block_of(ppn)));
        }
        needed
    }

    fn block_programmed_last(&self) -> Result<BlockId> {
        let last = self.scan.host_copies().max_by_key(|copy| copy.spare.sequence);
        let last = last
            .ok_or_else(|| Error::Unmountable("no block is free, and none holds a page".into()))?;
        Ok(self.geometry.block_of(last.ppn))
    }

    /// Checks that no write that was answered is lost if this block is given up. Then `without` are
    /// the newest PMD pages; they are others than now for the logical blocks `changed`.
    fn can_lose(
        &self,
        block: BlockId,
        flat: &FlatMap,
        changed: impl Iterator<Item = Lbn>,
        without: &[Ppn],
    ) -> Result<()> {
        let outside = |copy: &PageCopy| self.geometry.block_of(copy.ppn) != block;
        let before = self.scan.copies().filter(outside).map(|copy| copy.spare.sequence).max();
        let version = |ppn| self.scan.copy(ppn).map(|copy| copy.spare.version);
        for lbn in changed {
            for (lpn, place) in self.pages(lbn).zip(self.places(lbn, without)?) {
                let (had, has) = (flat.newest(lpn).and_then(version), version(place));
                let never_answered = || had > before && self.is_copy(lpn, block);
                if had.is_some() && had != has && !never_answered() {
                    return Err(recovery_plan::only_newest(block, lpn));
                }
            }
        }
        Ok(())
    }

    /// Whether the newest version of a page in this block is a copy and not an original.
    fn is_copy(&self, lpn: Lpn, block: BlockId) -> bool {
        let inside = self.scan.copies_in(block).filter(|copy| copy.spare.owner == lpn);
        let newest = inside.max_by_key(|copy| copy.spare.sequence);
        newest.is_some_and(|copy| !copy.spare.is_original())
    }
}

fn is_unmapped(places: &[Ppn]) -> bool {
    places.iter().all(|&ppn| ppn == Ppn::NONE)
}

/// Completes a map whose entries are filled, according to the plan: blocks with a valid page are
/// full, the others free.
fn adopt(scan: &SpareScan, map: &mut SpareMap, blocks: &[BlockId], plan: &SpareMountPlan) {
    let geometry = *scan.geometry();
    let mut valid = vec![(0, 0); geometry.blocks() as usize];
    for (lbn, &directory) in (0..).zip(&plan.directories) {
        let superblock = map.superblock_of(lbn);
        let places = map.flat.entries(map.page(lbn, 0).0..map.page(lbn + 1, 0).0);
        for &ppn in places.iter().filter(|&&ppn| ppn != Ppn::NONE) {
            let (owner, pages) = &mut valid[geometry.block_of(ppn).0 as usize];
            (*owner, *pages) = (superblock, *pages + 1);
        }
        if let Some(copy) = scan.copy(directory).filter(|_| !is_unmapped(places)) {
            map.pgd[lbn as usize] = (copy.spare.owner.0 - map.page(lbn, 0).0) as u16;
        }
    }
    let (used, mut free): (Vec<BlockId>, Vec<BlockId>) =
        blocks.iter().partition(|block| valid[block.0 as usize].1 > 0);
    for block in used {
        let (superblock, pages) = valid[block.0 as usize];
        map.blocks.adopt(superblock, block, pages, scan.occupied(block));
    }
    // The fallback comes last, because the first free block is erased and written to during the
    // mount.
    free.sort_by_key(|block| plan.fallback.contains(block));
    map.flat.pool.drain();
    free.iter().for_each(|&block| map.flat.pool.give_doubtful(block));
}

/// Follows the chains of all pages through the spare areas. Each must lead to the place in the flat
/// map, over valid pages only. `uses` lists the pages whose spare areas a load of a logical block
/// reads; these must be the pages of its chains.
///
/// # Errors
/// The first contradiction.
pub fn audit(
    nand: &Nand,
    map: &SpareMap,
    chains: &dyn SpareChains,
    uses: impl Fn(Lbn) -> Vec<Ppn>,
) -> core::result::Result<(), Violation> {
    if !nand.array().keeps_pages() {
        return Ok(());
    }
    for lbn in 0..map.logical_blocks() {
        let first = map.page(lbn, 0).0;
        let pages = first..first + nand.geometry().pages_per_block();
        let mapped = pages.clone().filter(|&lpn| map.flat.newest(Lpn(lpn)).is_some());
        let Some(directory) = map.directory(lbn) else {
            ensure!(mapped.count() == 0, "logical block {lbn} has pages but no PMD page");
            continue;
        };
        let Some(directory) = map.flat.newest(directory) else {
            return Err(Violation(format!("the PMD page {directory:?} of block {lbn} is dead")));
        };
        let mut read: Vec<Ppn> = Vec::new();
        for lpn in mapped.map(Lpn) {
            let path = chains.path(nand.geometry(), nand, directory, lpn);
            let place = map.flat.newest(lpn);
            ensure!(path.page == place, "{lpn:?} is at {place:?}, but spare areas say {path:?}");
            for &ppn in &path.spares {
                let alive = map.flat.is_newest(nand.owner(ppn).0, ppn);
                ensure!(alive, "the chain to {lpn:?} passes through {ppn:?}, which is dead");
            }
            read.extend(&path.spares);
        }
        let mut loaded = uses(lbn);
        read.sort_unstable();
        loaded.sort_unstable();
        read.dedup();
        ensure!(read == loaded, "block {lbn}: its chains use {read:?}, a load reads {loaded:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
