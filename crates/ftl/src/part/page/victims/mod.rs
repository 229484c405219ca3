//! Valid counts of blocks, and which full block garbage collection takes next.
//!
//! *Greedy* takes the fewest valid pages; *fifo* the block opened first; *cost-benefit* the highest
//! age·(Np−v)/(2v) (Chiang, Lee and Chang 1999, from Kawaguchi 1995); *d-choices* the fewest valid
//! of d drawn with replacement; *random* any. Ties go to the lowest block number. Age is the number
//! of host pages written since the block's last program, a copy counting as one.

mod age_index;

use std::collections::VecDeque;

use nand::{BlockId, Geometry};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::age_index::AgeIndex;
use crate::contract::{Violation, ensure};
use crate::part::index::min_tree::MinTree;

/// How a victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Fewest valid pages.
    Greedy,
    /// Opened first.
    Fifo,
    /// Highest age·(Np−v)/(2v).
    CostBenefit,
    /// Fewest valid pages of `d` random draws.
    DChoices(u32),
    /// Any full block.
    Random,
}

impl Policy {
    /// The names that users write.
    pub const NAMES: &'static [&'static str] =
        &["greedy", "fifo", "cost_benefit", "dchoices", "random"];

    /// The policy of that name; `d` is for d-choices.
    pub fn named(name: &str, d: u32) -> Option<Policy> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        let all = [
            Policy::Greedy,
            Policy::Fifo,
            Policy::CostBenefit,
            Policy::DChoices(d),
            Policy::Random,
        ];
        Some(all[at])
    }
}

/// What a policy needs to know of the full blocks beyond their valid counts.
#[derive(Clone, Debug)]
enum Order {
    Counts,
    Opened(VecDeque<BlockId>),
    Aged {
        index: AgeIndex,
        closed_at: Vec<u64>,
    },
    Drawn {
        full: Vec<BlockId>,
        slot_of: Vec<u32>,
        draws: Option<u32>,
        rng: Box<Xoshiro256PlusPlus>,
    },
}

/// The bit that marks the leaf of a block that is no candidate; see [`Victims::counts`].
const OPEN: u16 = 1 << 15;
/// The leaf of a block that is free or not ours.
const ABSENT: u16 = u16::MAX;

/// Valid counts and the choice of victims.
#[derive(Clone, Debug)]
pub struct Victims {
    /// Of a full block: its valid pages. Of an open one: [`OPEN`] + Np − pages that were
    /// superseded since it was opened, so that both count down alike and no open block is least.
    counts: MinTree,
    order: Order,
    pages_per_block: u16,
}

impl Victims {
    /// No block is open or full yet.
    pub fn new(policy: Policy, geometry: &Geometry, seed: u64) -> Victims {
        let blocks = geometry.blocks();
        let order = match policy {
            Policy::Greedy => Order::Counts,
            Policy::Fifo => Order::Opened(VecDeque::with_capacity(blocks as usize)),
            Policy::CostBenefit => Order::Aged {
                index: AgeIndex::new(blocks, geometry.pages_per_block()),
                closed_at: vec![0; blocks as usize],
            },
            Policy::Random | Policy::DChoices(_) => Order::Drawn {
                full: Vec::with_capacity(blocks as usize),
                slot_of: vec![0; blocks as usize],
                draws: if let Policy::DChoices(d) = policy { Some(d) } else { None },
                rng: Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)),
            },
        };
        let pages_per_block = geometry.pages_per_block() as u16;
        Victims { counts: MinTree::new(blocks as usize), order, pages_per_block }
    }

    /// A block starts to be filled.
    pub fn open(&mut self, block: BlockId) {
        debug_assert!(self.counts.get(block.0 as usize) == ABSENT);
        self.counts.set(block.0 as usize, OPEN + self.pages_per_block);
        if let Order::Opened(queue) = &mut self.order {
            queue.push_back(block);
        }
    }

    /// A block is full, or will not be filled further: `programmed` of its pages were. `now` is the
    /// number of host pages written.
    pub fn close(&mut self, block: BlockId, programmed: u32, now: u64) {
        let superseded = OPEN + self.pages_per_block - self.counts.get(block.0 as usize);
        let valid = programmed as u16 - superseded;
        self.counts.set(block.0 as usize, valid);
        match &mut self.order {
            Order::Counts | Order::Opened(_) => {}
            Order::Aged { index, closed_at } => {
                closed_at[block.0 as usize] = now;
                index.insert(block, valid);
            }
            Order::Drawn { full, slot_of, .. } => {
                slot_of[block.0 as usize] = full.len() as u32;
                full.push(block);
            }
        }
    }

    /// A page of the block was superseded or trimmed.
    #[inline]
    pub fn invalidate(&mut self, block: BlockId) {
        self.counts.decrement(block.0 as usize);
        if let Order::Aged { index, .. } = &mut self.order {
            index.lower(block, self.counts.get(block.0 as usize));
        }
    }

    /// The full block to collect now; none if every candidate would give nothing back.
    pub fn choose(&mut self, now: u64) -> Option<BlockId> {
        match &mut self.order {
            Order::Counts => {
                let (block, valid) = self.counts.first_minimum();
                (valid < self.pages_per_block).then_some(BlockId(block as u32))
            }
            Order::Opened(queue) => {
                let is_full = |block: &&BlockId| self.counts.get(block.0 as usize) < OPEN;
                queue.iter().find(is_full).copied()
            }
            Order::Aged { index, closed_at } => {
                most_beneficial(index, closed_at, self.pages_per_block, now)
            }
            Order::Drawn { full, draws, rng, .. } => {
                draw(full, draws.unwrap_or(1), rng, |block| self.counts.get(block.0 as usize))
            }
        }
    }

    /// A full block leaves: it is about to be erased, and nothing in it is valid any more.
    pub fn release(&mut self, block: BlockId) {
        let valid = self.counts.get(block.0 as usize);
        debug_assert!(valid < OPEN);
        self.counts.set(block.0 as usize, ABSENT);
        match &mut self.order {
            Order::Counts => {}
            Order::Opened(queue) => {
                let at = queue.iter().position(|&other| other == block);
                queue.remove(at.expect("a full block was opened once"));
            }
            Order::Aged { index, .. } => index.remove(block, valid),
            Order::Drawn { full, slot_of, .. } => {
                let slot = slot_of[block.0 as usize] as usize;
                full.swap_remove(slot);
                if let Some(moved) = full.get(slot) {
                    slot_of[moved.0 as usize] = slot as u32;
                }
            }
        }
    }

    /// Valid pages of a full block; none if it is open, free or not ours.
    #[inline]
    pub fn valid(&self, block: BlockId) -> Option<u32> {
        let count = self.counts.get(block.0 as usize);
        (count < OPEN).then_some(u32::from(count))
    }

    /// Whether a block is being filled.
    pub fn is_open(&self, block: BlockId) -> bool {
        let count = self.counts.get(block.0 as usize);
        count >= OPEN && count != ABSENT
    }

    /// Compares what is believed of a block with a recount of its valid pages.
    ///
    /// # Errors
    /// The difference, if there is one.
    pub fn audit(&self, block: BlockId, programmed: u32, recount: u32) -> Result<(), Violation> {
        let count = self.counts.get(block.0 as usize);
        let believed = match count < OPEN {
            true => u32::from(count),
            false => programmed + u32::from(count) - u32::from(OPEN + self.pages_per_block),
        };
        ensure!(believed == recount, "{block:?} has {recount} valid pages, counted as {believed}");
        Ok(())
    }

    /// Bytes a controller spends on this.
    pub fn ram_bytes(&self) -> u64 {
        2 * self.counts.leaves().len() as u64
    }
}

/// The candidate with the highest score; blocks without a dead page are none.
fn most_beneficial(
    index: &AgeIndex,
    closed_at: &[u64],
    pages_per_block: u16,
    now: u64,
) -> Option<BlockId> {
    if let Some(dead) = index.oldest(0).min() {
        return Some(dead);
    }
    let mut best: Option<(u128, u128, BlockId)> = None;
    for valid in 1..pages_per_block {
        let age_of = |block: BlockId| now - closed_at[block.0 as usize];
        let Some(oldest) = index.oldest(valid).next() else { continue };
        let age = age_of(oldest);
        let equals = index.oldest(valid).take_while(|&block| age_of(block) == age);
        let block = equals.min().unwrap_or(oldest);
        let benefit = u128::from(age) * u128::from(pages_per_block - valid);
        let cost = 2 * u128::from(valid);
        let better = best.is_none_or(|(best_benefit, best_cost, best_block)| {
            let (ours, theirs) = (benefit * best_cost, best_benefit * cost);
            ours > theirs || ours == theirs && block < best_block
        });
        if better {
            best = Some((benefit, cost, block));
        }
    }
    best.map(|(_, _, block)| block)
}

/// The fewest valid of `draws` blocks drawn with replacement.
fn draw(
    full: &[BlockId],
    draws: u32,
    rng: &mut Xoshiro256PlusPlus,
    valid: impl Fn(BlockId) -> u16,
) -> Option<BlockId> {
    let one = |_| full[below(rng, full.len() as u64) as usize];
    let drawn = (0..if full.is_empty() { 0 } else { draws }).map(one);
    drawn.min_by_key(|&block| (valid(block), block))
}

/// A uniform number below `bound`, without the bias of a plain remainder (Lemire 2019).
fn below(rng: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    let threshold = bound.wrapping_neg() % bound;
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(bound);
        if product as u64 >= threshold {
            return (product >> 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    /// Blocks 0.. closed in order, one host page apart, with these valid counts out of 4.
    fn victims(policy: Policy, valid: &[u32]) -> Victims {
        let geometry = Geometry::new(512, 64, 4, 16, ProgramOrder::Sequential).unwrap();
        let mut victims = Victims::new(policy, &geometry, 7);
        for (block, &count) in valid.iter().enumerate() {
            let id = BlockId(block as u32);
            victims.open(id);
            victims.close(id, 4, block as u64);
            (count..4).for_each(|_| victims.invalidate(id));
        }
        victims
    }

    #[test]
    fn greedy_takes_the_lowest_of_the_fewest_and_never_a_full_one() {
        assert_eq!(victims(Policy::Greedy, &[4, 2, 1, 3, 1]).choose(9), Some(BlockId(2)));
        assert_eq!(victims(Policy::Greedy, &[4, 4]).choose(9), None);
    }

    #[test]
    fn fifo_takes_the_block_opened_first_and_skips_open_ones() {
        let mut fifo = victims(Policy::Fifo, &[4, 2]);
        assert_eq!(fifo.choose(9), Some(BlockId(0)));
        fifo.release(BlockId(0));
        fifo.open(BlockId(0));
        assert_eq!(fifo.choose(9), Some(BlockId(1)));
        fifo.release(BlockId(1));
        assert_eq!(fifo.choose(9), None);
    }

    #[test]
    fn cost_benefit_weighs_age_against_valid_pages() {
        // Ages at 10: 10, 9, 8. Scores: 10·1/6, 9·2/4, 8·2/4.
        assert_eq!(victims(Policy::CostBenefit, &[3, 2, 2]).choose(10), Some(BlockId(1)));
        // At 2: ages 2, 1, 0; scores 2·1/6 = 1/3, 1·2/4, 0.
        assert_eq!(victims(Policy::CostBenefit, &[3, 2, 2]).choose(2), Some(BlockId(1)));
        // Scores 4·1/6 and 4·1/6: equal, the lowest block.
        assert_eq!(victims(Policy::CostBenefit, &[4, 3]).choose(5), Some(BlockId(1)));
        // A dead block beats every age, the lowest of them.
        assert_eq!(victims(Policy::CostBenefit, &[1, 0, 0]).choose(1000), Some(BlockId(1)));
        assert_eq!(victims(Policy::CostBenefit, &[4, 4]).choose(1000), None);
    }

    #[test]
    fn draws_are_among_full_blocks_and_more_draws_find_fewer_valid_pages() {
        let counts = [4, 3, 2, 1, 0, 4, 3, 2];
        let mean = |policy| {
            let mut drawn = victims(policy, &counts);
            let total: u32 = (0..2000).map(|_| counts[drawn.choose(9).unwrap().0 as usize]).sum();
            f64::from(total) / 2000.0
        };
        let (one, random, four) =
            (mean(Policy::DChoices(1)), mean(Policy::Random), mean(Policy::DChoices(4)));
        assert!((one - 19.0 / 8.0).abs() < 0.1 && one == random, "{one} {random}");
        assert!(four < one - 1.0, "{four}");
    }

    #[test]
    fn pages_superseded_while_a_block_is_open_count() {
        let geometry = Geometry::new(512, 64, 4, 4, ProgramOrder::Sequential).unwrap();
        let mut victims = Victims::new(Policy::Greedy, &geometry, 0);
        victims.open(BlockId(2));
        victims.invalidate(BlockId(2));
        assert!(victims.is_open(BlockId(2)) && victims.choose(0).is_none());
        victims.audit(BlockId(2), 3, 2).unwrap();
        victims.close(BlockId(2), 4, 0);
        assert_eq!(victims.valid(BlockId(2)), Some(3));
        victims.audit(BlockId(2), 4, 3).unwrap();
        assert!(victims.audit(BlockId(2), 4, 2).is_err());
        victims.release(BlockId(2));
        assert_eq!(victims.valid(BlockId(2)), None);
    }
}
