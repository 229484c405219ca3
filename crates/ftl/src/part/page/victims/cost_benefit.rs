//! cost_benefit: an erase should free many pages, cost few copies, and leave alone the pages that
//! are about to be superseded anyway.
//!
//! ```text
//!          benefit   age · (Np − v)     (Np − v) pages become free; old pages are likely to stay
//! score =  ─────── = ──────────────     valid, so copying them is not wasted
//!           cost          2 v           v pages are read and programmed again
//! ```
//! A block without valid pages costs nothing and comes first. A block without dead pages is no
//! victim.
//!
//! Other publications read the rule differently. With u = v/Np, the share of valid pages:
//!
//! | policy | score | read so by |
//! |---|---|---|
//! | `cost_benefit` | age·(1−u)/2u | Kawaguchi et al. |
//! | [`cost_benefit_lfs`](super::cost_benefit_lfs) | age·(1−u)/(1+u) | Rosenblum and Ousterhout |
//! | [`cost_benefit_sqrt`](super::cost_benefit_sqrt) | √age·(1−u)/u | code of SepBIT, MiDAS |
//!
//! All of them share what is here: a [`Reading`] gives the score.

use core::cmp::Ordering;
use core::fmt::Debug;
use core::marker::PhantomData;

use nand::{BlockId, Geometry};
use spec::Params;

use crate::contract::Violation;
use crate::part::page::victims::age_index::AgeIndex;
use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::policy::{Candidate, Policy, Selector};
use crate::part::page::victims::valid_counts::ValidCounts;

/// Cost-benefit.
pub static POLICY: Policy = Policy {
    name: "cost_benefit",
    summary: "the block with the highest age·(Np−v)/2v, where v of Np pages are valid",
    source: "Kawaguchi, Nishioka, Motoda: A flash-memory based file system, USENIX 1995; age as \
             in Chiang, Lee, Chang, Software: Practice and Experience 29(3), 1999",
    selector: selector::<Twice>,
    specification: specification::<Twice>,
    ..Policy::PLAIN
};

/// A reading of the rule: the score of a block with valid and dead pages, as a fraction that is
/// never rounded. Of blocks with equally many valid pages the oldest has the highest score, and of
/// blocks of the same age the one with the fewest valid pages.
pub trait Reading: Copy + Debug + Send + 'static {
    /// The type of the numerator.
    type Benefit: Copy + Debug + Send + Into<u128>;

    /// The numerator: `age` is counted in host pages, `dead` of the pages are not valid.
    fn benefit(age: u64, dead: u32) -> Self::Benefit;

    /// The denominator.
    fn cost(valid: u32, pages_per_block: u32) -> u64;
}

/// Each valid page is read and programmed.
#[derive(Clone, Copy, Debug)]
struct Twice;

impl Reading for Twice {
    type Benefit = u64;

    fn benefit(age: u64, dead: u32) -> u64 {
        age * u64::from(dead)
    }

    fn cost(valid: u32, _: u32) -> u64 {
        2 * u64::from(valid)
    }
}

/// The lowest dead block. If there is none, the block with the highest score; the lowest block wins
/// a tie.
pub fn specification<R: Reading>(
    candidates: &[Candidate],
    pages_per_block: u32,
    _: &Params,
    _: &mut Draws,
) -> Option<BlockId> {
    let dead = candidates.iter().filter(|block| block.valid == 0).map(|block| block.block).min();
    let mixed = candidates.iter().filter(|block| (1..pages_per_block).contains(&block.valid));
    let scores = mixed.map(|&Candidate { block, valid, age, .. }| {
        Score::<R>::of(block, valid, age, pages_per_block)
    });
    dead.or_else(|| scores.reduce(Score::better).map(|best| best.block))
}

/// A block and its score.
#[derive(Clone, Copy, Debug)]
struct Score<R: Reading> {
    benefit: R::Benefit,
    cost: u64,
    block: BlockId,
}

impl<R: Reading> Score<R> {
    fn of(block: BlockId, valid: u32, age: u64, pages_per_block: u32) -> Score<R> {
        let benefit = R::benefit(age, pages_per_block - valid);
        Score { benefit, cost: R::cost(valid, pages_per_block), block }
    }

    fn cmp_value(&self, other: &Score<R>) -> Ordering {
        let ours = self.benefit.into() * u128::from(other.cost);
        ours.cmp(&(other.benefit.into() * u128::from(self.cost)))
    }

    fn better(self, other: Score<R>) -> Score<R> {
        let is_better = self.cmp_value(&other).then(other.block.cmp(&self.block)).is_gt();
        if is_better { self } else { other }
    }
}

/// The fast form.
pub fn selector<R: Reading>(geometry: &Geometry, _: &Params, _: u64) -> Box<dyn Selector> {
    Box::new(CostBenefit::<R> {
        full: AgeIndex::new(geometry.blocks(), geometry.pages_per_block()),
        closed_at: vec![0; geometry.blocks() as usize],
        pages_per_block: geometry.pages_per_block(),
        reading: PhantomData,
    })
}

/// Of all blocks with the same valid count the oldest has the highest score, so only one block per
/// count needs to be compared.
#[derive(Debug)]
struct CostBenefit<R> {
    full: AgeIndex,
    /// Host pages written when each block closed.
    closed_at: Vec<u64>,
    pages_per_block: u32,
    reading: PhantomData<R>,
}

impl<R: Reading> CostBenefit<R> {
    fn age(&self, block: BlockId, now: u64) -> u64 {
        now - self.closed_at[block.0 as usize]
    }

    /// The best block that has both valid and dead pages.
    fn best(&mut self, now: u64) -> Option<BlockId> {
        let mut best: Option<Score<R>> = None;
        let (eldest, np) = (self.full.oldest_of_all()?, self.pages_per_block);
        for valid in u32::from(self.full.lowest()).max(1)..np {
            // The highest score that a block with this valid count can have.
            let most = Score::of(eldest, valid, self.age(eldest, now), np);
            if best.is_some_and(|best| best.cmp_value(&most).is_gt()) {
                break;
            }
            let Some(oldest) = self.full.oldest(valid as u16) else { continue };
            let score = Score::of(oldest, valid, self.age(oldest, now), np);
            if best.is_some_and(|best| best.cmp_value(&score).is_gt()) {
                continue;
            }
            let score = Score { block: self.lowest_as_old(oldest, valid as u16), ..score };
            best = Some(best.map_or(score, |best| best.better(score)));
        }
        best.map(|best| best.block)
    }

    /// The lowest block among those that closed at the same time as the oldest one with this count.
    fn lowest_as_old(&self, oldest: BlockId, valid: u16) -> BlockId {
        let closed_at = |block: BlockId| self.closed_at[block.0 as usize];
        let blocks = self.full.oldest_first(valid);
        let as_old = blocks.take_while(|&block| closed_at(block) == closed_at(oldest));
        as_old.fold(oldest, BlockId::min)
    }
}

impl<R: Reading> Selector for CostBenefit<R> {
    fn closed(&mut self, block: BlockId, valid: u16, now: u64) {
        self.closed_at[block.0 as usize] = now;
        self.full.insert(block, valid);
    }

    fn follows_invalidations(&self) -> bool {
        true
    }

    fn invalidated(&mut self, block: BlockId, valid: u16) {
        self.full.lower(block, valid);
    }

    fn released(&mut self, block: BlockId, valid: u16) {
        self.full.remove(block, valid);
    }

    fn audit(&self, counts: &ValidCounts) -> Result<(), Violation> {
        self.full.audit(counts)
    }

    fn choose(&mut self, _: &ValidCounts, now: u64) -> Option<BlockId> {
        match self.full.lowest() {
            0 => self.full.oldest_first(0).min(),
            _ => self.best(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::page::victims::policy::by_hand::victim;

    #[test]
    fn age_is_weighed_against_valid_pages() {
        // At 10 the ages are 10, 9 and 8, and the scores 10·1/6, 9·2/4 and 8·2/4.
        assert_eq!(victim(&POLICY, &[3, 2, 2], 10), Some(1));
        // At 2 the ages are 2, 1 and 0, and the scores 2·1/6, 1·2/4 and 0.
        assert_eq!(victim(&POLICY, &[3, 2, 2], 2), Some(1));
        // At 5 the scores are 5·1/6 and 1·2/4: an old block may cost one copy more.
        assert_eq!(victim(&POLICY, &[3, 4, 4, 4, 2], 5), Some(0));
    }

    #[test]
    fn of_blocks_with_equal_scores_the_lowest_is_chosen() {
        // At 3: 3·1/6 and 1·2/4.
        assert_eq!(victim(&POLICY, &[3, 4, 2], 3), Some(0));
        // At 1: 1·1/6 and 0.
        assert_eq!(victim(&POLICY, &[3, 3], 1), Some(0));
    }

    #[test]
    fn a_dead_block_beats_every_age_and_a_valid_one_is_no_victim() {
        assert_eq!(victim(&POLICY, &[1, 0, 0], 1000), Some(1));
        assert_eq!(victim(&POLICY, &[4, 3], 5), Some(1));
        assert_eq!(victim(&POLICY, &[4, 4], 1000), None);
    }
}
