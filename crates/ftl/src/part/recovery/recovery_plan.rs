//! Recovery for schemes that map page by page: which copy of each page is the newest, and which
//! blocks the mount must treat with care.
//!
//! The newest copy of a page is the one with the highest version; among equal versions, the one
//! with the highest sequence. Copies that do not count were left out by the
//! [survey](super::survey). Two situations need care.
//!
//! **The page programmed last is suspect.** If the power failed during its program, it reads well
//! now and may be unreadable later. Therefore the mount moves its whole block to a clean one, the
//! suspect page last. The commit makes the old place void. The block that holds the second newest
//! copy of the suspect page is its *fallback*. It must not be erased before the commit: if the
//! suspect page becomes unreadable, the mount is repeated without it.
//!
//! **There may be no free block**, or only the fallback. Let R be the block that was programmed
//! last. Two histories lead here:
//!
//! * The power failed while a victim was being copied into R, the last free block. Everything in R
//!   is still in the victim. The mount gives up R: its pages do not count, and the block is free.
//!   It becomes void with the commit, so no later mount believes its pages.
//! * R holds more than copies. Then R was not opened to receive a victim. When its last page was
//!   programmed, another block was free and erased, and the mount would find it free. So that page
//!   was complete long ago, and nothing needs care.
//!
//! **Without a trim log** (durability `paper`) there is no commit. The mount erases R at once. The
//! fallback is kept until the move is complete. One page of R may have no twin, namely the last
//! one, if an earlier mount copied it from a suspect page that has become unreadable since. The
//! write of that page was never answered.

use nand::{BlockId, Geometry, Lpn};

use crate::contract::{Error, Result};
use crate::part::recovery::spare_scan::{PageCopy, Suspects};

/// What a mount has to do.
#[derive(Debug)]
pub struct RecoveryPlan {
    /// The copy that each logical page maps to.
    pub newest: Vec<Option<PageCopy>>,
    /// The block to give up: its pages do not count.
    pub given_up: Option<BlockId>,
    /// The block of the suspect page, which must be moved to a clean block.
    pub endangered: Option<BlockId>,
    /// The block that must not be erased before the mount commits.
    pub fallback: Option<BlockId>,
}

/// Plans the mount of a device that keeps its data in `blocks`. `suspects` are the pages that the
/// mount must copy. `tombstones` holds, for each logical page, the version up to which its copies
/// are dead.
///
/// # Errors
/// The flash is in a state that no sequence of writes and power cuts can produce.
pub fn plan(
    geometry: &Geometry,
    blocks: &[BlockId],
    copies: &[PageCopy],
    suspects: &Suspects,
    tombstones: &[u64],
) -> Result<RecoveryPlan> {
    let newest = elect(copies, tombstones);
    let is_newest = |copy: &PageCopy| newest[copy.spare.owner.0 as usize] == Some(*copy);
    let suspects = suspects.valid(|copy| copy.spare.owner.is_host() && is_newest(copy));
    let endangered = suspects.pages.first().map(|copy| geometry.block_of(copy.ppn));
    let fallback = suspects.endangered().and_then(|suspect| next_best(copies, tombstones, suspect));
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

/// The newest copy of each logical page, unless its tombstone is newer.
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

/// The second newest copy of the suspect page.
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

/// The newest copies outside the block `given_up`. If erasing that block would lose a write that
/// was answered, returns a copy of such a page as the error.
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
        let owner = Lpn(owner);
        let spare = Spare { owner, version, sequence, kind: 1, tentative: false };
        PageCopy { ppn: Ppn(ppn), spare }
    }

    /// Three blocks of four pages.
    fn planned(copies: &[PageCopy]) -> Result<RecoveryPlan> {
        let geometry = Geometry::new(512, 64, 4, 3, ProgramOrder::Sequential).unwrap();
        let last = copies.iter().copied().max_by_key(|copy| copy.spare.sequence);
        let suspects = Suspects { pages: last.into_iter().collect(), are_destroyed: false };
        plan(&geometry, &[0, 1, 2].map(BlockId), copies, &suspects, &[0; 6])
    }

    fn newest_ppns(plan: &RecoveryPlan) -> Vec<u32> {
        plan.newest.iter().map(|copy| copy.map_or(99, |copy| copy.ppn.0)).collect()
    }

    #[test]
    fn version_beats_sequence_and_sequence_breaks_ties() {
        let copies = [copy(0, 0, 5, 9), copy(1, 0, 6, 6), copy(4, 1, 3, 3), copy(5, 1, 3, 8)];
        assert_eq!(newest_ppns(&planned(&copies).unwrap()), [1, 5, 99, 99, 99, 99]);
        let newest = elect(&copies, &[6, 4, 0]);
        assert_eq!(
            newest,
            [None, None, None],
            "a tombstone kills copies of its own version and older ones"
        );
    }

    #[test]
    fn the_block_of_the_last_page_is_moved_and_its_fallback_is_kept() {
        let plan = planned(&[copy(0, 0, 1, 1), copy(4, 0, 2, 2)]).unwrap();
        assert_eq!((plan.endangered, plan.fallback), (Some(BlockId(1)), Some(BlockId(0))));
        assert_eq!(plan.given_up, None);
    }

    #[test]
    fn a_block_of_copies_is_given_up_when_no_block_is_free() {
        let mut copies = vec![copy(0, 0, 1, 1), copy(1, 1, 2, 2), copy(4, 2, 3, 3)];
        copies.push(copy(8, 0, 1, 4));
        let plan = planned(&copies).unwrap();
        assert_eq!(plan.given_up, Some(BlockId(2)));
        assert_eq!(newest_ppns(&plan)[..3], [0, 1, 4]);
        // Now the whole victim is copied: it alone is free, and it is the fallback.
        copies.push(copy(9, 1, 2, 5));
        assert_eq!(planned(&copies).unwrap().given_up, Some(BlockId(2)));
    }

    #[test]
    fn a_copy_without_a_readable_source_may_be_lost() {
        let copies = [
            copy(0, 0, 1, 1),
            copy(1, 1, 2, 2),
            copy(4, 2, 3, 3),
            copy(8, 1, 2, 5),
            copy(9, 0, 4, 6),
        ];
        let plan = planned(&copies).unwrap();
        assert_eq!(plan.given_up, Some(BlockId(2)));
        assert_eq!(newest_ppns(&plan)[..3], [0, 1, 4]);
    }

    #[test]
    fn a_block_with_the_only_copy_of_a_page_is_not_given_up() {
        // Block 0 holds nothing but the fallback of the last page; block 2 holds more than copies.
        let mut copies = vec![copy(0, 0, 1, 1), copy(4, 1, 2, 2), copy(8, 2, 3, 3)];
        copies.push(copy(9, 0, 1, 4));
        let plan = planned(&copies).unwrap();
        assert_eq!((plan.given_up, plan.endangered), (None, None));
        assert_eq!(newest_ppns(&plan)[..3], [9, 4, 8]);
        // No block is free, and the block programmed last holds pages that are nowhere else.
        copies.push(copy(1, 3, 9, 9));
        copies.push(copy(10, 4, 10, 10));
        assert!(planned(&copies).unwrap_err().to_string().contains("logical page"));
    }

    #[test]
    fn the_block_of_the_last_page_is_not_given_up_if_the_host_wrote_that_page() {
        // Block 2 holds a copy whose source is still there, and the only copy of the last page.
        let mut copies = vec![copy(0, 0, 1, 1), copy(1, 1, 2, 2), copy(4, 2, 3, 3)];
        copies.extend([copy(8, 0, 1, 4), copy(9, 3, 5, 5)]);
        assert!(planned(&copies).is_err());
        // If that page is a copy, its source has become unreadable, and its write was not answered.
        *copies.last_mut().unwrap() = copy(9, 3, 2, 5);
        assert_eq!(planned(&copies).unwrap().given_up, Some(BlockId(2)));
    }
}
