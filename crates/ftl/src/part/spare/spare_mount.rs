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

use std::borrow::Cow;

use nand::{BlockId, Geometry, Lpn, Nand, PageState, Ppn, Spare};

use crate::contract::{Durability, Error, MountConfig, Result, Violation, ensure};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, Suspects};
use crate::part::recovery::survey::{self, Survey};
use crate::part::spare::spare_mapped::{Lbn, NO_PAGE, SpareMap};

/// Maximum number of spare areas that a look-up reads.
const SPARES_MAX: usize = 3;

/// The chain from the newest PMD page of a logical block to one of its pages.
#[derive(Clone, Copy, Debug)]
pub struct LookupPath {
    /// The pages whose spare areas are read, the PMD page first.
    pub spares: [Ppn; SPARES_MAX],
    /// Number of these pages.
    pub len: usize,
    /// The place to which the chain leads; none if it says that the page is unmapped.
    pub page: Option<Ppn>,
}

impl LookupPath {
    /// A chain that consists of the PMD page only.
    pub fn new(directory: Ppn) -> LookupPath {
        LookupPath { spares: [directory; SPARES_MAX], len: 1, page: None }
    }

    /// Appends a page whose spare area is read next.
    ///
    /// # Panics
    /// The chain would be longer than three spare areas.
    pub fn push(&mut self, ppn: Ppn) {
        self.spares[self.len] = ppn;
        self.len += 1;
    }

    /// Ends the chain at the place of the page, or at none.
    pub fn to(self, page: Option<Ppn>) -> LookupPath {
        LookupPath { page, ..self }
    }

    /// The pages whose spare areas are read.
    pub fn spares(&self) -> &[Ppn] {
        &self.spares[..self.len]
    }
}

/// A source of spare areas: the chip, or the result of a scan.
pub trait SpareAreas {
    /// The header and the scheme bytes of a page, if it can be read.
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)>;
}

impl SpareAreas for Nand {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        self.peek_spare(ppn).ok().flatten()
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
}

/// The spare areas that a scan found.
#[derive(Debug)]
pub struct FoundSpares {
    pages: Vec<Option<(Spare, Box<[u8]>)>>,
    /// For each block, the number of pages up to its last page that is not erased.
    occupied: Vec<u16>,
}

impl SpareAreas for FoundSpares {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        let page = self.pages.get(ppn.0 as usize)?.as_ref();
        page.map(|(spare, bytes)| (*spare, Cow::Borrowed(&**bytes)))
    }
}

impl FoundSpares {
    fn of(nand: &Nand, scan: &SpareScan) -> Result<FoundSpares> {
        let geometry = nand.geometry();
        let mut pages = vec![None; geometry.pages() as usize];
        let mut occupied = vec![0; geometry.blocks() as usize];
        for (ppn, state) in scan.pages() {
            if state != PageState::Erased {
                occupied[geometry.block_of(ppn).0 as usize] = geometry.offset_of(ppn) as u16 + 1;
            }
            if let PageState::Programmed(_) = state {
                let page = nand.peek_spare(ppn)?.map(|(spare, bytes)| (spare, bytes.into()));
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

/// The state of a mount after the map has been filled.
#[derive(Debug)]
pub struct SpareRecovery {
    /// The suspect pages that are valid: the scheme must copy them.
    pub to_copy: Vec<Ppn>,
    /// The spare areas that the scan found.
    pub found: FoundSpares,
    suspects: Suspects,
    tombstones: Vec<u64>,
}

/// Fills a freshly formatted map with what is on the flash.
///
/// # Errors
/// The power is lost again, or the flash is in a state that no sequence of writes and power cuts
/// can produce.
pub fn recover(
    nand: &mut Nand,
    device: &MountConfig,
    map: &mut SpareMap,
    chains: &dyn SpareChains,
) -> Result<SpareRecovery> {
    let pages = map.flat.pages();
    let Survey { scan, suspects, tombstones } =
        survey::read(nand, device, &mut map.flat.trims, pages)?;
    let found = FoundSpares::of(nand, &scan)?;
    found.is_within(pages)?;
    let blocks: Vec<BlockId> = map.pool.iter().collect();
    let search = ChainSearch {
        geometry: *nand.geometry(),
        found: &found,
        chains,
        tombstones: &tombstones,
        is_full: device.durability == Durability::Full,
    };
    let plan = search.plan(&blocks, &suspects)?;
    if let Some(block) = plan.given_up {
        map.flat.give_up(nand, block)?;
    }
    adopt(&search, map, &blocks, &plan);
    map.audit_superblocks(nand).map_err(|violation| Error::Unmountable(violation.0))?;
    Ok(SpareRecovery { to_copy: plan.to_copy, found, suspects, tombstones })
}

/// Resumes the trim log, after the suspect page has been copied.
///
/// # Errors
/// The power is lost again.
pub fn commit_recovery(
    nand: &mut Nand,
    map: &mut SpareMap,
    recovered: &SpareRecovery,
) -> Result<()> {
    map.flat.commit_recovery(nand, &recovered.tombstones, &recovered.suspects, &map.pool)
}

/// The pages to which the chains lead.
struct ElectedPages {
    /// The place of each logical page.
    places: Vec<Ppn>,
    /// The newest PMD page of each logical block.
    directories: Vec<Option<PageCopy>>,
}

struct SpareMountPlan {
    elected: ElectedPages,
    to_copy: Vec<Ppn>,
    given_up: Option<BlockId>,
    /// The blocks that must not be erased before the suspect page has been copied.
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
    fn plan(&self, blocks: &[BlockId], suspects: &Suspects) -> Result<SpareMountPlan> {
        let elected = self.elect(|_| true)?;
        let suspects = suspects.valid(|copy| elected.holds(*copy));
        let fallback = suspects.endangered().map_or(Vec::new(), |suspect| self.fallback(suspect));
        let free = self.free(blocks, &elected);
        if free.iter().any(|block| !fallback.contains(block)) {
            let to_copy = suspects.pages.iter().map(|copy| copy.ppn).collect();
            return Ok(SpareMountPlan { elected, to_copy, given_up: None, fallback });
        }
        let block = self.block_programmed_last()?;
        let without = self.elect(|ppn| self.geometry.block_of(ppn) != block);
        let (to_copy, fallback) = (Vec::new(), Vec::new());
        match without.and_then(|without| self.is_without(block, &elected, without)) {
            Ok(elected) => Ok(SpareMountPlan { elected, to_copy, given_up: Some(block), fallback }),
            Err(_) if !free.is_empty() => {
                Ok(SpareMountPlan { elected, to_copy, given_up: None, fallback })
            }
            Err(only) => Err(only),
        }
    }

    /// Follows the chains from the newest of those PMD pages for which `counts` holds.
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

    /// The place of a page, if its chain leads to a page with the right owner that no tombstone
    /// kills. A page of the chain that is newer than its PMD page took the place of another one,
    /// which was trimmed before its block was erased.
    fn place(&self, directory: PageCopy, lpn: Lpn) -> Result<Ppn> {
        let path = self.chains.path(&self.geometry, self.found, directory.ppn, lpn);
        let Some(ppn) = path.page else { return Ok(Ppn::NONE) };
        let tombstone = self.tombstones[lpn.0 as usize];
        let sequence = |ppn: &Ppn| self.found.at(*ppn).map_or(0, |(spare, _)| spare.sequence);
        let newest = path.spares().iter().chain([&ppn]).map(sequence).max();
        match self.found.at(ppn) {
            Some((spare, _)) if spare.owner == lpn && newest == Some(directory.spare.sequence) => {
                Ok(if spare.version > tombstone { ppn } else { Ppn::NONE })
            }
            _ if !self.is_full || tombstone > directory.spare.sequence => Ok(Ppn::NONE),
            _ if tombstone > self.written(&path) => Ok(Ppn::NONE),
            _ => Err(Error::Unmountable(format!(
                "the map says that logical page {} is at page {}, which belongs to another",
                lpn.0, ppn.0
            ))),
        }
    }

    /// The sequence of the spare area at the end of a chain.
    fn written(&self, path: &LookupPath) -> u64 {
        let last = path.spares().last().and_then(|&ppn| self.found.at(ppn));
        last.map_or(u64::MAX, |(spare, _)| spare.sequence)
    }

    /// The blocks that the logical block of the suspect page would need if that page were lost. If
    /// the chains are broken without it, a block was erased after the page was programmed; so it is
    /// complete, and nothing needs care.
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
        let last = last
            .ok_or_else(|| Error::Unmountable("no block is free, and none holds a page".into()))?;
        Ok(self.geometry.block_of(last.ppn))
    }

    /// Returns `without`, the pages to which chains lead without this block, unless giving up the
    /// block would lose a write that was answered.
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

    /// Whether the newest version of a page in this block is a copy and not an original.
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

/// Fills the map according to the plan: blocks with a valid page are full, the others free.
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
    // The fallback comes last, because the first free block is erased and written to during the
    // mount.
    free.sort_by_key(|block| plan.fallback.contains(block));
    map.pool = Default::default();
    free.iter().for_each(|&block| map.pool.give_doubtful(block));
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
    if !nand.keeps_spares() {
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
            for &ppn in path.spares() {
                let alive = map.flat.is_newest(nand.owner(ppn).0, ppn);
                ensure!(alive, "the chain to {lpn:?} passes through {ppn:?}, which is dead");
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

#[cfg(test)]
mod tests {
    use nand::{Cause, Content, Cut, Mode, Outcome, Page, ProgramOrder};

    use super::*;

    /// A scheme whose PMD pages list the places of both pages of their logical block.
    struct Lists;

    const PMD: u8 = 9;

    impl SpareChains for Lists {
        fn is_directory(&self, kind: u8) -> bool {
            kind == PMD
        }

        fn path(
            &self,
            _: &Geometry,
            spares: &dyn SpareAreas,
            directory: Ppn,
            lpn: Lpn,
        ) -> LookupPath {
            let (_, places) = spares.at(directory).unwrap();
            let place = places[lpn.0 as usize % 2];
            LookupPath::new(directory).to((place < 8).then_some(Ppn(place.into())))
        }
    }

    /// Four blocks of two pages.
    fn geometry() -> Geometry {
        Geometry::new(512, 64, 2, 4, ProgramOrder::Sequential).unwrap()
    }

    /// PMD pages of logical block 0, each with its place, owner, version, sequence and list.
    fn found(copies: &[(u32, u32, u64, u64, [u8; 2])]) -> FoundSpares {
        let mut pages = vec![None; 8];
        for &(ppn, owner, version, sequence, list) in copies {
            let spare = Spare { owner: Lpn(owner), version, sequence, kind: PMD, tentative: false };
            pages[ppn as usize] = Some((spare, Box::from(list)));
        }
        FoundSpares { pages, occupied: vec![2; 4] }
    }

    /// Whether block 1 can be given up.
    fn can_give_up(found: &FoundSpares) -> bool {
        let search = ChainSearch {
            geometry: geometry(),
            found,
            chains: &Lists,
            tombstones: &[0, 0],
            is_full: false,
        };
        let block = BlockId(1);
        let with = search.elect(|_| true).unwrap();
        let without = search.elect(|ppn| search.geometry.block_of(ppn) != block).unwrap();
        search.is_without(block, &with, without).is_ok()
    }

    const GONE: u8 = 255;

    #[test]
    fn a_block_with_the_only_copy_of_an_answered_write_is_not_given_up() {
        let page_1 = (0, 1, 4, 4, [GONE, 0]);
        assert!(!can_give_up(&found(&[page_1, (2, 0, 6, 6, [2, 0])])), "an original");
        assert!(!can_give_up(&found(&[page_1, (2, 0, 3, 6, [2, 0])])), "a copy of an older write");
        assert!(can_give_up(&found(&[page_1, (2, 0, 5, 6, [2, 0])])), "a copy of the last write");
        let copied_later = [page_1, (2, 0, 6, 6, [2, 0]), (3, 1, 4, 7, [2, 3])];
        assert!(!can_give_up(&found(&copied_later)), "an original and a later copy");
        let twin = (1, 0, 3, 5, [1, 0]);
        assert!(can_give_up(&found(&[page_1, twin, (2, 0, 3, 6, [2, 0])])), "a copy with a twin");
    }

    /// Otherwise a page of another logical block could pass for a page of this one.
    #[test]
    fn a_chain_leads_to_no_page_that_is_newer_than_its_pmd_page() {
        let found = found(&[(0, 1, 4, 4, [2, 0]), (2, 0, 6, 6, [GONE, GONE])]);
        let (geometry, tombstones) = (geometry(), [5, 0]);
        let search = ChainSearch {
            geometry,
            found: &found,
            chains: &Lists,
            tombstones: &tombstones,
            is_full: true,
        };
        let elected = search.elect(|ppn| ppn == Ppn(0)).unwrap();
        assert_eq!(elected.places, [Ppn::NONE, Ppn(0)]);
    }

    /// A scheme whose PMD pages begin with the place of a page that lists the places of both pages.
    struct Links;

    impl SpareChains for Links {
        fn is_directory(&self, kind: u8) -> bool {
            kind == PMD
        }

        fn path(
            &self,
            _: &Geometry,
            spares: &dyn SpareAreas,
            directory: Ppn,
            lpn: Lpn,
        ) -> LookupPath {
            let link = Ppn(spares.at(directory).unwrap().1[0].into());
            let mut path = LookupPath::new(directory);
            path.push(link);
            path.to(Some(Ppn(spares.at(link).unwrap().1[lpn.0 as usize].into())))
        }
    }

    /// The place of page 1. Its chain runs from page 2, sequence 6, over page 0, sequence 3, to the
    /// page that is given.
    fn place(at: u8, tombstone: u64, is_full: bool) -> Option<Ppn> {
        let found = found(&[(0, 1, 3, 3, [GONE, at]), (2, 0, 6, 6, [0, GONE])]);
        let tombstones = [0, tombstone];
        let geometry = geometry();
        let search = ChainSearch {
            geometry,
            found: &found,
            chains: &Links,
            tombstones: &tombstones,
            is_full,
        };
        let directory = found.copies().find(|copy| copy.ppn == Ppn(2)).unwrap();
        search.place(directory, Lpn(1)).ok()
    }

    #[test]
    fn a_chain_leads_to_a_missing_page_only_if_the_page_was_trimmed_since() {
        assert_eq!(place(0, 2, true), Some(Ppn(0)));
        assert_eq!(place(0, 3, true), Some(Ppn::NONE), "a tombstone kills its own version");
        for (tombstone, place_found) in
            [(0, None), (3, None), (4, Some(Ppn::NONE)), (6, Some(Ppn::NONE)), (7, Some(Ppn::NONE))]
        {
            assert_eq!(place(5, tombstone, true), place_found, "tombstone {tombstone}");
            assert_eq!(place(5, tombstone, false), Some(Ppn::NONE), "without a trim log");
        }
    }

    #[test]
    fn the_block_programmed_last_is_kept_if_only_the_fallback_is_free() {
        let found = found(&[(0, 0, 3, 3, [0, GONE]), (2, 0, 6, 6, [2, GONE])]);
        let search = ChainSearch {
            geometry: geometry(),
            found: &found,
            chains: &Lists,
            tombstones: &[0, 0],
            is_full: true,
        };
        let pages = found.copies().filter(|copy| copy.ppn == Ppn(2)).collect();
        let suspects = Suspects { pages, are_destroyed: false };
        let plan = search.plan(&[0, 1].map(BlockId), &suspects).unwrap();
        assert_eq!((plan.elected.places, plan.given_up), (vec![Ppn(2), Ppn::NONE], None));
        assert!(search.plan(&[BlockId(1)], &suspects).is_err(), "no block is free");
        let plan = search.plan(&[0, 1, 2].map(BlockId), &suspects).unwrap();
        assert_eq!((plan.to_copy, plan.given_up), (vec![Ppn(2)], None));
        assert!(plan.fallback.contains(&BlockId(0)));
    }

    #[test]
    fn a_page_beyond_the_capacity_is_refused() {
        let found = found(&[(0, 1, 4, 4, [GONE, 0]), (2, 3, 6, 6, [2, 0])]);
        assert!(found.is_within(4).is_ok());
        assert!(found.is_within(3).is_err());
    }

    #[test]
    fn a_torn_page_occupies_its_place() {
        let mut nand = Nand::new(geometry(), Mode::Stamps);
        let page = Page { owner: Lpn(0), kind: PMD, extra: &[], content: Content::Pad };
        nand.program(Ppn(2), &page, Cause::Host).unwrap();
        nand.cut_after(Cut { after: 0, outcome: Outcome::Torn });
        nand.program(Ppn(3), &page, Cause::Host).unwrap_err();
        nand.power_on();
        let scan = SpareScan::read(&mut nand, &[0, 1, 2, 3].map(BlockId)).unwrap();
        assert_eq!(FoundSpares::of(&nand, &scan).unwrap().occupied, [0, 2, 0, 0]);
    }
}
