//! cost_benefit_lfs: cost-benefit as the log-structured file system weighs it.
//!
//! ```text
//!          benefit   age · (Np − v)
//! score =  ─────── = ──────────────     the whole block is read, and v pages are written again
//!           cost         Np + v
//! ```
//! The cost differs little between blocks, so age counts for more than in
//! [`cost_benefit`](super::cost_benefit).

use crate::part::page::victims::cost_benefit::{Reading, selector, specification};
use crate::part::page::victims::policy::Policy;

/// Cost-benefit of the log-structured file system.
pub static POLICY: Policy = Policy {
    name: "cost_benefit_lfs",
    summary: "the block with the highest age·(1−u)/(1+u), where u is its share of valid pages",
    source: "Rosenblum, Ousterhout: The design and implementation of a log-structured file system, \
             ACM TOCS 10(1), 1992, section 3.6",
    selector: selector::<WholeBlock>,
    specification: specification::<WholeBlock>,
    ..Policy::PLAIN
};

#[derive(Clone, Copy, Debug)]
struct WholeBlock;

impl Reading for WholeBlock {
    type Benefit = u64;

    fn benefit(age: u64, dead: u32) -> u64 {
        age * u64::from(dead)
    }

    fn cost(valid: u32, pages_per_block: u32) -> u64 {
        u64::from(pages_per_block) + u64::from(valid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::victim;

    #[test]
    fn age_outweighs_copies_sooner_than_in_cost_benefit() {
        // At 7 the ages are 7 and 6: 7·1/7 is less than 6·2/6.
        assert_eq!(victim(&POLICY, &[3, 2], 7), Some(1));
        // At 4 the ages are 4 and 1: 4·1/7 is more than 1·2/6.
        assert_eq!(victim(&POLICY, &[3, 4, 4, 2], 4), Some(0));
        assert_eq!(victim(&super::super::cost_benefit::POLICY, &[3, 4, 4, 2], 4), Some(0));
        // At 10 the ages are 10 and 5: 10·1/7 is less than 5·2/6, and 10·1/6 less than 5·2/4.
        assert_eq!(victim(&POLICY, &[3, 4, 4, 4, 4, 2], 10), Some(1 + 4));
        // At 8 the ages are 8 and 3: 8·1/7 is more than 3·2/6, and 8·1/6 less than 3·2/4.
        assert_eq!(victim(&POLICY, &[3, 4, 4, 4, 4, 2], 8), Some(0));
        let other = &super::super::cost_benefit::POLICY;
        assert_eq!(victim(other, &[3, 4, 4, 4, 4, 2], 8), Some(5));
    }

    #[test]
    fn a_dead_block_comes_first_and_a_valid_one_is_no_victim() {
        assert_eq!(victim(&POLICY, &[1, 0, 0], 1000), Some(1));
        assert_eq!(victim(&POLICY, &[4, 4], 1000), None);
    }
}
