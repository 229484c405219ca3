//! A set of small numbers, one bit each.

use core::ops::Range;

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug)]
pub struct BitSet {
    words: Vec<u64>,
    bound: u32,
}

impl BitSet {
    /// The empty set of numbers below `bound`.
    pub fn new(bound: u32) -> BitSet {
        BitSet { words: vec![0; bound.div_ceil(64) as usize], bound }
    }

    /// The set whose bits these bytes hold; the lowest bit of the first byte is number 0.
    pub fn from_bytes(bytes: &[u8]) -> BitSet {
        let word = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        BitSet { words: bytes.chunks(8).map(word).collect(), bound: bytes.len() as u32 * 8 }
    }

    /// The bound: every number in the set is below it.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Whether `n` is in the set.
    #[inline]
    pub fn contains(&self, n: u32) -> bool {
        self.words[n as usize / 64] >> (n % 64) & 1 == 1
    }

    /// Adds `n`.
    #[inline]
    pub fn insert(&mut self, n: u32) {
        self.words[n as usize / 64] |= 1 << (n % 64);
    }

    /// Removes `n`.
    #[inline]
    pub fn remove(&mut self, n: u32) {
        self.words[n as usize / 64] &= !(1 << (n % 64));
    }

    /// The smallest number within `span` that is in the set.
    #[inline]
    pub fn first_in(&self, span: Range<u32>) -> Option<u32> {
        self.find(span, |word| word)
    }

    /// The first range of consecutive numbers within `span` that are in the set.
    #[inline]
    pub fn run(&self, span: Range<u32>) -> Option<Range<u32>> {
        let end = span.end.min(self.bound);
        let start = self.first_in(span.start..end)?;
        Some(start..self.find(start..end, |word| !word).unwrap_or(end))
    }

    /// The numbers within `span` that are in the set, ascending.
    #[inline]
    pub fn members(&self, span: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let (mut at, end) = (span.start, span.end.min(self.bound));
        let mut word = 0;
        core::iter::from_fn(move || {
            while word == 0 {
                if at >= end {
                    return None;
                }
                let upper = end.min((at | 63) + 1);
                word = self.words[at as usize / 64] & bits(at..upper);
                at = upper;
            }
            let lowest = word.trailing_zeros();
            word &= word - 1;
            Some((at - 1) / 64 * 64 + lowest)
        })
    }

    /// The maximal ranges of consecutive numbers within `span` that are in the set.
    pub fn runs(&self, span: Range<u32>) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut at = span.start;
        core::iter::from_fn(move || {
            let run = self.run(at..span.end)?;
            at = run.end;
            Some(run)
        })
    }

    /// Adds every number of `span`.
    #[inline]
    pub fn insert_all(&mut self, span: Range<u32>) {
        self.change(span, |word, mask| word | mask);
    }

    /// Removes every number of `span`.
    #[inline]
    pub fn remove_all(&mut self, span: Range<u32>) {
        self.change(span, |word, mask| word & !mask);
    }

    /// Changes each word that holds numbers of `span`; the mask has the bits of these numbers.
    #[inline]
    fn change(&mut self, span: Range<u32>, change: impl Fn(u64, u64) -> u64) {
        let mut at = span.start;
        while at < span.end {
            let end = span.end.min((at | 63) + 1);
            let word = &mut self.words[at as usize / 64];
            *word = change(*word, bits(at..end));
            at = end;
        }
    }

    /// Removes the numbers for which `stays` does not hold.
    pub fn retain(&mut self, stays: impl Fn(u32) -> bool) {
        let mut from = 0;
        while let Some(n) = self.first_in(from..self.bound) {
            if !stays(n) {
                self.remove(n);
            }
            from = n + 1;
        }
    }

    /// The first number within `span` whose bit is set after `view` was applied to its word. Looks
    /// at no word beyond the span: its time must not depend on the size of the set.
    #[inline]
    fn find(&self, span: Range<u32>, view: impl Fn(u64) -> u64) -> Option<u32> {
        let end = span.end.min(self.bound);
        if span.start >= end {
            return None;
        }
        let (mut index, last) = (span.start as usize / 64, (end - 1) as usize / 64);
        let mut word = view(self.words[index]) & u64::MAX << (span.start % 64);
        while word == 0 && index < last {
            index += 1;
            word = view(self.words[index]);
        }
        let found = index as u32 * 64 + word.trailing_zeros();
        (word != 0 && found < end).then_some(found)
    }
}

/// The bits of these numbers in the word that holds all of them; there is at least one.
#[inline]
fn bits(span: Range<u32>) -> u64 {
    u64::MAX >> (64 - (span.end - span.start)) << (span.start % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_maximal_and_clipped() {
        let mut bits = BitSet::new(200);
        for n in (3..70).chain(127..130).chain(198..200) {
            bits.insert(n);
        }
        bits.remove(5);
        let runs = |span: Range<u32>| {
            let runs: Vec<Range<u32>> = bits.runs(span.clone()).collect();
            assert!(bits.members(span).eq(runs.iter().cloned().flatten()));
            runs
        };
        assert_eq!(runs(0..200), [3..5, 6..70, 127..130, 198..200]);
        assert_eq!(runs(4..128), [4..5, 6..70, 127..128]);
        assert_eq!(runs(70..127), []);
        assert!(bits.contains(129) && !bits.contains(130));
    }

    #[test]
    fn searches_end_with_their_span() {
        let mut bits = BitSet::new(200);
        bits.insert_all(64..190);
        assert_eq!(bits.first_in(3..64), None);
        assert_eq!(bits.first_in(3..65), Some(64));
        assert_eq!(bits.first_in(190..300), None);
        assert_eq!(bits.run(60..128), Some(64..128));
        assert_eq!(bits.run(100..300), Some(100..190));
        bits.insert_all(190..200);
        assert_eq!(bits.run(100..300), Some(100..200));
    }

    #[test]
    fn ranges_are_added_and_removed_as_a_whole() {
        for span in [0..0, 5..5, 0..64, 3..64, 64..128, 60..70, 1..190, 0..200] {
            let (mut bits, mut naive) = (BitSet::new(200), BitSet::new(200));
            bits.insert_all(span.clone());
            span.clone().for_each(|n| naive.insert(n));
            assert_eq!(bits.words, naive.words, "{span:?}");
            bits.insert_all(0..200);
            naive.insert_all(0..200);
            bits.remove_all(span.clone());
            span.clone().for_each(|n| naive.remove(n));
            assert_eq!(bits.words, naive.words, "{span:?}");
        }
    }

    #[test]
    fn only_chosen_numbers_are_retained() {
        let mut bits = BitSet::new(66);
        [0, 1, 63, 64, 65].into_iter().for_each(|n| bits.insert(n));
        bits.retain(|n| n % 2 == 1);
        assert_eq!(bits.runs(0..66).collect::<Vec<_>>(), [1..2, 63..64, 65..66]);
    }

    #[test]
    fn bytes_hold_eight_numbers_each() {
        let mut bytes = [0; 11];
        bytes[0] = 0b0000_0110;
        bytes[7] = 0b1000_0000;
        bytes[8] = 0b0000_0001;
        bytes[10] = 0b1100_0000;
        let bits = BitSet::from_bytes(&bytes);
        assert_eq!(bits.bound(), 88);
        assert_eq!(bits.runs(0..88).collect::<Vec<_>>(), [1..3, 63..65, 86..88]);
    }
}
