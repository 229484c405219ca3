//! skew: X % of the requests to Y % of the touched pages, each side uniform in itself.
//!
//! `skew:hot=70/30,pages=1.4M` touches 1.4 million pages scattered over the space; 70 % of the
//! requests go to 420 000 of them. The usual model of hot and cold data (Rosenblum and Ousterhout,
//! "The design and implementation of a log-structured file system", 1992).

use spec::{Kind, Param, Params};

use crate::generate::grid::Grid;
use crate::generate::params::{INTERARRIVAL, PAGES, READS, REQUEST, SEED, WRITES};
use crate::generate::tiers::{HotRatio, Tiered, Tiers};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload, whole_space};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "skew",
    summary: "hot=X/Y: X % of the requests to Y % of the touched pages",
    source: "Rosenblum and Ousterhout, The design of a log-structured file system, 1992",
    params: &[WRITES, HOT, PAGES, READS, REQUEST, INTERARRIVAL, SEED],
    touched_share: whole_space,
    place,
};

const HOT: Param = Param {
    name: "hot",
    kind: Kind::Ratio,
    default: "80/20",
    unit: "% of requests / % of pages",
    doc: "how much of the requests goes to how much of the touched pages",
};

fn place(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let touched = grid.touched(params)?;
    let tiers = HotRatio::new(params.ratio(HOT.name))?.tiers(touched)?;
    Ok(Box::new(Tiered { grid: *grid, tiers: Tiers::new(grid.units, &tiers) }))
}
