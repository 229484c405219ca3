//! A sample of pages or blocks, chosen by a hash of their number (Waldspurger et al. 2015, SHARDS).
//!
//! All uses of a member are seen, and none of the others. So distances among members are those
//! among all, divided by the same factor as the number of members.

/// One of every 2^n numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    shift: u32,
}

impl Sample {
    /// All numbers.
    pub const ALL: Sample = Sample { shift: 0 };

    /// The largest sample that has at most `most` of `all` numbers.
    pub fn new(all: u64, most: u64) -> Sample {
        let shift = (0..32).find(|shift| all >> shift <= most).unwrap_or(32);
        Sample { shift }
    }

    /// Whether a number belongs to the sample.
    #[inline]
    pub fn contains(self, n: u32) -> bool {
        mixed(n).leading_zeros() >= self.shift
    }

    /// How many numbers a member stands for.
    pub fn weight(self) -> u64 {
        1 << self.shift
    }

    /// The part of this sample that has every second member.
    pub fn half(self) -> Sample {
        Sample { shift: self.shift + 1 }
    }

    /// The sample twice as large, of which this is a half.
    pub fn double(self) -> Sample {
        Sample { shift: self.shift.saturating_sub(1) }
    }
}

/// A hash of which each bit depends on all bits of a number (the finaliser of MurmurHash3).
pub(crate) fn mixed(n: u32) -> u32 {
    let n = (n ^ n >> 16).wrapping_mul(0x85EB_CA6B);
    let n = (n ^ n >> 13).wrapping_mul(0xC2B2_AE35);
    n ^ n >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_about_as_many_as_their_weight_says() {
        for all in [100_000, 1 << 20] {
            let sample = Sample::new(all, 4096);
            let members = (0..all as u32).filter(|&n| sample.contains(n)).count() as u64;
            let estimate = (members * sample.weight()) as f64 / all as f64;
            assert!((0.95..1.05).contains(&estimate), "{all}: {estimate}");
            assert!(members <= 4096 + 200 && sample.weight() > 1);
        }
        assert_eq!(Sample::new(4096, 4096).weight(), 1);
    }

    #[test]
    fn a_half_is_a_part_and_its_double_is_the_whole() {
        let sample = Sample::new(1 << 20, 1 << 16);
        let half = sample.half();
        assert!((0..100_000).all(|n| sample.contains(n) || !half.contains(n)));
        assert_eq!((half.weight(), half.double()), (32, sample));
        assert_eq!(Sample::new(1, 1).double().weight(), 1);
    }
}
