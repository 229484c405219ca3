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
use crate::part::index::prefetch::prefetch;
use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_mapped::Lbn;
use crate::part::spare::spare_sheet::SheetPage;

/// Stands for no page of a group.
pub(super) const NONE: u8 = u8::MAX;

/// The numbers of the bits that are set, in ascending order.
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

    /// Whether this is the role of a PMD page.
    pub fn is_directory(self) -> bool {
        matches!(self, Role::Directory | Role::WideDirectory)
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

/// A group without valid pages.
pub(super) const EMPTY: Group = Group { stale: 0, carrier: NONE, table: NONE };

/// The groups of all logical blocks.
#[derive(Clone, Debug)]
pub struct GroupChains {
    layout: GroupLayout,
    /// For each group its carrier and its PT page.
    ends: Vec<[u8; 2]>,
    /// The stale pages of all groups, one bit for each logical page.
    stale: Vec<u64>,
    /// Counts the blocks to which a page refers. Kept to reuse its memory.
    referred: BlockCounter,
    pages_per_block: u32,
    /// log2 of the pages per block and per group, if both are integers. They save every write some
    /// divisions.
    shifts: Option<[u32; 2]>,
}

impl GroupChains {
    /// The groups of an empty device.
    pub fn new(layout: GroupLayout, logical_blocks: u32, geometry: &Geometry) -> GroupChains {
        let pages_per_block = geometry.pages_per_block();
        let ends = vec![[NONE; 2]; (logical_blocks * layout.groups) as usize];
        let stale = vec![0; (logical_blocks * pages_per_block).div_ceil(64) as usize];
        let sizes = [pages_per_block, layout.group_pages];
        let whole = sizes.iter().all(|size| size.is_power_of_two());
        let shifts = whole.then(|| sizes.map(u32::trailing_zeros));
        let referred = BlockCounter::new(geometry.blocks());
        GroupChains { layout, ends, stale, referred, pages_per_block, shifts }
    }

    /// The layout of groups and spare areas.
    pub fn layout(&self) -> &GroupLayout {
        &self.layout
    }

    // ---- Page and block numbers ---------------------------------------------------------------

    /// The number of a page's group, counted over the device.
    #[inline]
    pub fn group_of(&self, lpn: Lpn) -> u32 {
        if let Some([_, group]) = self.shifts {
            return lpn.0 >> group;
        }
        let (lbn, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        lbn * self.layout.groups + offset / self.layout.group_pages
    }

    /// The first page of a group.
    #[inline]
    fn first_of(&self, group: u32) -> Lpn {
        if let Some([_, pages]) = self.shifts {
            return Lpn(group << pages);
        }
        let (lbn, number) = (group / self.layout.groups, group % self.layout.groups);
        Lpn(lbn * self.pages_per_block + number * self.layout.group_pages)
    }

    /// Number of pages of a group.
    #[inline]
    pub fn pages_of(&self, group: u32) -> u32 {
        if self.shifts.is_some() {
            return self.layout.group_pages;
        }
        self.layout.pages_of(self.pages_per_block, group % self.layout.groups)
    }

    /// The logical block of a page.
    #[inline]
    fn lbn_of(&self, lpn: Lpn) -> Lbn {
        match self.shifts {
            Some([block, _]) => lpn.0 >> block,
            None => lpn.0 / self.pages_per_block,
        }
    }

    pub(super) fn groups_of(&self, lbn: Lbn) -> Range<u32> {
        lbn * self.layout.groups..(lbn + 1) * self.layout.groups
    }

    pub(super) fn number_in(&self, group: u32, lpn: Lpn) -> u8 {
        (lpn.0 - self.first_of(group).0) as u8
    }

    /// What is kept for a group.
    #[inline]
    fn group(&self, at: u32) -> Group {
        let [carrier, table] = self.ends[at as usize];
        Group { stale: self.stale_of(at), carrier, table }
    }

    pub(super) fn set_group(&mut self, at: u32, group: Group) {
        self.ends[at as usize] = [group.carrier, group.table];
        let (first, pages) = (self.first_of(at).0, self.pages_of(at));
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
        let (first, pages) = (self.first_of(at).0, self.pages_of(at));
        let low = self.stale[first as usize / 64] >> (first % 64);
        // Where sizes are no powers of two, the bits of a group may continue in the next word.
        let high = match first % 64 + pages > 64 {
            true => self.stale[first as usize / 64 + 1] << (64 - first % 64),
            false => 0,
        };
        (low | high) & u64::MAX >> (64 - pages)
    }

    #[inline]
    fn stale_bit(&mut self, lpn: Lpn) -> (&mut u64, u64) {
        (&mut self.stale[lpn.0 as usize / 64], 1 << (lpn.0 % 64))
    }

    /// The page with this number in a group; none for [`NONE`].
    fn page_of(&self, group: u32, number: u8) -> Option<Lpn> {
        (number != NONE).then(|| self.first_of(group).plus(number.into()))
    }

    /// The entries of a group, mapped or not.
    pub(super) fn entries<'a>(&self, flat: &'a FlatMap, group: u32) -> &'a [Ppn] {
        let first = self.first_of(group).0;
        flat.entries(first..first + self.pages_of(group))
    }

    /// Prefetches the group of a page.
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.ends, self.group_of(lpn) as usize);
        prefetch(&self.stale, lpn.0 as usize / 64);
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Notes that a page got a new place, in this role.
    #[inline]
    pub fn note(&mut self, lpn: Lpn, role: Role) {
        let at = self.group_of(lpn);
        let number = self.number_in(at, lpn);
        match role {
            Role::Plain => {}
            Role::Table { .. } => {
                self.set_group(at, Group { stale: 0, carrier: number, table: number });
            }
            Role::Directory | Role::WideDirectory => {
                let (word, bit) = self.stale_bit(lpn);
                *word |= bit;
                let [carrier, table] = &mut self.ends[at as usize];
                *carrier = number;
                if *table == number {
                    *table = NONE;
                }
            }
        }
    }

    /// The entry that a PMD page holds for a page of its own group: the place of the PT page if
    /// that is up to date for it, otherwise the place of the page.
    #[inline]
    fn reference(&self, group: &Group, entries: &[Ppn], number: usize) -> Ppn {
        match group.table != NONE && group.stale >> number & 1 == 0 {
            true => entries[group.table as usize],
            false => entries[number],
        }
    }

    /// The group entries of the PMD page `lpn`, which is at `own`.
    fn to_groups(&self, flat: &FlatMap, lpn: Lpn, own: Ppn) -> impl Iterator<Item = Ppn> {
        let groups = self.groups_of(self.lbn_of(lpn));
        let number = (self.group_of(lpn) - groups.start) as usize;
        let first = self.first_of(groups.start).0;
        let entries = flat.entries(first..first + self.pages_per_block);
        let ends = self.ends[groups.start as usize..groups.end as usize].iter().enumerate();
        let group_pages = self.layout.group_pages as usize;
        ends.map(move |(other, &[carrier, _])| match carrier {
            NONE => own,
            _ if other == number => own,
            carrier => match entries[other * group_pages + usize::from(carrier)] {
                Ppn::NONE => own,
                place => place,
            },
        })
    }

    /// The page entries of the PMD page `lpn`, which is at `own`.
    fn to_pages(&self, flat: &FlatMap, lpn: Lpn, own: Ppn) -> impl Iterator<Item = Ppn> {
        let at = self.group_of(lpn);
        let (number, mut group) = (self.number_in(at, lpn), self.group(at));
        if group.table == number {
            group.table = NONE;
        }
        let entries = self.entries(flat, at);
        (0..entries.len()).map(move |page| match entries[page] {
            _ if page == number.into() => own,
            Ppn::NONE => own,
            _ => self.reference(&group, entries, page),
        })
    }

    /// Whether page `lpn`, if it is written to `block` as the only one of its group, needs a
    /// mapping-induced write because its entries would refer to too many blocks. If so, returns the
    /// page to copy before it as the group's PT page: the old PT page or, if there is none, the
    /// lowest valid page.
    #[inline]
    pub fn mapping_write(
        &mut self,
        geometry: &Geometry,
        flat: &FlatMap,
        lpn: Lpn,
        block: BlockId,
    ) -> Option<Lpn> {
        let at = self.group_of(lpn);
        let direct = self.direct(at, lpn);
        let pbmt = self.layout.directory.pbmt;
        if self.layout.groups - 1 + direct.count_ones() <= pbmt {
            return None;
        }
        if self.blocks_referred(geometry, flat, lpn, direct, block) <= pbmt {
            return None;
        }
        let table = self.page_of(at, self.group(at).table).filter(|&table| table != lpn);
        let entries = self.entries(flat, at).iter();
        let mut valid = entries.zip(self.first_of(at).0..).filter(|&(&ppn, _)| ppn != Ppn::NONE);
        table.or_else(|| valid.find(|&(_, page)| page != lpn.0).map(|(_, page)| Lpn(page)))
    }

    /// The pages of its group to whose places page `lpn` as a PMD page refers, one bit each: the PT
    /// page and the pages that are stale there or, without a PT page, all others.
    #[inline]
    fn direct(&self, group: u32, lpn: Lpn) -> u64 {
        let Group { stale, table, .. } = self.group(group);
        let number = self.number_in(group, lpn);
        let pages = match table == NONE || table == number {
            true => u64::MAX >> (64 - self.pages_of(group)),
            false => stale | 1 << table,
        };
        pages & !(1 << number)
    }

    /// Number of blocks, without `block`, to which a PMD page there refers: those of the carriers
    /// of all other groups, and of the pages `direct` of its own group.
    #[inline]
    fn blocks_referred(
        &mut self,
        geometry: &Geometry,
        flat: &FlatMap,
        lpn: Lpn,
        direct: u64,
        block: BlockId,
    ) -> u32 {
        let lbn = self.lbn_of(lpn);
        let groups = self.groups_of(lbn);
        let own = (self.group_of(lpn) - groups.start) as usize;
        let entries = flat.entries(lbn * self.pages_per_block..(lbn + 1) * self.pages_per_block);
        let group_pages = self.layout.group_pages as usize;
        let ends = &self.ends[groups.start as usize..groups.end as usize];
        let others = ends.iter().enumerate().filter(|&(at, ends)| at != own && ends[0] != NONE);
        let carriers = others.map(|(at, ends)| at * group_pages + usize::from(ends[0]));
        let numbers = carriers.chain(ones(direct).map(|number| own * group_pages + number));
        let places = numbers.map(|number| entries[number]).filter(|&ppn| ppn != Ppn::NONE);
        self.referred.count_but(block, places.map(|ppn| geometry.block_of(ppn)))
    }

    /// Composes the scheme bytes of a page that has been noted.
    pub fn compose(
        &self,
        geometry: &Geometry,
        flat: &FlatMap,
        lpn: Lpn,
        role: Role,
        bytes: &mut Vec<u8>,
    ) {
        let own =
            flat.newest(lpn).expect("a page gets its place before its spare area is composed");
        match role {
            Role::Plain => bytes.clear(),
            Role::Table { but } => {
                let at = self.group_of(lpn);
                let pages = self.entries(flat, at).iter().zip(self.first_of(at).0..);
                let place = |(&ppn, page): (&Ppn, u32)| match ppn {
                    Ppn::NONE => own,
                    _ if but == Some(Lpn(page)) => own,
                    ppn => ppn,
                };
                let none = core::iter::empty();
                self.layout.table.compose(geometry, own, none, pages.map(place), bytes);
            }
            Role::Directory | Role::WideDirectory => {
                let (groups, pages) =
                    (self.to_groups(flat, lpn, own), self.to_pages(flat, lpn, own));
                match self.layout.wide.filter(|_| role == Role::WideDirectory) {
                    Some(wide) => wide.compose(self.own(own, lpn), groups, pages, bytes),
                    None => self.layout.directory.compose(geometry, own, groups, pages, bytes),
                }
            }
        }
    }

    /// The properties of a page that its wide entries depend on.
    pub(super) fn own(&self, ppn: Ppn, owner: Lpn) -> SheetPage {
        let group = self.group_of(owner);
        let page = self.number_in(group, owner).into();
        SheetPage { ppn, group: group % self.layout.groups, page }
    }

    // ---- Trimming -----------------------------------------------------------------------------

    /// The page of a group that must be copied if the pages `gone` are trimmed: the lowest
    /// remaining page, if the trim removes a page that holds map entries of others.
    pub fn anchor(&self, flat: &FlatMap, group: u32, gone: &Range<u32>) -> Option<Lpn> {
        let known = self.group(group);
        let first = self.first_of(group).0;
        let entries = self.entries(flat, group);
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
        let entries = self.entries(flat, group);
        let is_gone = |number: u8| number != NONE && entries[number as usize] == Ppn::NONE;
        let known = self.group(group);
        if entries.iter().all(|&ppn| ppn == Ppn::NONE) {
            self.set_group(group, EMPTY);
        } else if is_gone(known.table) {
            self.set_group(group, Group { table: NONE, ..known });
        }
    }

    /// Whether a portion may induce a write. It may if its last page is its only page of that
    /// group, and the group has more pages.
    #[inline]
    pub fn is_alone(&self, portion: &[Lpn]) -> bool {
        let group = |lpn: &Lpn| self.group_of(*lpn);
        match portion {
            [.., before, last] if group(before) == group(last) => false,
            [.., last] => self.pages_of(group(last)) > 1,
            [] => false,
        }
    }

    /// The maximum number of programs that writing these pages (ascending) can take: one portion
    /// for each logical block, each possibly with an induced write.
    pub fn programs_max(&self, pages: &[Lpn]) -> u32 {
        let portions = pages.chunk_by(|a, b| self.lbn_of(*a) == self.lbn_of(*b));
        pages.len() as u32 + portions.filter(|portion| self.is_alone(portion)).count() as u32
    }

    /// The groups to which these pages belong.
    pub fn groups_between(&self, pages: &Range<u32>) -> Range<u32> {
        self.group_of(Lpn(pages.start))..self.group_of(Lpn(pages.end - 1)) + 1
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Lists the pages whose spare areas hold the current map of a logical block.
    pub fn spares(&self, flat: &FlatMap, lbn: Lbn, places: &mut Vec<Ppn>) {
        places.clear();
        let groups = self.groups_of(lbn);
        let ends = &self.ends[groups.start as usize..groups.end as usize];
        for (at, &[carrier, table]) in groups.zip(ends) {
            if carrier == NONE {
                continue;
            }
            let entries = self.entries(flat, at);
            places.push(entries[carrier as usize]);
            if table != NONE && table != carrier {
                let all = u64::MAX >> (64 - entries.len());
                let served = !self.stale_of(at) & !(1 << table) & all;
                if ones(served).any(|number| entries[number] != Ppn::NONE) {
                    places.push(entries[table as usize]);
                }
            }
        }
    }
}
