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
    /// The leaves have a field of their own, because most calls touch nothing else.
    leaves: Vec<T>,
    /// The levels above the leaves. The last level of all is a single group of siblings.
    parents: Vec<Vec<T>>,
}

impl MinTree<u16> {
    /// Subtracts one from a leaf.
    #[inline]
    pub fn decrement(&mut self, leaf: usize) {
        let value = &mut self.leaves[leaf];
        *value -= 1;
        lower_parents(&mut self.parents, leaf, *value);
    }
}

impl<T: Leaf> MinTree<T> {
    /// A tree of `leaves` leaves that all hold the greatest number.
    pub fn new(leaves: usize) -> MinTree<T> {
        let (leaves, mut parents) = (padded(leaves), Vec::new());
        let mut below = leaves.len();
        while below > T::FAN {
            let level = padded(below / T::FAN);
            below = level.len();
            parents.push(level);
        }
        MinTree { leaves, parents }
    }

    /// The number at a leaf.
    #[inline]
    pub fn get(&self, leaf: usize) -> T {
        self.leaves[leaf]
    }

    /// All leaves. There may be more than were asked for.
    #[inline]
    pub fn leaves(&self) -> &[T] {
        &self.leaves
    }

    /// Sets a leaf.
    pub fn set(&mut self, leaf: usize, value: T) {
        let before = core::mem::replace(&mut self.leaves[leaf], value);
        match value <= before {
            true => lower_parents(&mut self.parents, leaf, value),
            false => self.raise_parents(leaf),
        }
    }

    /// The smallest number and the first leaf that holds it.
    pub fn first_minimum(&self) -> (usize, T) {
        let minimum = group_minimum(self.parents.last().unwrap_or(&self.leaves));
        let levels = self.parents.iter().rev().chain([&self.leaves]);
        let down = |at, level: &Vec<T>| at * T::FAN + first(&level[at * T::FAN..], minimum);
        (levels.fold(0, down), minimum)
    }

    fn raise_parents(&mut self, leaf: usize) {
        let (mut children, mut group) = (&self.leaves[..], leaf / T::FAN);
        for level in &mut self.parents {
            let minimum = group_minimum(&children[group * T::FAN..][..T::FAN]);
            if level[group] == minimum {
                return;
            }
            level[group] = minimum;
            children = level;
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
