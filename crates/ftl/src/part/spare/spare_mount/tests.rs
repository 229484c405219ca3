//! Tests of the mount of a map in spare areas.

use nand::{Cause, Content, Cut, Mode, Outcome, Page, ProgramOrder, Timing};

use super::*;
use crate::SCHEMES;
use crate::part::map::block_pool::BlockPool;

/// A scheme whose PMD pages list the places of both pages of their logical block.
struct Lists;

const PMD: u8 = 9;

impl SpareChains for Lists {
    fn is_directory(&self, kind: u8) -> bool {
        kind == PMD
    }

    fn path(&self, _: &Geometry, spares: &dyn SpareAreas, directory: Ppn, lpn: Lpn) -> LookupPath {
        let (_, places) = spares.at(directory).unwrap();
        let place = places[lpn.0 as usize % 2];
        LookupPath::new(directory).to((place < 8).then_some(Ppn(place.into())))
    }

    fn recall(&mut self, _: &Geometry, _: &dyn SpareAreas, _: &SpareMap) {}
}

/// Four blocks of two pages.
fn geometry() -> Geometry {
    Geometry::new(512, 64, 2, 4, ProgramOrder::Sequential).unwrap()
}

/// Pages that a scan found, with their scheme bytes.
struct Found {
    scan: SpareScan,
    lists: [[u8; 2]; 8],
    tombstones: Tombstones,
}

impl SpareAreas for Found {
    fn at(&self, ppn: Ppn) -> Option<(Spare, Cow<'_, [u8]>)> {
        let copy = self.scan.copy(ppn)?;
        Some((copy.spare, Cow::Borrowed(&self.lists[ppn.0 as usize])))
    }
}

impl Found {
    /// PMD pages of logical block 0, each with its place, owner, version, sequence and list.
    fn new(copies: &[(u32, u32, u64, u64, [u8; 2])]) -> Found {
        let (mut scan, mut lists) = (SpareScan::new(geometry()), [[GONE; 2]; 8]);
        for &(ppn, owner, version, sequence, list) in copies {
            let owner = Lpn(owner);
            let spare = Spare { owner, version, sequence, kind: PMD, tentative: false };
            scan.restore(Ppn(ppn), spare);
            lists[ppn as usize] = list;
        }
        Found { scan, lists, tombstones: Tombstones::new(2) }
    }

    fn search<'a>(&'a self, chains: &'a dyn SpareChains, is_full: bool) -> ChainSearch<'a> {
        ChainSearch {
            geometry: geometry(),
            scan: &self.scan,
            spares: self,
            chains,
            tombstones: &self.tombstones,
            logical_blocks: 1,
            is_full,
        }
    }
}

/// Whether block 1 can be given up.
fn can_give_up(copies: &[(u32, u32, u64, u64, [u8; 2])]) -> bool {
    let found = Found::new(copies);
    let search = found.search(&Lists, false);
    let block = BlockId(1);
    let mut flat = FlatMap::new(2, BlockPool::default());
    search.fill(&mut flat, 0..1, &search.directories(|_| true)).unwrap();
    let without = search.directories(|ppn| search.geometry.block_of(ppn) != block);
    search.can_lose(block, &flat, 0..1, &without).is_ok()
}

const GONE: u8 = 255;

#[test]
fn a_block_with_the_only_copy_of_an_answered_write_is_not_given_up() {
    let page_1 = (0, 1, 4, 4, [GONE, 0]);
    assert!(!can_give_up(&[page_1, (2, 0, 6, 6, [2, 0])]), "an original");
    assert!(!can_give_up(&[page_1, (2, 0, 3, 6, [2, 0])]), "a copy of an older write");
    assert!(can_give_up(&[page_1, (2, 0, 5, 6, [2, 0])]), "a copy of the last write");
    let copied_later = [page_1, (2, 0, 6, 6, [2, 0]), (3, 1, 4, 7, [2, 3])];
    assert!(!can_give_up(&copied_later), "an original and a later copy");
    let twin = (1, 0, 3, 5, [1, 0]);
    assert!(can_give_up(&[page_1, twin, (2, 0, 3, 6, [2, 0])]), "a copy with a twin");
}

/// Otherwise a page of another logical block could pass for a page of this one.
#[test]
fn a_chain_leads_to_no_page_that_is_newer_than_its_pmd_page() {
    let mut found = Found::new(&[(0, 1, 4, 4, [2, 0]), (2, 0, 6, 6, [GONE, GONE])]);
    found.tombstones.add(0..1, 5).unwrap();
    let search = found.search(&Lists, true);
    let directories = search.directories(|ppn| ppn == Ppn(0));
    assert_eq!(search.places(0, &directories), Ok(vec![Ppn::NONE, Ppn(0)]));
}

/// A scheme whose PMD pages begin with the place of a page that lists the places of both pages.
struct Links;

impl SpareChains for Links {
    fn is_directory(&self, kind: u8) -> bool {
        kind == PMD
    }

    fn path(&self, _: &Geometry, spares: &dyn SpareAreas, directory: Ppn, lpn: Lpn) -> LookupPath {
        let link = Ppn(spares.at(directory).unwrap().1[0].into());
        let mut path = LookupPath::new(directory);
        path.spares.push(link);
        path.to(Some(Ppn(spares.at(link).unwrap().1[lpn.0 as usize].into())))
    }

    fn recall(&mut self, _: &Geometry, _: &dyn SpareAreas, _: &SpareMap) {}
}

/// The place of page 1. Its chain runs from page 2, sequence 6, over page 0, sequence 3, to the
/// page that is given.
fn place(at: u8, tombstone: u64, is_full: bool) -> Option<Ppn> {
    let mut found = Found::new(&[(0, 1, 3, 3, [GONE, at]), (2, 0, 6, 6, [0, GONE])]);
    found.tombstones.add(1..2, tombstone).unwrap();
    found.search(&Links, is_full).place(Ppn(2), Lpn(1)).ok()
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
    let found = Found::new(&[(0, 0, 3, 3, [0, GONE]), (2, 0, 6, 6, [2, GONE])]);
    let search = found.search(&Lists, true);
    let pages = found.scan.copies().filter(|copy| copy.ppn == Ppn(2)).collect();
    let suspects = Suspects { pages, are_destroyed: false };
    let plan = |blocks: &[u32]| {
        let blocks: Vec<BlockId> = blocks.iter().copied().map(BlockId).collect();
        let mut flat = FlatMap::new(2, BlockPool::default());
        let plan = search.plan(&mut flat, &blocks, &suspects);
        plan.map(|plan| (plan, flat.entries(0..2).to_vec()))
    };
    let (kept, places) = plan(&[0, 1]).unwrap();
    assert_eq!((places, kept.given_up), (vec![Ppn(2), Ppn::NONE], None));
    assert!(plan(&[1]).is_err(), "no block is free");
    let (plan, _) = plan(&[0, 1, 2]).unwrap();
    assert_eq!((plan.to_copy, plan.given_up), (vec![Ppn(2)], None));
    assert!(plan.fallback.contains(&BlockId(0)));
}

#[test]
fn a_page_beyond_the_capacity_is_refused() {
    let found = Found::new(&[(0, 1, 4, 4, [GONE, 0]), (2, 3, 6, 6, [2, 0])]);
    assert!(found.scan.is_within(4).is_ok());
    assert!(found.scan.is_within(3).is_err());
}

/// The scan has read it.
#[test]
fn a_spare_area_that_has_become_unreadable_ends_the_mount() {
    let mut nand = Nand::new(geometry(), Mode::Stamps);
    let page = Page { owner: Lpn(0), kind: PMD, extra: &[], content: Content::Pad };
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Unstable });
    nand.program(Ppn(0), &page, Cause::Host).unwrap_err();
    nand.power().cycle();
    let scan = SpareScan::read(&mut nand, &[BlockId(0)]).unwrap();
    let spares = FoundSpares::new(&nand, &scan);
    assert!(spares.at(Ppn(0)).is_some() && spares.at(Ppn(1)).is_none());
    assert_eq!(spares.check(), Ok(()), "page 1 is erased");
    nand.power().decay().unwrap();
    let spares = FoundSpares::new(&nand, &scan);
    assert!(spares.at(Ppn(0)).is_none());
    assert_eq!(spares.check(), Err(nand::Error::Unreadable(Ppn(0)).into()));
}

#[test]
fn a_torn_page_occupies_its_place() {
    let mut nand = Nand::new(geometry(), Mode::Stamps);
    let page = Page { owner: Lpn(0), kind: PMD, extra: &[], content: Content::Pad };
    nand.program(Ppn(2), &page, Cause::Host).unwrap();
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Torn });
    nand.program(Ppn(3), &page, Cause::Host).unwrap_err();
    nand.power().cycle();
    let scan = SpareScan::read(&mut nand, &[0, 1, 2, 3].map(BlockId)).unwrap();
    assert_eq!([0, 1, 2, 3].map(|block| scan.occupied(BlockId(block))), [0, 2, 0, 0]);
}

/// A flash whose page 0 is the PMD page of logical block 0, with this list, and the map that a
/// mount finds on it.
fn mounted(list: [u8; 2], durability: Durability) -> Result<(Nand, SpareMap)> {
    let geometry = Geometry::new(512, 64, 2, 32, ProgramOrder::Sequential).unwrap();
    let mut nand = Nand::new(geometry, Mode::Stamps);
    let page = Page { owner: Lpn(0), kind: PMD, extra: &list, content: Content::Pad };
    nand.program(Ppn(0), &page, Cause::Host).unwrap();
    nand.power().cycle();
    let blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
    let superblock = SCHEMES.iter().find(|scheme| scheme.name == "superblock").unwrap();
    let device = MountConfig {
        params: &spec::resolve("superblock", &[], superblock.params).unwrap(),
        logical_blocks: 1,
        blocks: &blocks,
        durability,
        seed: 1,
        timing: Timing::ZERO,
        policy: None,
        foresight: None,
    };
    let mut map = SpareMap::format(&nand, &device, superblock.name)?;
    recover(&mut nand, &device, &mut map, &mut Lists)?;
    Ok((nand, map))
}

/// Without a trim log a page that is missing was trimmed. With one its trim would be there.
#[test]
fn a_page_may_be_missing_only_without_a_trim_log() {
    let missing = [0, 5];
    let (_, map) = mounted(missing, Durability::Paper).unwrap();
    assert_eq!(map.flat.entries(0..2), [Ppn(0), Ppn::NONE]);
    assert!(matches!(mounted(missing, Durability::Full), Err(Error::Unmountable(_))));
    let (_, map) = mounted([0, GONE], Durability::Full).unwrap();
    assert_eq!(map.flat.entries(0..2), [Ppn(0), Ppn::NONE]);
}

#[test]
fn the_auditor_compares_the_map_with_the_chains_in_spare_areas() {
    let (nand, mut map) = mounted([0, GONE], Durability::Paper).unwrap();
    let found = |map: &SpareMap, used: &[Ppn]| audit(&nand, map, &Lists, |_| used.to_vec());
    assert!(found(&map, &[Ppn(0)]).is_ok());
    assert!(found(&map, &[]).is_err(), "a load reads less than the chains use");
    assert!(found(&map, &[Ppn(0), Ppn(1)]).is_err(), "a load reads more than the chains use");
    map.flat.point(Lpn(1), Ppn(1));
    assert!(found(&map, &[Ppn(0)]).is_err(), "page 1 is mapped, and no chain leads to it");
    map.flat.point(Lpn(1), Ppn::NONE);
    map.flat.point(Lpn(0), Ppn::NONE);
    assert!(found(&map, &[Ppn(0)]).is_err(), "the PMD page is dead");
}
