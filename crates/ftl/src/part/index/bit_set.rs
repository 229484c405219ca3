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

    /// The smallest number of the set that is at least `from`.
    pub fn next(&self, from: u32) -> Option<u32> {
        self.find(from, |word| word)
    }

    /// The first range of consecutive numbers within `span` that are in the set.
    pub fn run(&self, span: Range<u32>) -> Option<Range<u32>> {
        let start = self.next(span.start).filter(|&start| start < span.end)?;
        let end = self.find(start, |word| !word).unwrap_or(self.bound);
        Some(start..end.min(span.end))
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
    pub fn insert_all(&mut self, span: Range<u32>) {
        span.for_each(|n| self.insert(n));
    }

    /// Removes every number of `span`.
    pub fn remove_all(&mut self, span: Range<u32>) {
        span.for_each(|n| self.remove(n));
    }

    /// Removes the numbers for which `stays` does not hold.
    pub fn retain(&mut self, stays: impl Fn(u32) -> bool) {
        let mut from = 0;
        while let Some(n) = self.next(from) {
            if !stays(n) {
                self.remove(n);
            }
            from = n + 1;
        }
    }

    /// The first number at or after `from` whose bit is set after `view` was applied to its word.
    fn find(&self, from: u32, view: impl Fn(u64) -> u64) -> Option<u32> {
        let mut index = from as usize / 64;
        let mut word = view(*self.words.get(index)?) & u64::MAX << (from % 64);
        while word == 0 {
            index += 1;
            word = view(*self.words.get(index)?);
        }
        let found = index as u32 * 64 + word.trailing_zeros();
        (found < self.bound).then_some(found)
    }
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
        let runs = |span| bits.runs(span).collect::<Vec<_>>();
        assert_eq!(runs(0..200), [3..5, 6..70, 127..130, 198..200]);
        assert_eq!(runs(4..128), [4..5, 6..70, 127..128]);
        assert_eq!(runs(70..127), []);
        assert!(bits.contains(129) && !bits.contains(130));
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
