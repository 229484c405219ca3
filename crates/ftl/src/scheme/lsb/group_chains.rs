//! Which pages of a logical block say where the others are: lsb's PMD and PT pages.
//!
//! ```text
//! group     0 [0 1 2 3]      1 [4 5 6 7]      2 [8 9 a b]        written: 5, 6, 8, then 9 alone
//!                P                T P?             D              D newest PMD page, T PT page
//! PMD of 9    group 0 ─▶ 3     group 1 ─▶ 6     8 direct
//! ```
//! A logical block is cut into groups. The page of a group that was written last, its *carrier*, is
//! known to the newest PMD page. It is a PT page, which knows all pages of the group directly; or a
//! PMD page of its own time, which knows the pages that were not written since the group's PT page
//! through that one, and the others directly. So a look-up reads three spare areas at most. A
//! *wide* PMD page says the same in other bits, and has room for any blocks whatever.
//!
//! Of each group the simulation remembers the carrier, the PT page, and which pages were written
//! after it (*stale* there); what spare areas say follows from that and the flat map.
//!
//! Invariants: carrier and PT page are valid; a group without valid pages has neither.

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

/// Bytes of a spare area that belong to the header.
const HEADER_BYTES: u32 = nand::spare::HEADER_BYTES as u32;
/// No page of a group.
const NONE: u8 = u8::MAX;

/// Bits that tell so many things apart.
pub fn bits_for(things: u32) -> u32 {
    things.next_power_of_two().trailing_zeros()
}

/// How logical blocks are cut, and how spare areas are laid out (LSB §III.C).
#[derive(Clone, Copy, Debug)]
pub struct GroupLayout {
    /// Groups of a logical block: the paper's N.
    pub groups: u32,
    /// Pages of a group, the last one perhaps fewer: the paper's G.
    pub group_pages: u32,
    /// The sheet of a PT page.
    pub table: SpareSheet,
    /// The sheet of a PMD page.
    pub directory: SpareSheet,
    /// The sheet of a wide one, on a device whose page numbers are short enough.
    pub wide: Option<WideSheet>,
}

impl GroupLayout {
    /// Blocks of so many pages in so many groups; 0: the paper's choice, 8 at 64 pages, and else
    /// the power of two next to the root.
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

    /// The same on a device, whose size decides whether wide PMD pages fit.
    pub fn on(geometry: &Geometry, groups: u32) -> GroupLayout {
        let layout = GroupLayout::new(geometry.pages_per_block(), groups);
        let (groups, pages) = (layout.groups, layout.group_pages);
        let wide = WideSheet { groups, pages, page_bits: bits_for(geometry.pages()) };
        let most = (geometry.spare_bytes() - HEADER_BYTES) * 8;
        GroupLayout { wide: Some(wide).filter(|wide| wide.bits() <= most), ..layout }
    }

    /// The sentence that says why this does not fit a chip's spare areas, if it does not.
    pub fn refuses(&self, chip: &ChipModel) -> Option<String> {
        let most = (chip.spare_bytes - HEADER_BYTES) * 8;
        if self.groups > PBMT_MAX as u32 || self.group_pages > PBMT_MAX as u32 {
            let (n, g) = (self.groups, self.group_pages);
            return Some(format!("{n} groups of {g} pages; {PBMT_MAX} of {PBMT_MAX} are most"));
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

    /// Inequality (1) of the paper.
    fn sum_of_table(&self) -> String {
        let (g, index, offset) =
            (self.group_pages, self.table.table.index_bits, self.table.offset_bits);
        format!(
            "a PT page needs {}·{BLOCK_BITS} + {g}·({index}+{offset}) + 1 = {} bits",
            g - 1,
            self.table.bits()
        )
    }

    /// Inequality (2) of the paper.
    fn sum_of_directory(&self) -> String {
        let (n, g, sheet) = (self.groups, self.group_pages, &self.directory);
        let (to_page, to_group) = (sheet.table.index_bits, sheet.directory.index_bits);
        format!(
            "a PMD page {n}·{BLOCK_BITS} + {g}·({to_page}+{o}) + {n}·({to_group}+{o}) + 1 = {}",
            sheet.bits(),
            o = sheet.offset_bits
        )
    }

    /// Which numbers of groups fit a chip.
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
            true => format!("no number of groups fits {np} pages a block"),
            false => format!("groups={} would fit", fitting.join(" or ")),
        }
    }

    /// Pages of a group.
    fn pages_of(&self, pages_per_block: u32, group: u32) -> u32 {
        self.group_pages.min(pages_per_block - group * self.group_pages)
    }
}

/// What a page's spare area is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The header only.
    Plain,
    /// Where the group's pages are, but for one that is about to be written.
    Table {
        /// That one.
        but: Option<Lpn>,
    },
    /// Which pages know the groups, and where the pages of its own are.
    Directory,
    /// The same, whichever blocks they are in.
    WideDirectory,
}

impl Role {
    /// The kind of such a page.
    pub fn kind(self) -> u8 {
        match self {
            Role::Plain => page_kind::DATA,
            Role::Table { .. } => page_kind::TABLE,
            Role::Directory => page_kind::DIRECTORY,
            Role::WideDirectory => page_kind::WIDE_DIRECTORY,
        }
    }

    /// Whether it is a PMD page's.
    pub fn is_directory(self) -> bool {
        matches!(self, Role::Directory | Role::WideDirectory)
    }
}

/// How a page's spare area is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SheetForm {
    Table,
    Directory,
    WideDirectory,
}

/// A page of a chain, as it was read.
#[derive(Clone, Debug)]
struct ChainPage<'s> {
    ppn: Ppn,
    owner: Lpn,
    form: SheetForm,
    bytes: Cow<'s, [u8]>,
}

/// What is remembered of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    /// Pages written after the PT page, by bits.
    stale: u64,
    /// The page written last.
    carrier: u8,
    /// The PT page, if it still holds its page's newest version.
    table: u8,
}

const EMPTY: Group = Group { stale: 0, carrier: NONE, table: NONE };

/// The groups of all logical blocks.
#[derive(Clone, Debug)]
pub struct GroupChains {
    layout: GroupLayout,
    groups: Vec<Group>,
    pages_per_block: u32,
    /// log2 of pages a block and a group, where both are whole: divisions stand on every write.
    shifts: Option<[u32; 2]>,
}

impl GroupChains {
    /// Groups without pages.
    pub fn new(layout: GroupLayout, logical_blocks: u32, pages_per_block: u32) -> GroupChains {
        let groups = vec![EMPTY; (logical_blocks * layout.groups) as usize];
        let sizes = [pages_per_block, layout.group_pages];
        let whole = sizes.iter().all(|size| size.is_power_of_two());
        let shifts = whole.then(|| sizes.map(u32::trailing_zeros));
        GroupChains { layout, groups, pages_per_block, shifts }
    }

    /// How blocks are cut.
    pub fn layout(&self) -> &GroupLayout {
        &self.layout
    }

    // ---- Numbers ------------------------------------------------------------------------------

    /// The group of a page, counted over the device.
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

    /// Pages of a group.
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

    /// A page of a group by its number in it; none for none.
    fn page_of(&self, group: u32, number: u8) -> Option<Lpn> {
        (number != NONE).then(|| self.first_of(group).plus(number.into()))
    }

    /// The group's pages, mapped or not.
    fn entries<'a>(&self, flat: &'a FlatMap, group: u32) -> &'a [Ppn] {
        let first = self.first_of(group).0;
        flat.entries(first..first + self.pages_of(group))
    }

    /// A hint that a page's group is needed soon.
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.groups, self.group_of(lpn) as usize);
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// A page was placed, in this role.
    #[inline]
    pub fn note(&mut self, lpn: Lpn, role: Role) {
        let at = self.group_of(lpn);
        let number = self.number_in(at, lpn);
        let group = &mut self.groups[at as usize];
        match role {
            Role::Plain => {}
            Role::Table { .. } => *group = Group { stale: 0, carrier: number, table: number },
            Role::Directory | Role::WideDirectory => {
                group.stale |= 1 << number;
                group.carrier = number;
                if group.table == number {
                    group.table = NONE;
                }
            }
        }
    }

    /// Where the PMD page `own` says that a page of its group is: where the PT page stands if that
    /// is up to date.
    #[inline]
    fn reference(&self, group: &Group, entries: &[Ppn], number: usize) -> Ppn {
        match group.table != NONE && group.stale >> number & 1 == 0 {
            true => entries[group.table as usize],
            false => entries[number],
        }
    }

    /// Which page knows each group, as the PMD page `lpn`, at `own`, says.
    fn to_groups(&self, flat: &FlatMap, lpn: Lpn, own: Ppn) -> impl Iterator<Item = Ppn> {
        let at = self.group_of(lpn);
        self.groups_of(self.lbn_of(lpn)).map(move |other| {
            let carrier = self.page_of(other, self.groups[other as usize].carrier);
            let place = carrier.filter(|_| other != at).and_then(|page| flat.newest(page));
            place.unwrap_or(own)
        })
    }

    /// Where the pages of its group are, as the PMD page `lpn`, at `own`, says.
    fn to_pages(&self, flat: &FlatMap, lpn: Lpn, own: Ppn) -> impl Iterator<Item = Ppn> {
        let at = self.group_of(lpn);
        let (number, mut group) = (self.number_in(at, lpn), self.groups[at as usize]);
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

    /// Whether a page written alone in its group cannot be a PMD page in `block`, because its
    /// entries refer to too many others; then the page to copy before it as the group's PT page:
    /// the old one, or the lowest valid page if that is no more.
    #[inline]
    pub fn mapping_write(
        &self,
        geometry: &Geometry,
        flat: &FlatMap,
        lpn: Lpn,
        block: BlockId,
    ) -> Option<Lpn> {
        let own = geometry.first_page(block);
        let references = self.to_groups(flat, lpn, own).chain(self.to_pages(flat, lpn, own));
        if self.layout.directory.fits(geometry, block, references) {
            return None;
        }
        let at = self.group_of(lpn);
        let group = &self.groups[at as usize];
        let table = self.page_of(at, group.table).filter(|&table| table != lpn);
        let entries = self.entries(flat, at).iter();
        let mut valid = entries.zip(self.first_of(at).0..).filter(|&(&ppn, _)| ppn != Ppn::NONE);
        table.or_else(|| valid.find(|&(_, page)| page != lpn.0).map(|(_, page)| Lpn(page)))
    }

    /// Composes the scheme bytes of a page that was noted and stands at `own`.
    pub fn compose(
        &self,
        geometry: &Geometry,
        flat: &FlatMap,
        lpn: Lpn,
        role: Role,
        bytes: &mut Vec<u8>,
    ) {
        let own = flat.newest(lpn).expect("a page is placed before it is described");
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

    /// What a wide sheet is to know of its page.
    fn own(&self, ppn: Ppn, owner: Lpn) -> SheetPage {
        let group = self.group_of(owner);
        let page = self.number_in(group, owner).into();
        SheetPage { ppn, group: group % self.layout.groups, page }
    }

    // ---- Trimming -----------------------------------------------------------------------------

    /// The page of a group to write anew if these pages are trimmed: the lowest that is left, where
    /// one goes that says where others are.
    pub fn anchor(&self, flat: &FlatMap, group: u32, gone: &Range<u32>) -> Option<Lpn> {
        let known = &self.groups[group as usize];
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

    /// Pages of a group were trimmed: a PT page that is gone serves no longer.
    pub fn forget(&mut self, flat: &FlatMap, group: u32) {
        let entries = self.entries(flat, group);
        let is_gone = |number: u8| number != NONE && entries[number as usize] == Ppn::NONE;
        let known = self.groups[group as usize];
        if entries.iter().all(|&ppn| ppn == Ppn::NONE) {
            self.groups[group as usize] = EMPTY;
        } else if is_gone(known.table) {
            self.groups[group as usize].table = NONE;
        }
    }

    /// Whether the last page of a portion is the only one of its group in it, and the group could
    /// have others: then a write may be induced.
    #[inline]
    pub fn is_alone(&self, portion: &[Lpn]) -> bool {
        let group = |lpn: &Lpn| self.group_of(*lpn);
        match portion {
            [.., before, last] if group(before) == group(last) => false,
            [.., last] => self.pages_of(group(last)) > 1,
            [] => false,
        }
    }

    /// The most programs that moving these pages, ascending, may take: a portion for each logical
    /// block, with a write that may be induced.
    pub fn programs_max(&self, pages: &[Lpn]) -> u32 {
        let portions = pages.chunk_by(|a, b| self.lbn_of(*a) == self.lbn_of(*b));
        pages.len() as u32 + portions.filter(|portion| self.is_alone(portion)).count() as u32
    }

    /// The groups that have pages of these.
    pub fn groups_between(&self, pages: &Range<u32>) -> Range<u32> {
        self.group_of(Lpn(pages.start))..self.group_of(Lpn(pages.end - 1)) + 1
    }

    // ---- Looking ------------------------------------------------------------------------------

    /// The pages whose spare areas hold the map of a logical block.
    pub fn spares<'a>(&'a self, flat: &'a FlatMap, lbn: Lbn) -> impl Iterator<Item = Ppn> + 'a {
        self.groups_of(lbn).flat_map(move |at| {
            let group = &self.groups[at as usize];
            let table = group.table;
            let entries = self.entries(flat, at);
            let is_read = table != NONE
                && table != group.carrier
                && (0..entries.len()).any(|number| {
                    number != table.into()
                        && entries[number] != Ppn::NONE
                        && group.stale >> number & 1 == 0
                });
            let pages = [Some(group.carrier), is_read.then_some(table)];
            let pages = pages.into_iter().flatten();
            pages.filter(|&number| number != NONE).map(|number| entries[number as usize])
        })
    }

    /// A page of a chain, if it can be read and carries entries.
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

    /// The same, if it is of this group.
    fn link_of<'s>(
        &self,
        spares: &'s dyn SpareAreas,
        ppn: Ppn,
        group: u32,
    ) -> Option<ChainPage<'s>> {
        self.link(spares, ppn).filter(|link| self.group_of(link.owner) == group)
    }

    /// The page that knows a group, by the PMD page at `top`.
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

    /// Where a PMD page's entry of a group points.
    fn to_group(&self, geometry: &Geometry, link: &ChainPage, group: u32) -> Ppn {
        match (link.form, self.layout.wide) {
            (SheetForm::WideDirectory, Some(wide)) => {
                wide.group(self.own(link.ppn, link.owner), &link.bytes, group)
            }
            _ => self.layout.directory.group(geometry, link.ppn, &link.bytes, group),
        }
    }

    /// Where a PT or PMD page's entry of a page of its group points.
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

    /// Whether an entry of a PMD page for a page of its own group leads to the PT page that knows
    /// it: then it is not the only one that leads there.
    fn is_through(&self, geometry: &Geometry, link: &ChainPage, to: Ppn) -> bool {
        let pages = 0..self.pages_of(self.group_of(link.owner));
        let alike = pages.filter(|&page| self.to_page(geometry, link, page) == to);
        link.form != SheetForm::Table && to != link.ppn && alike.count() > 1
    }

    // ---- Coming back --------------------------------------------------------------------------

    /// Remembers what the spare areas say that a mount found.
    pub fn recall(&mut self, geometry: &Geometry, spares: &dyn SpareAreas, map: &SpareMap) {
        for lbn in 0..map.logical_blocks() {
            let top = map.directory(lbn).and_then(|page| map.flat.newest(page));
            let Some(top) = top else { continue };
            for group in self.groups_of(lbn) {
                self.groups[group as usize] =
                    self.recalled(geometry, spares, &map.flat, top, group);
            }
        }
    }

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
    fn wide_pages_fit_while_page_numbers_are_short() {
        assert_eq!(wide_bits(64, 1 << 10), Some(14 * 16));
        assert_eq!(wide_bits(64, 1 << 19), Some(14 * 25), "64 GiB: 350 of 352 bits");
        assert_eq!(wide_bits(64, (1 << 19) + 1), None, "14·26 bits are too many");
        assert_eq!(wide_bits(4, 9), Some((1 + 1) * 6), "two groups of two");
    }
}
