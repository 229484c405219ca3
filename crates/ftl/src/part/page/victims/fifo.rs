//! fifo: blocks are collected in the order in which they were opened, as in a circular log.

use std::collections::VecDeque;

use nand::{BlockId, Geometry};
use spec::Params;

use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::policy::{Candidate, Policy, Selector};
use crate::part::page::victims::valid_counts::ValidCounts;

/// First in, first out.
pub static POLICY: Policy = Policy {
    name: "fifo",
    summary: "the full block that was opened first, however many valid pages it has",
    source: "Desnoyers: Analytic modeling of SSD write performance, SYSTOR 2012, as `LRU cleaning`",
    selector,
    specification,
    ..Policy::PLAIN
};

/// The block opened first.
fn specification(candidates: &[Candidate], _: u32, _: &Params, _: &mut Draws) -> Option<BlockId> {
    candidates.iter().min_by_key(|block| block.opened).map(|victim| victim.block)
}

fn selector(geometry: &Geometry, _: &Params, _: u64) -> Box<dyn Selector> {
    Box::new(Fifo { in_use: VecDeque::with_capacity(geometry.blocks() as usize) })
}

/// A queue of all open and full blocks. Open ones are few, so the first full one is near the head.
#[derive(Debug)]
struct Fifo {
    in_use: VecDeque<BlockId>,
}

impl Selector for Fifo {
    fn opened(&mut self, block: BlockId) {
        self.in_use.push_back(block);
    }

    fn released(&mut self, block: BlockId, _: u16) {
        let at = self.in_use.iter().position(|&other| other == block);
        self.in_use.remove(at.expect("a full block was opened once"));
    }

    fn choose(&mut self, counts: &ValidCounts, _: u64) -> Option<BlockId> {
        self.in_use.iter().copied().find(|&block| counts.of_full(block).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::victim;

    #[test]
    fn the_block_opened_first_goes_even_without_a_dead_page() {
        assert_eq!(victim(&POLICY, &[4, 0], 9), Some(0));
        assert_eq!(victim(&POLICY, &[], 9), None);
    }
}
