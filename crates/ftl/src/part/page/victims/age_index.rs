//! The full blocks by valid count, and among those with the same count by age.
//!
//! The age of a full block is settled when it closes; afterwards only its valid count changes. So
//! each block gets a *rank*, in the order of closing, and each valid count has a set of ranks:
//!
//! ```text
//! valid 0  . . 1 . . . . .        the oldest block of each count is the first bit of its row
//! valid 1  1 . . . 1 . . .
//! valid 2  . 1 . . . . 1 .
//!   rank   0 1 2 3 4 5 6 7 →
//! ```
//! Ranks of blocks that left stay unused. When all ranks are used up, the blocks are renumbered in
//! the same order.

use nand::BlockId;

use crate::contract::{Violation, ensure};
use crate::part::page::victims::valid_counts::ValidCounts;

const NONE: u32 = u32::MAX;

/// Full blocks by valid count, then by the order in which they closed.
#[derive(Clone, Debug)]
pub struct AgeIndex {
    rows: Vec<Ranks>,
    /// The block of each rank given since the last renumbering; [`NONE`] if the block has left.
    block_at: Vec<u32>,
    /// The rank of each block; [`NONE`] if it is not in the index.
    rank_of: Vec<u32>,
    capacity: usize,
    /// No block has a lower valid count than this, or a lower rank than that. Both are brought up
    /// to date when they are asked for.
    lowest: usize,
    first_rank: usize,
}

impl AgeIndex {
    /// An index for blocks 0 to `blocks`-1 and valid counts 0 to `valid_max`.
    pub fn new(blocks: u32, valid_max: u32) -> AgeIndex {
        let capacity = (blocks + blocks / 2 + 1) as usize;
        AgeIndex {
            // Not copies of one row: the system gives no memory to a row that stays zero.
            rows: (0..=valid_max).map(|_| Ranks::new(capacity)).collect(),
            block_at: Vec::with_capacity(capacity),
            rank_of: vec![NONE; blocks as usize],
            capacity,
            lowest: valid_max as usize,
            first_rank: 0,
        }
    }

    /// Adds a block as the youngest.
    pub fn insert(&mut self, block: BlockId, valid: u16) {
        assert!(self.rank_of[block.0 as usize] == NONE, "{block:?} is in the index already");
        if self.block_at.len() == self.capacity {
            self.renumber();
        }
        let rank = self.block_at.len();
        self.block_at.push(block.0);
        self.rank_of[block.0 as usize] = rank as u32;
        self.rows[valid as usize].insert(rank);
        self.lowest = self.lowest.min(valid.into());
    }

    /// Removes a block that has this valid count.
    pub fn remove(&mut self, block: BlockId, valid: u16) {
        let rank = core::mem::replace(&mut self.rank_of[block.0 as usize], NONE) as usize;
        assert!(self.rows[valid as usize].contains(rank), "{block:?} is not in row {valid}");
        self.block_at[rank] = NONE;
        self.rows[valid as usize].remove(rank);
    }

    /// Lowers the valid count of a block by one, to `valid`.
    #[inline]
    pub fn lower(&mut self, block: BlockId, valid: u16) {
        let rank = self.rank_of[block.0 as usize] as usize;
        debug_assert!(
            self.rows[valid as usize + 1].contains(rank),
            "{block:?} was not in the row above {valid}"
        );
        self.rows[valid as usize + 1].remove(rank);
        self.rows[valid as usize].insert(rank);
        self.lowest = self.lowest.min(valid.into());
    }

    /// The lowest valid count of a block; the highest possible one if there is no block.
    pub fn lowest(&mut self) -> u16 {
        while self.lowest + 1 < self.rows.len() && self.rows[self.lowest].first().is_none() {
            self.lowest += 1;
        }
        self.lowest as u16
    }

    /// The oldest of all blocks.
    pub fn oldest_of_all(&mut self) -> Option<BlockId> {
        let left = self.block_at[self.first_rank..].iter().position(|&block| block != NONE)?;
        self.first_rank += left;
        Some(BlockId(self.block_at[self.first_rank]))
    }

    /// The oldest block with this valid count.
    #[inline]
    pub fn oldest(&self, valid: u16) -> Option<BlockId> {
        self.rows[valid as usize].first().map(|rank| BlockId(self.block_at[rank]))
    }

    /// All blocks with this valid count, oldest first.
    pub fn oldest_first(&self, valid: u16) -> impl Iterator<Item = BlockId> + '_ {
        self.rows[valid as usize].iter().map(|rank| BlockId(self.block_at[rank]))
    }

    /// Checks that exactly the full blocks are in the index, each in the row of its valid count.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, counts: &ValidCounts) -> Result<(), Violation> {
        for (block, &rank) in (0..).map(BlockId).zip(&self.rank_of) {
            let valid = counts.of_full(block);
            let is_right = match valid {
                Some(valid) => rank != NONE && self.rows[valid as usize].contains(rank as usize),
                None => rank == NONE,
            };
            ensure!(is_right, "{block:?} is in a wrong row of the age index, not in row {valid:?}");
        }
        Ok(())
    }

    /// Gives the lowest ranks to the blocks in the index, in the same order.
    fn renumber(&mut self) {
        let mut valid_at = vec![0; self.capacity];
        for (valid, row) in (0..).zip(&self.rows) {
            row.iter().for_each(|rank| valid_at[rank] = valid);
        }
        let blocks = core::mem::take(&mut self.block_at);
        self.block_at.reserve(self.capacity);
        self.rank_of.fill(NONE);
        self.rows.iter_mut().for_each(Ranks::clear);
        self.first_rank = 0;
        for (block, valid) in blocks.into_iter().zip(valid_at).filter(|&(block, _)| block != NONE) {
            self.insert(BlockId(block), valid);
        }
    }
}

/// A set of ranks that finds the next member in a few steps: each bit of a level tells whether any
/// of 64 bits of the level below is set.
#[derive(Clone, Debug)]
struct Ranks {
    levels: Vec<Vec<u64>>,
}

impl Ranks {
    fn new(capacity: usize) -> Ranks {
        let mut levels = vec![vec![0; capacity.div_ceil(64).max(1)]];
        while levels.last().is_some_and(|level| level.len() > 1) {
            let words = levels.last().map_or(0, |level| level.len().div_ceil(64));
            levels.push(vec![0; words]);
        }
        Ranks { levels }
    }

    fn clear(&mut self) {
        if self.first().is_some() {
            self.levels.iter_mut().for_each(|level| level.fill(0));
        }
    }

    fn contains(&self, rank: usize) -> bool {
        self.levels[0][rank / 64] >> (rank % 64) & 1 == 1
    }

    #[inline]
    fn insert(&mut self, rank: usize) {
        let mut at = rank;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let before = core::mem::replace(word, *word | 1 << (at % 64));
            if before != 0 {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    fn remove(&mut self, rank: usize) {
        let mut at = rank;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The first member: the first set bit of the top word, then of the words below it.
    #[inline]
    fn first(&self) -> Option<usize> {
        let (top, below) = self.levels.split_last()?;
        let descend = |at: usize, level: &Vec<u64>| at * 64 + level[at].trailing_zeros() as usize;
        let at = top[0].trailing_zeros() as usize;
        (at < 64).then(|| below.iter().rev().fold(at, descend))
    }

    /// All members, in ascending order.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut from = 0;
        core::iter::from_fn(move || {
            let rank = self.next(from)?;
            from = rank + 1;
            Some(rank)
        })
    }

    /// The first member from `from` on. It climbs while the rest of a word is empty, then descends
    /// along the first set bits.
    fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for height in 0..self.levels.len() {
            let word = *self.levels[height].get(at / 64)? & u64::MAX << (at % 64);
            if word != 0 {
                at = at / 64 * 64 + word.trailing_zeros() as usize;
                for level in self.levels[..height].iter().rev() {
                    at = at * 64 + level[at].trailing_zeros() as usize;
                }
                return Some(at);
            }
            at = at / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};

    /// The model is a plain list of blocks and valid counts in the order of closing.
    #[test]
    fn equals_a_naive_list() {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(2);
        let (blocks, valid_max) = (150u32, 8u32);
        let mut index = AgeIndex::new(blocks, valid_max);
        let mut naive: Vec<(BlockId, u16)> = Vec::new();
        for _ in 0..20_000 {
            let block = BlockId(rng.next_u32() % blocks);
            match naive.iter().position(|&(other, _)| other == block) {
                None => {
                    let valid = (rng.next_u32() % (valid_max + 1)) as u16;
                    index.insert(block, valid);
                    naive.push((block, valid));
                }
                Some(at) if naive[at].1 == 0 || rng.next_u32() % 4 == 0 => {
                    index.remove(block, naive[at].1);
                    naive.remove(at);
                }
                Some(at) => {
                    naive[at].1 -= 1;
                    index.lower(block, naive[at].1);
                }
            }
            let valid = (rng.next_u32() % (valid_max + 1)) as u16;
            let expected = naive.iter().filter(|&&(_, v)| v == valid).map(|&(block, _)| block);
            assert!(index.oldest_first(valid).eq(expected.clone()));
            assert_eq!(index.oldest(valid), expected.clone().next());
        }
    }

    #[test]
    fn the_next_member_may_be_far_away() {
        let mut ranks = Ranks::new(300_000);
        for rank in [5, 64, 4095, 4096, 262_144, 299_999] {
            ranks.insert(rank);
        }
        ranks.remove(4096);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(rank) = ranks.next(from) {
            found.push(rank);
            from = rank + 1;
        }
        assert_eq!(found, [5, 64, 4095, 262_144, 299_999]);
    }
}
