//! A random permutation without a table: scatters ranks over a space.
//!
//! A Feistel network permutes all numbers of the required width in bits. A result beyond the space
//! is permuted again until it is within ("cycle walking", Black and Rogaway, 2002). At least half
//! of the numbers are within, so this takes at most two rounds on average.

use crate::generate::random::{Random, split_mix};

/// A permutation of the numbers below `count`.
#[derive(Debug, Clone)]
pub(crate) struct Scatter {
    count: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

/// Rounds of the network: each half changes the other three times.
const ROUNDS: usize = 6;

impl Scatter {
    /// A random permutation of the numbers below `count`. The caller guarantees that `count` is not
    /// 0.
    pub(crate) fn new(count: u64, random: &mut Random) -> Scatter {
        assert!(count > 0, "there is nothing to scatter");
        let bits = u64::BITS - (count - 1).leading_zeros();
        let low_bits = bits.div_ceil(2);
        let mut state = random.word();
        Scatter {
            count,
            low_bits,
            low_mask: (1 << low_bits) - 1,
            high_mask: (1 << (bits - low_bits)) - 1,
            keys: std::array::from_fn(|_| split_mix(&mut state)),
        }
    }

    /// The number to which `rank` is mapped. The caller guarantees that it is below the count.
    #[inline(never)]
    pub(crate) fn place(&self, rank: u64) -> u64 {
        debug_assert!(rank < self.count, "rank {rank} of {}", self.count);
        let mut place = self.permute(rank);
        while place >= self.count {
            place = self.permute(place);
        }
        place
    }

    #[inline]
    fn permute(&self, number: u64) -> u64 {
        let (mut high, mut low) = (number >> self.low_bits, number & self.low_mask);
        for pair in self.keys.chunks_exact(2) {
            high ^= mixed(low, pair[0]) & self.high_mask;
            low ^= mixed(high, pair[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }
}

/// The round function, which need not be invertible.
#[inline]
fn mixed(half: u64, key: u64) -> u64 {
    let product = (half ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ranks_have_the_same_place() {
        for count in (1..70).chain([255, 256, 257, 1000, 4097, 65_536]) {
            let scatter = Scatter::new(count, &mut Random::new(count));
            let mut taken = vec![false; count as usize];
            for rank in 0..count {
                let place = scatter.place(rank) as usize;
                assert!(!std::mem::replace(&mut taken[place], true), "{count}: {place} twice");
            }
        }
    }

    #[test]
    fn neighbours_are_separated() {
        let count = 1 << 20;
        let scatter = Scatter::new(count, &mut Random::new(5));
        let places: Vec<_> = (0..10_000).map(|rank| scatter.place(rank)).collect();
        let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1000).count();
        assert!(near < 60, "{near} of 10000 neighbours are within 1000; 19 are expected");
        let low_half = places.iter().filter(|&&place| place < count / 2).count();
        assert!((4_700..5_300).contains(&low_half), "{low_half}");
    }

    #[test]
    fn the_largest_space_works() {
        let scatter = Scatter::new(u64::MAX, &mut Random::new(6));
        assert!(scatter.place(u64::MAX - 1) < u64::MAX);
    }
}
