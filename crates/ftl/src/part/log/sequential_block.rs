//! The sequential log block (SW): one block that catches a sequential stream (FAST).
//!
//! ```text
//! write 4        SW [4 _ _ _]     a write at offset 0 opens it, for LBN 1
//! write 5        SW [4 5 _ _]     the next in order is appended
//! write 5, 7     SW [4 5 _ _]     not next in order: for the random log; 5 is stale here now
//! write 6        SW [4 5 6 _]     the next in order, whatever became of the pages before it
//! write 0        SW [0 _ _ _]     the former content was merged first, as it stood
//! ```
//! The former content is switched if it is whole, partially merged if it is the start of its
//! logical block, fully merged if one of its pages is stale, erased if all are. Nothing happens
//! when the block is full: it waits for the next write at offset 0, also one of its own owner.
//!
//! Invariants: slot `i` holds page `i` of the owner, and no slot is skipped.

use nand::{BlockId, Lpn, Nand};

use crate::contract::{Merges, Result, Run, Violation, ensure};
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge::{self, LogBlock};

/// A log block and the logical block that it serves.
#[derive(Clone, Copy, Debug)]
struct SequentialStream {
    owner: Lbn,
    log: LogBlock,
    /// The page that it takes next; none if it is full.
    next: Option<Lpn>,
}

/// The sequential log block, if one is open.
#[derive(Clone, Debug, Default)]
pub struct SequentialBlock {
    stream: Option<SequentialStream>,
}

impl SequentialBlock {
    /// The page that it takes next; none if it is full or there is none.
    #[inline]
    pub fn next(&self) -> Option<Lpn> {
        self.stream.and_then(|stream| stream.next)
    }

    /// The block.
    pub fn block(&self) -> Option<BlockId> {
        self.stream.map(|stream| stream.log.block)
    }

    /// Takes a block from the pool for the logical block that starts at `first`.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand, map: &mut LogMap, first: Lpn) -> Result<()> {
        assert!(self.stream.is_none(), "opened a second sequential log block for {first:?}");
        let log = LogBlock { block: map.pool.take(nand)?, filled: 0 };
        self.stream = Some(SequentialStream { owner: map.lbn_of(first), log, next: Some(first) });
        Ok(())
    }

    /// Appends up to `most` pages of a run, whose page `index` is the one that it takes next;
    /// returns how many.
    ///
    /// # Errors
    /// The power fails.
    pub fn append(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        run: &Run,
        index: u32,
        most: u32,
    ) -> Result<u32> {
        let SequentialStream { log, next, .. } = self.stream.as_mut().expect("it takes a page");
        let to = nand.geometry().page(log.block, log.filled);
        let done = map.write(nand, run, index, most, to)?;
        log.filled += done;
        let is_full = log.filled == nand.geometry().pages_per_block();
        *next = next.map(|next| next.plus(done)).filter(|_| !is_full);
        Ok(done)
    }

    /// Merges the block as it stands. The caller has seen that there is one.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge(&mut self, nand: &mut Nand, map: &mut LogMap, merges: &mut Merges) -> Result<()> {
        let SequentialStream { owner, log, .. } = self.stream.take().expect("merged no stream");
        let plan = merge::plan(map, nand.geometry(), owner, log);
        merge::carry_out(nand, map, merges, owner, log, plan)
    }

    /// Compares the block with the chip.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let Some(SequentialStream { owner, log, next }) = self.stream else { return Ok(()) };
        let (block, filled) = (log.block, log.filled);
        let per_block = nand.geometry().pages_per_block();
        let first = owner * per_block;
        for (slot, &holds) in (0..).zip(nand.owners(block)) {
            let expected = if slot < filled { first + slot } else { Lpn::NONE.0 };
            ensure!(holds == expected, "slot {slot} of {block:?} holds {:?}", Lpn(holds));
        }
        let expected = (filled < per_block).then(|| Lpn(first + filled));
        ensure!(next == expected, "{block:?} takes {next:?}, not {expected:?}");
        Ok(())
    }
}
