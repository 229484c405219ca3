//! windowed_greedy: greedy among the oldest blocks only.
//!
//! ```text
//! full blocks by age   [2][5][1][7][3]|[0][6]     valid pages
//!                       oldest: window            young blocks are left alone: their pages may
//!                            ▲ victim             still die
//! ```

use nand::{BlockId, Geometry};
use spec::{Kind, Param, Params, Share};

use crate::contract::{Violation, ensure};
use crate::part::index::min_tree::MinTree;
use crate::part::index::recency::Recency;
use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::policy::{Candidate, Policy, Selector};
use crate::part::page::victims::valid_counts::ValidCounts;

/// Windowed greedy.
pub static POLICY: Policy = Policy {
    name: "windowed_greedy",
    summary: "the block with the fewest valid pages among the blocks that closed first",
    source: "Hu, Eleftheriou, Haas, Iliadis, Pletka: Write amplification analysis in flash-based \
             solid state drives, SYSTOR 2009; the default window is that of SepBIT's code",
    params: &[Param {
        name: "window",
        kind: Kind::Share,
        default: "90%",
        unit: "",
        doc: "the share of the full blocks among which windowed_greedy chooses, rounded up",
    }],
    corners: &["window=30%"],
    refuses,
    selector,
    specification,
};

fn refuses(params: &Params) -> Option<String> {
    let window = params.share("window");
    let is_possible = window.numerator() > 0 && !window.exceeds_whole();
    (!is_possible).then(|| format!("window={window}; more than 0 % and at most 100 % is possible"))
}

/// Fewest valid pages in the window; the lowest block wins a tie. If no block in the window has a
/// dead page, the window is all full blocks.
fn specification(
    candidates: &[Candidate],
    pages_per_block: u32,
    params: &Params,
    _: &mut Draws,
) -> Option<BlockId> {
    let window = params.share("window").ceil_of(candidates.len() as u64) as usize;
    let mut by_age: Vec<&Candidate> = candidates.iter().collect();
    by_age.sort_by_key(|block| block.closed);
    let best = |blocks: &[&Candidate]| {
        let blocks = blocks.iter().filter(|block| block.valid < pages_per_block);
        blocks.min_by_key(|block| (block.valid, block.block)).map(|victim| victim.block)
    };
    best(&by_age[..window]).or_else(|| best(&by_age))
}

fn selector(geometry: &Geometry, params: &Params, _: u64) -> Box<dyn Selector> {
    Box::new(WindowedGreedy {
        by_age: Recency::new(geometry.blocks()),
        window: MinTree::new(geometry.blocks() as usize),
        inside: 0,
        last_inside: None,
        share: params.share("window"),
    })
}

/// The number in the tree of a block that is not in the window.
const OUTSIDE: u16 = u16::MAX;

#[derive(Debug)]
struct WindowedGreedy {
    /// Full blocks in the order in which they closed.
    by_age: Recency,
    /// Valid pages of the blocks in the window.
    window: MinTree,
    /// Number of blocks in the window.
    inside: u64,
    /// The youngest block in the window.
    last_inside: Option<u32>,
    share: Share,
}

impl WindowedGreedy {
    fn is_inside(&self, block: u32) -> bool {
        self.window.get(block as usize) != OUTSIDE
    }

    /// Brings the window to its share of the full blocks. The counts are those of the full blocks.
    fn adjust(&mut self, counts: &ValidCounts) {
        let wanted = self.share.ceil_of(self.by_age.len().into());
        while self.inside < wanted {
            let next = match self.last_inside {
                None => self.by_age.first(),
                Some(last) => self.by_age.after(last),
            };
            let next = next.expect("the window is not larger than the list");
            self.window.set(next as usize, counts.of_candidate(BlockId(next)));
            (self.inside, self.last_inside) = (self.inside + 1, Some(next));
        }
        while self.inside > wanted {
            let last = self.last_inside.expect("the window is not empty");
            self.leave(last);
        }
    }

    fn leave(&mut self, block: u32) {
        if self.last_inside == Some(block) {
            self.last_inside = self.by_age.before(block);
        }
        self.window.set(block as usize, OUTSIDE);
        self.inside -= 1;
    }
}

impl Selector for WindowedGreedy {
    fn closed(&mut self, block: BlockId, _: u16, _: u64) {
        self.by_age.push(block.0);
    }

    fn follows_invalidations(&self) -> bool {
        true
    }

    fn invalidated(&mut self, block: BlockId, _: u16) {
        if self.is_inside(block.0) {
            self.window.decrement(block.0 as usize);
        }
    }

    fn released(&mut self, block: BlockId, _: u16) {
        if self.is_inside(block.0) {
            self.leave(block.0);
        }
        self.by_age.remove(block.0);
    }

    fn choose(&mut self, counts: &ValidCounts, _: u64) -> Option<BlockId> {
        self.adjust(counts);
        let (block, valid) = self.window.first_minimum();
        match valid < counts.pages_per_block() {
            true => Some(BlockId(block as u32)),
            false => counts.fewest_with_dead(),
        }
    }

    fn audit(&self, counts: &ValidCounts) -> Result<(), Violation> {
        let inside = self.by_age.iter().take(self.inside as usize);
        for block in inside {
            let (own, valid) = (self.window.get(block as usize), counts.of_full(BlockId(block)));
            ensure!(Some(own) == valid, "block {block} has {valid:?} valid pages, not {own}");
        }
        let beyond = self.by_age.iter().skip(self.inside as usize);
        for block in beyond {
            ensure!(!self.is_inside(block), "block {block} is in the window, but too young");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::{victim, victims};

    #[test]
    fn young_blocks_are_left_alone() {
        let chosen = |setting| victims(&POLICY, setting, &[3, 2, 2, 0], 9).next().flatten();
        assert_eq!(chosen("window=75%"), Some(1));
        assert_eq!(chosen("window=76%"), Some(3));
        assert_eq!(chosen("window=1%"), Some(0));
    }

    #[test]
    fn a_window_without_a_dead_page_opens() {
        let chosen = victims(&POLICY, "window=50%", &[4, 4, 4, 2], 9).next().flatten();
        assert_eq!(chosen, Some(3));
        assert_eq!(victim(&POLICY, &[4, 4], 9), None);
    }
}
