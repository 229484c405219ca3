//! Merges: how a log block's pages come home (LAST §2.2, Fig. 2).
//!
//! ```text
//! switch   log [0 1 2 3]   becomes the data block; the old one is erased
//! partial  log [0 1 _ _]   gets 2 and 3 copied in, then as switch
//! full     log [1 0 1 5]   for each logical block with a page here its newest pages are gathered
//!                          from everywhere into a clean block; old ones and log block are erased
//! dead     log [x x x x]   is erased
//! ```
//! *In order* (switch, partial) means that every programmed slot `i` holds page `i` of one logical
//! block, and that all of them are valid. A full merge counts once, whatever its number of
//! associated data blocks; what it could not skip is padded on sequential chips, cause merge.
//!
//! First it is decided, by looking alone; then done. Whoever does it has one clean block in the
//! pool, and has one again afterwards. Nothing else is programmed between the first copy of a merge
//! and its last, and no source is erased before: [`log_mount`](super::log_mount) stands on that.

use nand::{BlockId, Cause, Geometry, Nand};

use crate::contract::{Merges, Result};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};

/// A log block, filled slot by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBlock {
    /// The block.
    pub block: BlockId,
    /// How many of its slots are used; all of them in one that a mount found.
    pub filled: u32,
}

/// How a log block that serves one logical block is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergePlan {
    /// It becomes the data block as it is.
    Switch,
    /// It becomes the data block once the pages from this offset on are copied in.
    Partial {
        /// The first page that it lacks.
        from: u32,
    },
    /// All newest pages are gathered in a clean block.
    Full,
    /// It holds nothing.
    Dead,
}

/// Decides how `log`, the log block of logical block `lbn`, is merged as it stands.
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

/// Merges the log block of logical block `lbn` as planned, and counts it.
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
            promote(nand, map, lbn, log.block, none)
        }
        MergePlan::Partial { from } => {
            merges.partial += 1;
            promote(nand, map, lbn, log.block, from)
        }
        MergePlan::Full => full(nand, map, merges, &[lbn], log.block),
        MergePlan::Dead => dead(nand, map, merges, log.block),
    }
}

/// Gathers the newest pages of every logical block that has a page in the victim, and erases it.
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

/// A full merge of these logical blocks, without the erase of its victim.
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

/// Gathers the newest pages of one logical block in a clean block, which becomes its data block.
///
/// # Errors
/// The power fails.
pub fn bring_home(nand: &mut Nand, map: &mut LogMap<impl BlockObserver>, lbn: Lbn) -> Result<()> {
    map.flat.flush(nand)?;
    let clean = map.pool.take(nand)?;
    let filled = map.gather(nand, lbn, 0..nand.geometry().pages_per_block(), clean, MERGE)?;
    replace(nand, map, lbn, clean, filled)
}

/// Counts a full merge of so many associated data blocks.
pub fn count_full(merges: &mut Merges, associated: usize) {
    merges.full += 1;
    count(&mut merges.associated_blocks, associated);
}

/// Counts one more of size `n`.
pub fn count(histogram: &mut Vec<u64>, n: usize) {
    histogram.resize(histogram.len().max(n + 1), 0);
    histogram[n] += 1;
}

/// Erases a log block without valid pages.
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

/// Erases a block that was emptied.
///
/// # Errors
/// The power fails.
pub fn discard(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    block: BlockId,
) -> Result<()> {
    map.flat.flush(nand)?;
    map.release(nand, block, MERGE)
}

const MERGE: Cause = Cause::Merge;

/// Makes a log block in order the data block, once the pages from offset `lacking` on are copied
/// in.
fn promote(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    lbn: Lbn,
    block: BlockId,
    lacking: u32,
) -> Result<()> {
    map.flat.flush(nand)?;
    let lacking = lacking..nand.geometry().pages_per_block();
    let filled = map.gather(nand, lbn, lacking, block, MERGE)?;
    replace(nand, map, lbn, block, filled)
}

/// Puts a new data block in the place of the old one, if there is one, and erases that.
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
