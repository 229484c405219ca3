//! The sequential log block (SW): one block that takes a sequential stream (FAST).
//!
//! ```text
//! write 4        SW [4 _ _ _]     a write at offset 0 opens the block, for LBN 1
//! write 5        SW [4 5 _ _]     the next page in order is appended
//! write 5, 7     SW [4 5 _ _]     not next in order: to the random log; 5 is now stale here
//! write 6        SW [4 5 6 _]     the next page in order, although page 5 is stale
//! write 0        SW [0 _ _ _]     the former contents were merged first, as they were
//! ```
//! A scheme may open the block in the middle of a logical block. The pages before are then copied
//! in, so that the block is in order from its first slot:
//!
//! ```text
//! write 6        SW [4 5 6 _]     the host writes on from 6; 4 and 5 were copied
//! ```
//! If the power fails during these copies, a mount gives the block up like an unfinished merge.
//!
//! The merge of the former contents is a switch if the block is full, partial if it holds the first
//! pages of its logical block, full if one of its pages is stale, and a single erase if all of them
//! are stale. A full block is not merged at once: it waits for the next write at offset 0, even if
//! that belongs to its own logical block. Only if streams are recognised by a run, it is.
//!
//! Invariants: slot `i` holds page `i` of the owner, and no slot is skipped.

use nand::{BlockId, Cause, Lpn, Nand};

use crate::contract::{Merges, Result, Run, Violation, ensure};
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge::{self, LogBlock};

/// The SW block, and the logical block that owns it.
#[derive(Clone, Copy, Debug)]
struct SequentialStream {
    owner: Lbn,
    log: LogBlock,
    /// The next page in order; none if the block is full.
    next: Option<Lpn>,
}

/// The sequential log block, if there is one.
#[derive(Clone, Debug, Default)]
pub struct SequentialBlock {
    stream: Option<SequentialStream>,
}

impl SequentialBlock {
    /// The next page in order; none if the block is full or there is no block.
    #[inline]
    pub fn next(&self) -> Option<Lpn> {
        self.stream.and_then(|stream| stream.next)
    }

    /// The block, if there is one.
    pub fn block(&self) -> Option<BlockId> {
        self.stream.map(|stream| stream.log.block)
    }

    /// The logical block that owns the block, if there is one.
    pub fn owner(&self) -> Option<Lbn> {
        self.stream.map(|stream| stream.owner)
    }

    /// Whether there is a block, and it is full.
    pub fn is_full(&self) -> bool {
        self.stream.is_some_and(|stream| stream.next.is_none())
    }

    /// Takes a block from the pool for a stream that begins or goes on with page `lpn`, and copies
    /// the pages of its logical block before it, all of which must be mapped.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand, map: &mut LogMap, lpn: Lpn) -> Result<()> {
        assert!(self.stream.is_none(), "a second sequential log block was opened, for {lpn:?}");
        let (owner, offset) = (map.lbn_of(lpn), lpn.0 % map.pages_per_block());
        let block = map.flat.pool.take(nand)?;
        let filled = map.gather(nand, owner, 0..offset, block, Cause::Merge)?;
        assert!(filled == offset, "{filled} of the {offset} pages before {lpn:?} are mapped");
        let log = LogBlock { block, filled };
        self.stream = Some(SequentialStream { owner, log, next: Some(lpn) });
        Ok(())
    }

    /// Appends up to `most` pages of a run. Page `index` of the run must be the next page in order.
    /// Returns how many it appended.
    ///
    /// # Errors
    /// The power fails.
    #[inline(never)]
    pub fn append(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        run: &Run,
        index: u32,
        most: u32,
    ) -> Result<u32> {
        let SequentialStream { log, next, .. } =
            self.stream.as_mut().expect("there is a sequential log block");
        let lpn = run.first.plus(index);
        debug_assert!(*next == Some(lpn), "{lpn:?} was appended to {log:?}, next is {next:?}");
        let to = nand.geometry().page(log.block, log.filled);
        let done = map.write(nand, run, index, most, to)?;
        log.filled += done;
        let is_full = log.filled == nand.geometry().pages_per_block();
        *next = next.map(|next| next.plus(done)).filter(|_| !is_full);
        Ok(done)
    }

    /// Merges the block in its present state. There must be one.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge(&mut self, nand: &mut Nand, map: &mut LogMap, merges: &mut Merges) -> Result<()> {
        let SequentialStream { owner, log, .. } =
            self.stream.take().expect("there is a sequential log block to merge");
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
        ensure!(next == expected, "{block:?} expects {next:?} next, not {expected:?}");
        Ok(())
    }
}
