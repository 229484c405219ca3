//! Numbers of power cuts, and of what they led to.

use std::ops::AddAssign;

use nand::Outcome;

use crate::conformance::reached::Figures;
use crate::finding::Verdict;

/// When the weak pages that a cut left on flash decay, as campaigns count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecayTime {
    /// There were no weak pages.
    Never,
    /// At power-on.
    PowerOn,
    /// During the mount.
    DuringMount,
    /// After the mount.
    AfterMount,
}

impl DecayTime {
    /// The names of the times, in the order of the variants.
    pub const NAMES: [&'static str; 4] =
        ["no weak pages", "decay at power-on", "during the mount", "after the mount"];
}

/// Number of power cuts that were tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CutCounts {
    /// Cuts during a workload.
    pub first: u64,
    /// Cuts during the recovery from a first one, or the operations after it.
    pub second: u64,
    /// Cuts during the recovery from a second or later one, or the operations after it.
    pub deeper: u64,
    /// All cuts by their outcome, in the order of [`Outcome::NAMES`], and by [`DecayTime`].
    pub by_kind: [[u64; DecayTime::NAMES.len()]; Outcome::NAMES.len()],
    /// First cuts after which something was wrong, by the [`Verdict`] and by their outcome.
    pub found: [[u64; Outcome::NAMES.len()]; Verdict::NAMES.len()],
    /// The figures of a guest, in its mounts after cuts.
    pub figures: Figures,
}

impl CutCounts {
    /// Number of cuts with this outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.by_kind[outcome as usize].iter().sum()
    }
}

impl AddAssign for CutCounts {
    fn add_assign(&mut self, other: CutCounts) {
        self.first += other.first;
        self.second += other.second;
        self.deeper += other.deeper;
        self.figures.add(&other.figures);
        let others = other.by_kind.as_flattened();
        for (mine, others) in self.by_kind.as_flattened_mut().iter_mut().zip(others) {
            *mine += others;
        }
        let others = other.found.as_flattened();
        for (mine, others) in self.found.as_flattened_mut().iter_mut().zip(others) {
            *mine += others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_adds_every_count_to_its_own() {
        let mut number = 0;
        let mut next = || {
            number += 1;
            number
        };
        let mut counts = CutCounts { first: next(), second: next(), ..CutCounts::default() };
        counts.deeper = next();
        counts.by_kind.as_flattened_mut().iter_mut().for_each(|count| *count = next());
        counts.found.as_flattened_mut().iter_mut().for_each(|count| *count = next());
        let numbers = |it: &CutCounts| -> Vec<u64> {
            let kinds = it.by_kind.as_flattened().iter().chain(it.found.as_flattened());
            [it.first, it.second, it.deeper].into_iter().chain(kinds.copied()).collect()
        };
        let mut sum = counts.clone();
        sum += counts.clone();
        sum += counts;
        let thrice: Vec<u64> = (1..=number).map(|n| 3 * n).collect();
        assert_eq!(numbers(&sum), thrice);
    }
}
