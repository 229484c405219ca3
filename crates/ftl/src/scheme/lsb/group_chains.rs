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

use std::borrow::Cow;

use core::ops::Range;

use nand::{BlockId, ChipModel, Geometry, Lpn, Ppn};

use crate::part::index::prefetch::prefetch;
use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_mapped::{Lbn, SpareMap};
use crate::part::spare::spare_mount::{LookupPath, SpareAreas, SpareChains};
use crate::part::spare::spare_sheet::{
    BLOCK_BITS, EntryFormat, PBMT_MAX, SheetPage, SpareSheet, WideSheet,
};
use crate::scheme::lsb::block_counter::BlockCounter;

/// Bytes of the header of a spare area.
const HEADER_BYTES: u32 = nand::spare::HEADER_BYTES as u32;
/// Stands for no page of a group.
const NONE: u8 = u8::MAX;

/// Number of bits that distinguish `things` things.
pub fn bits_for(things: u32) -> u32 {
    things.next_power_of_two().trailing_zeros()
}

/// How logical blocks are divided into groups, and the layout of spare areas (LSB §III.C).
#[derive(Clone, Copy, Debug)]
pub struct GroupLayout {
    /// Groups per logical block: the paper's N.
    pub groups: u32,
    /// Pages per group, possibly fewer in the last one: the paper's G.
    pub group_pages: u32,
    /// Layout of a PT page.
    pub table: SpareSheet,
    /// Layout of a PMD page.
    pub directory: SpareSheet,
    /// Layout of a wide PMD page, if the page numbers of the device are short enough for it.
    pub wide: Option<WideSheet>,
}

impl GroupLayout {
    /// The layout for blocks of `pages_per_block` pages in `groups` groups. 0 groups stands for the
    /// paper's choice: 8 at 64 pages, otherwise the power of two at or above the square root.
    pub fn new(pages_per_block: u32, groups: u32) -> GroupLayout {
        let groups = match groups {
            0 => 1 << bits_for(pages_per_block).div_ceil(2),
            groups => groups.min(pages_per_block),
        };
        let group_pages = pages_per_block.div_ceil(groups);
        let groups = pages_per_block.div_ceil(group_pages);
        let offset_bits = bits_for(pages_per_block);
        let entries = |count, indices| EntryFormat {
            count,
            index_bits: bits_for(indices),
            this: indices - 1,
        };
        let sheet = |flag, pbmt, directory, table| SpareSheet {
            flag: Some(flag),
            pbmt,
            directory,
            table,
            offset_bits,
        };
        let table = entries(group_pages, group_pages);
        let through = (entries(groups, groups), entries(group_pages, groups + 1));
        GroupLayout {
            groups,
            group_pages,
            table: sheet(false, group_pages - 1, EntryFormat::NONE, table),
            directory: sheet(true, groups, through.0, through.1),
            wide: None,
        }
    }

    /// The layout for a device, whose size decides whether wide PMD pages fit.
    pub fn on(geometry: &Geometry, groups: u32) -> GroupLayout {
        let layout = GroupLayout::new(geometry.pages_per_block(), groups);
        let (groups, pages) = (layout.groups, layout.group_pages);
        let wide = WideSheet { groups, pages, page_bits: bits_for(geometry.pages()) };
        let most = (geometry.spare_bytes() - HEADER_BYTES) * 8;
        GroupLayout { wide: Some(wide).filter(|wide| wide.bits() <= most), ..layout }
    }

    /// Explains why this layout does not fit the spare areas of a chip; none if it fits.
    pub fn refuses(&self, chip: &ChipModel) -> Option<String> {
        let most = (chip.spare_bytes - HEADER_BYTES) * 8;
        if self.groups > PBMT_MAX as u32 || self.group_pages > PBMT_MAX as u32 {
            let (n, g) = (self.groups, self.group_pages);
            return Some(format!(
                "{n} groups of {g} pages; at most {PBMT_MAX} of {PBMT_MAX} are possible"
            ));
        }
        let (table, directory) = (self.table.bits(), self.directory.bits());
        (table.max(directory) > most).then(|| {
            let fitting = GroupLayout::fitting(chip);
            format!(
                "{}, {}; a spare area has room for {most}; {fitting}",
                self.sum_of_table(),
                self.sum_of_directory()
            )
        })
    }

    /// The bits of a PT page: inequality (1) of the paper.
    fn sum_of_table(&self) -> String {
        let (g, index, offset) =
            (self.group_pages, self.table.table.index_bits, self.table.offset_bits);
        format!(
            "a PT page needs {}·{BLOCK_BITS} + {g}·({index}+{offset}) + 1 = {} bits",
            g - 1,
            self.table.bits()
        )
    }

    /// The bits of a PMD page: inequality (2) of the paper.
    fn sum_of_directory(&self) -> String {
        let (n, g, sheet) = (self.groups, self.group_pages, &self.directory);
        let (to_page, to_group) = (sheet.table.index_bits, sheet.directory.index_bits);
        format!(
            "a PMD page {n}·{BLOCK_BITS} + {g}·({to_page}+{o}) + {n}·({to_group}+{o}) + 1 = {}",
            sheet.bits(),
            o = sheet.offset_bits
        )
    }

    /// Says which numbers of groups fit a chip.
    fn fitting(chip: &ChipModel) -> String {
        let np = chip.pages_per_block;
        let most = (chip.spare_bytes - HEADER_BYTES) * 8;
        let fits = |groups: &u32| {
            let layout = GroupLayout::new(np, *groups);
            let is_small = layout.groups.max(layout.group_pages) <= PBMT_MAX as u32;
            is_small && layout.table.bits().max(layout.directory.bits()) <= most
        };
        let fitting: Vec<String> =
            (0..=bits_for(np)).map(|bit| 1 << bit).filter(fits).map(|n| n.to_string()).collect();
        match fitting.is_empty() {
            true => format!("no number of groups fits {np} pages per block"),
            false => format!("groups={} would fit", fitting.join(" or ")),
        }
    }

    /// Number of pages of a group.
    fn pages_of(&self, pages_per_block: u32, group: u32) -> u32 {
        self.group_pages.min(pages_per_block - group * self.group_pages)
    }
}

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

/// The format of a spare area that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SheetForm {
    Table,
    Directory,
    WideDirectory,
}

/// A page of a chain, with its spare area.
#[derive(Clone, Debug)]
struct ChainPage<'s> {
    ppn: Ppn,
    owner: Lpn,
    form: SheetForm,
    bytes: Cow<'s, [u8]>,
}

/// What the simulation keeps for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    /// The pages written after the PT page, one bit each.
    stale: u64,
    /// The carrier: the page written last.
    carrier: u8,
    /// The PT page, if it is still the newest version of its page.
    table: u8,
}

const EMPTY: Group = Group { stale: 0, carrier: NONE, table: NONE };

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

    fn groups_of(&self, lbn: Lbn) -> Range<u32> {
        lbn * self.layout.groups..(lbn + 1) * self.layout.groups
    }

    fn number_in(&self, group: u32, lpn: Lpn) -> u8 {
        (lpn.0 - self.first_of(group).0) as u8
    }

    /// What is kept for a group.
    #[inline]
    fn group(&self, at: u32) -> Group {
        let [carrier, table] = self.ends[at as usize];
        Group { stale: self.stale_of(at), carrier, table }
    }

    fn set_group(&mut self, at: u32, group: Group) {
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
    fn entries<'a>(&self, flat: &'a FlatMap, group: u32) -> &'a [Ppn] {
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
    fn own(&self, ppn: Ppn, owner: Lpn) -> SheetPage {
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

    /// The page of a chain at `ppn`, if it can be read and carries entries.
    fn link<'s>(&self, spares: &'s dyn SpareAreas, ppn: Ppn) -> Option<ChainPage<'s>> {
        let (spare, bytes) = spares.at(ppn)?;
        let form = match spare.kind {
            page_kind::TABLE => SheetForm::Table,
            page_kind::DIRECTORY => SheetForm::Directory,
            page_kind::WIDE_DIRECTORY => SheetForm::WideDirectory,
            _ => return None,
        };
        spare.owner.is_host().then_some(ChainPage { ppn, owner: spare.owner, form, bytes })
    }

    /// The same, if the page is of this group.
    fn link_of<'s>(
        &self,
        spares: &'s dyn SpareAreas,
        ppn: Ppn,
        group: u32,
    ) -> Option<ChainPage<'s>> {
        self.link(spares, ppn).filter(|link| self.group_of(link.owner) == group)
    }

    /// The place of a group's carrier, according to the PMD page at `top`.
    fn carrier_at(
        &self,
        geometry: &Geometry,
        spares: &dyn SpareAreas,
        top: Ppn,
        group: u32,
    ) -> Ppn {
        match self.link(spares, top) {
            Some(link) if self.group_of(link.owner) != group => {
                self.to_group(geometry, &link, group % self.layout.groups)
            }
            _ => top,
        }
    }

    /// The place to which the entry of a group points, in a PMD page.
    fn to_group(&self, geometry: &Geometry, link: &ChainPage, group: u32) -> Ppn {
        match (link.form, self.layout.wide) {
            (SheetForm::WideDirectory, Some(wide)) => {
                wide.group(self.own(link.ppn, link.owner), &link.bytes, group)
            }
            _ => self.layout.directory.group(geometry, link.ppn, &link.bytes, group),
        }
    }

    /// The place to which the entry of a page of the own group points, in a PT or PMD page.
    fn to_page(&self, geometry: &Geometry, link: &ChainPage, page: u32) -> Ppn {
        let sheet = match (link.form, self.layout.wide) {
            (SheetForm::WideDirectory, Some(wide)) => {
                return wide.page(self.own(link.ppn, link.owner), &link.bytes, page);
            }
            (SheetForm::Table, _) => &self.layout.table,
            _ => &self.layout.directory,
        };
        sheet.page(geometry, link.ppn, &link.bytes, page)
    }

    /// Whether the place `to` in the page entries of a PMD page is that of the PT page. It is if
    /// more than one entry refers to it.
    fn is_through(&self, geometry: &Geometry, link: &ChainPage, to: Ppn) -> bool {
        let pages = 0..self.pages_of(self.group_of(link.owner));
        let alike = pages.filter(|&page| self.to_page(geometry, link, page) == to);
        link.form != SheetForm::Table && to != link.ppn && alike.count() > 1
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recalled(
        &self,
        geometry: &Geometry,
        spares: &dyn SpareAreas,
        flat: &FlatMap,
        top: Ppn,
        group: u32,
    ) -> Group {
        let entries = self.entries(flat, group);
        if entries.iter().all(|&ppn| ppn == Ppn::NONE) {
            return EMPTY;
        }
        let ppn = self.carrier_at(geometry, spares, top, group);
        let Some(link) = self.link_of(spares, ppn, group) else {
            return EMPTY;
        };
        let carrier = self.number_in(group, link.owner);
        if link.form == SheetForm::Table {
            return Group { stale: 0, carrier, table: carrier };
        }
        let mut known = Group { stale: u64::MAX, carrier, table: NONE };
        for number in 0..entries.len() as u32 {
            let to = self.to_page(geometry, &link, number);
            if self.is_through(geometry, &link, to) {
                known.stale &= !(1 << number);
                let table = entries.iter().position(|&place| place == to);
                known.table = table.map_or(NONE, |table| table as u8);
            }
        }
        known
    }
}

impl SpareChains for GroupChains {
    fn is_directory(&self, kind: u8) -> bool {
        matches!(kind, page_kind::DIRECTORY | page_kind::WIDE_DIRECTORY)
    }

    fn path(
        &self,
        geometry: &Geometry,
        spares: &dyn SpareAreas,
        directory: Ppn,
        lpn: Lpn,
    ) -> LookupPath {
        let group = self.group_of(lpn);
        let number = self.number_in(group, lpn).into();
        let mut path = LookupPath::new(directory);
        let ppn = self.carrier_at(geometry, spares, directory, group);
        let Some(carrier) = self.link_of(spares, ppn, group) else {
            return path;
        };
        if ppn != directory {
            path.push(ppn);
        }
        let to = self.to_page(geometry, &carrier, number);
        if to == ppn || !self.is_through(geometry, &carrier, to) {
            return path.to((to != ppn || carrier.owner == lpn).then_some(to));
        }
        match self.link_of(spares, to, group) {
            Some(table) if table.form != SheetForm::Table => path,
            Some(table) if table.owner == lpn => path.to(Some(to)),
            Some(table) => {
                path.push(to);
                let place = self.to_page(geometry, &table, number);
                path.to((place != to).then_some(place))
            }
            None => path,
        }
    }

    fn recall(&mut self, geometry: &Geometry, spares: &dyn SpareAreas, map: &SpareMap) {
        for lbn in 0..map.logical_blocks() {
            let top = map.directory(lbn).and_then(|page| map.flat.newest(page));
            let Some(top) = top else { continue };
            for group in self.groups_of(lbn) {
                let recalled = self.recalled(geometry, spares, &map.flat, top, group);
                self.set_group(group, recalled);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    fn wide_bits(pages_per_block: u32, blocks: u32) -> Option<u32> {
        let order = ProgramOrder::Sequential;
        let geometry = Geometry::new(2048, 64, pages_per_block, blocks, order).unwrap();
        GroupLayout::on(&geometry, 0).wide.map(|wide| wide.bits())
    }

    #[test]
    fn wide_pages_fit_if_page_numbers_are_short_enough() {
        assert_eq!(wide_bits(64, 1 << 10), Some(14 * 16));
        assert_eq!(wide_bits(64, 1 << 19), Some(14 * 25), "64 GiB: 350 of 352 bits");
        assert_eq!(wide_bits(64, (1 << 19) + 1), None, "14·26 bits are too many");
        assert_eq!(wide_bits(4, 9), Some((1 + 1) * 6), "two groups of two");
    }
}
