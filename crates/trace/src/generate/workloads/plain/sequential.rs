//! sequential: page after page from the start of the space, and again from the start at its end.
//!
//! Reads have a place of their own and run through the same pages.

use spec::Params;

use crate::generate::grid::Grid;
use crate::generate::params::{INTERARRIVAL, PAGES, READS, REQUEST, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload, whole_space};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "sequential",
    summary: "page after page, over and over; `pages` from the start of the space",
    source: "a log that wraps around; this program's own",
    params: &[WRITES, PAGES, READS, REQUEST, INTERARRIVAL, SEED],
    touched_share: whole_space,
    place,
};

fn place(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let touched_bytes = grid.touched(params)? * grid.unit_bytes;
    // Smaller requests than a page fill it one after the other.
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
    fn place(&mut self, op: Op, _: &mut Random) -> (u64, u64) {
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
