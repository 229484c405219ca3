//! cost_benefit_sqrt: cost-benefit as the code of SepBIT and of MiDAS weighs it.
//!
//! ```text
//!                 Np − v
//! score = √age · ────────     compared by its square, which is a fraction of whole numbers
//!                   v
//! ```
//! The root lets the oldest blocks stand out less than in [`cost_benefit`](super::cost_benefit).

use crate::part::page::victims::cost_benefit::{Reading, selector, specification};
use crate::part::page::victims::policy::Policy;

/// Cost-benefit with the root of the age.
pub static POLICY: Policy = Policy {
    name: "cost_benefit_sqrt",
    summary: "the block with the highest √age·(1−u)/u, where u is its share of valid pages",
    source: "the code of SepBIT (Wang et al., FAST 2022) and of MiDAS (Oh et al., FAST 2024); they \
             count age in time or blocks, here it is host pages since the block closed",
    selector: selector::<RootOfAge>,
    specification: specification::<RootOfAge>,
    ..Policy::PLAIN
};

/// Squares of numerator and denominator.
#[derive(Clone, Copy, Debug)]
struct RootOfAge;

impl Reading for RootOfAge {
    type Benefit = u128;

    fn benefit(age: u64, dead: u32) -> u128 {
        u128::from(age) * u128::from(u64::from(dead).pow(2))
    }

    fn cost(valid: u32, _: u32) -> u64 {
        u64::from(valid).pow(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::cost_benefit;
    use crate::part::page::victims::policy::by_hand::victim;

    #[test]
    fn age_counts_for_less_than_in_cost_benefit() {
        // At 8 the ages are 8 and 1: 8·1/6 is more than 1·2/4, but √8·1/3 is less than √1·2/2.
        let valid = [3, 4, 4, 4, 4, 4, 4, 2];
        assert_eq!(victim(&cost_benefit::POLICY, &valid, 8), Some(0));
        assert_eq!(victim(&POLICY, &valid, 8), Some(7));
        // At 10 the ages are 10 and 1: √10·1/3 is more than √1·2/2.
        let valid = [3, 4, 4, 4, 4, 4, 4, 4, 4, 2];
        assert_eq!(victim(&POLICY, &valid, 10), Some(0));
    }

    #[test]
    fn a_dead_block_comes_first_and_a_valid_one_is_no_victim() {
        assert_eq!(victim(&POLICY, &[1, 0, 0], 1000), Some(1));
        assert_eq!(victim(&POLICY, &[4, 4], 1000), None);
    }
}
