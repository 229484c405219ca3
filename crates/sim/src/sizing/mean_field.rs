//! The mean-field limit of greedy collection on uniform random writes of single pages, with one
//! open block for host and collection (Desnoyers, "Analytic modeling of SSD write performance",
//! SYSTOR 2012).
//!
//! With b pages per block and ρ = logical / physical pages, find k, and p in [0, 1], with
//!
//! ```text
//! Σ_{i=k+2..b} 1/i + p/(k+1) = (b − k − 1 + p) / (ρ b)
//! ```
//!
//! Then a victim holds E = k+1−p valid pages, and write amplification is b / (b − E).

/// The root of a falling function between `low` and `high`.
pub fn falling_root(mut low: f64, mut high: f64, falling: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if falling(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Write amplification of greedy with blocks of this size and this share of extra pages,
/// (T − U) / U. With E both sides of the equation depend on E alone, the left one piecewise
/// linearly; their difference falls with E.
pub fn greedy(pages_per_block: u32, share: f64) -> f64 {
    let b = f64::from(pages_per_block);
    let rho = 1.0 / (1.0 + share);
    let valid = falling_root(0.0, b - 1.0, |valid| {
        let k = valid.floor();
        let p = k + 1.0 - valid;
        let sum: f64 = (k as u32 + 2..=pages_per_block).map(|i| 1.0 / f64::from(i)).sum();
        sum + p / (k + 1.0) - (b - valid) / (rho * b)
    });
    b / (b - valid)
}

/// Shares between which [`spare_of_greedy`] looks.
const SHARES: [f64; 2] = [1e-4, 100.0];

/// The share of extra pages, (T − U) / U, with which greedy has this write amplification on uniform
/// writes; none if it is outside the range from 0.01 % to 100 times the capacity.
pub fn spare_of_greedy(pages_per_block: u32, write_amplification: f64) -> Option<f64> {
    let above = |share| greedy(pages_per_block, share) - write_amplification;
    let [least, most] = SHARES;
    let is_within = above(least) > 0.0 && above(most) < 0.0;
    // Shares of one per cent need as many digits as those of ten.
    is_within.then(|| falling_root(least.ln(), most.ln(), |share| above(share.exp())).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_finds_the_share_again() {
        for pages in [16, 64, 256, 1024] {
            for share in [0.005, 0.07, 0.28, 1.0] {
                let found = spare_of_greedy(pages, greedy(pages, share)).unwrap();
                assert!((found / share - 1.0).abs() < 1e-6, "{pages} pages, {share}: {found}");
            }
        }
        assert_eq!(spare_of_greedy(64, 1.0), None);
        assert_eq!(spare_of_greedy(64, 100_000.0), None);
    }
}
