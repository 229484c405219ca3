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

use std::collections::BTreeMap;

use nand::{BlockId, Geometry, Lpn, Ppn};

use crate::contract::{Error, Result};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, Suspects};

/// What a mount has to do.
#[derive(Debug)]
pub struct RecoveryPlan {
    /// The place that each logical page maps to; [`Ppn::NONE`] if there is none.
    pub newest: Vec<Ppn>,
    /// The block to give up: its pages do not count.
    pub given_up: Option<BlockId>,
    /// The block of the suspect page, which must be moved to a clean block.
    pub endangered: Option<BlockId>,
    /// The block that must not be erased before the mount commits.
    pub fallback: Option<BlockId>,
}

/// Plans the mount of a device that keeps its data in `blocks`. `newest` are the places of the
/// newest copies, as [elected](elect). `suspects` are the pages that the mount must copy.
///
/// # Errors
/// The flash is in a state that no sequence of writes and power cuts can produce.
pub fn plan(
    geometry: &Geometry,
    blocks: &[BlockId],
    scan: &SpareScan,
    mut newest: Vec<Ppn>,
    suspects: &Suspects,
) -> Result<RecoveryPlan> {
    let is_newest = |copy: &PageCopy| newest[copy.spare.owner.0 as usize] == copy.ppn;
    let suspects = suspects.valid(|copy| copy.spare.owner.is_host() && is_newest(copy));
    let endangered = suspects.pages.first().map(|copy| geometry.block_of(copy.ppn));
    let fallback = suspects.endangered().and_then(|suspect| next_best(scan, suspect));
    let fallback = fallback.map(|copy| geometry.block_of(copy.ppn));
    let free = free_blocks(geometry, blocks, &newest);
    if free.iter().any(|&block| Some(block) != fallback) {
        return Ok(RecoveryPlan { newest, given_up: None, endangered, fallback });
    }
    let last = scan.host_copies().max_by_key(|copy| copy.spare.sequence);
    let last = last.expect("a device without a free block holds pages");
    let given_up = geometry.block_of(last.ppn);
    let held = held_pages(geometry, scan, &newest, given_up);
    let never_answered = |copy: &PageCopy| *copy == last && !copy.spare.is_original();
    let lost = held.iter().find(|page| !page.has_twin() && !never_answered(&page.copy));
    let given_up = match lost {
        None => {
            held.iter().for_each(|page| page.leave(&mut newest));
            Some(given_up)
        }
        Some(_) if !free.is_empty() => None,
        Some(only) => return Err(only_newest(given_up, only.copy.spare.owner)),
    };
    Ok(RecoveryPlan { newest, given_up, endangered: None, fallback: None })
}

/// The error of a mount that finds no free block, and in `block` the only newest copy of a page.
pub fn only_newest(block: BlockId, lpn: Lpn) -> Error {
    Error::Unmountable(format!(
        "no block is free, and block {} holds the only newest copy of logical page {}",
        block.0, lpn.0
    ))
}

/// The place of the newest living copy of each logical page; [`Ppn::NONE`] if there is none.
pub fn elect(scan: &SpareScan, logical_pages: u32) -> Vec<Ppn> {
    let mut newest = vec![Ppn::NONE; logical_pages as usize];
    for copy in scan.alive() {
        let slot = &mut newest[copy.spare.owner.0 as usize];
        let best = scan.copy(*slot).map(|best| best.spare.rank());
        if best.is_none_or(|best| copy.spare.rank() > best) {
            *slot = copy.ppn;
        }
    }
    newest
}

/// The second newest copy of the suspect page.
fn next_best(scan: &SpareScan, suspect: PageCopy) -> Option<PageCopy> {
    let is_other = |copy: &PageCopy| copy.ppn != suspect.ppn;
    let others = scan.alive().filter(|copy| copy.spare.owner == suspect.spare.owner);
    others.filter(is_other).max_by_key(|copy| copy.spare.rank())
}

/// The blocks to which none of these places belongs.
pub fn free_blocks(geometry: &Geometry, blocks: &[BlockId], newest: &[Ppn]) -> Vec<BlockId> {
    let mut used = vec![false; geometry.blocks() as usize];
    for &ppn in newest.iter().filter(|&&ppn| ppn != Ppn::NONE) {
        used[geometry.block_of(ppn).0 as usize] = true;
    }
    blocks.iter().copied().filter(|block| !used[block.0 as usize]).collect()
}

// ---- Pages of one block ------------------------------------------------------------------------

/// A page whose newest copy is in a certain block.
#[derive(Clone, Copy, Debug)]
pub struct HeldPage {
    /// The newest copy.
    pub copy: PageCopy,
    /// The newest of its copies in other blocks.
    pub elsewhere: Option<PageCopy>,
}

impl HeldPage {
    /// Whether another block holds a copy of the same version.
    pub fn has_twin(&self) -> bool {
        self.elsewhere.is_some_and(|twin| twin.spare.version == self.copy.spare.version)
    }

    /// Lets the copy elsewhere be the newest one.
    pub fn leave(&self, newest: &mut [Ppn]) {
        let place = self.elsewhere.map_or(Ppn::NONE, |copy| copy.ppn);
        newest[self.copy.spare.owner.0 as usize] = place;
    }
}

/// The pages whose newest copy is in `block`, in ascending order of logical pages.
pub fn held_pages(
    geometry: &Geometry,
    scan: &SpareScan,
    newest: &[Ppn],
    block: BlockId,
) -> Vec<HeldPage> {
    let place = |copy: &PageCopy| newest[copy.spare.owner.0 as usize];
    let is_inside = |ppn: Ppn| ppn != Ppn::NONE && geometry.block_of(ppn) == block;
    let mut held: BTreeMap<u32, HeldPage> = BTreeMap::new();
    let inside = scan.copies_in(block).filter(|copy| copy.spare.owner.is_host());
    for copy in inside.filter(|copy| place(copy) == copy.ppn) {
        held.insert(copy.spare.owner.0, HeldPage { copy, elsewhere: None });
    }
    for copy in scan.alive().filter(|copy| is_inside(place(copy)) && !is_inside(copy.ppn)) {
        let page = held.get_mut(&copy.spare.owner.0).expect("the place of a held page");
        if page.elsewhere.is_none_or(|best| copy.spare.rank() > best.spare.rank()) {
            page.elsewhere = Some(copy);
        }
    }
    held.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::recovery::tombstones::Tombstones;
    use nand::{ProgramOrder, Spare};

    fn copy(ppn: u32, owner: u32, version: u64, sequence: u64) -> PageCopy {
        let owner = Lpn(owner);
        let spare = Spare { owner, version, sequence, kind: 1, tentative: false };
        PageCopy { ppn: Ppn(ppn), spare }
    }

    /// Three blocks of four pages.
    fn geometry() -> Geometry {
        Geometry::new(512, 64, 4, 3, ProgramOrder::Sequential).unwrap()
    }

    fn scan_of(copies: &[PageCopy]) -> SpareScan {
        let mut scan = SpareScan::new(geometry());
        copies.iter().for_each(|copy| scan.restore(copy.ppn, copy.spare));
        scan
    }

    fn planned(copies: &[PageCopy]) -> Result<RecoveryPlan> {
        let scan = scan_of(copies);
        let suspects = Suspects { pages: scan.last().into_iter().collect(), are_destroyed: false };
        let newest = elect(&scan, 6);
        plan(&geometry(), &[0, 1, 2].map(BlockId), &scan, newest, &suspects)
    }

    fn newest_ppns(plan: &RecoveryPlan) -> Vec<u32> {
        plan.newest.iter().map(|&ppn| if ppn == Ppn::NONE { 99 } else { ppn.0 }).collect()
    }

    #[test]
    fn version_beats_sequence_and_sequence_breaks_ties() {
        let copies = [copy(0, 0, 5, 9), copy(1, 0, 6, 6), copy(4, 1, 3, 3), copy(5, 1, 3, 8)];
        assert_eq!(newest_ppns(&planned(&copies).unwrap()), [1, 5, 99, 99, 99, 99]);
        let (mut scan, mut tombstones) = (scan_of(&copies), Tombstones::new(2));
        tombstones.add(0..1, 5).unwrap();
        scan.bury(&tombstones);
        assert_eq!(elect(&scan, 2), [Ppn(1), Ppn(5)], "the dead copy of page 0 was not the newest");
        tombstones.add(0..2, 6).unwrap();
        scan.bury(&tombstones);
        assert_eq!(elect(&scan, 2), [Ppn::NONE; 2]);
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
