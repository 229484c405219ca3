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

/// A sample with a maximum size; each item with its index in the sequence, from 0.
#[derive(Debug, Clone)]
pub struct StratifiedSample<T> {
    kept: Vec<(u64, T)>,
    /// Even, so that strata can be merged in pairs.
    max: usize,
    /// The length of a stratum: a power of two.
    step: u64,
    seen: u64,
}

impl<T: Copy> StratifiedSample<T> {
    /// A sample that keeps at most `max` items, and at least half as many once it has seen them.
    ///
    /// # Panics
    /// If `max` is odd, or 0.
    pub fn new(max: usize) -> StratifiedSample<T> {
        assert!(max > 0 && max.is_multiple_of(2), "{max} strata cannot be merged in pairs");
        StratifiedSample { kept: Vec::new(), max, step: 1, seen: 0 }
    }

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
        if self.kept.len() == self.max {
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
fn hash(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(items: u64, max: usize) -> StratifiedSample<u64> {
        let mut sample = StratifiedSample::new(max);
        (0..items).for_each(|item| sample.add(10 * item));
        sample
    }

    #[test]
    fn a_short_sequence_is_kept_completely() {
        let all: Vec<_> = (0..8).map(|number| (number, 10 * number)).collect();
        assert_eq!(sampled(8, 8).kept(), all);
        assert_eq!(sampled(0, 8).kept(), []);
    }

    #[test]
    fn the_item_with_the_lowest_hash_of_each_stratum_is_kept() {
        for items in [9, 100, 1000, 12_345] {
            let sample = sampled(items, 16);
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
        let sample = sampled(1 << 16, 256);
        let even = sample.kept().iter().filter(|(number, _)| number % 2 == 0).count();
        let all = sample.kept().len();
        assert!((all / 3..2 * all / 3).contains(&even), "{even} of {all}");
    }
}
