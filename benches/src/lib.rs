//! Parts shared by the benchmarks: devices, a bare loop to compare with, and interleaved rounds.
//!
//! Machines are shared and noisy, so the contenders take turns, round after round. In each round
//! the rate of a contender is divided by the rate of the first one. The median of these ratios is
//! reported.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bare_loop;
pub mod simulated_device;

use std::time::{Duration, Instant};

/// Number of rounds of every comparison.
pub const ROUNDS: usize = 9;

/// A contender: its name, and a function that does one round and returns the units of work done.
pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> u64 + 'a>);

/// Runs the contenders in turn. Prints the best rate of each one and the median of its ratios to
/// the first one. Returns these medians.
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

/// The median; of an even number of values, the upper one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(1e-9)
}

/// A small random number generator (Marsaglia's xorshift). It is fast, so that drawing numbers
/// costs little compared with the work that is measured.
pub struct XorShift(u64);

impl XorShift {
    /// A generator with this seed.
    pub fn new(seed: u64) -> XorShift {
        XorShift(seed | 1)
    }

    /// A random number below `bound`.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}
