//! What a mount makes of the copies that it finds, for schemes that map page by page.
//!
//! The newest copy of each page wins (version, then sequence). Two things need care.
//!
//! **The last page programmed is suspect**: if the power failed during its program it reads well
//! now and may decay. So its block is moved to a clean one, that page last; and until this is done
//! the block that holds the page's next best copy, its *fallback*, must not be erased.
//!
//! **No block may be free**, or only the fallback. Then either the power failed while a victim was
//! emptied into the last free block, R, and whatever R holds is still in the victim: R is given up
//! and erased at once, before a later mount can believe it. (One page in R may have no twin: the
//! last, if a mount copied it from a suspect page that has decayed since. It was never answered.)
//! Or R holds more than copies. Then R was not opened for a victim, so when its last page was
//! programmed another block was free and erased, and would be found so: that page was complete long
//! ago, and nothing needs care.

use nand::{BlockId, Geometry, Lpn};

use crate::contract::{Error, Result};
use crate::part::recovery::spare_scan::PageCopy;

/// What a mount is to do.
#[derive(Debug)]
pub struct RecoveryPlan {
    /// The copy that each logical page maps to.
    pub newest: Vec<Option<PageCopy>>,
    /// A block to erase before anything else.
    pub given_up: Option<BlockId>,
    /// The block to move to a clean one.
    pub endangered: Option<BlockId>,
    /// A free block that must not be erased before that is done.
    pub fallback: Option<BlockId>,
}

/// Plans the mount of a device whose data lie in `blocks`. `last` is the last page programmed on
/// the chip, `tombstones` the version below which copies of each logical page are dead.
///
/// # Errors
/// The flash holds what no writes and cuts can have left.
pub fn plan(
    geometry: &Geometry,
    blocks: &[BlockId],
    copies: &[PageCopy],
    last: Option<PageCopy>,
    tombstones: &[u64],
) -> Result<RecoveryPlan> {
    let newest = elect(copies, tombstones);
    let is_newest = |copy: &PageCopy| newest[copy.spare.owner.0 as usize] == Some(*copy);
    let suspect = last.filter(|last| last.spare.owner.is_host() && is_newest(last));
    let endangered = suspect.map(|copy| geometry.block_of(copy.ppn));
    let fallback = suspect.and_then(|suspect| next_best(copies, tombstones, suspect));
    let fallback = fallback.map(|copy| geometry.block_of(copy.ppn));
    let free = free_blocks(geometry, blocks, &newest);
    if free.iter().any(|&block| Some(block) != fallback) {
        return Ok(RecoveryPlan { newest, given_up: None, endangered, fallback });
    }
    let last = copies.iter().max_by_key(|copy| copy.spare.sequence);
    let last = last.expect("a device without a free block holds pages");
    let given_up = geometry.block_of(last.ppn);
    match without(geometry, given_up, copies, *last, &newest, tombstones) {
        Ok(newest) => {
            Ok(RecoveryPlan { newest, given_up: Some(given_up), endangered: None, fallback: None })
        }
        Err(_) if !free.is_empty() => {
            Ok(RecoveryPlan { newest, given_up: None, endangered: None, fallback: None })
        }
        Err(only) => Err(Error::Unmountable(format!(
            "no block is free, and block {} holds the only newest copy of logical page {}",
            given_up.0, only.spare.owner.0
        ))),
    }
}

/// The newest copy of each logical page that no tombstone beats.
pub fn elect(copies: &[PageCopy], tombstones: &[u64]) -> Vec<Option<PageCopy>> {
    let mut newest: Vec<Option<PageCopy>> = vec![None; tombstones.len()];
    for copy in copies.iter().filter(|copy| is_alive(copy, tombstones)) {
        let slot = &mut newest[copy.spare.owner.0 as usize];
        if slot.is_none_or(|best| copy.spare.rank() > best.spare.rank()) {
            *slot = Some(*copy);
        }
    }
    newest
}

fn is_alive(copy: &PageCopy, tombstones: &[u64]) -> bool {
    copy.spare.version > tombstones[copy.spare.owner.0 as usize]
}

/// The copy that would serve if this one were not there.
fn next_best(copies: &[PageCopy], tombstones: &[u64], suspect: PageCopy) -> Option<PageCopy> {
    let others = copies.iter().filter(|copy| {
        copy.spare.owner == suspect.spare.owner
            && copy.ppn != suspect.ppn
            && is_alive(copy, tombstones)
    });
    others.max_by_key(|copy| copy.spare.rank()).copied()
}

fn free_blocks(
    geometry: &Geometry,
    blocks: &[BlockId],
    newest: &[Option<PageCopy>],
) -> Vec<BlockId> {
    let mut used = vec![false; geometry.blocks() as usize];
    for copy in newest.iter().flatten() {
        used[geometry.block_of(copy.ppn).0 as usize] = true;
    }
    blocks.iter().copied().filter(|block| !used[block.0 as usize]).collect()
}

/// The newest copies outside block `given_up`, if nothing is lost with it that was ever answered;
/// else a copy that would be.
fn without(
    geometry: &Geometry,
    given_up: BlockId,
    copies: &[PageCopy],
    last: PageCopy,
    newest: &[Option<PageCopy>],
    tombstones: &[u64],
) -> core::result::Result<Vec<Option<PageCopy>>, PageCopy> {
    let kept = copies.iter().filter(|copy| geometry.block_of(copy.ppn) != given_up);
    let without = elect(&kept.copied().collect::<Vec<_>>(), tombstones);
    let never_answered = |copy: &PageCopy| *copy == last && !copy.spare.is_original();
    for lpn in (0..newest.len() as u32).map(Lpn) {
        let at = lpn.0 as usize;
        let Some(with) = newest[at] else { continue };
        let same = without[at].is_some_and(|copy| copy.spare.version == with.spare.version);
        if !same && !never_answered(&with) {
            return Err(with);
        }
    }
    Ok(without)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::{Ppn, ProgramOrder, Spare};

    fn copy(ppn: u32, owner: u32, version: u64, sequence: u64) -> PageCopy {
        PageCopy { ppn: Ppn(ppn), spare: Spare { owner: Lpn(owner), version, sequence, kind: 1 } }
    }

    /// Three blocks of four pages.
    fn planned(copies: &[PageCopy]) -> Result<RecoveryPlan> {
        let geometry = Geometry::new(512, 64, 4, 3, ProgramOrder::Sequential).unwrap();
        let last = copies.iter().copied().max_by_key(|copy| copy.spare.sequence);
        plan(&geometry, &[0, 1, 2].map(BlockId), copies, last, &[0; 6])
    }

    fn places(plan: &RecoveryPlan) -> Vec<u32> {
        plan.newest.iter().map(|copy| copy.map_or(99, |copy| copy.ppn.0)).collect()
    }

    #[test]
    fn version_beats_sequence_and_sequence_breaks_ties() {
        let copies = [copy(0, 0, 5, 9), copy(1, 0, 6, 6), copy(4, 1, 3, 3), copy(5, 1, 3, 8)];
        assert_eq!(places(&planned(&copies).unwrap()), [1, 5, 99, 99, 99, 99]);
        let newest = elect(&copies, &[6, 4, 0]);
        assert_eq!(newest, [None, None, None], "a tombstone beats its own and older versions");
    }

    #[test]
    fn the_block_of_the_last_page_is_moved_and_its_fallback_kept() {
        let plan = planned(&[copy(0, 0, 1, 1), copy(4, 0, 2, 2)]).unwrap();
        assert_eq!((plan.endangered, plan.fallback), (Some(BlockId(1)), Some(BlockId(0))));
        assert_eq!(plan.given_up, None);
    }

    #[test]
    fn a_block_that_holds_only_copies_is_given_up_when_none_is_free() {
        let mut copies = vec![copy(0, 0, 1, 1), copy(1, 1, 2, 2), copy(4, 2, 3, 3)];
        copies.push(copy(8, 0, 1, 4));
        let plan = planned(&copies).unwrap();
        assert_eq!(plan.given_up, Some(BlockId(2)));
        assert_eq!(places(&plan)[..3], [0, 1, 4]);
        // The victim wholly copied: it alone is free, and it is the fallback.
        copies.push(copy(9, 1, 2, 5));
        assert_eq!(planned(&copies).unwrap().given_up, Some(BlockId(2)));
    }

    #[test]
    fn a_copy_whose_source_has_decayed_was_never_answered() {
        let copies = [
            copy(0, 0, 1, 1),
            copy(1, 1, 2, 2),
            copy(4, 2, 3, 3),
            copy(8, 1, 2, 5),
            copy(9, 0, 4, 6),
        ];
        let plan = planned(&copies).unwrap();
        assert_eq!(plan.given_up, Some(BlockId(2)));
        assert_eq!(places(&plan)[..3], [0, 1, 4]);
    }

    #[test]
    fn the_only_copies_are_not_given_up() {
        // Block 0 is free but for the fallback of the last page, which lies among others.
        let mut copies = vec![copy(0, 0, 1, 1), copy(4, 1, 2, 2), copy(8, 2, 3, 3)];
        copies.push(copy(9, 0, 1, 4));
        let plan = planned(&copies).unwrap();
        assert_eq!((plan.given_up, plan.endangered), (None, None));
        assert_eq!(places(&plan)[..3], [9, 4, 8]);
        // None is free, and the last block holds what is nowhere else.
        copies.push(copy(1, 3, 9, 9));
        copies.push(copy(10, 4, 10, 10));
        assert!(planned(&copies).unwrap_err().to_string().contains("logical page"));
    }
}
