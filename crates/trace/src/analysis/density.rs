//! How densely requests lie in a plane of their number and their address.
//!
//! ```text
//! address  ▲ 0 3 0 1        a cell counts the requests of a stretch of numbers and of addresses;
//!          │ 7 7 8 7        when a request lies beyond the plane, pairs of cells are merged, so
//!          └───────▶        that the plane is twice as long or as high
//!            number
//! ```

use rustc_hash::FxHashMap;

/// The most columns and rows of cells.
pub const CELLS_MAX: [u64; 2] = [96, 40];
/// The bytes of a row at the beginning.
const ROW_BYTES: u64 = 4096;

/// Counts of requests by their number, from 0, and their address.
#[derive(Debug, Clone)]
pub struct Density {
    counts: FxHashMap<[u64; 2], u64>,
    /// Requests of a column and bytes of a row: powers of two.
    steps: [u64; 2],
    seen: u64,
}

impl Default for Density {
    fn default() -> Density {
        Density { counts: FxHashMap::default(), steps: [1, ROW_BYTES], seen: 0 }
    }
}

/// Requests that lie close to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The number of the first request that the cell may have, and that of the first behind it.
    pub numbers: [u64; 2],
    /// Its first byte, and the first byte behind it.
    pub bytes: [u64; 2],
    /// Its requests.
    pub requests: u64,
}

impl Density {
    /// Counts the next request.
    pub(crate) fn add(&mut self, offset: u64) {
        let place = [self.seen, offset];
        self.seen += 1;
        for axis in 0..2 {
            while place[axis] / self.steps[axis] >= CELLS_MAX[axis] {
                self.merge(axis);
            }
        }
        let cell = [place[0] / self.steps[0], place[1] / self.steps[1]];
        *self.counts.entry(cell).or_default() += 1;
    }

    fn merge(&mut self, axis: usize) {
        self.steps[axis] *= 2;
        let mut merged: FxHashMap<[u64; 2], u64> = FxHashMap::default();
        for (mut cell, count) in self.counts.drain() {
            cell[axis] /= 2;
            *merged.entry(cell).or_default() += count;
        }
        self.counts = merged;
    }

    /// The number of requests.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The cells with requests, by number, then by address.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<([u64; 2], u64)> =
            self.counts.iter().map(|(&at, &it)| (at, it)).collect();
        cells.sort_unstable();
        let ends = |at: u64, step: u64| [at * step, (at + 1).saturating_mul(step)];
        let cell = |([column, row], requests): ([u64; 2], u64)| Cell {
            numbers: ends(column, self.steps[0]),
            bytes: ends(row, self.steps[1]),
            requests,
        };
        cells.into_iter().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_counted_in_the_cell_that_it_lies_in() {
        let offset = |number: u64| number.wrapping_mul(7919) % 1000 * 123_456;
        let mut density = Density::default();
        (0..10_000).for_each(|number| density.add(offset(number)));
        let cells = density.cells();
        assert_eq!((density.seen(), cells.iter().map(|it| it.requests).sum()), (10_000, 10_000));
        assert!(cells.len() as u64 <= CELLS_MAX[0] * CELLS_MAX[1]);
        for cell in cells {
            let [from, to] = cell.numbers;
            let is_inside = |number: &u64| {
                let [low, high] = cell.bytes;
                (low..high).contains(&offset(*number))
            };
            assert_eq!((from..to.min(10_000)).filter(is_inside).count() as u64, cell.requests);
        }
    }

    #[test]
    fn the_plane_grows_to_the_last_byte_there_is() {
        let mut density = Density::default();
        density.add(0);
        density.add(u64::MAX);
        let cells = density.cells();
        assert_eq!(cells[0].numbers, [0, 1]);
        assert!(cells[1].bytes[0] > 0 && cells[1].bytes[1] == u64::MAX, "{cells:?}");
    }
}
