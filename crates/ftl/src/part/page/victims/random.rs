//! random: any full block, each with the same probability.

use nand::{BlockId, Geometry};
use spec::Params;

use crate::part::page::victims::d_choices::DChoices;
use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::policy::{Candidate, Policy, Selector};

/// Random.
pub static POLICY: Policy = Policy {
    name: "random",
    summary: "a full block drawn uniformly at random",
    source: "Van Houdt: A mean field model for a class of garbage collection algorithms in \
             flash-based solid state drives, SIGMETRICS 2013",
    selector,
    specification,
    ..Policy::PLAIN
};

/// One uniform draw.
fn specification(
    candidates: &[Candidate],
    _: u32,
    _: &Params,
    draws: &mut Draws,
) -> Option<BlockId> {
    draws.one_of(candidates).map(|victim| victim.block)
}

/// [`DChoices`] with a single draw.
fn selector(geometry: &Geometry, _: &Params, seed: u64) -> Box<dyn Selector> {
    Box::new(DChoices::new(geometry, 1, seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::{victim, victims};

    #[test]
    fn every_full_block_is_drawn_equally_often() {
        let mut drawn = [0; 3];
        for block in victims(&POLICY, "", &[4, 0, 2], 9).take(3000) {
            drawn[block.unwrap() as usize] += 1;
        }
        assert!(drawn.iter().all(|&count: &i32| (count - 1000).abs() < 100), "{drawn:?}");
        assert_eq!(victim(&POLICY, &[], 9), None);
    }
}
