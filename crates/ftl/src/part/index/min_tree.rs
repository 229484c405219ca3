//! A tree that finds the smallest of many numbers, and the first position that holds it.
//!
//! ```text
//! level 2            3
//! level 1      7           3
//! leaves   9 7 8 7     5 3 9 3        smallest 3, first at leaf 5
//! ```
//! Each node is the minimum of as many children as fit one cache line: 32 numbers of 16 bits.
//! Lowering a leaf climbs only as far as minima change. For counts of valid pages that is almost
//! always a single comparison.

/// A type of numbers that the leaves can hold.
pub trait Leaf: Copy + Ord {
    /// The greatest number. Unused leaves hold it.
    const MOST: Self;
    /// Children per node: as many as fit a cache line.
    const FAN: usize;
}

impl Leaf for u16 {
    const MOST: u16 = u16::MAX;
    const FAN: usize = 32;
}

impl Leaf for u64 {
    const MOST: u64 = u64::MAX;
    const FAN: usize = 8;
}

/// A tree of minima.
#[derive(Clone, Debug)]
pub struct MinTree<T = u16> {
    /// Level 0 holds the leaves; the last level is a single group of siblings.
    levels: Vec<Vec<T>>,
}

impl MinTree<u16> {
    /// Subtracts one from a leaf.
    #[inline]
    pub fn decrement(&mut self, leaf: usize) {
        let [leaves, parents @ ..] = &mut self.levels[..] else { return };
        let value = &mut leaves[leaf];
        *value -= 1;
        lower_parents(parents, leaf, *value);
    }
}

impl<T: Leaf> MinTree<T> {
    /// A tree of `leaves` leaves that all hold the greatest number.
    pub fn new(leaves: usize) -> MinTree<T> {
        let mut levels = vec![padded(leaves)];
        while levels.last().is_some_and(|level| level.len() > T::FAN) {
            let groups = levels.last().map_or(0, |level| level.len() / T::FAN);
            levels.push(padded(groups));
        }
        MinTree { levels }
    }

    /// The number at a leaf.
    #[inline]
    pub fn get(&self, leaf: usize) -> T {
        self.levels[0][leaf]
    }

    /// All leaves. There may be more than were asked for.
    #[inline]
    pub fn leaves(&self) -> &[T] {
        &self.levels[0]
    }

    /// Sets a leaf.
    pub fn set(&mut self, leaf: usize, value: T) {
        let before = core::mem::replace(&mut self.levels[0][leaf], value);
        match value <= before {
            true => lower_parents(&mut self.levels[1..], leaf, value),
            false => self.raise_parents(leaf),
        }
    }

    /// The smallest number and the first leaf that holds it.
    pub fn first_minimum(&self) -> (usize, T) {
        let top = self.levels.last().expect("there is always a level");
        let minimum = group_minimum(top);
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let group = &level[at * T::FAN..];
            at = at * T::FAN + first(group, minimum);
        }
        (at, minimum)
    }

    fn raise_parents(&mut self, leaf: usize) {
        let mut group = leaf / T::FAN;
        for parent in 1..self.levels.len() {
            let minimum = group_minimum(&self.levels[parent - 1][group * T::FAN..][..T::FAN]);
            if self.levels[parent][group] == minimum {
                return;
            }
            self.levels[parent][group] = minimum;
            group /= T::FAN;
        }
    }
}

/// Lowers the parents of a leaf that now holds `value`, as far as they are greater.
#[inline]
fn lower_parents<T: Leaf>(parents: &mut [Vec<T>], leaf: usize, value: T) {
    let mut at = leaf;
    for level in parents {
        at /= T::FAN;
        if level[at] <= value {
            return;
        }
        level[at] = value;
    }
}

fn padded<T: Leaf>(len: usize) -> Vec<T> {
    vec![T::MOST; len.next_multiple_of(T::FAN).max(T::FAN)]
}

fn group_minimum<T: Leaf>(group: &[T]) -> T {
    group.iter().fold(T::MOST, |least, &value| least.min(value))
}

fn first<T: Leaf>(group: &[T], value: T) -> usize {
    group.iter().position(|&child| child == value).expect("a node is the minimum of its children")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn finds_the_same_minimum_as_a_linear_search() {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        for leaves in [1, 32, 33, 1000, 40_000] {
            let mut tree = MinTree::new(leaves);
            let mut naive = vec![u16::MAX; leaves];
            for _ in 0..2000 {
                let leaf = rng.next_u32() as usize % leaves;
                if rng.next_u32() % 2 == 0 && naive[leaf] > 0 {
                    tree.decrement(leaf);
                    naive[leaf] -= 1;
                } else {
                    let value = (rng.next_u32() % 64) as u16;
                    tree.set(leaf, value);
                    naive[leaf] = value;
                }
                let minimum = *naive.iter().min().unwrap();
                let leaf = naive.iter().position(|&value| value == minimum).unwrap();
                assert_eq!(tree.first_minimum(), (leaf, minimum));
            }
        }
    }
}
