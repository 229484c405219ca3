//! Merges: how the pages of a log block return to their data blocks (LAST §2.2, Fig. 2).
//!
//! ```text
//! switch   log [0 1 2 3]   becomes the data block; the old data block is erased
//! partial  log [0 1 _ _]   pages 2 and 3 are copied in; then as for a switch
//! full     log [1 0 1 5]   for each logical block with a valid page here, the newest pages are
//!                          gathered into a clean block; the old blocks and the log are erased
//! dead     log [x x x x]   is erased
//! ```
//! A log block is *in order* if every programmed slot `i` holds the valid page `i` of one logical
//! block; only then a switch or partial merge is possible. A full merge counts once, whatever its
//! number of associated data blocks. On chips that cannot skip pages, holes are padded with
//! programs of cause merge.
//!
//! A merge is planned first, without any operation on the flash, and then carried out. The pool
//! holds one clean block before a merge and after it. Between the first copy of a merge and its
//! last, nothing else is programmed and no source block is erased; [`log_mount`](super::log_mount)
//! relies on that.

use nand::{BlockId, Cause, Geometry, Nand};

use crate::contract::{Merges, Result};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};

/// A log block, filled slot by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBlock {
    /// The block.
    pub block: BlockId,
    /// Number of used slots; all slots of a block that a mount found count as used.
    pub filled: u32,
}

/// How to merge a log block that serves one logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergePlan {
    /// The log block becomes the data block as it is.
    Switch,
    /// The log block becomes the data block after the missing pages are copied in.
    Partial {
        /// The offset of the first missing page.
        from: u32,
    },
    /// The newest pages of the logical block are gathered in a clean block.
    Full,
    /// The log block holds no valid page.
    Dead,
}

/// Decides how to merge `log`, the log block of logical block `lbn`, in its present state.
pub fn plan(
    map: &LogMap<impl BlockObserver>,
    geometry: &Geometry,
    lbn: Lbn,
    log: LogBlock,
) -> MergePlan {
    if map.valid(log.block) == 0 {
        return MergePlan::Dead;
    }
    let slots = geometry.first_page(log.block).0..;
    let mut slots = map.newest_of(lbn).iter().zip(slots).take(log.filled as usize);
    match slots.all(|(newest, slot)| newest.0 == slot) {
        true if log.filled == geometry.pages_per_block() => MergePlan::Switch,
        true => MergePlan::Partial { from: log.filled },
        false => MergePlan::Full,
    }
}

/// Carries out a planned merge of the log block of logical block `lbn`, and counts it.
///
/// # Errors
/// The power fails.
pub fn carry_out(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    merges: &mut Merges,
    lbn: Lbn,
    log: LogBlock,
    plan: MergePlan,
) -> Result<()> {
    match plan {
        MergePlan::Switch => {
            merges.switch += 1;
            let none = nand.geometry().pages_per_block();
            promote(nand, map, lbn, log.block, none)?;
        }
        MergePlan::Partial { from } => {
            merges.partial += 1;
            promote(nand, map, lbn, log.block, from)?;
        }
        MergePlan::Full => full(nand, map, merges, &[lbn], log.block)?,
        MergePlan::Dead => dead(nand, map, merges, log.block)?,
    }
    assert!(!map.flat.pool.is_empty(), "the merge of LBN {lbn} left no clean block: {plan:?}");
    Ok(())
}

/// A full merge: gathers the newest pages of each associated logical block, then erases the victim.
///
/// # Errors
/// The power fails.
pub fn full(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    merges: &mut Merges,
    associated: &[Lbn],
    victim: BlockId,
) -> Result<()> {
    bring_all_home(nand, map, merges, associated)?;
    map.release(nand, victim, MERGE)
}

/// A full merge of these logical blocks, but without the erase of the victim.
///
/// # Errors
/// The power fails.
pub fn bring_all_home(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    merges: &mut Merges,
    associated: &[Lbn],
) -> Result<()> {
    for &lbn in associated {
        bring_home(nand, map, lbn)?;
    }
    count_full(merges, associated.len());
    Ok(())
}

/// Gathers the newest pages of one logical block in a clean block and makes that its data block.
///
/// # Errors
/// The power fails.
pub fn bring_home(nand: &mut Nand, map: &mut LogMap<impl BlockObserver>, lbn: Lbn) -> Result<()> {
    let clean = map.flat.pool.take(nand)?;
    let filled = map.gather(nand, lbn, 0..nand.geometry().pages_per_block(), clean, MERGE)?;
    replace(nand, map, lbn, clean, filled)
}

/// Counts a full merge with `associated` associated data blocks.
pub fn count_full(merges: &mut Merges, associated: usize) {
    merges.full += 1;
    count(&mut merges.associated_blocks, associated);
}

/// Adds one to entry `n` of a histogram.
pub fn count(histogram: &mut Vec<u64>, n: usize) {
    histogram.resize(histogram.len().max(n + 1), 0);
    histogram[n] += 1;
}

/// Erases a dead log block, and counts it.
///
/// # Errors
/// The power fails.
pub fn dead(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    merges: &mut Merges,
    victim: BlockId,
) -> Result<()> {
    merges.dead += 1;
    discard(nand, map, victim)
}

/// Erases a block that has been emptied.
///
/// # Errors
/// The power fails.
pub fn discard(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    block: BlockId,
) -> Result<()> {
    map.release(nand, block, MERGE)
}

const MERGE: Cause = Cause::Merge;

/// Makes a log block that is in order the data block, after copying in the pages from offset
/// `missing` on.
fn promote(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    lbn: Lbn,
    block: BlockId,
    missing: u32,
) -> Result<()> {
    let missing = missing..nand.geometry().pages_per_block();
    let filled = map.gather(nand, lbn, missing, block, MERGE)?;
    replace(nand, map, lbn, block, filled)
}

/// Replaces the data block of a logical block; erases the old one, if there is one.
fn replace(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    lbn: Lbn,
    block: BlockId,
    filled: u32,
) -> Result<()> {
    let old = map.data_block(lbn);
    map.set_data_block(nand.geometry(), lbn, block, filled);
    old.map_or(Ok(()), |old| map.release(nand, old, MERGE))
}
