//! Chains of spare areas in lsb: which pages of a logical block are PMD and PT pages, and what
//! their spare areas say.
//!
//! ```text
//! group     0 [0 1 2 3]      1 [4 5 6 7]      2 [8 9 a b]        written: 5, 6, 8, then 9 alone
//!                P                T P?             D              D newest PMD page, T PT page
//! PMD of 9    group 0 ─▶ 3     group 1 ─▶ 6     8 direct
//! ```
//! A logical block is divided into groups. The page of a group that was written last is its
//! *carrier*; the newest PMD page says where it is. The carrier is one of two kinds:
//!
//! * a PT page, which says directly where all pages of the group are; or
//! * a former or the newest PMD page. For pages that have not been written since the group's PT
//!   page was written, it refers to that PT page; for all others it says directly where they are.
//!
//! So a look-up reads at most three spare areas. A *wide* PMD page says the same in another format,
//! and can refer to any number of blocks.
//!
//! For each group the simulation keeps the carrier, the PT page, and which pages were written after
//! the PT page (*stale* there). The contents of spare areas follow from these and from the flat
//! map.
//!
//! Invariants: the carrier and the PT page are valid; a group without valid pages has neither.

use core::ops::Range;

use nand::{BlockId, Geometry, Lpn, Ppn};

use super::block_counter::BlockCounter;
use super::layout::GroupLayout;
use crate::contract::{Violation, ensure};
use crate::part::index::prefetch::prefetch;
use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::page_kind;
use crate::part::spare::page_groups::PageGroups;
use crate::part::spare::spare_map::Lbn;

/// Stands for no page of a group.
pub(super) const NONE: u8 = u8::MAX;

/// The numbers of the bits that are set, in ascending order.
#[inline]
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// What the spare area of a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The header only.
    Plain,
    /// A PT: where the pages of the group are.
    Table {
        /// A page that is left out, because it is about to be written.
        but: Option<Lpn>,
    },
    /// A PMD page's entries: the carriers of all groups, and where the pages of its own group are.
    Directory,
    /// The same entries as full page numbers.
    WideDirectory,
}

impl Role {
    /// The kind of a page in this role.
    pub fn kind(self) -> u8 {
        match self {
            Role::Plain => page_kind::DATA,
            Role::Table { .. } => page_kind::TABLE,
            Role::Directory => page_kind::DIRECTORY,
            Role::WideDirectory => page_kind::WIDE_DIRECTORY,
        }
    }
}

/// What the simulation keeps for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The pages written after the PT page, one bit each.
    pub stale: u64,
    /// The carrier: the page written last.
    pub carrier: u8,
    /// The PT page, if it is still the newest version of its page.
    pub table: u8,
}

/// A page of a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupPage {
    lpn: Lpn,
    /// The number of the group, counted over the device.
    pub group: u32,
    /// The first page of the group.
    first: Lpn,
    /// Number of pages of the group.
    pages: u32,
}

impl GroupPage {
    /// The number of the page in its group.
    #[inline]
    fn number(self) -> u8 {
        (self.lpn.0 - self.first.0) as u8
    }
}

/// A group without valid pages.
pub(super) const EMPTY: Group = Group { stale: 0, carrier: NONE, table: NONE };

/// The groups of all logical blocks.
#[derive(Clone, Debug)]
pub struct GroupChains {
    pub(super) layout: GroupLayout,
    /// For each group its carrier and its PT page.
    pub(super) ends: Vec<[u8; 2]>,
    /// For each group the block of its carrier, or [`nowhere`](BlockCounter::nowhere). It follows
    /// from the flat map, but a move of a page looks at those of a whole logical block.
    homes: Vec<BlockId>,
    /// The stale pages of all groups, one bit for each logical page.
    stale: Vec<u64>,
    /// Counts the blocks to which a page refers. Kept to reuse its memory.
    referred: BlockCounter,
    /// The pages of each group.
    pub groups: PageGroups,
}

impl GroupChains {
    /// The groups of an empty device.
    pub fn new(layout: GroupLayout, logical_blocks: u32, geometry: &Geometry) -> GroupChains {
        let pages_per_block = geometry.pages_per_block();
        let ends = vec![[NONE; 2]; (logical_blocks * layout.groups) as usize];
        let stale = vec![0; (logical_blocks * pages_per_block).div_ceil(64) as usize];
        let groups = PageGroups::new(pages_per_block, layout.groups, layout.group_pages);
        let referred = BlockCounter::new(geometry.blocks());
        let homes = vec![referred.nowhere(); ends.len()];
        GroupChains { layout, ends, homes, stale, referred, groups }
    }

    /// The layout of groups and spare areas.
    pub fn layout(&self) -> &GroupLayout {
        &self.layout
    }

    // ---- Page and block numbers ---------------------------------------------------------------

    /// A page, with its place in its group.
    #[inline]
    pub fn page(&self, lpn: Lpn) -> GroupPage {
        let group = self.groups.of(lpn);
        GroupPage {
            lpn,
            group,
            first: self.groups.first(group),
            pages: self.groups.pages_in(group),
        }
    }

    pub(super) fn number_in(&self, group: u32, lpn: Lpn) -> u8 {
        (lpn.0 - self.groups.first(group).0) as u8
    }

    /// What is kept for a group.
    #[inline]
    pub(super) fn group(&self, at: u32) -> Group {
        let [carrier, table] = self.ends[at as usize];
        Group { stale: self.stale_of(at), carrier, table }
    }

    /// Sets what is kept for a group, whose carrier is in block `home`.
    pub(super) fn set_group(&mut self, at: u32, group: Group, home: BlockId) {
        self.ends[at as usize] = [group.carrier, group.table];
        self.homes[at as usize] = home;
        let (first, pages) = (self.groups.first(at).0, self.groups.pages_in(at));
        let (word, shift) = (first as usize / 64, first % 64);
        let all = u64::MAX >> (64 - pages);
        let stale = group.stale & all;
        self.stale[word] = self.stale[word] & !(all << shift) | stale << shift;
        if shift + pages > 64 {
            let next = &mut self.stale[word + 1];
            *next = *next & !(all >> (64 - shift)) | stale >> (64 - shift);
        }
    }

    /// The stale pages of a group.
    #[inline]
    fn stale_of(&self, at: u32) -> u64 {
        self.stale_between(self.groups.first(at), self.groups.pages_in(at))
    }

    /// The stale pages among these consecutive ones.
    #[inline]
    fn stale_between(&self, first: Lpn, pages: u32) -> u64 {
        let (word, shift) = (first.0 as usize / 64, first.0 % 64);
        let low = self.stale[word] >> shift;
        // Where sizes are no powers of two, the bits of a group may continue in the next word.
        let high = match shift + pages > 64 {
            true => self.stale[word + 1] << (64 - shift),
            false => 0,
        };
        (low | high) & u64::MAX >> (64 - pages)
    }

    /// The page with this number in a group; none for [`NONE`].
    fn page_of(&self, group: u32, number: u8) -> Option<Lpn> {
        (number != NONE).then(|| self.groups.first(group).plus(number.into()))
    }

    /// Prefetches the group of a page.
    #[inline(always)]
    pub fn prefetch(&self, lpn: Lpn) {
        let group = self.groups.of(lpn) as usize;
        prefetch(&self.ends, group);
        prefetch(&self.homes, group);
        prefetch(&self.stale, lpn.0 as usize / 64);
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Notes that a page got a new place in this block, as a PT page.
    #[inline]
    pub fn note_table(&mut self, page: GroupPage, block: BlockId) {
        let number = page.number();
        self.set_group(page.group, Group { stale: 0, carrier: number, table: number }, block);
    }

    /// Notes that a page got a new place in this block, as a PMD page.
    #[inline]
    pub fn note_directory(&mut self, page: GroupPage, block: BlockId) {
        let (at, lpn) = (page.group as usize, page.lpn.0);
        self.stale[lpn as usize / 64] |= 1 << (lpn % 64);
        self.homes[at] = block;
        let [carrier, table] = &mut self.ends[at];
        *carrier = page.number();
        if *table == *carrier {
            *table = NONE;
        }
    }

    /// Whether the entries of this page fit a PMD page in `block`, if it is written as the only
    /// page of its group: they must not refer to too many blocks.
    #[inline]
    pub fn fits(
        &mut self,
        geometry: &Geometry,
        flat: &FlatMap,
        page: GroupPage,
        block: BlockId,
    ) -> bool {
        let direct = self.direct(page);
        // The carriers of all other groups and one page of the own group always fit.
        debug_assert_eq!(self.layout.directory.pbmt, self.layout.groups);
        let is_at_most_one = direct & direct.wrapping_sub(1) == 0;
        is_at_most_one || self.has_few_blocks(geometry, flat, page, direct, block)
    }

    /// The page to copy as the PT page of a group, before page `lpn` is written: the old PT page
    /// or, if there is none, the lowest other valid page.
    pub fn table_to_copy(&self, flat: &FlatMap, lpn: Lpn) -> Option<Lpn> {
        let at = self.groups.of(lpn);
        let table = self.page_of(at, self.group(at).table).filter(|&table| table != lpn);
        let entries = self.groups.entries(flat, at).iter();
        let mut valid =
            entries.zip(self.groups.first(at).0..).filter(|&(&ppn, _)| ppn != Ppn::NONE);
        table.or_else(|| valid.find(|&(_, page)| page != lpn.0).map(|(_, page)| Lpn(page)))
    }

    /// The pages of its group to whose places a page refers as a PMD page, one bit each: the PT
    /// page and the pages that are stale there or, without a PT page, all others.
    #[inline]
    fn direct(&self, page: GroupPage) -> u64 {
        let ([_, table], number) = (self.ends[page.group as usize], page.number());
        let pages = match table == NONE || table == number {
            true => u64::MAX >> (64 - page.pages),
            false => self.stale_between(page.first, page.pages) | 1 << table,
        };
        pages & !(1 << number)
    }

    /// Whether a PMD page in `block` refers to no more other blocks than a PMD page has room for:
    /// those of the carriers of all other groups, and of the pages `direct` of its own group.
    #[inline]
    fn has_few_blocks(
        &mut self,
        geometry: &Geometry,
        flat: &FlatMap,
        page: GroupPage,
        direct: u64,
        block: BlockId,
    ) -> bool {
        let groups = self.groups.of_block(self.groups.lbn_of(page.lpn));
        let homes = &self.homes[groups.start as usize..groups.end as usize];
        let (before, after) = homes.split_at((page.group - groups.start) as usize);
        let entries = flat.entries(page.first.0..page.first.0 + page.pages);
        let room = self.layout.directory.pbmt;
        let mut met = self.referred.without(block);
        before.iter().for_each(|&home| met.add(home));
        after[1..].iter().for_each(|&home| met.add(home));
        ones(direct).all(|number| {
            if entries[number] != Ppn::NONE {
                met.add(geometry.block_of(entries[number]));
            }
            met.distinct() <= room
        })
    }

    // ---- Trimming -----------------------------------------------------------------------------

    /// The page of a group that must be copied if the pages `gone` are trimmed: the lowest
    /// remaining page, if the trim removes a page that holds map entries of others.
    pub fn anchor(&self, flat: &FlatMap, group: u32, gone: &Range<u32>) -> Option<Lpn> {
        let known = self.group(group);
        let first = self.groups.first(group).0;
        let entries = self.groups.entries(flat, group);
        let is_left = |at: usize| entries[at] != Ppn::NONE && !gone.contains(&(first + at as u32));
        let lowest = (0..entries.len()).find(|&at| is_left(at))?;
        let through = |at: usize| is_left(at) && known.stale >> at & 1 == 0;
        let loses_table =
            known.table != NONE && !is_left(known.table.into()) && (0..entries.len()).any(through);
        let loses_carrier = !is_left(known.carrier.into());
        (loses_table || loses_carrier).then(|| Lpn(first + lowest as u32))
    }

    /// Notes that pages of a group were trimmed. A trimmed PT page is not used any more.
    pub fn forget(&mut self, flat: &FlatMap, group: u32) {
        let entries = self.groups.entries(flat, group);
        let is_gone = |number: u8| number != NONE && entries[number as usize] == Ppn::NONE;
        let known = self.group(group);
        if self.groups.is_empty(flat, group) {
            self.set_group(group, EMPTY, self.referred.nowhere());
        } else if is_gone(known.table) {
            let home = self.homes[group as usize];
            self.set_group(group, Group { table: NONE, ..known }, home);
        }
    }

    /// The maximum number of programs that writing these pages (ascending) can take: one portion
    /// for each logical block. A portion may induce a write if its last page is its only page of
    /// that group.
    pub fn programs_max(&self, pages: &[Lpn]) -> u32 {
        let (mut alone, mut induced) = (false, 0);
        let (mut lbn, mut group) = (None, None);
        for &lpn in pages {
            let own = (Some(self.groups.lbn_of(lpn)), self.groups.of(lpn));
            induced += u32::from(alone && own.0 != lbn);
            alone = Some(own.1) != group && self.groups.pages_in(own.1) > 1;
            (lbn, group) = (own.0, Some(own.1));
        }
        pages.len() as u32 + induced + u32::from(alone)
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Appends the pages whose spare areas hold the current map of a logical block.
    pub fn spares(&self, flat: &FlatMap, lbn: Lbn, places: &mut Vec<Ppn>) {
        let groups = self.groups.of_block(lbn);
        let (mut first, end) = (self.groups.first(groups.start).0, self.groups.first(groups.end).0);
        for &[carrier, table] in &self.ends[groups.start as usize..groups.end as usize] {
            let pages = self.layout.group_pages.min(end - first);
            let entries = flat.entries(first..first + pages);
            if carrier != NONE {
                places.push(entries[carrier as usize]);
            }
            if table != NONE && table != carrier {
                let fresh = !self.stale_between(Lpn(first), pages);
                let served = fresh & u64::MAX >> (64 - pages) & !(1 << table);
                if ones(served).any(|number| entries[number] != Ppn::NONE) {
                    places.push(entries[table as usize]);
                }
            }
            first += pages;
        }
    }

    // ---- Auditing -----------------------------------------------------------------------------

    /// Checks that the carrier of each group is in the block that is recorded for it.
    ///
    /// # Errors
    /// The first group of which this is not true.
    pub fn audit_homes(&self, geometry: &Geometry, flat: &FlatMap) -> Result<(), Violation> {
        for (at, &home) in (0..).zip(&self.homes) {
            let found = self.home(geometry, flat, at, self.ends[at as usize][0]);
            ensure!(home == found, "group {at}: recorded in {home:?}, its carrier is in {found:?}");
        }
        Ok(())
    }

    /// The block of page `carrier` of a group.
    pub(super) fn home(
        &self,
        geometry: &Geometry,
        flat: &FlatMap,
        group: u32,
        carrier: u8,
    ) -> BlockId {
        let carrier = self.page_of(group, carrier).and_then(|lpn| flat.newest(lpn));
        carrier.map_or(self.referred.nowhere(), |ppn| geometry.block_of(ppn))
    }
}
