//! Uniform random draws among the full blocks.

use nand::{BlockId, Geometry};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A source of uniform numbers.
#[derive(Clone, Debug)]
pub struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The source that this seed determines.
    pub fn new(seed: u64) -> Draws {
        Draws(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `bound`, without the bias of a plain remainder (Lemire 2019).
    pub fn below(&mut self, bound: u64) -> u64 {
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// One of the items; none if there are none.
    pub fn one_of<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        match items.is_empty() {
            true => None,
            false => items.get(self.below(items.len() as u64) as usize),
        }
    }
}

/// The full blocks in an array, so that any of them can be drawn. When a block leaves, the last one
/// takes its slot.
#[derive(Clone, Debug)]
pub struct DrawList {
    full: Vec<BlockId>,
    slot_of: Vec<u32>,
    draws: Draws,
}

impl DrawList {
    /// No block is full yet.
    pub fn new(geometry: &Geometry, seed: u64) -> DrawList {
        let blocks = geometry.blocks() as usize;
        DrawList {
            full: Vec::with_capacity(blocks),
            slot_of: vec![0; blocks],
            draws: Draws::new(seed),
        }
    }

    /// Adds a block.
    pub fn insert(&mut self, block: BlockId) {
        self.slot_of[block.0 as usize] = self.full.len() as u32;
        self.full.push(block);
    }

    /// Removes a block that was added.
    pub fn remove(&mut self, block: BlockId) {
        let slot = self.slot_of[block.0 as usize] as usize;
        let removed = self.full.swap_remove(slot);
        assert!(removed == block, "{block:?} is not in slot {slot}, which holds {removed:?}");
        if let Some(moved) = self.full.get(slot) {
            self.slot_of[moved.0 as usize] = slot as u32;
        }
    }

    /// Draws a block; none if there are none.
    pub fn draw(&mut self) -> Option<BlockId> {
        self.draws.one_of(&self.full).copied()
    }
}
