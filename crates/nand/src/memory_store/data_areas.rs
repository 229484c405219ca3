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
//!
//! In bytes mode each page has memory of its own, from its first program on. A scheme that programs
//! one page of a block takes no memory for the others.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

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
    /// The bytes of each page, up to the last page that has any. An erased page keeps its memory
    /// for the next program.
    Bytes(Vec<Box<[u8]>>),
}

impl DataAreas {
    /// `pages` pages of zeroes, for a chip in this mode.
    pub(super) fn new(mode: Mode, pages: u32) -> DataAreas {
        match mode {
            Mode::Bytes => DataAreas::Bytes(Vec::new()),
            _ => DataAreas::Stamps { writes: vec![0; pages as usize], own: Vec::new() },
        }
    }

    /// Makes `cells` a copy of a page of `owner`.
    pub(super) fn load(&self, offset: u32, owner: Lpn, sectors_per_page: u32, cells: &mut Cells) {
        match self {
            DataAreas::Bytes(all) => match sparse(all, offset as usize) {
                [] => cells.clear_to_page(sectors_per_page),
                page => cells.clear_to_bytes(page),
            },
            DataAreas::Stamps { writes, own } => match writes[offset as usize] {
                OWN => cells.clear_to_stamps(own[offset as usize].iter().copied()),
                write => {
                    let stamp = |index| stamp(owner, index, sectors_per_page, write);
                    cells.clear_to_stamps((0..sectors_per_page).map(stamp));
                }
            },
        }
    }

    /// The bytes of a page; none if it has none, or is not kept as bytes.
    pub(super) fn bytes(&self, offset: usize) -> Option<&[u8]> {
        match self {
            DataAreas::Bytes(all) => Some(sparse(all, offset)).filter(|page| !page.is_empty()),
            DataAreas::Stamps { .. } => None,
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
            (DataAreas::Bytes(all), Cells::Bytes(page)) => set_sparse(all, offset as usize, page),
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Exchanges a page with the one in `cells`, if both are bytes. Returns whether they are.
    pub(super) fn take(&mut self, offset: usize, cells: &mut Cells) -> bool {
        let (DataAreas::Bytes(all), Cells::Bytes(page)) = (self, cells) else { return false };
        if all.len() <= offset {
            all.resize_with(offset + 1, Box::default);
        }
        let taken = mem::take(page).into_boxed_slice();
        *page = mem::replace(&mut all[offset], taken).into_vec();
        true
    }

    /// Replaces the `pages` pages from `offset` on by those from `at` on of another block. They
    /// have the same owners.
    pub(super) fn copy_run(&mut self, offset: u32, pages: u32, other: &DataAreas, at: u32) {
        let [to, at, pages] = [offset, at, pages].map(|number| number as usize);
        match (self, other) {
            (
                DataAreas::Stamps { writes, own },
                DataAreas::Stamps { writes: from, own: theirs },
            ) => {
                writes[to..to + pages].copy_from_slice(&from[at..at + pages]);
                if !own.is_empty() || !theirs.is_empty() {
                    (0..pages).for_each(|n| set_sparse(own, to + n, sparse(theirs, at + n)));
                }
            }
            (DataAreas::Bytes(all), DataAreas::Bytes(other)) => {
                (0..pages).for_each(|n| set_sparse(all, to + n, sparse(other, at + n)));
            }
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Replaces the page at `offset` by the one at `from`, which has the same owner.
    pub(super) fn copy_within(&mut self, from: u32, offset: u32) {
        let [from, to] = [from, offset].map(|page| page as usize);
        match self {
            DataAreas::Bytes(all) => {
                let page = sparse(all, from).to_vec();
                set_sparse(all, to, &page);
            }
            DataAreas::Stamps { writes, own } => {
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
    match list.get_mut(at) {
        Some(slot) if slot.len() == string.len() => slot.copy_from_slice(string),
        Some(slot) => *slot = string.into(),
        None => {}
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
            let mut areas = DataAreas::new(Mode::Stamps, 3);
            areas.save(1, Lpn(3), SECTORS, page);
            holds(&areas, 1, 3, page);
            let DataAreas::Stamps { own, .. } = &areas else { panic!("these are stamps") };
            assert_eq!(!sparse(own, 1).is_empty(), *is_kept, "{page:?}");
            let mut other = DataAreas::new(Mode::Stamps, 3);
            other.copy_run(0, 2, &areas, 1);
            holds(&other, 0, 3, page);
            areas.copy_within(1, 2);
            holds(&areas, 2, 3, page);
            areas.save(1, Lpn(3), SECTORS, &pages[0].0);
            holds(&areas, 1, 3, &pages[0].0);
        }
    }

    #[test]
    fn only_pages_that_were_programmed_take_memory() {
        let mut areas = DataAreas::new(Mode::Bytes, 64);
        let page = Cells::Bytes(vec![7; 2048]);
        areas.save(40, Lpn(3), SECTORS, &page);
        let bytes_of = |areas: &DataAreas| match areas {
            DataAreas::Bytes(all) => all.iter().map(|page| page.len()).sum::<usize>(),
            DataAreas::Stamps { .. } => panic!("these are bytes"),
        };
        assert_eq!(bytes_of(&areas), 2048);
        let mut other = DataAreas::new(Mode::Bytes, 64);
        other.copy_run(0, 3, &areas, 39);
        assert_eq!(bytes_of(&other), 2048);
        let mut cells = Cells::new(Mode::Bytes, 0, SECTORS);
        other.load(1, Lpn(3), SECTORS, &mut cells);
        assert!(matches!(&cells, Cells::Bytes(bytes) if *bytes == [7; 2048]));
        other.load(0, Lpn(3), SECTORS, &mut cells);
        assert!(matches!(&cells, Cells::Bytes(bytes) if *bytes == [0; 2048]));
    }
}
