//! The regulator of LAST's hot partition: which pages are hot, and how many blocks they may fill.
//!
//! ```text
//! after each R·Np pages   N_d up                  too many dead blocks        hot partition − 1
//! of a random log of      N_d down, U_hot up      too little room for hot     hot partition + 1
//! R blocks                N_d down, U_hot not up  cold pages among hot ones   k − Np
//!                         U_cold down             hot pages among cold ones   k + Np
//! ```
//! N_d is the number of dead blocks in the hot partition, and U the utilization of each partition
//! (LAST §3.4.2). Up and down are relative to the end of the previous interval; for the first
//! interval, to the state after the mount. `k` starts at half the pages of the random log, the
//! maximum size of the hot partition at half its blocks.
//!
//! Invariants: 1 ≤ k ≤ R·Np; the hot partition may have between 1 and R − 1 blocks. The last rule
//! of the table is applied after one of the others, and both respect these bounds.
//!
//! Choices where the paper is silent: a partition without blocks has utilization 0. All pages of an
//! open block count, programmed or not. N_d counts full blocks only.

use super::random_partition::Utilization;
use crate::contract::{Violation, ensure};

/// The state of the two partitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionState {
    /// N_d: number of dead blocks in the hot partition.
    pub dead: u32,
    /// U_hot: utilization of the hot partition.
    pub hot: Utilization,
    /// U_cold: utilization of the cold partition.
    pub cold: Utilization,
}

/// k, and the maximum size of the hot partition.
#[derive(Clone, Debug)]
pub struct PartitionRegulator {
    /// Whether k and the size adapt at all.
    is_on: bool,
    k: u64,
    hot_blocks: u32,
    before: PartitionState,
    /// The end of the interval, on the clock of the random log.
    due: u64,
    pages_per_block: u64,
}

impl PartitionRegulator {
    /// The initial values for an empty random log of `random_blocks` blocks.
    pub fn new(is_on: bool, random_blocks: u32, pages_per_block: u32) -> PartitionRegulator {
        let pages = u64::from(random_blocks) * u64::from(pages_per_block);
        PartitionRegulator {
            is_on,
            k: pages / 2,
            hot_blocks: random_blocks / 2,
            before: PartitionState::default(),
            due: pages,
            pages_per_block: u64::from(pages_per_block),
        }
    }

    /// Sets the state with which the end of the first interval is compared, if the log is not
    /// empty.
    pub fn start(&mut self, now: PartitionState) {
        self.before = now;
    }

    /// k: a page that is rewritten at a distance below this is hot.
    #[inline]
    pub fn k(&self) -> u64 {
        self.k
    }

    /// Maximum number of blocks of the hot partition.
    pub fn hot_blocks(&self) -> u32 {
        self.hot_blocks
    }

    /// Whether the interval ends with page number `clock` of the random log.
    #[inline]
    pub fn is_due(&self, clock: u64) -> bool {
        clock == self.due
    }

    /// Ends an interval: adapts k and the size of the hot partition.
    pub fn regulate(&mut self, now: PartitionState, random_blocks: u32) {
        let before = core::mem::replace(&mut self.before, now);
        self.due += u64::from(random_blocks) * self.pages_per_block;
        if !self.is_on {
            return;
        }
        if now.dead > before.dead {
            self.hot_blocks -= 1;
        } else if now.dead < before.dead && now.hot.is_above(before.hot) {
            self.hot_blocks += 1;
        } else if now.dead < before.dead {
            self.k = self.k.saturating_sub(self.pages_per_block);
        }
        self.fit(random_blocks);
        if before.cold.is_above(now.cold) {
            self.k += self.pages_per_block;
        }
        self.fit(random_blocks);
    }

    /// Takes k and the size from another regulator, for a random log of the same size.
    pub fn follow(&mut self, other: &PartitionRegulator) {
        (self.k, self.hot_blocks) = (other.k, other.hot_blocks);
    }

    /// Limits k and the size to the bounds for a random log of `random_blocks` blocks.
    pub fn fit(&mut self, random_blocks: u32) {
        assert!(random_blocks >= 2, "{random_blocks} random blocks for two partitions");
        self.k = self.k.clamp(1, u64::from(random_blocks) * self.pages_per_block);
        self.hot_blocks = self.hot_blocks.clamp(1, random_blocks - 1);
    }

    /// Checks that k and the size are within their bounds.
    ///
    /// # Errors
    /// One is not.
    pub fn audit(&self, random_blocks: u32) -> core::result::Result<(), Violation> {
        let (k, most) = (self.k, u64::from(random_blocks) * self.pages_per_block);
        ensure!((1..=most).contains(&k), "k is {k}, not between 1 and {most}");
        let (hot, most) = (self.hot_blocks, random_blocks - 1);
        ensure!(
            (1..=most).contains(&hot),
            "the hot partition may have {hot} blocks, not between 1 and {most}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state from the number of dead blocks and the valid pages, of 100 each, in the hot and the
    /// cold partition.
    fn state((dead, hot, cold): (u32, u64, u64)) -> PartitionState {
        let of = |valid| Utilization { valid, pages: 100 };
        PartitionState { dead, hot: of(hot), cold: of(cold) }
    }

    /// k and the maximum of hot blocks after intervals that end in these states. The log has ten
    /// blocks of eight pages, so they start at 40 and 5.
    fn after(states: &[(u32, u64, u64)]) -> (u64, u32) {
        let mut regulator = PartitionRegulator::new(true, 10, 8);
        regulator.start(state(states[0]));
        for (n, &next) in (1..).zip(&states[1..]) {
            assert!(regulator.is_due(n * 80) && !regulator.is_due(n * 80 - 1));
            regulator.regulate(state(next), 10);
            regulator.audit(10).unwrap();
        }
        (regulator.k(), regulator.hot_blocks())
    }

    #[test]
    fn each_rule_changes_what_the_table_says() {
        assert_eq!(after(&[(2, 50, 50)]), (40, 5), "initial values");
        assert_eq!(after(&[(2, 50, 50), (2, 70, 70)]), (40, 5), "N_d unchanged");
        assert_eq!(after(&[(2, 50, 50), (3, 70, 50)]), (40, 4), "N_d up");
        assert_eq!(after(&[(2, 50, 50), (1, 51, 50)]), (40, 6), "N_d down, U_hot up");
        assert_eq!(after(&[(2, 50, 50), (1, 50, 50)]), (32, 5), "N_d down, U_hot unchanged");
        assert_eq!(after(&[(2, 50, 50), (1, 49, 50)]), (32, 5), "N_d down, U_hot down");
        assert_eq!(after(&[(2, 50, 50), (2, 50, 49)]), (48, 5), "U_cold down");
        assert_eq!(after(&[(2, 50, 50), (3, 50, 49)]), (48, 4), "two rules");
        assert_eq!(after(&[(2, 50, 50), (1, 50, 49)]), (40, 5), "two rules that undo each other");
    }

    #[test]
    fn states_are_compared_with_the_previous_interval() {
        assert_eq!(after(&[(2, 50, 50), (3, 50, 50), (3, 50, 50)]), (40, 4));
        assert_eq!(after(&[(2, 50, 50), (3, 50, 50), (2, 51, 50)]), (40, 5));
    }

    #[test]
    fn k_and_size_stay_within_their_bounds() {
        let ups: Vec<_> = (0..30).map(|n| (n, 50, 50)).collect();
        assert_eq!(after(&ups), (40, 1));
        let downs: Vec<_> = (0..30).map(|n| (30 - n, 50, 50)).collect();
        assert_eq!(after(&downs), (1, 5));
        let falls: Vec<_> = (0..30).map(|n| (0, 50, 50 - n)).collect();
        assert_eq!(after(&falls), (80, 5));
        let lacks: Vec<_> = (0..30).map(|n| (30 - n, 50 + u64::from(n), 50)).collect();
        assert_eq!(after(&lacks), (40, 9));
        let both: Vec<_> = (0..30).map(|n| (30 - n, 50, 50 - u64::from(n))).collect();
        assert_eq!(after(&[downs, both].concat()).0, 9, "down to 1, then up by one block");
    }

    #[test]
    fn a_smaller_log_has_smaller_bounds() {
        let mut regulator = PartitionRegulator::new(true, 10, 8);
        regulator.fit(3);
        assert_eq!((regulator.k(), regulator.hot_blocks()), (24, 2));
    }

    #[test]
    fn k_and_size_can_be_taken_from_another_regulator() {
        let mut regulator = PartitionRegulator::new(true, 10, 8);
        let mut other = regulator.clone();
        other.fit(3);
        regulator.follow(&other);
        assert_eq!((regulator.k(), regulator.hot_blocks()), (24, 2));
    }

    #[test]
    fn nothing_adapts_if_switched_off() {
        let mut regulator = PartitionRegulator::new(false, 10, 8);
        regulator.start(state((2, 50, 50)));
        regulator.regulate(state((3, 50, 40)), 10);
        assert_eq!((regulator.k(), regulator.hot_blocks()), (40, 5));
        assert!(regulator.is_due(160), "intervals end as usual");
    }
}
