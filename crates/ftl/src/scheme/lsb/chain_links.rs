//! Following the chains of lsb: what the spare areas say, for mounts and audits. [`group_chains`]
//! has the rules by which the pages of a chain refer to each other.
//!
//! [`group_chains`]: super::group_chains

use std::borrow::Cow;

use nand::{Geometry, Lpn, Ppn};

use super::group_chains::{EMPTY, Group, GroupChains, NONE};
use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::page_kind;
use crate::part::spare::spare_map::SpareMap;
use crate::part::spare::spare_mount::{LookupPath, SpareAreas, SpareChains};

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

impl GroupChains {
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
        self.link(spares, ppn).filter(|link| self.groups.of(link.owner) == group)
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
            Some(link) if self.groups.of(link.owner) != group => {
                self.to_group(geometry, &link, group % self.layout().groups)
            }
            _ => top,
        }
    }

    /// The place to which the entry of a group points, in a PMD page.
    fn to_group(&self, geometry: &Geometry, link: &ChainPage, group: u32) -> Ppn {
        match (link.form, self.layout().wide) {
            (SheetForm::WideDirectory, Some(wide)) => {
                wide.group(self.own(link.ppn, link.owner), &link.bytes, group)
            }
            _ => self.layout().directory.group(geometry, link.ppn, &link.bytes, group),
        }
    }

    /// The place to which the entry of a page of the own group points, in a PT or PMD page.
    fn to_page(&self, geometry: &Geometry, link: &ChainPage, page: u32) -> Ppn {
        let sheet = match (link.form, self.layout().wide) {
            (SheetForm::WideDirectory, Some(wide)) => {
                return wide.page(self.own(link.ppn, link.owner), &link.bytes, page);
            }
            (SheetForm::Table, _) => &self.layout().table,
            _ => &self.layout().directory,
        };
        sheet.page(geometry, link.ppn, &link.bytes, page)
    }

    /// Whether the place `to` in the page entries of a PMD page is that of the PT page. It is if
    /// more than one entry refers to it.
    fn is_through(&self, geometry: &Geometry, link: &ChainPage, to: Ppn) -> bool {
        let pages = 0..self.groups.pages_in(self.groups.of(link.owner));
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
        let entries = self.groups.entries(flat, group);
        if self.groups.is_empty(flat, group) {
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
        let group = self.groups.of(lpn);
        let number = self.number_in(group, lpn).into();
        let mut path = LookupPath::new(directory);
        let ppn = self.carrier_at(geometry, spares, directory, group);
        let Some(carrier) = self.link_of(spares, ppn, group) else {
            return path;
        };
        if ppn != directory {
            path.spares.push(ppn);
        }
        let to = self.to_page(geometry, &carrier, number);
        if to == ppn || !self.is_through(geometry, &carrier, to) {
            return path.to((to != ppn || carrier.owner == lpn).then_some(to));
        }
        match self.link_of(spares, to, group) {
            Some(table) if table.form != SheetForm::Table => path,
            Some(table) if table.owner == lpn => path.to(Some(to)),
            Some(table) => {
                path.spares.push(to);
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
            for group in self.groups.of_block(lbn) {
                let recalled = self.recalled(geometry, spares, &map.flat, top, group);
                let home = self.home(geometry, &map.flat, group, recalled.carrier);
                self.set_group(group, recalled, home);
            }
        }
    }
}
