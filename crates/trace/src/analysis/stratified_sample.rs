//! A bounded number of things out of a long row of them, evenly spread.
//!
//! ```text
//! things   0 1 2 3 4 5 6 7 8 9 …
//! kept    [0 · · ·][· · 6 ·][8 …        one of each stretch, drawn by lot; once there are
//!                                       too many, two stretches become one
//! ```
//! By lot, so that nothing that comes at every second or fourth place hides; the lots are a hash
//! of the number, so that equal rows give equal samples.

/// So many things at most, each with its number in the row, from 0.
#[derive(Debug, Clone)]
pub struct StratifiedSample<T> {
    kept: Vec<(u64, T)>,
    /// Even, so that stretches can be joined two by two.
    max: usize,
    /// The length of a stretch: a power of two.
    step: u64,
    seen: u64,
}

impl<T: Copy> StratifiedSample<T> {
    /// Keeps up to `max` things; between half of them and all once there are as many.
    ///
    /// # Panics
    /// If `max` is odd, or 0.
    pub fn new(max: usize) -> StratifiedSample<T> {
        assert!(max > 0 && max.is_multiple_of(2), "{max} stretches cannot be joined two by two");
        StratifiedSample { kept: Vec::new(), max, step: 1, seen: 0 }
    }

    /// The next thing of the row.
    pub(crate) fn add(&mut self, thing: T) {
        let number = self.seen;
        self.seen += 1;
        if !number.is_multiple_of(self.step) {
            let last = self.kept.last_mut().expect("a stretch has begun");
            if lot(number) < lot(last.0) {
                *last = (number, thing);
            }
            return;
        }
        if self.kept.len() == self.max {
            self.join();
        }
        self.kept.push((number, thing));
    }

    fn join(&mut self) {
        let drawn = |pair: &[(u64, T)]| match lot(pair[0].0) < lot(pair[1].0) {
            true => pair[0],
            false => pair[1],
        };
        self.kept = self.kept.chunks_exact(2).map(drawn).collect();
        self.step *= 2;
    }

    /// What was drawn, each with its number, in order.
    pub fn kept(&self) -> &[(u64, T)] {
        &self.kept
    }

    /// How many things the row has.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// One of how many is kept.
    pub fn step(&self) -> u64 {
        self.step
    }
}

/// The finalizer of splitmix64.
fn lot(number: u64) -> u64 {
    let mut hash = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(things: u64, max: usize) -> StratifiedSample<u64> {
        let mut sample = StratifiedSample::new(max);
        (0..things).for_each(|thing| sample.add(10 * thing));
        sample
    }

    #[test]
    fn few_things_are_all_kept() {
        let all: Vec<_> = (0..8).map(|number| (number, 10 * number)).collect();
        assert_eq!(sampled(8, 8).kept(), all);
        assert_eq!(sampled(0, 8).kept(), []);
    }

    #[test]
    fn each_stretch_has_the_one_of_its_lowest_lot() {
        for things in [9, 100, 1000, 12_345] {
            let sample = sampled(things, 16);
            let step = sample.step();
            let lowest = |first: u64| {
                let stretch = first..(first + step).min(things);
                let number = stretch.min_by_key(|&number| lot(number)).expect("not empty");
                (number, 10 * number)
            };
            let wanted: Vec<_> = (0..things).step_by(step as usize).map(lowest).collect();
            assert_eq!(sample.kept(), wanted);
            let (low, high) = if things < 16 { (9, 9) } else { (8, 16) };
            assert!((low..=high).contains(&wanted.len()), "{} of {things}", wanted.len());
            assert_eq!(sample.seen(), things);
        }
    }

    #[test]
    fn what_comes_at_every_second_place_is_neither_hidden_nor_all() {
        let sample = sampled(1 << 16, 256);
        let even = sample.kept().iter().filter(|(number, _)| number % 2 == 0).count();
        let all = sample.kept().len();
        assert!((all / 3..2 * all / 3).contains(&even), "{even} of {all}");
    }
}
