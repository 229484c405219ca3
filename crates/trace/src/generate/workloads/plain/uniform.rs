//! uniform: every page equally likely. The worst case for telling hot from cold.

use spec::Params;

use crate::generate::grid::Grid;
use crate::generate::params::{INTERARRIVAL, PAGES, READS, REQUEST, SEED, WRITES};
use crate::generate::tiers::{Tiered, Tiers};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload, whole_space};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "uniform",
    summary: "every page equally likely",
    source: "the traffic of mean-field models, such as Desnoyers', SYSTOR 2012",
    params: &[WRITES, PAGES, READS, REQUEST, INTERARRIVAL, SEED],
    touched_share: whole_space,
    place,
};

fn place(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let touched = grid.touched(params)?;
    Ok(Box::new(Tiered { grid: *grid, tiers: Tiers::new(grid.units, &[(1, touched)]) }))
}
