//! A bounded sample of a long sequence, evenly spread over it.
//!
//! ```text
//! items   0 1 2 3 4 5 6 7 8 9 …
//! kept   [0 · · ·][· · 6 ·][8 …       a random item of each stratum; when there are too many,
//!                                     pairs of strata are merged
//! ```
//! The item is random so that a pattern with a period of a few items is neither hidden nor
//! exaggerated. The choice depends on a hash of the item's index, so equal sequences give equal
//! samples.

use crate::generate::random::split_mix;

/// A sample of at most `MAX` items, and at least half as many once it has seen them; each item with
/// its index in the sequence, from 0. `MAX` is even, so that strata can be merged in pairs.
#[derive(Debug, Clone)]
pub struct StratifiedSample<T, const MAX: usize> {
    kept: Vec<(u64, T)>,
    /// The length of a stratum: a power of two.
    step: u64,
    seen: u64,
}

impl<T, const MAX: usize> Default for StratifiedSample<T, MAX> {
    fn default() -> StratifiedSample<T, MAX> {
        const { assert!(MAX > 0 && MAX.is_multiple_of(2), "strata cannot be merged in pairs") };
        StratifiedSample { kept: Vec::new(), step: 1, seen: 0 }
    }
}

impl<T: Copy, const MAX: usize> StratifiedSample<T, MAX> {
    /// Adds the next item of the sequence.
    pub(crate) fn add(&mut self, item: T) {
        let number = self.seen;
        self.seen += 1;
        if !number.is_multiple_of(self.step) {
            let last = self.kept.last_mut().expect("a stratum has begun");
            if hash(number) < hash(last.0) {
                *last = (number, item);
            }
            return;
        }
        if self.kept.len() == MAX {
            self.merge_strata();
        }
        self.kept.push((number, item));
    }

    fn merge_strata(&mut self) {
        let drawn = |pair: &[(u64, T)]| match hash(pair[0].0) < hash(pair[1].0) {
            true => pair[0],
            false => pair[1],
        };
        self.kept = self.kept.chunks_exact(2).map(drawn).collect();
        self.step *= 2;
    }

    /// The items of the sample with their indices, in order.
    pub fn kept(&self) -> &[(u64, T)] {
        &self.kept
    }

    /// The length of the sequence so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The length of a stratum: one of this many items is kept.
    pub fn step(&self) -> u64 {
        self.step
    }
}

/// The finalizer of splitmix64.
fn hash(mut number: u64) -> u64 {
    split_mix(&mut number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled<const MAX: usize>(items: u64) -> StratifiedSample<u64, MAX> {
        let mut sample = StratifiedSample::default();
        (0..items).for_each(|item| sample.add(10 * item));
        sample
    }

    #[test]
    fn a_short_sequence_is_kept_completely() {
        let all: Vec<_> = (0..8).map(|number| (number, 10 * number)).collect();
        assert_eq!(sampled::<8>(8).kept(), all);
        assert_eq!(sampled::<8>(0).kept(), []);
    }

    #[test]
    fn the_item_with_the_lowest_hash_of_each_stratum_is_kept() {
        for items in [9, 100, 1000, 12_345] {
            let sample = sampled::<16>(items);
            let step = sample.step();
            let lowest = |first: u64| {
                let stratum = first..(first + step).min(items);
                let number = stratum.min_by_key(|&number| hash(number)).expect("not empty");
                (number, 10 * number)
            };
            let wanted: Vec<_> = (0..items).step_by(step as usize).map(lowest).collect();
            assert_eq!(sample.kept(), wanted);
            let (low, high) = if items < 16 { (9, 9) } else { (8, 16) };
            assert!((low..=high).contains(&wanted.len()), "{} of {items}", wanted.len());
            assert_eq!(sample.seen(), items);
        }
    }

    #[test]
    fn items_with_a_period_of_two_are_sampled_fairly() {
        let sample = sampled::<256>(1 << 16);
        let even = sample.kept().iter().filter(|(number, _)| number % 2 == 0).count();
        let all = sample.kept().len();
        assert!((all / 3..2 * all / 3).contains(&even), "{even} of {all}");
    }
}
