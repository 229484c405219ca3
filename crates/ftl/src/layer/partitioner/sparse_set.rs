//! A set of small numbers that finds its next member fast, however few members it has.
//!
//! ```text
//! level 1   1            0            1          one bit per word of level 0: is it not empty?
//! level 0   00…0100…1    00…0000…0    10…000     one bit per number
//! ```
//! A search climbs to the first level that has a member to the right, and descends from there. Each
//! level takes a 64th of the memory of the level below it.

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug)]
pub struct SparseSet {
    /// Level 0 holds the members; the last level is a single word.
    levels: Vec<Vec<u64>>,
    bound: u32,
}

impl SparseSet {
    /// The empty set of numbers below `bound`.
    pub fn new(bound: u32) -> SparseSet {
        let mut words = bound.div_ceil(64).max(1) as usize;
        let mut levels = vec![vec![0; words]];
        while words > 1 {
            words = words.div_ceil(64);
            levels.push(vec![0; words]);
        }
        SparseSet { levels, bound }
    }

    /// The bound: every number in the set is below it.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Whether `n` is in the set.
    #[inline]
    pub fn contains(&self, n: u32) -> bool {
        self.levels[0][n as usize / 64] >> (n % 64) & 1 == 1
    }

    /// Adds `n`.
    pub fn insert(&mut self, n: u32) {
        let mut at = n as usize;
        for level in &mut self.levels {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    /// Removes `n`.
    pub fn remove(&mut self, n: u32) {
        let mut at = n as usize;
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The smallest number of the set that is at least `from`.
    pub fn next(&self, from: u32) -> Option<u32> {
        let mut at = from as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & u64::MAX << (at % 64);
            if word != 0 {
                return Some(self.descend(height, at / 64 * 64 + word.trailing_zeros() as usize));
            }
            at = at / 64 + 1;
        }
        None
    }

    /// The smallest number below node `at` of a level, which has one.
    fn descend(&self, height: usize, mut at: usize) -> u32 {
        for level in self.levels[..height].iter().rev() {
            at = at * 64 + level[at].trailing_zeros() as usize;
        }
        at as u32
    }

    /// All members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut from = Some(0);
        core::iter::from_fn(move || {
            let found = self.next(from?)?;
            from = found.checked_add(1);
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn behaves_like_an_ordered_set() {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        for bound in [1, 64, 65, 4096, 4097, 300_000] {
            let (mut set, mut naive) = (SparseSet::new(bound), BTreeSet::new());
            for _ in 0..2000 {
                let n = rng.next_u32() % bound;
                match rng.next_u32() % 5 {
                    0 | 1 => {
                        set.insert(n);
                        naive.insert(n);
                    }
                    2 => {
                        set.remove(n);
                        naive.remove(&n);
                    }
                    _ => {
                        naive.range(n..).next().into_iter().for_each(|&next| set.remove(next));
                        naive.range(n..).next().copied().map(|next| naive.remove(&next));
                    }
                }
                assert_eq!(set.next(n), naive.range(n..).next().copied(), "{bound}, from {n}");
                assert_eq!(set.contains(n), naive.contains(&n));
            }
            assert_eq!(set.iter().collect::<Vec<_>>(), naive.into_iter().collect::<Vec<_>>());
        }
    }
}
