//! How a scheme comes back whose map lives in spare areas: the newest PMD page of each logical
//! block is found by one scan; where its pages are follows from the spare areas that hang on it.
//!
//! ```text
//! scan       newest PMD page of LBN 3: sequence 812, page 77
//! chain      77 ─▶ 41 ─▶ 40 ─▶ page 12 of the block stands at 38
//! ```
//! No page that the chain does not reach is believed, however new it is: writes of several pages
//! count once their last one, the PMD page, stands. Owners are a cross-check.
//!
//! * A page that the chain names must be readable and its owner's, unless it was trimmed since; and
//!   it must be newer than its tombstone.
//! * **The last page programmed may decay.** If it is in the map the scheme copies it to a clean
//!   block before anything else, and until that is done no block is erased in which its logical
//!   block has pages without it (the *fallback*).
//! * **No block is free**, or only the fallback. Then the power failed while a victim was emptied
//!   into the last free block, R, and all that R holds is still where it was: R is given up, and
//!   the PMD pages before those in R count again. (One page in R may have no twin: a mount's copy
//!   of a last page that has decayed since. It was never answered.) Or R holds more than copies;
//!   then another block was free when its last page was programmed, which was complete long ago.
//! * Blocks that were open are closed, and blocks without valid pages erased again before use.

use std::borrow::Cow;

use nand::{BlockId, Cause, Geometry, Lpn, Nand, PageState, Ppn, Spare};

use crate::contract::{Durability, Error, MountConfig, Result, Violation, ensure};
use crate::part::recovery::spare_scan::PageCopy;
use crate::part::recovery::trim_log;
use crate::part::spare::spare_mapped::{Lbn, NO_PAGE, SpareMap};

/// Spare areas that a look-up may read.
const SPARES_MAX: usize = 3;

/// The way from a logical block's newest PMD page to one of its pages.
#[derive(Clone, Copy, Debug)]
pub struct LookupPath {
    /// Pages whose spare areas are read, the PMD page first.
    pub spares: [Ppn; SPARES_MAX],
    /// How many they are.
    pub len: usize,
    /// Where the page is; none if the chain says that there is none.
    pub page: Option<Ppn>,
}

impl LookupPath {
    /// A way that has come as far as the PMD page.
    pub fn new(directory: Ppn) -> LookupPath {
        LookupPath { spares: [directory; SPARES_MAX], len: 1, page: None }
    }

    /// Goes on to another page's spare area.
    ///
    /// # Panics
    /// It would be one too many.
    pub fn push(&mut self, ppn: Ppn) {
        self.spares[self.len] = ppn;
        self.len += 1;
    }

    /// The same way, to its end.
    pub fn to(self, page: Option<Ppn>) -> LookupPath {
        LookupPath { page, ..self }
    }

    /// The pages whose spare areas are read.
    pub fn spares(&self) -> &[Ppn] {
        &self.spares[..self.len]
    }
}

/// Where spare areas can be looked up.
pub trait SpareAreas {
    /// Header and scheme bytes of a page, if it can be read.
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)>;
}

impl SpareAreas for Nand {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        self.peek_spare(ppn)
    }
}

/// How a scheme writes its chains.
pub trait SpareChains {
    /// Whether a page of this kind is a PMD page.
    fn is_directory(&self, kind: u8) -> bool;

    /// The way to a page.
    fn path(
        &self,
        geometry: &Geometry,
        spares: &dyn SpareAreas,
        directory: Ppn,
        lpn: Lpn,
    ) -> LookupPath;
}

/// What a scan found.
#[derive(Debug)]
pub struct FoundSpares {
    pages: Vec<Option<(Spare, Box<[u8]>)>>,
    /// Pages of each block that are not, or do not look, erased.
    occupied: Vec<u16>,
}

impl SpareAreas for FoundSpares {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        let page = self.pages.get(ppn.0 as usize)?.as_ref();
        page.map(|(spare, bytes)| (*spare, Cow::Borrowed(&**bytes)))
    }
}

impl FoundSpares {
    fn read(nand: &mut Nand, blocks: &[BlockId]) -> Result<FoundSpares> {
        let geometry = *nand.geometry();
        let mut pages = vec![None; geometry.pages() as usize];
        let mut occupied = vec![0; geometry.blocks() as usize];
        for &block in blocks {
            for offset in 0..geometry.pages_per_block() {
                let ppn = geometry.page(block, offset);
                let state = nand.read_spare(ppn, Cause::Meta)?;
                if state != PageState::Erased {
                    occupied[block.0 as usize] = offset as u16 + 1;
                }
                let page = nand.peek_spare(ppn).map(|(spare, bytes)| (spare, bytes.into()));
                pages[ppn.0 as usize] = page;
            }
        }
        Ok(FoundSpares { pages, occupied })
    }

    fn copies(&self) -> impl Iterator<Item = PageCopy> + '_ {
        let all = (0..).map(Ppn).zip(&self.pages);
        all.filter_map(|(ppn, page)| {
            page.as_ref().map(|(spare, _)| PageCopy { ppn, spare: *spare })
        })
    }

    fn host_copies(&self) -> impl Iterator<Item = PageCopy> + '_ {
        self.copies().filter(|copy| copy.spare.owner.is_host())
    }

    fn is_within(&self, logical_pages: u32) -> Result<()> {
        let beyond = self.host_copies().find(|copy| copy.spare.owner.0 >= logical_pages);
        beyond.map_or(Ok(()), |copy| {
            Err(Error::Unmountable(format!(
                "page {} belongs to logical page {}, beyond the capacity of {logical_pages} pages",
                copy.ppn.0, copy.spare.owner.0
            )))
        })
    }
}

/// What a mount still has to do, and what for.
#[derive(Debug)]
pub struct SpareRecovery {
    /// The page to copy: it may decay.
    pub suspect: Option<Ppn>,
    /// The spare areas, as they were found.
    pub found: FoundSpares,
    last: Option<PageCopy>,
    tombstones: Vec<u64>,
}

/// Fills a map just formatted with what is on the flash.
///
/// # Errors
/// The power is lost again, or the flash holds what no writes and cuts can have left.
pub fn recover(
    nand: &mut Nand,
    device: &MountConfig,
    map: &mut SpareMap,
    chains: &dyn SpareChains,
) -> Result<SpareRecovery> {
    let found = FoundSpares::read(nand, device.blocks)?;
    let last = found.copies().max_by_key(|copy| copy.spare.sequence);
    nand.resume_sequence(last.map_or(0, |copy| copy.spare.sequence) + 1);
    let pages = map.flat.pages();
    let tombstones = trim_log::tombstones(&mut map.flat.trims, nand, pages)?;
    found.is_within(pages)?;
    let blocks: Vec<BlockId> = map.pool.iter().collect();
    let search = ChainSearch {
        geometry: *nand.geometry(),
        found: &found,
        chains,
        tombstones: &tombstones,
        is_full: device.durability == Durability::Full,
    };
    let plan = search.plan(&blocks, last)?;
    if let Some(block) = plan.given_up {
        nand.erase(block, Cause::Meta)?;
    }
    adopt(&search, map, &blocks, &plan);
    Ok(SpareRecovery { suspect: plan.suspect, found, last, tombstones })
}

/// Goes on with the trim log, once nothing is endangered any more.
///
/// # Errors
/// The power is lost again.
pub fn resume_trims(nand: &mut Nand, map: &mut SpareMap, recovered: &SpareRecovery) -> Result<()> {
    map.flat.resume_trims(nand, &recovered.tombstones, recovered.last)
}

/// What the chains say of every page.
struct ElectedPages {
    /// Where each page is.
    places: Vec<Ppn>,
    /// The newest PMD page of each logical block.
    directories: Vec<Option<PageCopy>>,
}

struct SpareMountPlan {
    elected: ElectedPages,
    suspect: Option<Ppn>,
    given_up: Option<BlockId>,
    /// Blocks that must not be erased before the suspect page is copied.
    fallback: Vec<BlockId>,
}

struct ChainSearch<'a> {
    geometry: Geometry,
    found: &'a FoundSpares,
    chains: &'a dyn SpareChains,
    tombstones: &'a [u64],
    is_full: bool,
}

impl ChainSearch<'_> {
    fn plan(&self, blocks: &[BlockId], last: Option<PageCopy>) -> Result<SpareMountPlan> {
        let elected = self.elect(|_| true)?;
        let suspect = last.filter(|last| elected.holds(*last));
        let fallback = suspect.map_or(Vec::new(), |suspect| self.fallback(suspect));
        let free = self.free(blocks, &elected);
        if free.iter().any(|block| !fallback.contains(block)) {
            let suspect = suspect.map(|copy| copy.ppn);
            return Ok(SpareMountPlan { elected, suspect, given_up: None, fallback });
        }
        let block = self.block_programmed_last()?;
        let without = self.elect(|ppn| self.geometry.block_of(ppn) != block);
        let (suspect, fallback) = (None, Vec::new());
        match without.and_then(|without| self.is_without(block, &elected, without)) {
            Ok(elected) => Ok(SpareMountPlan { elected, suspect, given_up: Some(block), fallback }),
            Err(_) if !free.is_empty() => {
                Ok(SpareMountPlan { elected, suspect, given_up: None, fallback })
            }
            Err(only) => Err(only),
        }
    }

    /// Follows the chains of all PMD pages that stand where `counts`.
    fn elect(&self, counts: impl Fn(Ppn) -> bool) -> Result<ElectedPages> {
        let np = self.geometry.pages_per_block();
        let mut directories: Vec<Option<PageCopy>> =
            vec![None; self.tombstones.len() / np as usize];
        let is_directory = |copy: &PageCopy| self.chains.is_directory(copy.spare.kind);
        for copy in self.found.host_copies().filter(is_directory).filter(|copy| counts(copy.ppn)) {
            let newest = &mut directories[(copy.spare.owner.0 / np) as usize];
            if newest.is_none_or(|newest| newest.spare.sequence < copy.spare.sequence) {
                *newest = Some(copy);
            }
        }
        let mut places = vec![Ppn::NONE; self.tombstones.len()];
        for (lpn, place) in (0..).map(Lpn).zip(&mut places) {
            if let Some(directory) = directories[(lpn.0 / np) as usize] {
                *place = self.place(directory, lpn)?;
            }
        }
        for (pages, directory) in places.chunks(np as usize).zip(&mut directories) {
            if pages.iter().all(|&ppn| ppn == Ppn::NONE) {
                *directory = None;
            }
        }
        Ok(ElectedPages { places, directories })
    }

    /// Where a page stands, if the chain names one that is its own and no tombstone beats.
    fn place(&self, directory: PageCopy, lpn: Lpn) -> Result<Ppn> {
        let path = self.chains.path(&self.geometry, self.found, directory.ppn, lpn);
        let Some(ppn) = path.page else { return Ok(Ppn::NONE) };
        let tombstone = self.tombstones[lpn.0 as usize];
        match self.found.at(ppn) {
            Some((spare, _)) if spare.owner == lpn => {
                Ok(if spare.version > tombstone { ppn } else { Ppn::NONE })
            }
            _ if !self.is_full || tombstone > directory.spare.sequence => Ok(Ppn::NONE),
            _ if tombstone > self.written(&path) => Ok(Ppn::NONE),
            _ => Err(Error::Unmountable(format!(
                "the map says that logical page {} stands at page {}, which is not its own",
                lpn.0, ppn.0
            ))),
        }
    }

    /// When the spare area was written that says where a page is.
    fn written(&self, path: &LookupPath) -> u64 {
        let last = path.spares().last().and_then(|&ppn| self.found.at(ppn));
        last.map_or(u64::MAX, |(spare, _)| spare.sequence)
    }

    /// The blocks in which the suspect page's logical block has pages if it is not believed. If its
    /// chains are broken then, a block was erased after that page was programmed: it is complete.
    fn fallback(&self, suspect: PageCopy) -> Vec<BlockId> {
        let np = self.geometry.pages_per_block();
        let lbn = suspect.spare.owner.0 / np;
        let mut needed = Vec::new();
        let Ok(elected) = self.elect(|ppn| ppn != suspect.ppn) else { return needed };
        let Some(directory) = elected.directories[lbn as usize] else { return needed };
        for lpn in (lbn * np..(lbn + 1) * np).map(Lpn) {
            let path = self.chains.path(&self.geometry, self.found, directory.ppn, lpn);
            let pages = path.spares().iter().chain([&elected.places[lpn.0 as usize]]);
            let pages = pages.filter(|&&ppn| ppn != Ppn::NONE);
            needed.extend(pages.map(|&ppn| self.geometry.block_of(ppn)));
        }
        needed
    }

    fn free(&self, blocks: &[BlockId], elected: &ElectedPages) -> Vec<BlockId> {
        let mut used = vec![false; self.geometry.blocks() as usize];
        for &ppn in elected.places.iter().filter(|&&ppn| ppn != Ppn::NONE) {
            used[self.geometry.block_of(ppn).0 as usize] = true;
        }
        blocks.iter().copied().filter(|block| !used[block.0 as usize]).collect()
    }

    fn block_programmed_last(&self) -> Result<BlockId> {
        let last = self.found.host_copies().max_by_key(|copy| copy.spare.sequence);
        let last = last.ok_or_else(|| Error::Unmountable("no block is free or in use".into()))?;
        Ok(self.geometry.block_of(last.ppn))
    }

    /// What the chains say without a block, if no page is lost with it that was ever answered.
    fn is_without(
        &self,
        block: BlockId,
        with: &ElectedPages,
        without: ElectedPages,
    ) -> Result<ElectedPages> {
        let outside = |copy: &PageCopy| self.geometry.block_of(copy.ppn) != block;
        let before = self.found.copies().filter(outside).map(|copy| copy.spare.sequence).max();
        let version = |ppn| self.found.at(ppn).map(|(spare, _)| spare.version);
        let lost = (0..with.places.len() as u32).map(Lpn).find(|lpn| {
            let [had, has] = [with, &without].map(|map| version(map.places[lpn.0 as usize]));
            let never_answered = had > before && self.is_copy(*lpn, block);
            had.is_some() && had != has && !never_answered
        });
        lost.map_or(Ok(without), |lpn| {
            Err(Error::Unmountable(format!(
                "no block is free, and block {} holds the only newest copy of logical page {}",
                block.0, lpn.0
            )))
        })
    }

    /// Whether the newest copy of a page in a block is no original.
    fn is_copy(&self, lpn: Lpn, block: BlockId) -> bool {
        let inside =
            |copy: &PageCopy| copy.spare.owner == lpn && self.geometry.block_of(copy.ppn) == block;
        let newest = self.found.host_copies().filter(inside).max_by_key(|copy| copy.spare.sequence);
        newest.is_some_and(|copy| !copy.spare.is_original())
    }
}

impl ElectedPages {
    fn holds(&self, copy: PageCopy) -> bool {
        let place = self.places.get(copy.spare.owner.0 as usize);
        place == Some(&copy.ppn)
    }
}

/// Takes over what was found: blocks with a valid page are full, the others free.
fn adopt(search: &ChainSearch, map: &mut SpareMap, blocks: &[BlockId], plan: &SpareMountPlan) {
    let np = search.geometry.pages_per_block();
    let mut valid = vec![(0, 0); search.geometry.blocks() as usize];
    for (lpn, &ppn) in (0..).map(Lpn).zip(&plan.elected.places) {
        map.flat.point(lpn, ppn);
        if ppn != Ppn::NONE {
            let (superblock, pages) = &mut valid[search.geometry.block_of(ppn).0 as usize];
            *superblock = map.superblock_of(map.lbn_of(lpn));
            *pages += 1;
        }
    }
    for (offset, directory) in map.pgd.iter_mut().zip(&plan.elected.directories) {
        *offset = directory.map_or(NO_PAGE, |copy| (copy.spare.owner.0 % np) as u16);
    }
    let (used, mut free): (Vec<BlockId>, Vec<BlockId>) =
        blocks.iter().partition(|block| valid[block.0 as usize].1 > 0);
    for block in used {
        let (superblock, pages) = valid[block.0 as usize];
        let occupied = search.found.occupied[block.0 as usize];
        map.blocks.adopt(superblock, block, pages, occupied.into());
    }
    // The fallback last: the first is erased and written to before the mount is done.
    free.sort_by_key(|block| plan.fallback.contains(block));
    map.pool = Default::default();
    free.iter().for_each(|&block| map.pool.give_doubtful(block));
}

/// Walks the chains of all pages through the spare areas: they lead where the flat map says, over
/// valid pages alone. `uses` says whether a load of the logical block reads a page's spare area.
///
/// # Errors
/// The first contradiction.
pub fn audit(
    nand: &Nand,
    map: &SpareMap,
    chains: &dyn SpareChains,
    uses: impl Fn(Lbn) -> Vec<Ppn>,
) -> core::result::Result<(), Violation> {
    if !nand.keeps_spares() {
        return Ok(());
    }
    for lbn in 0..map.logical_blocks() {
        let first = map.page(lbn, 0).0;
        let pages = first..first + nand.geometry().pages_per_block();
        let mapped = pages.clone().filter(|&lpn| map.flat.newest(Lpn(lpn)).is_some());
        let Some(directory) = map.directory(lbn) else {
            ensure!(mapped.count() == 0, "logical block {lbn} has pages and no PMD page");
            continue;
        };
        let Some(directory) = map.flat.newest(directory) else {
            return Err(Violation(format!("the PMD page {directory:?} of block {lbn} is dead")));
        };
        let mut read: Vec<Ppn> = Vec::new();
        for lpn in mapped.map(Lpn) {
            let path = chains.path(nand.geometry(), nand, directory, lpn);
            let place = map.flat.newest(lpn);
            ensure!(path.page == place, "{lpn:?} is at {place:?}; spare areas say {path:?}");
            for &ppn in path.spares() {
                let alive = map.flat.is_newest(nand.owner(ppn).0, ppn);
                ensure!(alive, "the way to {lpn:?} passes through {ppn:?}, which is dead");
            }
            read.extend(path.spares());
        }
        let mut loaded = uses(lbn);
        read.sort_unstable();
        loaded.sort_unstable();
        read.dedup();
        ensure!(read == loaded, "block {lbn}: its chains use {read:?}, a load reads {loaded:?}");
    }
    Ok(())
}
