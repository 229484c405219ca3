//! What the benchmarks share: the bare loop that `page` is measured against, and fair rounds.
//!
//! Machines are shared and noisy, so contenders run in turn, round after round, and what is
//! reported is ratios: of each round to the first contender's in the same turn, the median of all.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bare;
pub mod simulated;

use std::time::{Duration, Instant};

/// Rounds of every comparison.
pub const ROUNDS: usize = 9;

/// A contender: does one round of work and returns how many units it did.
pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> u64 + 'a>);

/// Runs the contenders in turn; prints each one's best rate and the median of its ratios to the
/// first, which it returns.
pub fn compare(title: &str, unit: &str, contenders: &mut [Contender]) -> Vec<f64> {
    let mut rates = vec![Vec::with_capacity(ROUNDS); contenders.len()];
    for _ in 0..ROUNDS {
        for (rates, (_, round)) in rates.iter_mut().zip(contenders.iter_mut()) {
            let start = Instant::now();
            let units = round();
            rates.push(units as f64 / seconds(start.elapsed()));
        }
    }
    let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
    let rates_of_first = rates[0].clone();
    let to_first = |rates: &Vec<f64>| {
        median(rates.iter().zip(&rates_of_first).map(|(rate, first)| rate / first).collect())
    };
    println!("{title}: {ROUNDS} interleaved rounds, best rate and median ratio");
    let (scale, prefix) = if best(&rates[0]) < 1e4 { (1.0, "") } else { (1e6, "M ") };
    let ratios: Vec<f64> = rates.iter().map(to_first).collect();
    for ((rates, ratio), (name, _)) in rates.iter().zip(&ratios).zip(contenders.iter()) {
        println!("  {name:<44} {:>8.2} {prefix}{unit}/s   {ratio:>5.2}x", best(rates) / scale);
    }
    ratios
}

/// The middle one, the upper of two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(1e-9)
}

/// A small, fast random source: the draws should cost nothing beside what is measured.
pub struct Dice(u64);

impl Dice {
    /// Dice of this seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed | 1)
    }

    /// A number below `bound` (Marsaglia's xorshift, scaled).
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}
