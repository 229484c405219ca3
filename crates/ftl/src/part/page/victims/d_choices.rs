//! d-choices: the best of a few random blocks. A small d comes close to greedy without an index.

use nand::{BlockId, Geometry};
use spec::{Kind, Param, Params};

use crate::part::page::victims::draws::{DrawList, Draws};
use crate::part::page::victims::policy::{Candidate, Policy, Selector};
use crate::part::page::victims::valid_counts::ValidCounts;

/// d-choices.
pub static POLICY: Policy = Policy {
    name: "dchoices",
    summary: "the block with the fewest valid pages among d blocks that are drawn with replacement",
    source: "Van Houdt: A mean field model for a class of garbage collection algorithms in \
             flash-based solid state drives, SIGMETRICS 2013",
    params: &[Param {
        name: "d",
        kind: Kind::Count,
        default: "2",
        unit: "draws",
        doc: "the number of blocks that dchoices draws, with replacement",
    }],
    corners: &["d=3"],
    refuses,
    selector,
    specification,
};

fn refuses(params: &Params) -> Option<String> {
    match params.count("d") {
        1..=65_536 => None,
        d => Some(format!("d={d} draws; 1 to 65536 are possible")),
    }
}

/// Fewest valid pages of `d` uniform draws; the lowest block wins a tie.
fn specification(
    candidates: &[Candidate],
    _: u32,
    params: &Params,
    draws: &mut Draws,
) -> Option<BlockId> {
    let drawn = (0..params.count("d")).filter_map(|_| draws.one_of(candidates));
    drawn.min_by_key(|block| (block.valid, block.block)).map(|victim| victim.block)
}

fn selector(geometry: &Geometry, params: &Params, seed: u64) -> Box<dyn Selector> {
    Box::new(DChoices::new(geometry, params.count("d"), seed))
}

/// The fast form.
#[derive(Debug)]
pub struct DChoices {
    full: DrawList,
    d: u64,
}

impl DChoices {
    /// The best of `d` draws.
    pub fn new(geometry: &Geometry, d: u64, seed: u64) -> DChoices {
        DChoices { full: DrawList::new(geometry, seed), d }
    }
}

impl Selector for DChoices {
    fn closed(&mut self, block: BlockId, _: u16, _: u64) {
        self.full.insert(block);
    }

    fn released(&mut self, block: BlockId, _: u16) {
        self.full.remove(block);
    }

    fn choose(&mut self, counts: &ValidCounts, _: u64) -> Option<BlockId> {
        let drawn = (0..self.d).filter_map(|_| self.full.draw());
        drawn.min_by_key(|&block| (counts.of_candidate(block), block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::{victim, victims};

    #[test]
    fn more_draws_find_fewer_valid_pages() {
        let counts = [4, 3, 2, 1, 0, 4, 3, 2];
        let mean = |setting| {
            let drawn = victims(&POLICY, setting, &counts, 9).take(2000);
            f64::from(drawn.map(|block| counts[block.unwrap() as usize]).sum::<u32>()) / 2000.0
        };
        let (one, four) = (mean("d=1"), mean("d=4"));
        assert!((one - 19.0 / 8.0).abs() < 0.1, "{one} is not the mean of all blocks");
        assert!(four < one - 1.0, "{four} after {one}");
    }

    #[test]
    fn many_draws_find_the_lowest_of_the_fewest() {
        let drawn = victims(&POLICY, "d=1000", &[3, 1, 2, 1], 9).next();
        assert_eq!(drawn, Some(Some(1)));
        assert_eq!(victim(&POLICY, &[], 9), None);
    }
}
