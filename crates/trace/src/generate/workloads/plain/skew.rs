//! skew: X % of the requests go to Y % of the touched pages; both parts are uniform.
//!
//! `skew:hot=70/30,pages=1.4M` touches 1.4 million pages scattered over the space; 70 % of the
//! requests go to 420 000 of them. This is the usual model of hot and cold data (Rosenblum and
//! Ousterhout, "The design and implementation of a log-structured file system", 1992).

use spec::{Kind, Param, Params};

use crate::generate::grid::Grid;
use crate::generate::params::{
    ARRIVALS, INTERARRIVAL, PAGES, READS, REQUEST, REQUESTS, SEED, WRITES,
};
use crate::generate::tiers::{HotRatio, Tiered, Tiers};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "skew",
    summary: "hot=X/Y: X % of the requests go to Y % of the touched pages",
    source: "Rosenblum and Ousterhout, The design of a log-structured file system, 1992",
    params: &[WRITES, REQUESTS, HOT, PAGES, READS, REQUEST, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

const HOT: Param = Param {
    name: "hot",
    kind: Kind::Ratio,
    default: "80/20",
    unit: "% of requests / % of pages",
    doc: "the share of the requests that go to a share of the touched pages",
};

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let touched = grid.touched(params)?;
    let tiers = HotRatio::new(params.ratio(HOT.name))?.tiers(touched)?;
    Ok(Box::new(Tiered { grid: *grid, tiers: Tiers::new(grid.units, &tiers) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{
        SPACE, assert_fingerprint, assert_refused, page_writes, requests, share_of_hottest,
    };

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 10_700_181_399_215_097_643);
    }

    #[test]
    fn the_hot_pages_get_their_share() {
        let counts = page_writes(&requests("skew:writes=1M,hot=70/30,pages=10K", 1));
        assert_eq!(counts.len(), 10_000);
        let hot = share_of_hottest(&counts, 3000);
        assert!((0.695..0.705).contains(&hot), "{hot}");
    }

    #[test]
    fn hot_pages_are_scattered_over_the_space() {
        let made = requests("skew:writes=100K,hot=90/10,pages=1000", 1);
        let lower = made.iter().filter(|r| r.offset < SPACE.capacity_bytes / 2).count();
        assert!((35_000..65_000).contains(&lower), "{lower}");
    }

    #[test]
    fn impossible_ratios_are_refused() {
        assert_refused(&[
            ("skew:hot=120/30", "workload skew: hot=120/30 has a part above 100 %"),
            ("skew:hot=70/0", "workload skew: hot=70/0 leaves no pages"),
            ("skew:hot=70/100", "workload skew: hot=70/100 leaves no pages"),
            ("skew:hot=70/30,pages=1", "workload skew: hot=70/30 leaves no hot or no cold page"),
        ]);
    }
}
