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

use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn};

use crate::contract::{Error, MountConfig, Result};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::recovery::page_kind;
use crate::part::recovery::recovery_plan::{self, RecoveryPlan};
use crate::part::recovery::spare_scan::PageCopy;
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
    /// The lowest sequence of its pages.
    first: u64,
    /// The highest sequence of its pages.
    last: u64,
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
    let pages = map.logical_pages();
    let Survey { scan, suspects, tombstones } =
        survey::read(nand, device, &mut map.flat.trims, pages)?;
    let blocks: Vec<BlockId> = map.pool.iter().collect();
    let mut copies = scan.host_copies(pages)?;
    let geometry = *nand.geometry();
    let suspect = suspects.endangered().filter(|_| map.flat.trims.is_some());
    let mut unfinished = Vec::new();
    while let Some(block) = unfinished_merge(&geometry, &copies, &tombstones, suspect) {
        copies.retain(|copy| geometry.block_of(copy.ppn) != block);
        unfinished.push(block);
    }
    let stays = |copy: &PageCopy| !unfinished.contains(&geometry.block_of(copy.ppn));
    let staying = suspects.valid(stays);
    let plan = recovery_plan::plan(&geometry, &blocks, &copies, &staying, &tombstones)?;
    for block in unfinished.iter().copied().chain(plan.given_up) {
        map.flat.give_up(nand, block)?;
    }
    map.adopt(&geometry, plan.newest.iter().map(|copy| copy.map(|copy| copy.ppn)));
    take_free(map, &blocks, &plan);
    let mut traces = traces(&geometry, &copies);
    if let Some(block) = plan.endangered {
        let suspect = staying.endangered().map(|copy| copy.ppn);
        let (to, is_home) = secure(nand, map, block, suspect)?;
        traces[to.0 as usize] = BlockTrace { is_home, ..traces[block.0 as usize] };
    }
    let logs = assign_roles(&geometry, map, &traces, &plan.newest);
    if map.flat.trims.is_none() {
        map.pool.erase_doubtful(nand, |block| traces[block.0 as usize].last > 0)?;
    }
    map.flat.commit_recovery(nand, &tombstones, &suspects, &map.pool)?;
    match map.pool.is_empty() {
        true => Err(Error::Unmountable("no block is left for merging".into())),
        false => Ok(logs),
    }
}

/// The block of the page programmed last, if every valid page in it has a twin elsewhere and the
/// block is not a complete data block, or is complete only with the suspect page.
fn unfinished_merge(
    geometry: &Geometry,
    copies: &[PageCopy],
    tombstones: &[u64],
    suspect: Option<PageCopy>,
) -> Option<BlockId> {
    let last = copies.iter().max_by_key(|copy| copy.spare.sequence)?;
    let block = geometry.block_of(last.ppn);
    let is_inside = |copy: &PageCopy| geometry.block_of(copy.ppn) == block;
    let outside: Vec<PageCopy> = copies.iter().filter(|copy| !is_inside(copy)).copied().collect();
    let twins = recovery_plan::elect(&outside, tombstones);
    let newest = recovery_plan::elect(copies, tombstones);
    let mut held = newest.iter().flatten().filter(|copy| is_inside(copy)).peekable();
    held.peek()?;
    let has_twin = |copy: &PageCopy| {
        let twin = twins[copy.spare.owner.0 as usize];
        twin.is_some_and(|twin| twin.spare.version == copy.spare.version)
    };
    let is_unfinished = || suspect == Some(*last) || !is_complete(geometry, block, &newest);
    (held.all(has_twin) && is_unfinished()).then_some(block)
}

/// Whether the valid pages of a block are all mapped pages of one logical block, each at its own
/// offset.
fn is_complete(geometry: &Geometry, block: BlockId, newest: &[Option<PageCopy>]) -> bool {
    let per_block = geometry.pages_per_block();
    let places = newest.iter().flatten().map(|copy| (copy.spare.owner, copy.ppn));
    let held: Vec<(Lpn, Ppn)> =
        places.clone().filter(|&(_, ppn)| geometry.block_of(ppn) == block).collect();
    let lbn = held[0].0.0 / per_block;
    let pages = places.filter(|(lpn, _)| lpn.0 / per_block == lbn).count();
    are_at_home(geometry, &held) && held.len() == pages
}

/// Puts the blocks without valid pages into the pool. The block with the fallback of the suspect
/// page comes last.
fn take_free(map: &mut LogMap<impl BlockObserver>, blocks: &[BlockId], plan: &RecoveryPlan) {
    let mut free: Vec<BlockId> = blocks.to_vec();
    free.retain(|&block| map.valid(block) == 0);
    free.sort_by_key(|&block| Some(block) == plan.fallback);
    map.pool = Default::default();
    free.iter().for_each(|&block| map.pool.give_doubtful(block));
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
fn traces(geometry: &Geometry, copies: &[PageCopy]) -> Vec<BlockTrace> {
    let untouched =
        BlockTrace { first: u64::MAX, last: 0, kind: page_kind::NONE, lbn: 0, is_home: true };
    let mut traces = vec![untouched; geometry.blocks() as usize];
    for PageCopy { ppn, spare } in copies {
        let trace = &mut traces[geometry.block_of(*ppn).0 as usize];
        let per_block = geometry.pages_per_block();
        let (lbn, offset) = (spare.owner.0 / per_block, spare.owner.0 % per_block);
        let is_alone = trace.last == 0 || trace.lbn == lbn;
        trace.is_home &= is_alone && offset == geometry.offset_of(*ppn);
        trace.first = spare.sequence.min(trace.first);
        (trace.last, trace.kind) = (spare.sequence, spare.kind).max((trace.last, trace.kind));
        trace.lbn = lbn;
    }
    traces
}

/// Moves the valid pages of a block to a clean block, the suspect page last. Returns the clean
/// block, and whether its pages are at home.
fn secure(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    block: BlockId,
    suspect: Option<Ppn>,
) -> Result<(BlockId, bool)> {
    let geometry = *nand.geometry();
    let mut pages = contents(&geometry, map).swap_remove(block.0 as usize);
    let at_home = are_at_home(&geometry, &pages);
    pages.sort_by_key(|&(_, ppn)| (Some(ppn) == suspect, ppn));
    let clean = map.pool.take(nand)?;
    let mut filled = 0;
    for (slot, (_, ppn)) in (0..).zip(pages) {
        let offset = if at_home { geometry.offset_of(ppn) } else { slot };
        map.pad(nand, clean, filled..offset, Cause::Meta)?;
        map.move_pages(nand, &[ppn], geometry.page(clean, offset), None, Cause::Meta)?;
        filled = offset + 1;
    }
    map.release(nand, block, Cause::Meta)?;
    Ok((clean, at_home))
}

/// Chooses the data block of each logical block. Returns the other blocks with valid pages: the log
/// blocks.
fn assign_roles(
    geometry: &Geometry,
    map: &mut LogMap<impl BlockObserver>,
    traces: &[BlockTrace],
    newest: &[Option<PageCopy>],
) -> Vec<FoundLog> {
    let mut found = Vec::new();
    for (block, pages) in (0..).map(BlockId).zip(contents(geometry, map)) {
        if pages.is_empty() {
            continue;
        }
        let mut lbns: Vec<Lbn> = pages.iter().map(|&(lpn, _)| map.lbn_of(lpn)).collect();
        lbns.dedup();
        let BlockTrace { first, last, is_home, kind, .. } = traces[block.0 as usize];
        let kinds = kinds(geometry, &pages, newest);
        found.push(FoundLog { block, lbns, kinds, is_home, kind, first, last });
    }
    found.sort_by_key(|log| log.first);
    found.retain(|log| {
        let is_data = log.is_home && map.data_block(log.lbns[0]).is_none();
        if is_data {
            map.set_closed_data_block(log.lbns[0], log.block);
        }
        !is_data
    });
    found.sort_by_key(|log| log.last);
    found
}

/// The kind of the valid page in each slot, given a block's valid pages and the newest copies.
fn kinds(geometry: &Geometry, pages: &[(Lpn, Ppn)], newest: &[Option<PageCopy>]) -> Vec<u8> {
    let mut kinds = vec![page_kind::NONE; geometry.pages_per_block() as usize];
    for &(lpn, ppn) in pages {
        let copy = newest[lpn.0 as usize].expect("a valid page was found");
        kinds[geometry.offset_of(ppn) as usize] = copy.spare.kind;
    }
    kinds
}

/// The valid pages of each block, in ascending order of logical pages.
fn contents(geometry: &Geometry, map: &LogMap<impl BlockObserver>) -> Vec<Vec<(Lpn, Ppn)>> {
    let mut contents = vec![Vec::new(); geometry.blocks() as usize];
    for lpn in (0..map.logical_pages()).map(Lpn) {
        if let Some(ppn) = map.flat.newest(lpn) {
            contents[geometry.block_of(ppn).0 as usize].push((lpn, ppn));
        }
    }
    contents
}

/// Whether all these pages, which are in one block, are at their own offsets of one logical block.
fn are_at_home(geometry: &Geometry, pages: &[(Lpn, Ppn)]) -> bool {
    let per_block = geometry.pages_per_block();
    pages.iter().all(|&(lpn, ppn)| {
        lpn.0 / per_block == pages[0].0.0 / per_block
            && lpn.0 % per_block == geometry.offset_of(ppn)
    })
}

#[cfg(test)]
mod tests {
    use nand::{ProgramOrder, Spare};

    use super::*;

    /// Logical block 0 has four mapped pages in block 0, logical block 1 only three in block 2.
    #[test]
    fn a_block_is_complete_with_all_mapped_pages_of_its_own_logical_block() {
        let geometry = Geometry::new(512, 64, 4, 3, ProgramOrder::Sequential).unwrap();
        let places = [0, 1, 2, 3, 8, 9, 10];
        let mut newest: Vec<Option<PageCopy>> = vec![None; 8];
        for (owner, ppn) in (0..).map(Lpn).zip(places) {
            let spare = Spare { owner, version: 1, sequence: 1, kind: 1, tentative: false };
            newest[owner.0 as usize] = Some(PageCopy { ppn: Ppn(ppn), spare });
        }
        assert!(is_complete(&geometry, BlockId(0), &newest));
        assert!(is_complete(&geometry, BlockId(2), &newest));
        newest[5].as_mut().unwrap().ppn = Ppn(4);
        assert!(!is_complete(&geometry, BlockId(2), &newest), "page 5 is elsewhere");
    }
}
