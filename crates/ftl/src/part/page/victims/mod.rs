//! Victims of garbage collection: which full block is emptied and erased next.
//!
//! ```text
//!            open ──────▶ close ──────▶ choose … release
//! block      free         being filled  full: a candidate   erased, free again
//!                invalidate: a page of it was superseded or trimmed
//! ```
//! [`Victims`] counts valid pages and tells the chosen policy what happens. A policy is one file
//! here and one line in the [`registry`].

pub mod age_index;
pub mod cost_benefit;
pub mod cost_benefit_lfs;
pub mod cost_benefit_sqrt;
pub mod d_choices;
pub mod draws;
pub mod fifo;
pub mod greedy;
pub mod policy;
pub mod random;
pub mod registry;
pub mod valid_counts;
pub mod windowed_greedy;

use nand::{BlockId, Geometry};
use spec::Params;

use crate::contract::Violation;
use crate::part::page::victims::policy::{Policy, Selector};
use crate::part::page::victims::valid_counts::ValidCounts;

/// Valid counts of all blocks, and the choice of victims.
#[derive(Debug)]
pub struct Victims {
    counts: ValidCounts,
    selector: Box<dyn Selector>,
    /// Whether the selector follows invalidations. The answer is stored here, because it is needed
    /// at every write.
    follows_invalidations: bool,
}

impl Victims {
    /// No block is open or full yet.
    pub fn new(policy: &Policy, geometry: &Geometry, params: &Params, seed: u64) -> Victims {
        let selector = (policy.selector)(geometry, params, seed);
        let follows_invalidations = selector.follows_invalidations();
        Victims { counts: ValidCounts::new(geometry), selector, follows_invalidations }
    }

    /// Takes over a free block that is about to be filled.
    pub fn open(&mut self, block: BlockId) {
        self.counts.open(block);
        self.selector.opened(block);
    }

    /// Makes an open block a candidate: it is full, or will not be filled further. `programmed` of
    /// its pages hold data; `now` is the number of host pages written.
    pub fn close(&mut self, block: BlockId, programmed: u32, now: u64) {
        let valid = self.counts.close(block, programmed);
        self.selector.closed(block, valid, now);
    }

    /// Notes that a page of the block was superseded or trimmed.
    #[inline]
    pub fn invalidate(&mut self, block: BlockId) {
        self.counts.invalidate(block);
        if self.follows_invalidations {
            self.tell_invalidated(block);
        }
    }

    /// Apart from [`invalidate`](Self::invalidate), so that callers can be compiled with that.
    #[inline(never)]
    fn tell_invalidated(&mut self, block: BlockId) {
        if let Some(valid) = self.counts.of_full(block) {
            self.selector.invalidated(block, valid);
        }
    }

    /// The full block to collect now; none if the policy accepts no candidate.
    pub fn choose(&mut self, now: u64) -> Option<BlockId> {
        self.selector.choose(&self.counts, now)
    }

    /// Removes a full block that has just been erased.
    pub fn release(&mut self, block: BlockId) {
        let valid = self.counts.release(block);
        self.selector.released(block, valid);
    }

    /// Compares the counts of the policy with the valid counts.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        self.selector.audit(&self.counts)
    }

    /// The valid counts.
    #[inline]
    pub fn counts(&self) -> &ValidCounts {
        &self.counts
    }
}
