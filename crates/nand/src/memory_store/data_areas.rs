//! The data areas of a block in memory.
//!
//! ```text
//! owner   5        9            -      7
//! write   31       28           0      OWN        kept: 28 is the write that made page 9
//! stamps  31:20-23 28:36-39     zero   31:28 31:29 17:30 17:31        kept: all four
//! ```
//! In stamps mode most pages were filled by a single write of the host. Their stamps follow from
//! their owner, which their spare areas name, and from the number of the write. Pages without data
//! of the host are zero. Only of other pages all stamps are kept.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::address::Lpn;
use crate::cells::Cells;
use crate::payload::{Mode, Stamp};

/// Stands for no single write: the stamps are kept.
const OWN: u32 = u32::MAX;

/// Data areas of consecutive pages. An `offset` counts pages.
#[derive(Clone, Debug)]
pub(super) enum DataAreas {
    /// Stamps, shortened.
    Stamps {
        /// The write that filled each page; 0 where all sectors are zero.
        writes: Vec<u32>,
        /// The stamps of pages of several writes, up to the last page that has any.
        own: Vec<Box<[Stamp]>>,
    },
    /// All bytes.
    Bytes(Cells),
}

impl DataAreas {
    /// `pages` pages of zeroes, for a chip in this mode.
    pub(super) fn new(mode: Mode, pages: u32, sectors_per_page: u32) -> DataAreas {
        match mode {
            Mode::Bytes => DataAreas::Bytes(Cells::new(mode, pages, sectors_per_page)),
            _ => DataAreas::Stamps { writes: vec![0; pages as usize], own: Vec::new() },
        }
    }

    /// Makes `cells` a copy of a page of `owner`.
    pub(super) fn load(&self, offset: u32, owner: Lpn, sectors_per_page: u32, cells: &mut Cells) {
        match self {
            DataAreas::Bytes(all) => cells.clear_to_copy_of(all, offset, sectors_per_page),
            DataAreas::Stamps { writes, own } => match writes[offset as usize] {
                OWN => cells.clear_to_stamps(own[offset as usize].iter().copied()),
                write => {
                    let stamp = |index| stamp(owner, index, sectors_per_page, write);
                    cells.clear_to_stamps((0..sectors_per_page).map(stamp));
                }
            },
        }
    }

    /// Replaces a page by the one in `cells`, of `owner`.
    pub(super) fn save(&mut self, offset: u32, owner: Lpn, sectors_per_page: u32, cells: &Cells) {
        match (self, cells) {
            (DataAreas::Stamps { writes, own }, Cells::Stamps(stamps)) => {
                let write = stamps.first().map_or(0, |stamp| stamp.write());
                let all = (0..).zip(stamps);
                let mut follow = all
                    .map(|(index, &found)| found == stamp(owner, index, sectors_per_page, write));
                let is_single = write != OWN && follow.all(|follows| follows);
                writes[offset as usize] = if is_single { write } else { OWN };
                set_sparse(own, offset as usize, if is_single { &[] } else { stamps });
            }
            (DataAreas::Bytes(all), cells) => {
                all.copy(offset, sectors_per_page, Some((cells, 0)));
            }
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Replaces the `pages` pages from `offset` on by those from `at` on of another block. They
    /// have the same owners.
    pub(super) fn copy_run(
        &mut self,
        offset: u32,
        pages: u32,
        sectors_per_page: u32,
        other: &DataAreas,
        at: u32,
    ) {
        match (self, other) {
            (
                DataAreas::Stamps { writes, own },
                DataAreas::Stamps { writes: from, own: theirs },
            ) => {
                let [to, at, pages] = [offset, at, pages].map(|number| number as usize);
                writes[to..to + pages].copy_from_slice(&from[at..at + pages]);
                if !own.is_empty() || !theirs.is_empty() {
                    (0..pages).for_each(|n| set_sparse(own, to + n, sparse(theirs, at + n)));
                }
            }
            (DataAreas::Bytes(all), DataAreas::Bytes(other)) => {
                all.copy_run(offset, pages, sectors_per_page, other, at);
            }
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Replaces the page at `offset` by the one at `from`, which has the same owner.
    pub(super) fn copy_within(&mut self, from: u32, offset: u32, sectors_per_page: u32) {
        match self {
            DataAreas::Bytes(all) => all.copy_within(from, offset, sectors_per_page),
            DataAreas::Stamps { writes, own } => {
                let [from, to] = [from, offset].map(|page| page as usize);
                writes[to] = writes[from];
                let stamps = sparse(own, from).to_vec();
                set_sparse(own, to, &stamps);
            }
        }
    }

    /// Forgets the stamps of all pages.
    pub(super) fn erase(&mut self) {
        if let DataAreas::Stamps { writes, own } = self {
            writes.fill(0);
            own.clear();
        }
    }
}

/// The stamp of a sector in a page that a single write filled, or that is zero.
fn stamp(owner: Lpn, index: u32, sectors_per_page: u32, write: u32) -> Stamp {
    match write {
        0 => Stamp::default(),
        _ => Stamp::new(owner, index, sectors_per_page, write),
    }
}

/// The string at a place in a list; empty if the list is shorter.
pub(super) fn sparse<T>(list: &[Box<[T]>], at: usize) -> &[T] {
    list.get(at).map_or(&[], |string| string)
}

/// Replaces a string in a list, which grows only if the string is not empty.
pub(super) fn set_sparse<T: Copy>(list: &mut Vec<Box<[T]>>, at: usize, string: &[T]) {
    if list.len() <= at && !string.is_empty() {
        list.resize_with(at + 1, Box::default);
    }
    if let Some(slot) = list.get_mut(at) {
        *slot = string.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTORS: u32 = 4;

    fn stamps(sectors: [(u32, u32); 4]) -> Cells {
        let stamp = |(index, (lpn, write))| match write {
            0 => Stamp::default(),
            _ => Stamp::new(Lpn(lpn), index, SECTORS, write),
        };
        Cells::Stamps((0..).zip(sectors).map(stamp).collect())
    }

    #[track_caller]
    fn holds(areas: &DataAreas, offset: u32, owner: u32, expected: &Cells) {
        let mut cells = Cells::new(Mode::Stamps, 0, SECTORS);
        areas.load(offset, Lpn(owner), SECTORS, &mut cells);
        match (cells, expected) {
            (Cells::Stamps(found), Cells::Stamps(expected)) => assert_eq!(&found, expected),
            _ => panic!("these cells are no stamps"),
        }
    }

    #[test]
    fn every_page_comes_back_and_only_those_of_several_writes_are_kept() {
        let pages = [
            (stamps([(3, 7); 4]), false),
            (stamps([(3, 0); 4]), false),
            (stamps([(3, 7), (3, 7), (3, 8), (3, 8)]), true),
            (stamps([(3, 7), (3, 0), (3, 7), (3, 7)]), true),
            (stamps([(3, 0), (3, 7), (3, 7), (3, 7)]), true),
            (stamps([(4, 7); 4]), true),
            (stamps([(3, OWN); 4]), true),
        ];
        for (page, is_kept) in &pages {
            let mut areas = DataAreas::new(Mode::Stamps, 3, SECTORS);
            areas.save(1, Lpn(3), SECTORS, page);
            holds(&areas, 1, 3, page);
            let DataAreas::Stamps { own, .. } = &areas else { panic!("these are stamps") };
            assert_eq!(!sparse(own, 1).is_empty(), *is_kept, "{page:?}");
            let mut other = DataAreas::new(Mode::Stamps, 3, SECTORS);
            other.copy_run(0, 2, SECTORS, &areas, 1);
            holds(&other, 0, 3, page);
            areas.copy_within(1, 2, SECTORS);
            holds(&areas, 2, 3, page);
            areas.save(1, Lpn(3), SECTORS, &pages[0].0);
            holds(&areas, 1, 3, &pages[0].0);
        }
    }
}
