//! A ranking of blocks by a number: it finds the block with the lowest number and, among equals,
//! the one that was added first.
//!
//! ```text
//! ticket   0  1  2  3  4  5  6  7       tickets are given out in ascending order
//! block    7  -  3  9  -  4  2  -       the ticket of a removed block is not given out again
//! number   2  -  1  5  -  1  3  -       lowest: 1, first at ticket 2: block 3
//! ```
//! The numbers are kept by ticket in a [tree of minima](MinTree), so among equals the block that
//! was added first comes first. There are twice as many tickets as there can be blocks. When they
//! run out, the remaining blocks get new tickets in the same order; on average this costs O(1) per
//! added block.

use nand::BlockId;

use crate::part::index::min_tree::MinTree;

const NONE: u32 = u32::MAX;
/// The number of a ticket that no block holds.
const VACANT: u16 = u16::MAX;

/// A set of blocks, each with a number.
#[derive(Clone, Debug)]
pub struct Ranking {
    numbers: MinTree,
    /// The block that holds each ticket.
    holders: Vec<BlockId>,
    /// The ticket of each block.
    tickets: Vec<u32>,
    next_ticket: u32,
    len: u32,
}

impl Ranking {
    /// An empty ranking of blocks below `blocks`, of at most `most` at a time.
    pub fn new(blocks: u32, most: u32) -> Ranking {
        let tickets = 2 * most as usize;
        Ranking {
            numbers: MinTree::new(tickets),
            holders: vec![BlockId(NONE); tickets],
            tickets: vec![NONE; blocks as usize],
            next_ticket: 0,
            len: 0,
        }
    }

    /// Number of ranked blocks.
    pub fn count(&self) -> u32 {
        self.len
    }

    /// Whether a block is ranked.
    #[inline]
    pub fn contains(&self, block: BlockId) -> bool {
        self.tickets[block.0 as usize] != NONE
    }

    /// The number of a block that is ranked.
    pub fn number(&self, block: BlockId) -> u16 {
        self.numbers.get(self.tickets[block.0 as usize] as usize)
    }

    /// Adds a block that is not ranked, with its number.
    pub fn push(&mut self, block: BlockId, number: u16) {
        assert!(!self.contains(block), "{block:?} is ranked already");
        if self.next_ticket as usize == self.holders.len() {
            self.seat_anew();
        }
        self.seat(block, number);
        self.len += 1;
    }

    /// Changes the number of a block that is ranked.
    #[inline]
    pub fn set(&mut self, block: BlockId, number: u16) {
        self.numbers.set(self.tickets[block.0 as usize] as usize, number);
    }

    /// Removes a block that is ranked.
    pub fn remove(&mut self, block: BlockId) {
        assert!(self.contains(block), "{block:?} was removed and is not ranked");
        let ticket = core::mem::replace(&mut self.tickets[block.0 as usize], NONE);
        self.numbers.set(ticket as usize, VACANT);
        self.len -= 1;
    }

    /// The lowest number and the block that has it; among equals the one that was added first.
    pub fn lowest(&self) -> Option<(BlockId, u16)> {
        let (ticket, number) = self.numbers.first_minimum();
        (number != VACANT).then(|| (self.holders[ticket], number))
    }

    /// All blocks with their numbers, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, u16)> + '_ {
        let seats = self.numbers.leaves().iter().zip(&self.holders);
        seats.filter(|(number, _)| **number != VACANT).map(|(&number, &block)| (block, number))
    }

    fn seat(&mut self, block: BlockId, number: u16) {
        let ticket = self.next_ticket;
        self.numbers.set(ticket as usize, number);
        self.holders[ticket as usize] = block;
        self.tickets[block.0 as usize] = ticket;
        self.next_ticket += 1;
    }

    fn seat_anew(&mut self) {
        assert!(
            2 * self.len as usize <= self.holders.len(),
            "{} blocks are more than the ranking has room for",
            self.len
        );
        self.next_ticket = 0;
        for ticket in 0..self.holders.len() {
            let number = self.numbers.get(ticket);
            if number != VACANT {
                self.numbers.set(ticket, VACANT);
                self.seat(self.holders[ticket], number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn behaves_like_a_list_with_linear_search() {
        const MOST: u32 = 5;
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut ranking, mut list) = (Ranking::new(9, MOST), Vec::new());
        for step in 0..20_000 {
            let block = BlockId(rng.next_u32() % 9);
            let number = (rng.next_u32() % 4) as u16;
            match list.iter().position(|&(other, _)| other == block) {
                None if list.len() < MOST as usize => {
                    ranking.push(block, number);
                    list.push((block, number));
                }
                None => {}
                Some(at) if rng.next_u32() % 2 == 0 => {
                    ranking.remove(block);
                    list.remove(at);
                }
                Some(at) => {
                    ranking.set(block, number);
                    list[at].1 = number;
                }
            }
            let lowest = list.iter().copied().min_by_key(|&(_, number)| number);
            assert_eq!(ranking.lowest(), lowest, "step {step}");
            assert_eq!(ranking.iter().collect::<Vec<_>>(), list, "step {step}");
            assert_eq!(ranking.count() as usize, list.len());
        }
    }
}
