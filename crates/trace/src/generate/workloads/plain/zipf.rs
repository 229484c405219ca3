//! zipf: the probability of the page of rank k is proportional to `1 / k^theta`.
//!
//! Ranks are drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", 1996): a curve with an invertible integral
//! covers the histogram; a point below the curve is drawn, and rejected in the rare case that it is
//! above the histogram. This needs no table and works for every theta from 0 (uniform) upwards. A
//! permutation scatters the ranks over the space.

use spec::{Kind, Param, Params};

use crate::generate::grid::Grid;
use crate::generate::math::{exp, exp_m1_over, ln, ln_1p_over};
use crate::generate::params::{
    ARRIVALS, INTERARRIVAL, PAGES, READS, REQUEST, REQUESTS, SEED, WRITES,
};
use crate::generate::random::Random;
use crate::generate::scatter::Scatter;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "zipf",
    summary: "the probability of the page of rank k is proportional to 1/k^theta",
    source: "Hörmann and Derflinger, Rejection-inversion, 1996",
    params: &[WRITES, REQUESTS, THETA, PAGES, READS, REQUEST, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

const THETA: Param = Param {
    name: "theta",
    kind: Kind::Real,
    default: "0.99",
    unit: "",
    doc: "the exponent, from 0 (uniform) upwards; YCSB uses 0.99",
};

/// The largest exponent. With it, all requests but one in 2^50 go to a single page.
const STEEPEST: f64 = 50.0;

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let theta = params.real(THETA.name);
    if !(0.0..=STEEPEST).contains(&theta) {
        return Err(format!("theta={theta} is not between 0 and {STEEPEST}"));
    }
    let ranks = Zipf::new(grid.touched(params)?, theta);
    let scatter = Scatter::new(grid.units, &mut Random::new(SCATTER_SEED));
    Ok(Box::new(Scattered { grid: *grid, ranks, scatter }))
}

/// The seed of the permutation. It does not depend on the seed of the run, so the same pages are
/// hot in every run; only the order of requests differs.
const SCATTER_SEED: u64 = 0x7a69_7066;

struct Scattered {
    grid: Grid,
    ranks: Zipf,
    scatter: Scatter,
}

impl Placement for Scattered {
    #[inline]
    fn next_range(&mut self, _: Op, random: &mut Random) -> (u64, u64) {
        let unit = self.scatter.place(self.ranks.draw(random));
        (self.grid.offset(unit, random), self.grid.request_bytes)
    }
}

/// Draws ranks from 0 to `ranks - 1`.
struct Zipf {
    ranks: u64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    /// Points at most this far below a rank are accepted without evaluating the histogram.
    squeeze: f64,
}

impl Zipf {
    fn new(ranks: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf { ranks, theta, integral_first: 0.0, integral_last: 0.0, squeeze: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(ranks as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let span = self.integral_first - self.integral_last;
            let area = self.integral_last + random.fraction() * span;
            let x = self.inverse(area);
            let rank = ((x + 0.5) as u64).clamp(1, self.ranks);
            let k = rank as f64;
            if k - x <= self.squeeze || area >= self.integral(k + 0.5) - self.density(k) {
                return rank - 1;
            }
        }
    }

    /// `1 / x^theta`.
    fn density(&self, x: f64) -> f64 {
        exp(-self.theta * ln(x))
    }

    /// The integral of the density from 1 to `x`: `(x^(1-theta) - 1) / (1-theta)`, accurate also
    /// for theta near 1.
    fn integral(&self, x: f64) -> f64 {
        let log = ln(x);
        exp_m1_over((1.0 - self.theta) * log) * log
    }

    /// The `x` for which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Due to rounding the product may be below -1, where the logarithm is undefined.
        let product = (area * (1.0 - self.theta)).max(-1.0);
        exp(ln_1p_over(product) * area)
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

    #[test]
    fn frequencies_follow_the_law_for_every_theta() {
        const DRAWS: u32 = 200_000;
        for theta in [0.0, 0.5, 0.99, 1.0, 1.01, 2.0, 50.0] {
            let zipf = Zipf::new(50, theta);
            let mut random = Random::new(7);
            let mut counts = [0u32; 50];
            for _ in 0..DRAWS {
                counts[zipf.draw(&mut random) as usize] += 1;
            }
            let weight = |rank: usize| 1.0 / (rank as f64 + 1.0).powf(theta);
            let total: f64 = (0..50).map(weight).sum();
            for (rank, &count) in counts.iter().enumerate() {
                let expected = f64::from(DRAWS) * weight(rank) / total;
                let deviation = (f64::from(count) - expected).abs();
                let allowed = 5.0 * expected.sqrt() + 1.0;
                assert!(deviation < allowed, "theta {theta} rank {rank}: {count} for {expected}");
            }
        }
    }

    #[test]
    fn one_rank_and_very_many_ranks_work() {
        let mut random = Random::new(8);
        assert!((0..100).all(|_| Zipf::new(1, 0.99).draw(&mut random) == 0));
        let many = Zipf::new(1 << 60, 0.5);
        assert!((0..1000).any(|_| many.draw(&mut random) > 1 << 50));
    }
}
