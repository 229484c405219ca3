//! Seeded numbers (SplitMix64, Steele et al., 2014). Written here because a replay line must mean
//! the same case for ever, whatever becomes of a crate.

/// A sequence of numbers that a seed determines.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is at least 1. The bias is below `bound` ÷ 2³².
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.roll() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// A seed made of two.
pub fn mix(seed: u64, other: u64) -> u64 {
    Dice::new(seed ^ Dice::new(other).roll()).roll()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut dice = Dice::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| dice.roll()).collect();
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!(first[..2], published);
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut dice = Dice::new(7);
        let mut seen = [0; 6];
        for _ in 0..6000 {
            seen[dice.below(6) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (900..1100).contains(&n)), "{seen:?}");
    }
}
