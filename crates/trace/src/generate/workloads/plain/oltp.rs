//! oltp: the online transactions of the FASTer paper (Lim, Lee, Moon, SNAPI 2010, §III.A).
//!
//! Half of the writes go to 10 % of the touched pages and 70 % to 30 % of them; the rest is
//! uniform; 35 % of the space is ever touched:
//!
//! ```text
//! touched pages   10 %     20 %          70 %
//! requests        50 %     20 %          30 %
//! ```
//!
//! The touched pages lie scattered over the space. All of them are met once a run is long enough:
//! after twelve writes a touched page, 99 in 100 of the coldest have been.

use spec::{Kind, Param, Params, Share};

use crate::generate::grid::Grid;
use crate::generate::params::{INTERARRIVAL, PAGES, READS, REQUEST, SEED, WRITES};
use crate::generate::tiers::{Tiered, Tiers};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "oltp",
    summary: "online transactions: 50 % of the writes to 10 % of the pages, 70 % to 30 %",
    source: "Lim, Lee and Moon, FASTer FTL, SNAPI 2010, §III.A",
    params: &[WRITES, SHARE, PAGES, READS, REQUEST, INTERARRIVAL, SEED],
    touched_share,
    place,
};

const SHARE: Param = Param {
    name: "share",
    kind: Kind::Share,
    default: "35%",
    unit: "of the space",
    doc: "how much of the space is ever touched, unless `pages` says it (FASTer paper, §III.A)",
};

fn touched_share(params: &Params) -> Share {
    params.share(SHARE.name)
}

fn place(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let share = touched_share(params);
    if share.exceeds_whole() {
        return Err(format!("share={share} is more than the space"));
    }
    let touched = match params.opt_count(PAGES.name) {
        Some(_) => grid.touched(params)?,
        None => share.floor_of(grid.units),
    };
    let (hot, warm) = (touched / 10, touched / 5);
    if hot == 0 {
        return Err(format!("{touched} touched places are too few for a tenth of them to be hot"));
    }
    let tiers = [(50, hot), (20, warm), (30, touched - hot - warm)];
    Ok(Box::new(Tiered { grid: *grid, tiers: Tiers::new(grid.units, &tiers) }))
}
