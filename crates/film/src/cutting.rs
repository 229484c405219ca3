//! The choice of the takes that are kept.
//!
//! ```text
//! takes   0 1 2 3 4 5 6 7 8 9 …      slots of one take, all kept
//!         0   2   5   7   8          slots of two: the more interesting one of each is kept
//!         0       5       8          slots of four
//! ```
//! The slots divide the pass evenly, so what is kept is spread over all of it. The first take and
//! the last one are always kept. Whenever there are too many, slots become twice as long; so the
//! length of the pass need not be known.

use crate::take::Take;

/// The takes that are kept.
pub struct Cutting {
    takes: Vec<Take>,
    /// Takes from the beginning of a slot to that of the next.
    per_slot: u64,
    takes_max: usize,
    /// Whether the first take of a slot is kept, whatever the others show. Films of several FTLs
    /// then keep the same requests.
    is_even: bool,
}

impl Cutting {
    /// Keeps at most `takes_max` takes, at least 2.
    pub fn new(takes_max: usize, is_even: bool) -> Cutting {
        Cutting { takes: Vec::new(), per_slot: 1, takes_max: takes_max.max(2), is_even }
    }

    /// Adds the take that follows the last one.
    pub fn add(&mut self, take: Take) {
        // The one before is no longer the last.
        if let Some(before) = self.takes.pop() {
            self.settle(before);
        }
        self.takes.push(take);
        while self.takes.len() > self.takes_max {
            self.thin();
        }
    }

    /// Doubles the slots.
    pub fn thin(&mut self) {
        self.per_slot *= 2;
        let last = self.takes.pop();
        for take in core::mem::take(&mut self.takes) {
            self.settle(take);
        }
        self.takes.extend(last);
    }

    /// Keeps a take that is not the last if its slot has no better one.
    fn settle(&mut self, take: Take) {
        let slot = |take: &Take| take.number / self.per_slot;
        match self.takes.last() {
            Some(best) if slot(best) == slot(&take) => {
                let is_first = best.number == 0;
                if !self.is_even && !is_first && take.interest() > best.interest() {
                    self.takes.pop();
                    self.takes.push(take);
                }
            }
            _ => self.takes.push(take),
        }
    }

    /// The takes, in their order.
    pub fn takes(&self) -> &[Take] {
        &self.takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::OpRecord;

    use crate::scene::Scene;
    use crate::take::Counters;

    /// A take that shows this number of scenes.
    fn take(number: u64, scenes: usize) -> Take {
        let scene = Scene {
            kind: 0,
            first: 0,
            operations: 1,
            lbn: None,
            reads: 0,
            programs: 0,
            copies: 0,
            erases: 1,
            sources: 0,
            target: None,
            victim: None,
        };
        Take {
            number,
            is_cut: false,
            blocks: Vec::new(),
            programs: 0,
            before: Counters::default(),
            requests: Vec::new(),
            spans: Vec::new(),
            operations: OpRecord::default(),
            scenes: vec![scene; scenes],
            corrections: Vec::new(),
            roles: Vec::new(),
        }
    }

    fn kept(takes_max: usize, is_even: bool, scenes: impl Fn(u64) -> usize) -> Vec<u64> {
        let mut cutting = Cutting::new(takes_max, is_even);
        (0..100).for_each(|number| cutting.add(take(number, scenes(number))));
        cutting.takes().iter().map(|take| take.number).collect()
    }

    #[test]
    fn the_first_and_the_last_take_and_the_best_of_each_slot_are_kept() {
        let best = kept(9, false, |number| usize::from(number % 16 == 11));
        assert_eq!(best, [0, 27, 43, 59, 75, 91, 96, 99]);
    }

    #[test]
    fn an_even_choice_does_not_depend_on_what_is_shown() {
        let even = kept(9, true, |number| number as usize);
        assert_eq!(even, [0, 16, 32, 48, 64, 80, 96, 99]);
        assert_eq!(even, kept(9, true, |_| 0));
    }

    #[test]
    fn a_short_pass_is_kept_whole() {
        assert_eq!(kept(100, false, |_| 1).len(), 100);
    }
}
