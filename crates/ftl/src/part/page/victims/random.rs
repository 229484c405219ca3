//! random: any full block, each with the same probability.

use nand::{BlockId, Geometry};
use spec::Params;

use crate::part::page::victims::draws::{DrawList, Draws};
use crate::part::page::victims::policy::{Candidate, Policy, Selector, refuses_nothing};
use crate::part::page::victims::valid_counts::ValidCounts;

/// Random.
pub static POLICY: Policy = Policy {
    name: "random",
    summary: "a full block drawn uniformly at random",
    source: "Van Houdt: A mean field model for a class of garbage collection algorithms in \
             flash-based solid state drives, SIGMETRICS 2013",
    params: &[],
    corners: &[],
    refuses: refuses_nothing,
    selector,
    specification,
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

fn selector(geometry: &Geometry, _: &Params, seed: u64) -> Box<dyn Selector> {
    Box::new(Random { full: DrawList::new(geometry, seed) })
}

#[derive(Debug)]
struct Random {
    full: DrawList,
}

impl Selector for Random {
    fn closed(&mut self, block: BlockId, _: u16, _: u64) {
        self.full.insert(block);
    }

    fn released(&mut self, block: BlockId, _: u16) {
        self.full.remove(block);
    }

    fn choose(&mut self, _: &ValidCounts, _: u64) -> Option<BlockId> {
        self.full.draw()
    }
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
