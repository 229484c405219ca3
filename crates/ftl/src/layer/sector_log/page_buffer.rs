//! The page buffer of a sector log: sectors that wait in DRAM until they fill a flash page (SL
//! §4.1, Fig. 3).
//!
//! ```text
//! order of arrival   3.0  7.2  7.3  1.1        LPN 3 sector 0, LPN 7 sector 2, …
//! cell               0    1    2    3          where their contents are
//! 7.2 again          is overwritten in its cell and keeps its place
//! 7 is written whole 3.0  1.1                  its sectors are removed, the others close up
//! ```
//! A page has at most 64 sectors, so a linear search over all of them is cheap.

use nand::{Lpn, SectorMask};

/// A waiting sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its logical page.
    pub lpn: Lpn,
    /// Its number in that page.
    pub index: u8,
    /// The cell that holds it.
    pub cell: u8,
}

/// The waiting sectors, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub struct PageBuffer {
    waiting: Vec<Waiting>,
}

impl PageBuffer {
    /// An empty buffer for at most `sectors` sectors.
    pub fn new(sectors: u32) -> PageBuffer {
        PageBuffer { waiting: Vec::with_capacity(sectors as usize) }
    }

    /// Number of waiting sectors.
    #[inline]
    pub fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Whether no sector waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The waiting sectors, in the order of their arrival.
    pub fn iter(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.waiting.iter().copied()
    }

    /// The waiting sectors of a page, as a mask.
    #[inline]
    pub fn mask(&self, lpn: Lpn) -> SectorMask {
        self.of(lpn).fold(0, |mask, sector| mask | 1 << sector.index)
    }

    /// The waiting sectors of a page.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> impl Iterator<Item = Waiting> + '_ {
        self.iter().filter(move |sector| sector.lpn == lpn)
    }

    /// The cell of a sector; none if it does not wait.
    pub fn cell(&self, lpn: Lpn, index: u32) -> Option<u8> {
        self.of(lpn).find(|sector| u32::from(sector.index) == index).map(|sector| sector.cell)
    }

    /// Adds a sector that does not wait yet; returns its cell.
    pub fn push(&mut self, lpn: Lpn, index: u32) -> u8 {
        debug_assert!(self.cell(lpn, index).is_none(), "sector {index} of {lpn:?} waits twice");
        let taken = self.iter().fold(0_u64, |taken, sector| taken | 1 << sector.cell);
        let cell = taken.trailing_ones() as u8;
        self.waiting.push(Waiting { lpn, index: index as u8, cell });
        cell
    }

    /// Removes the sectors of a page. Returns which ones waited.
    pub fn remove(&mut self, lpn: Lpn) -> SectorMask {
        let mask = self.mask(lpn);
        if mask != 0 {
            self.waiting.retain(|sector| sector.lpn != lpn);
        }
        mask
    }

    /// Removes all sectors.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(buffer: &PageBuffer) -> Vec<(u32, u8, u8)> {
        buffer.iter().map(|sector| (sector.lpn.0, sector.index, sector.cell)).collect()
    }

    #[test]
    fn sectors_keep_the_order_of_arrival_and_cells_are_reused() {
        let mut buffer = PageBuffer::new(4);
        for (lpn, index) in [(3, 0), (7, 2), (7, 3), (1, 1)] {
            buffer.push(Lpn(lpn), index);
        }
        assert_eq!(order(&buffer), [(3, 0, 0), (7, 2, 1), (7, 3, 2), (1, 1, 3)]);
        assert_eq!((buffer.mask(Lpn(7)), buffer.cell(Lpn(7), 3)), (0b1100, Some(2)));
        assert_eq!(buffer.remove(Lpn(7)), 0b1100);
        assert_eq!((buffer.remove(Lpn(7)), buffer.cell(Lpn(7), 3)), (0, None));
        buffer.push(Lpn(9), 0);
        assert_eq!(order(&buffer), [(3, 0, 0), (1, 1, 3), (9, 0, 1)]);
    }

    #[test]
    fn sixty_four_sectors_fit() {
        let mut buffer = PageBuffer::new(64);
        let cells: Vec<u8> = (0..64).map(|index| buffer.push(Lpn(0), index)).collect();
        assert_eq!(cells, (0..64).collect::<Vec<u8>>());
        assert_eq!(buffer.mask(Lpn(0)), u64::MAX);
    }
}
