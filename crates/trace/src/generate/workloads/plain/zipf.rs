//! zipf: the probability of the page of rank k is proportional to `1 / k^theta`.
//!
//! A permutation scatters the ranks over the space.

use spec::Params;

use crate::generate::grid::Grid;
use crate::generate::params::{
    ARRIVALS, INTERARRIVAL, PAGES, READS, REQUEST, REQUESTS, SEED, WRITES,
};
use crate::generate::random::Random;
use crate::generate::scatter::Scatter;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::generate::zipf_ranks::{THETA, ZipfRanks};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "zipf",
    summary: "the probability of the page of rank k is proportional to 1/k^theta",
    source: "Hörmann and Derflinger, Rejection-inversion, 1996",
    params: &[WRITES, REQUESTS, THETA, PAGES, READS, REQUEST, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let ranks = ZipfRanks::of(params, grid.touched(params)?)?;
    let scatter = Scatter::new(grid.units, &mut Random::new(SCATTER_SEED));
    Ok(Box::new(Scattered { grid: *grid, ranks, scatter }))
}

/// The seed of the permutation. It does not depend on the seed of the run, so the same pages are
/// hot in every run; only the order of requests differs.
const SCATTER_SEED: u64 = 0x7a69_7066;

struct Scattered {
    grid: Grid,
    ranks: ZipfRanks,
    scatter: Scatter,
}

impl Placement for Scattered {
    #[inline]
    fn next_range(&mut self, _: Op, random: &mut Random) -> (u64, u64) {
        let unit = self.scatter.place(self.ranks.draw(random));
        (self.grid.offset(unit, random), self.grid.request_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{
        assert_fingerprint, assert_refused, page_writes, requests,
    };

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 4_910_959_037_212_691_381);
    }

    #[test]
    fn an_impossible_exponent_is_refused() {
        assert_refused(&[("zipf:theta=-1", "workload zipf: theta=-1 is not between 0 and 50")]);
    }

    #[test]
    fn pages_follow_the_law() {
        let counts = page_writes(&requests("zipf:writes=1M,theta=1,pages=1000", 1));
        let harmonic: f64 = (1..=1000).map(|k| 1.0 / f64::from(k)).sum();
        for (rank, tolerance) in [(0, 0.02), (9, 0.05), (99, 0.15)] {
            let expected = 1e6 / harmonic / (rank as f64 + 1.0);
            let ratio = counts[rank] as f64 / expected;
            assert!((1.0 - tolerance..1.0 + tolerance).contains(&ratio), "rank {rank}: {ratio}");
        }
    }
}
