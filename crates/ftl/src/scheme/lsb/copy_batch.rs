//! Copies that lsb has booked in its map, but not yet made.

use nand::{Cause, Ppn};

/// Copies of pages of a victim that are made together, to consecutive pages of an open block. The
/// map and the chains know the new places already.
#[derive(Debug)]
pub(super) struct CopyBatch {
    pub from: Vec<Ppn>,
    /// The place of the next copy.
    pub next: Ppn,
    /// Number of pages that the open block can still take; 0 if no batch has begun.
    pub room: u32,
    pub cause: Cause,
}

impl CopyBatch {
    pub fn new(pages_per_block: u32) -> CopyBatch {
        let from = Vec::with_capacity(pages_per_block as usize);
        CopyBatch { from, next: Ppn::NONE, room: 0, cause: Cause::Gc }
    }
}
