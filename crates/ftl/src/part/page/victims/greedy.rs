//! greedy: the block whose erase costs the fewest copies.

use nand::{BlockId, Geometry};
use spec::Params;

use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::policy::{Candidate, Policy, Selector};
use crate::part::page::victims::valid_counts::ValidCounts;

/// Greedy.
pub static POLICY: Policy = Policy {
    name: "greedy",
    summary: "the block with the fewest valid pages",
    source: "Rosenblum, Ousterhout: The design and implementation of a log-structured file system, \
             ACM TOCS 10(1), 1992",
    selector,
    specification,
    ..Policy::PLAIN
};

/// Fewest valid pages; the lowest block wins a tie. A block without a dead page is no victim.
fn specification(
    candidates: &[Candidate],
    pages_per_block: u32,
    _: &Params,
    _: &mut Draws,
) -> Option<BlockId> {
    let candidates = candidates.iter().filter(|block| block.valid < pages_per_block);
    candidates.min_by_key(|block| (block.valid, block.block)).map(|victim| victim.block)
}

fn selector(_: &Geometry, _: &Params, _: u64) -> Box<dyn Selector> {
    Box::new(Greedy)
}

/// Keeps nothing: the valid counts find their minimum themselves.
#[derive(Debug)]
struct Greedy;

impl Selector for Greedy {
    fn choose(&mut self, counts: &ValidCounts, _: u64) -> Option<BlockId> {
        counts.fewest_with_dead()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::victim;

    #[test]
    fn the_lowest_block_with_the_fewest_valid_pages_goes_if_it_has_a_dead_page() {
        assert_eq!(victim(&POLICY, &[4, 2, 1, 3, 1], 9), Some(2));
        assert_eq!(victim(&POLICY, &[4, 4], 9), None);
        assert_eq!(victim(&POLICY, &[], 9), None);
    }
}
