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
//! In bytes mode the pages of a block lie one after the other, so that runs of them are copied at
//! once. The system gives memory to those that were programmed, and to no others.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

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
    /// The bytes of all pages. Those of a page that is not programmed have no meaning.
    Bytes {
        /// Bytes of a page.
        page: usize,
        /// One page after the other.
        all: Box<[u8]>,
    },
}

impl DataAreas {
    /// `pages` pages of zeroes, of `page_bytes` bytes each, for a chip in this mode.
    pub(super) fn new(mode: Mode, pages: u32, page_bytes: u32) -> DataAreas {
        let (pages, page) = (pages as usize, page_bytes as usize);
        match mode {
            Mode::Bytes => DataAreas::Bytes { page, all: vec![0; pages * page].into() },
            _ => DataAreas::Stamps { writes: vec![0; pages], own: Vec::new() },
        }
    }

    /// Makes `cells` a copy of a page of `owner`.
    pub(super) fn load(&self, offset: u32, owner: Lpn, sectors_per_page: u32, cells: &mut Cells) {
        match self {
            DataAreas::Bytes { page, all } => cells.clear_to_bytes(&all[span(*page, offset, 1)]),
            DataAreas::Stamps { writes, own } => match writes[offset as usize] {
                OWN => cells.clear_to_stamps(own[offset as usize].iter().copied()),
                write => {
                    let stamp = |index| stamp(owner, index, sectors_per_page, write);
                    cells.clear_to_stamps((0..sectors_per_page).map(stamp));
                }
            },
        }
    }

    /// The bytes of a page; none if they are not kept.
    pub(super) fn bytes(&self, offset: u32) -> Option<&[u8]> {
        match self {
            DataAreas::Bytes { page, all } => Some(&all[span(*page, offset, 1)]),
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
            (areas @ DataAreas::Bytes { .. }, Cells::Bytes(bytes)) => {
                areas.save_bytes(offset, bytes);
            }
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Replaces the pages from `offset` on by these bytes.
    pub(super) fn save_bytes(&mut self, offset: u32, bytes: &[u8]) {
        match self {
            DataAreas::Bytes { page, all } => {
                let pages = (bytes.len() / *page) as u32;
                all[span(*page, offset, pages)].copy_from_slice(bytes);
            }
            DataAreas::Stamps { .. } => panic!("a chip of stamps keeps no bytes"),
        }
    }

    /// Replaces the `pages` pages from `offset` on by those from `at` on of another block. They
    /// have the same owners.
    pub(super) fn copy_run(&mut self, offset: u32, pages: u32, other: &DataAreas, at: u32) {
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
            (DataAreas::Bytes { page, all }, DataAreas::Bytes { all: other, .. }) => {
                all[span(*page, offset, pages)].copy_from_slice(&other[span(*page, at, pages)]);
            }
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Replaces the page at `offset` by the one at `from`, which has the same owner.
    pub(super) fn copy_within(&mut self, from: u32, offset: u32) {
        match self {
            DataAreas::Bytes { page, all } => {
                all.copy_within(span(*page, from, 1), span(*page, offset, 1).start);
            }
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

/// The places of the bytes of consecutive pages.
fn span(page_bytes: usize, offset: u32, pages: u32) -> Range<usize> {
    let start = offset as usize * page_bytes;
    start..start + pages as usize * page_bytes
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
            let mut areas = DataAreas::new(Mode::Stamps, 3, 2048);
            areas.save(1, Lpn(3), SECTORS, page);
            holds(&areas, 1, 3, page);
            let DataAreas::Stamps { own, .. } = &areas else { panic!("these are stamps") };
            assert_eq!(!sparse(own, 1).is_empty(), *is_kept, "{page:?}");
            let mut other = DataAreas::new(Mode::Stamps, 3, 2048);
            other.copy_run(0, 2, &areas, 1);
            holds(&other, 0, 3, page);
            areas.copy_within(1, 2);
            holds(&areas, 2, 3, page);
            areas.save(1, Lpn(3), SECTORS, &pages[0].0);
            holds(&areas, 1, 3, &pages[0].0);
        }
    }

    #[test]
    fn bytes_come_back_and_are_copied_in_runs() {
        let mut areas = DataAreas::new(Mode::Bytes, 8, 2048);
        (2..5).for_each(|page| {
            areas.save(page, Lpn(3), SECTORS, &Cells::Bytes(vec![page as u8; 2048]));
        });
        areas.copy_within(4, 7);
        let mut other = DataAreas::new(Mode::Bytes, 8, 2048);
        other.copy_run(1, 6, &areas, 2);
        for (page, byte) in [(0, 0), (1, 2), (2, 3), (3, 4), (4, 0), (6, 4)] {
            let mut cells = Cells::new(Mode::Bytes, 0, SECTORS);
            other.load(page, Lpn(3), SECTORS, &mut cells);
            assert!(matches!(&cells, Cells::Bytes(bytes) if *bytes == [byte; 2048]), "{page}");
            assert_eq!(other.bytes(page), Some(&[byte; 2048][..]), "{page}");
        }
    }
}
