//! What the benchmarks share: the bare loop that `page` is measured against, and fair rounds.
//!
//! Machines are shared and noisy, so contenders run in turn, round after round, and each one's best
//! round counts; what is reported is ratios.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bare;
pub mod simulated;

use std::time::{Duration, Instant};

/// Rounds of every comparison.
pub const ROUNDS: usize = 7;

/// A contender: does one round of work and returns how many units it did.
pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> u64 + 'a>);

/// Runs the contenders in turn and prints each one's best rate and its ratio to the first.
pub fn compare(title: &str, unit: &str, contenders: &mut [Contender]) -> Vec<f64> {
    let mut best = vec![0.0_f64; contenders.len()];
    for _ in 0..ROUNDS {
        for (rate, (_, round)) in best.iter_mut().zip(contenders.iter_mut()) {
            let start = Instant::now();
            let units = round();
            *rate = rate.max(units as f64 / seconds(start.elapsed()));
        }
    }
    println!("{title}: best of {ROUNDS} interleaved rounds");
    let (scale, prefix) = if best[0] < 1e4 { (1.0, "") } else { (1e6, "M ") };
    for (rate, (name, _)) in best.iter().zip(contenders.iter()) {
        println!("  {name:<44} {:>8.2} {prefix}{unit}/s   {:>5.2}x", rate / scale, rate / best[0]);
    }
    best
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
