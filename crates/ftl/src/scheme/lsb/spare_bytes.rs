//! What the spare areas of lsb hold: the entries of PT and PMD pages, composed from the groups and
//! the flat map.

use nand::{Geometry, Lpn, Ppn};

use super::group_chains::{Group, GroupChains, NONE, Role};
use crate::part::map::flat_map::FlatMap;
use crate::part::spare::spare_sheet::SheetPage;

impl GroupChains {
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
                let at = self.groups.of(lpn);
                let pages = self.groups.entries(flat, at).iter().zip(self.groups.first(at).0..);
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
        let group = self.groups.of(owner);
        let page = self.number_in(group, owner).into();
        SheetPage { ppn, group: group % self.layout.groups, page }
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
        let groups = self.groups.of_block(self.groups.lbn_of(lpn));
        let number = (self.groups.of(lpn) - groups.start) as usize;
        let first = self.groups.first(groups.start).0;
        let entries = flat.entries(first..first + self.groups.pages_per_block);
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
        let at = self.groups.of(lpn);
        let (number, mut group) = (self.number_in(at, lpn), self.group(at));
        if group.table == number {
            group.table = NONE;
        }
        let entries = self.groups.entries(flat, at);
        (0..entries.len()).map(move |page| match entries[page] {
            _ if page == number.into() => own,
            Ppn::NONE => own,
            _ => self.reference(&group, entries, page),
        })
    }
}
