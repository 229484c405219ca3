//! Random numbers that never change between versions: Xoshiro256++ (Blackman and Vigna, 2021),
//! seeded by SplitMix64; unbiased draws by Lemire, "Fast random integer generation in an interval",
//! 2019.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A source of random numbers.
#[derive(Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Different seeds give unrelated sequences.
    pub(crate) fn new(seed: u64) -> Random {
        let mut state = seed;
        let mut bytes = [0; 32];
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        Random(Xoshiro256PlusPlus::from_seed(bytes))
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, all equally likely. The caller guarantees that `bound` is not 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "there is no number below 0");
        let mut product = u128::from(self.word()) * u128::from(bound);
        if (product as u64) < bound {
            // Products whose low halves are below 2^64 mod `bound` occur too often. No call, so
            // that a caller can keep the state in registers.
            let surplus = bound.wrapping_neg() % bound;
            while (product as u64) < surplus {
                product = u128::from(self.word()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A number from 0 up to but not including 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// SplitMix64: advances a counter and returns a hash of it.
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The values of the reference implementation of SplitMix64 for seed 1234567.
        let mut state = 1_234_567;
        assert_eq!(split_mix(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(&mut state), 3_203_168_211_198_807_973);
        // The crate's generator seeds itself in the same way.
        let mut reference = Xoshiro256PlusPlus::seed_from_u64(42);
        let mut ours = Random::new(42);
        assert!((0..100).all(|_| ours.word() == reference.next_u64()));
    }

    #[test]
    fn draws_below_a_bound_are_even() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert_eq!(random.below(1), 0);
        assert!(random.below(u64::MAX) < u64::MAX);
    }

    #[test]
    fn draws_below_a_large_bound_are_even() {
        // Without rejection, some numbers below this bound would occur twice as often as others.
        let bound = 3 << 62;
        let mut random = Random::new(2);
        let low = (0..30_000).filter(|_| random.below(bound) < 1 << 62).count();
        assert!((9_600..10_400).contains(&low), "{low}");
    }

    #[test]
    fn fractions_stay_below_one() {
        let mut random = Random::new(3);
        let mean = (0..100_000).map(|_| random.fraction()).sum::<f64>() / 100_000.0;
        assert!((0.495..0.505).contains(&mean), "{mean}");
    }
}
