//! uniform: all pages are equally likely. The worst case for separating hot and cold data.

use spec::Params;

use crate::generate::grid::Grid;
use crate::generate::params::{
    ARRIVALS, INTERARRIVAL, PAGES, READS, REQUEST, REQUESTS, SEED, WRITES,
};
use crate::generate::tiers::{Tiered, Tiers};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "uniform",
    summary: "each page is equally likely",
    source: "the workload of mean-field models, as in Desnoyers, SYSTOR 2012",
    params: &[WRITES, REQUESTS, PAGES, READS, REQUEST, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let touched = grid.touched(params)?;
    Ok(Box::new(Tiered { grid: *grid, tiers: Tiers::new(grid.units, &[(1, touched)]) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{
        SPACE_PAGES, assert_fingerprint, dispersion, page_writes, requests,
    };

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 14_364_320_911_946_374_897);
    }

    #[test]
    fn every_page_is_equally_likely() {
        let counts = page_writes(&requests("uniform:writes=1M", 1));
        assert_eq!(counts.len() as u64, SPACE_PAGES);
        let (ratio, mean) = dispersion(&counts);
        assert!((0.97..1.03).contains(&ratio), "{ratio} for a Poisson mean of {mean}");
        let touched = page_writes(&requests("uniform:writes=100K,pages=1000", 1));
        assert_eq!(touched.len(), 1000);
    }
}
