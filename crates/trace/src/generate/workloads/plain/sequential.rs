//! sequential: page after page from the start of the space to its end, over and over.
//!
//! Reads go through the same pages, with their own position.

use spec::{Param, Params};

use crate::generate::grid::Grid;
use crate::generate::params::{
    ARRIVALS, INTERARRIVAL, PAGES, READS, REQUEST, REQUESTS, SEED, WRITES,
};
use crate::generate::random::Random;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "sequential",
    summary: "the first `pages` pages of the space one after the other, again and again",
    source: "a log that wraps around; this program's own",
    params: &[WRITES, REQUESTS, FIRST_PAGES, READS, REQUEST, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

const FIRST_PAGES: Param =
    Param { doc: "the number of pages that are touched; default: all", ..PAGES };

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let touched_bytes = grid.touched(params)? * grid.unit_bytes;
    // Requests smaller than a page fill the page one after the other.
    let step_bytes =
        if grid.request_bytes < grid.page_bytes { grid.request_bytes } else { grid.unit_bytes };
    let steps = touched_bytes / step_bytes;
    let request_bytes = grid.request_bytes;
    Ok(Box::new(Sequential { request_bytes, step_bytes, steps, next_write: 0, next_read: 0 }))
}

struct Sequential {
    request_bytes: u64,
    step_bytes: u64,
    steps: u64,
    next_write: u64,
    next_read: u64,
}

impl Placement for Sequential {
    #[inline]
    fn next_range(&mut self, op: Op, _: &mut Random) -> (u64, u64) {
        let next = match op {
            Op::Read => &mut self.next_read,
            _ => &mut self.next_write,
        };
        let step = std::mem::take(next);
        if step + 1 < self.steps {
            *next = step + 1;
        }
        (step * self.step_bytes, self.request_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{assert_fingerprint, requests};

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 15_288_279_560_225_030_269);
    }

    #[test]
    fn pages_repeat_in_order() {
        let made = requests("sequential:writes=5,pages=3", 1);
        let pages: Vec<_> = made.iter().map(|request| request.offset / 2048).collect();
        assert_eq!(pages, [0, 1, 2, 0, 1]);
        let halves = requests("sequential:writes=5,pages=2,request=1KiB", 1);
        let offsets: Vec<_> = halves.iter().map(|request| request.offset).collect();
        assert_eq!(offsets, [0, 1024, 2048, 3072, 0]);
    }
}
