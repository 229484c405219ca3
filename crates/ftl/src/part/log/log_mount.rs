//! Recovery of log-block schemes. It relies on the places and the versions of pages, never on
//! recorded roles, because roles go stale.
//!
//! ```text
//! found      D [0 1 2 3]   G [1 0 1 _]   R [0 1 _ _]      R: an unfinished merge, programmed last
//! given up   D [0 1 2 3]   G [1 0 1 _]   R free           every page of R has a twin in G
//! roles      D: data block of LBN 0, closed               G: log block, closed
//! commit                                 R void
//!
//! found      D [0 1 2 3]   G [1 0 1 _]   R free           G's last page may become unreadable
//! moved      D [0 1 2 3]   G free        R [0 1 _ _]      copies of all valid pages of G
//! roles      D: data block of LBN 0, closed               R: log block, closed
//! commit                   G void
//! ```
//! **Unfinished merges are given up.** Between the first copy of a merge and its last, nothing else
//! is programmed, and no source block is erased before the last copy. So an unfinished merge is in
//! the block of the page programmed last, and everything in that block has a *twin*: another copy
//! of the same version elsewhere. The mount gives up such a block: its pages do not count, and the
//! block is free. It becomes void with the commit.
//!
//! If the block holds all pages of its logical block, its merge is complete. Some of its sources
//! may have been erased, so the new block counts even if every page has a twin. The twins are in
//! log blocks that were not erased yet. But if the page that completes it is suspect, nothing was
//! recorded as void after it, so no source was erased. Then the merge is given up, too: to move the
//! block, the mount would have to erase a source, which the next mount needs if the suspect page
//! becomes unreadable.
//!
//! **The page programmed last may become unreadable**: [`recovery_plan`] says what that requires.
//! Its block is moved to a clean one, the suspect page last. The pages of a data block go to their
//! own offsets, other pages keep their order. The copies are tentative until the commit. If the
//! power fails before that, the next mount ignores them.
//!
//! **Roles.** If all pages of a block, stale ones included, are at their own offsets of one logical
//! block, the block may be a data block. It may have been the data block, or the log block that a
//! switch or partial merge was about to make the data block. If there are two such blocks, the one
//! whose first page was programmed later stays a log block. Their last pages cannot decide this,
//! because a data block may be written in place after its log block was opened. A scheme that maps
//! the log by page could use either block. nftl does not map it: it finds the newest copy of a page
//! only if the roles are right. A mount trusts no erased page, so it closes every block with pages.
//! Blocks without valid pages are free, and are erased again before use.
//!
//! **Without a trim log** (durability `paper`) there is no commit. A mount erases a block that it
//! gives up before anything else, and copies count as soon as they are programmed. So there may be
//! two unfinished merges. An earlier mount may have found a merge that looked complete, and lost
//! power while it moved the block of this merge to a clean one. The last page of the merged block
//! may have become unreadable since, so the merge now looks unfinished too. Therefore the mount
//! goes on and examines, in the same way, the block that was programmed last before.
//!
//! Trims are not recorded either, so an older copy of a page can come back at a later mount, once
//! the newest copy is erased. Such copies must not raise the number of log blocks beyond what the
//! scheme can have. Therefore no copies may be left where a running scheme would not leave them:
//! the rule for data blocks looks at stale pages too, and a mount erases free blocks in which it
//! finds any copy.

use nand::{BlockId, Cause, Geometry, Nand, Ppn};

use crate::contract::{Error, MountConfig, Result};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::recovery::page_kind;
use crate::part::recovery::recovery_plan::{self, HeldPage, RecoveryPlan};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan};
use crate::part::recovery::survey::{self, Survey};

/// A log block that a mount found. It is closed.
#[derive(Clone, Debug)]
pub struct FoundLog {
    /// The block.
    pub block: BlockId,
    /// The logical blocks of its valid pages, ascending.
    pub lbns: Vec<Lbn>,
    /// The kind of the valid page in each slot; [`page_kind::NONE`] if there is none.
    pub kinds: Vec<u8>,
    /// Whether all readable copies in the block, stale ones included, are at their own offsets of
    /// one logical block.
    pub is_home: bool,
    /// The kind of its last page.
    pub kind: u8,
}

/// Fills a freshly formatted map with what is on the flash. Returns the log blocks in the order of
/// their last programs, the oldest first.
///
/// # Errors
/// The power is lost again, or the flash is in a state that no log-block scheme can have left.
pub fn recover(
    nand: &mut Nand,
    device: &MountConfig,
    map: &mut LogMap<impl BlockObserver>,
) -> Result<Vec<FoundLog>> {
    let Survey { mut scan, suspects, .. } = survey::read(nand, device, &mut map.flat.pool.trims)?;
    scan.is_within(map.logical_pages())?;
    let blocks: Vec<BlockId> = map.flat.pool.iter().collect();
    let geometry = *nand.geometry();
    let mut newest = recovery_plan::elect(&scan, map.logical_pages());
    let suspect = suspects.endangered().filter(|_| map.flat.pool.trims.is_some());
    let unfinished = leave_unfinished(&geometry, &mut scan, &mut newest, suspect);
    let staying = suspects.valid(|copy| !unfinished.contains(&geometry.block_of(copy.ppn)));
    let plan = recovery_plan::plan(&geometry, &blocks, &scan, newest, &staying)?;
    for block in unfinished.into_iter().chain(plan.given_up) {
        map.flat.give_up(nand, block)?;
    }
    map.adopt(&geometry, &plan.newest);
    take_free(map, &blocks, &plan);
    let endangered = plan.endangered;
    drop(plan);
    let mut traces = traces(&geometry, &scan);
    if let Some(block) = endangered {
        let suspect = staying.endangered().map(|copy| copy.ppn);
        secure(nand, map, &mut scan, &mut traces, block, suspect)?;
    }
    let logs = assign_roles(&geometry, map, &scan, &traces);
    drop(scan);
    if map.flat.pool.trims.is_none() {
        map.flat.pool.erase_doubtful(nand, |block| traces[block.0 as usize].last > 0)?;
    }
    map.flat.commit_recovery(nand, &suspects)?;
    match map.flat.pool.is_empty() {
        true => Err(Error::Unmountable("no block is left for merging".into())),
        false => Ok(logs),
    }
}

/// Gives up the blocks of unfinished merges: their pages do not count. Returns these blocks.
fn leave_unfinished(
    geometry: &Geometry,
    scan: &mut SpareScan,
    newest: &mut [Ppn],
    suspect: Option<PageCopy>,
) -> Vec<BlockId> {
    let mut unfinished = Vec::new();
    while let Some((block, held)) = unfinished_merge(geometry, scan, newest, suspect) {
        held.iter().for_each(|page| page.leave(newest));
        scan.hide(|copy| geometry.block_of(copy.ppn) == block);
        unfinished.push(block);
    }
    unfinished
}

/// The block of the page programmed last, and its valid pages, if every one of them has a twin
/// elsewhere and the block is not a complete data block, or is complete only with the suspect page.
fn unfinished_merge(
    geometry: &Geometry,
    scan: &SpareScan,
    newest: &[Ppn],
    suspect: Option<PageCopy>,
) -> Option<(BlockId, Vec<HeldPage>)> {
    let last = scan.host_copies().max_by_key(|copy| copy.spare.sequence)?;
    let block = geometry.block_of(last.ppn);
    let held = recovery_plan::held_pages(geometry, scan, newest, block);
    let all_have_twins = !held.is_empty() && held.iter().all(HeldPage::has_twin);
    let is_unfinished = || suspect == Some(last) || !is_complete(geometry, &held, newest);
    (all_have_twins && is_unfinished()).then_some((block, held))
}

/// Whether the valid pages of a block are all mapped pages of one logical block, each at its own
/// offset.
fn is_complete(geometry: &Geometry, held: &[HeldPage], newest: &[Ppn]) -> bool {
    let per_block = geometry.pages_per_block() as usize;
    let copies: Vec<PageCopy> = held.iter().map(|page| page.copy).collect();
    let first = copies[0].spare.owner.0 as usize / per_block * per_block;
    let pages = newest[first..first + per_block].iter().filter(|&&ppn| ppn != Ppn::NONE).count();
    are_at_home(geometry, &copies) && copies.len() == pages
}

/// Puts the blocks without valid pages into the pool. The block with the fallback of the suspect
/// page comes last.
fn take_free(map: &mut LogMap<impl BlockObserver>, blocks: &[BlockId], plan: &RecoveryPlan) {
    let mut free: Vec<BlockId> = blocks.to_vec();
    free.retain(|&block| map.valid(block) == 0);
    free.sort_by_key(|&block| Some(block) == plan.fallback);
    map.flat.pool.drain();
    free.iter().for_each(|&block| map.flat.pool.give_doubtful(block));
}

/// A summary of the readable copies in a block, valid or not.
#[derive(Clone, Copy)]
struct BlockTrace {
    /// The lowest sequence.
    first: u64,
    /// The highest sequence; 0 if the block holds no copy.
    last: u64,
    /// The kind of the page with the highest sequence.
    kind: u8,
    /// The logical block of the copy that was examined last.
    lbn: Lbn,
    /// Whether every copy is at its own offset of that logical block.
    is_home: bool,
}

/// The trace of each block.
fn traces(geometry: &Geometry, scan: &SpareScan) -> Vec<BlockTrace> {
    let untouched =
        BlockTrace { first: u64::MAX, last: 0, kind: page_kind::NONE, lbn: 0, is_home: true };
    let mut traces = vec![untouched; geometry.blocks() as usize];
    for PageCopy { ppn, spare } in scan.host_copies() {
        let trace = &mut traces[geometry.block_of(ppn).0 as usize];
        let per_block = geometry.pages_per_block();
        let (lbn, offset) = (spare.owner.0 / per_block, spare.owner.0 % per_block);
        let is_alone = trace.last == 0 || trace.lbn == lbn;
        trace.is_home &= is_alone && offset == geometry.offset_of(ppn);
        trace.first = spare.sequence.min(trace.first);
        (trace.last, trace.kind) = (spare.sequence, spare.kind).max((trace.last, trace.kind));
        trace.lbn = lbn;
    }
    traces
}

/// Moves the valid pages of a block to a clean block, the suspect page last. Scan and traces then
/// describe the clean block.
fn secure(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    scan: &mut SpareScan,
    traces: &mut [BlockTrace],
    block: BlockId,
    suspect: Option<Ppn>,
) -> Result<()> {
    let geometry = *nand.geometry();
    let mut pages = contents(map, scan, block);
    let (lbn, is_home) = (map.lbn_of(pages[0].spare.owner), are_at_home(&geometry, &pages));
    pages.sort_by_key(|&PageCopy { ppn, .. }| (Some(ppn) == suspect, ppn));
    let clean = map.flat.pool.take(nand)?;
    let mut filled = 0;
    for (slot, PageCopy { ppn, spare }) in (0..).zip(pages) {
        let offset = if is_home { geometry.offset_of(ppn) } else { slot };
        let to = geometry.page(clean, offset);
        map.pad(nand, clean, filled..offset, Cause::Meta)?;
        map.move_pages(nand, &[ppn], to, None, Cause::Meta)?;
        scan.restore(to, spare);
        filled = offset + 1;
    }
    traces[clean.0 as usize] = BlockTrace { lbn, is_home, ..traces[block.0 as usize] };
    map.release(nand, block, Cause::Meta)
}

/// Chooses the data block of each logical block. Returns the other blocks with valid pages: the log
/// blocks.
fn assign_roles(
    geometry: &Geometry,
    map: &mut LogMap<impl BlockObserver>,
    scan: &SpareScan,
    traces: &[BlockTrace],
) -> Vec<FoundLog> {
    let trace = |block: &BlockId| &traces[block.0 as usize];
    let mut blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
    blocks.retain(|&block| map.valid(block) > 0);
    blocks.sort_by_key(|block| trace(block).first);
    blocks.retain(|block| {
        let &BlockTrace { lbn, is_home, .. } = trace(block);
        let is_data = is_home && map.data_block(lbn).is_none();
        if is_data {
            map.set_closed_data_block(geometry, lbn, *block);
        }
        !is_data
    });
    blocks.sort_by_key(|block| trace(block).last);
    let found = |block: &BlockId| found_log(geometry, map, scan, *block, trace(block));
    blocks.iter().map(found).collect()
}

fn found_log(
    geometry: &Geometry,
    map: &LogMap<impl BlockObserver>,
    scan: &SpareScan,
    block: BlockId,
    trace: &BlockTrace,
) -> FoundLog {
    let pages = contents(map, scan, block);
    let mut lbns: Vec<Lbn> = pages.iter().map(|copy| map.lbn_of(copy.spare.owner)).collect();
    lbns.dedup();
    let mut kinds = vec![page_kind::NONE; geometry.pages_per_block() as usize];
    for PageCopy { ppn, spare } in pages {
        kinds[geometry.offset_of(ppn) as usize] = spare.kind;
    }
    FoundLog { block, lbns, kinds, is_home: trace.is_home, kind: trace.kind }
}

/// The valid pages of a block, in ascending order of logical pages.
fn contents(map: &LogMap<impl BlockObserver>, scan: &SpareScan, block: BlockId) -> Vec<PageCopy> {
    let is_valid = |copy: &PageCopy| map.flat.is_newest(copy.spare.owner.0, copy.ppn);
    let mut pages: Vec<PageCopy> = scan.copies_in(block).filter(is_valid).collect();
    pages.sort_by_key(|copy| copy.spare.owner);
    pages
}

/// Whether all these pages, which are in one block, are at their own offsets of one logical block.
fn are_at_home(geometry: &Geometry, pages: &[PageCopy]) -> bool {
    let per_block = geometry.pages_per_block();
    let lbn = |copy: &PageCopy| copy.spare.owner.0 / per_block;
    let is_at_home =
        |copy: &PageCopy| copy.spare.owner.0 % per_block == geometry.offset_of(copy.ppn);
    pages.iter().all(|copy| lbn(copy) == lbn(&pages[0]) && is_at_home(copy))
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use nand::{Lpn, ProgramOrder, Spare};

    use super::*;

    /// Logical block 0 has four mapped pages in block 0, logical block 1 only three in block 2.
    #[test]
    fn a_block_is_complete_with_all_mapped_pages_of_its_own_logical_block() {
        let geometry = Geometry::new(512, 64, 4, 3, ProgramOrder::Sequential).unwrap();
        let mut newest = [0, 1, 2, 3, 8, 9, 10].map(Ppn).to_vec();
        newest.push(Ppn::NONE);
        let held = |owners: Range<u32>, first: u32| -> Vec<HeldPage> {
            let page = |(owner, ppn)| {
                let spare = Spare { owner, version: 1, sequence: 1, kind: 1, tentative: false };
                HeldPage { copy: PageCopy { ppn: Ppn(ppn), spare }, elsewhere: None }
            };
            owners.map(Lpn).zip(first..).map(page).collect()
        };
        assert!(is_complete(&geometry, &held(0..4, 0), &newest));
        assert!(is_complete(&geometry, &held(4..7, 8), &newest));
        assert!(!is_complete(&geometry, &held(4..6, 8), &newest), "page 6 is elsewhere");
        assert!(!is_complete(&geometry, &held(4..7, 4 + 1), &newest), "not at its own offset");
    }
}
