//! Ranks whose probabilities follow Zipf's law.
//!
//! They are drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", 1996): a curve with an invertible integral
//! covers the histogram; a point below the curve is drawn, and rejected in the rare case that it is
//! above the histogram. This needs no table and works for every theta from 0 (uniform) upwards.

use spec::{Kind, Param, Params};

use crate::generate::math::{exp, exp_m1_over, ln, ln_1p_over};
use crate::generate::random::Random;

/// The exponent of the law.
pub(crate) const THETA: Param = Param {
    name: "theta",
    kind: Kind::Real,
    default: "0.99",
    unit: "",
    doc: "the exponent, from 0 (uniform) upwards; YCSB uses 0.99",
};

/// The largest exponent. With it, all requests but one in 2^50 go to a single page.
const STEEPEST: f64 = 50.0;

/// Draws ranks from 0 to `ranks - 1`. The probability of rank k is proportional to
/// `1 / (k + 1)^theta`.
pub(crate) struct ZipfRanks {
    ranks: u64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    /// Points at most this far below a rank are accepted without evaluating the histogram.
    squeeze: f64,
}

impl ZipfRanks {
    /// The law with the exponent of a spec. The caller guarantees that there is at least one rank.
    pub(crate) fn of(params: &Params, ranks: u64) -> std::result::Result<ZipfRanks, String> {
        let theta = params.real(THETA.name);
        match (0.0..=STEEPEST).contains(&theta) {
            true => Ok(ZipfRanks::new(ranks, theta)),
            false => Err(format!("theta={theta} is not between 0 and {STEEPEST}")),
        }
    }

    fn new(ranks: u64, theta: f64) -> ZipfRanks {
        let (integral_first, integral_last) = (0.0, 0.0);
        let mut zipf = ZipfRanks { ranks, theta, integral_first, integral_last, squeeze: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(ranks as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a rank.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
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

    #[test]
    fn frequencies_follow_the_law_for_every_theta() {
        const DRAWS: u32 = 200_000;
        for theta in [0.0, 0.5, 0.99, 1.0, 1.01, 2.0, 50.0] {
            let zipf = ZipfRanks::new(50, theta);
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
        assert!((0..100).all(|_| ZipfRanks::new(1, 0.99).draw(&mut random) == 0));
        let many = ZipfRanks::new(1 << 60, 0.5);
        assert!((0..1000).any(|_| many.draw(&mut random) > 1 << 50));
    }
}
