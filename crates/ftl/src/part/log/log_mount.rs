//! How a log-block scheme comes back: from its pages, never from roles that go stale.
//!
//! ```text
//! found      D [0 1 2 3]   G [1 0 1 _]   R [0 1 _ _]      R: an unfinished merge, programmed last
//! given up   D [0 1 2 3]   G [1 0 1 _]   R erased         every page of R has a twin
//! moved      D [0 1 2 3]   G erased      R [0 1 _ _]      the last page programmed may decay
//! roles      D: data block of LBN 0, closed               R: log block, closed
//! ```
//! **Unfinished merges are given up.** Between the first copy of a merge and its last nothing else
//! is programmed, and no source is erased before. So an unfinished merge is in the block of the
//! last page programmed, and all that the block holds has a twin of the same version elsewhere.
//! Such a block is erased before anything else. Then the block programmed last before it is looked
//! at in the same way: a merge that seemed complete, and was being moved by an earlier mount
//! because its last page might decay, may have lost that page since. If the block holds all pages
//! of its logical block, its merge is complete, sources may be erased, and the new block counts,
//! even if every page has a twin: that may be an old copy, in a block that has had another role
//! since, or none. Such twins may lie in two log blocks of one logical block, whose erases were cut
//! one after the other, and bast could not take both back.
//!
//! **The last page programmed may decay**: [`recovery_plan`] says what that needs. Its block is
//! moved to a clean one, a data block each page to its own offset, another in the order of its
//! slots, the suspect page last; so a cut during the move leaves a block that is given up as above.
//!
//! **Roles.** A block whose pages all stand at their own offsets of one logical block may be its
//! data block, whether it was that, or the log block that a switch or a partial merge was about to
//! make it. Of two such blocks the one whose first page was programmed later stays log. The last
//! pages do not tell, because a data block may be written in place after its log block was opened.
//! For a scheme with a map of the log's pages either block would do; nftl has none, and finds the
//! newest copy of a page only if it knows which block is which. Both blocks are closed: no erased
//! page is trusted, so none is programmed after a mount. Blocks without valid pages are free, and
//! erased again before use.
//!
//! **Trims that are not recorded** let older copies of a page come back at a later mount, when the
//! newest is erased. Lest they upset the count of log blocks, none may be where a running scheme
//! does not expect it: *all* pages of a data block are at home, stale ones too, and free blocks in
//! which a mount sees a copy are erased by it.

use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn};

use crate::contract::{Error, MountConfig, Result};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::recovery::page_kind;
use crate::part::recovery::recovery_plan::{self, RecoveryPlan};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan};
use crate::part::recovery::trim_log;

/// A log block that a mount found. It is closed.
#[derive(Clone, Debug)]
pub struct FoundLog {
    /// The block.
    pub block: BlockId,
    /// The logical blocks of its valid pages, ascending.
    pub lbns: Vec<Lbn>,
    /// What each slot's valid page is, [`page_kind::NONE`] where there is none.
    pub kinds: Vec<u8>,
    /// Whether all readable copies in it, stale ones too, stand at their own offsets of one logical
    /// block.
    pub is_home: bool,
    /// The kind of its last page.
    pub kind: u8,
    /// The lowest sequence of its pages.
    first: u64,
    /// The highest.
    last: u64,
}

/// Fills a map just formatted with what is on the flash; returns the log blocks, the one
/// programmed longest ago first.
///
/// # Errors
/// The power is lost again, or the flash holds what no scheme with a log can have left.
pub fn recover(
    nand: &mut Nand,
    device: &MountConfig,
    map: &mut LogMap<impl BlockObserver>,
) -> Result<Vec<FoundLog>> {
    let scan = SpareScan::read(nand, device.blocks)?;
    nand.resume_sequence(scan.last().map_or(0, |copy| copy.spare.sequence) + 1);
    let pages = map.logical_pages();
    let tombstones = trim_log::tombstones(&mut map.flat.trims, nand, pages)?;
    let blocks: Vec<BlockId> = map.pool.iter().collect();
    let mut copies = scan.host_copies(map.logical_pages())?;
    let geometry = *nand.geometry();
    let mut unfinished = Vec::new();
    while let Some(block) = unfinished_merge(&geometry, &copies, &tombstones) {
        copies.retain(|copy| geometry.block_of(copy.ppn) != block);
        unfinished.push(block);
    }
    let stays = |copy: &PageCopy| !unfinished.contains(&geometry.block_of(copy.ppn));
    let last = scan.copies().filter(stays).max_by_key(|copy| copy.spare.sequence);
    let plan = recovery_plan::plan(&geometry, &blocks, &copies, last, &tombstones)?;
    for block in unfinished.iter().copied().chain(plan.given_up) {
        nand.erase(block, Cause::Meta)?;
    }
    map.adopt(&geometry, plan.newest.iter().map(|copy| copy.map(|copy| copy.ppn)));
    take_free(map, &blocks, &plan);
    let mut traces = traces(&geometry, &copies);
    if let (Some(block), Some(last)) = (plan.endangered, last) {
        let (to, is_home) = secure(nand, map, block, last.ppn)?;
        traces[to.0 as usize] = BlockTrace { is_home, ..traces[block.0 as usize] };
    }
    let logs = assign_roles(&geometry, map, &traces, &plan.newest);
    if map.flat.trims.is_none() {
        map.pool.erase_doubtful(nand, |block| traces[block.0 as usize].last > 0)?;
    }
    map.flat.resume_trims(nand, &tombstones, scan.last())?;
    match map.pool.is_empty() {
        true => Err(Error::Unmountable("no block is left for merging".into())),
        false => Ok(logs),
    }
}

/// The block of the last page programmed, if every valid page in it has a twin elsewhere and it is
/// not a data block that is complete.
fn unfinished_merge(
    geometry: &Geometry,
    copies: &[PageCopy],
    tombstones: &[u64],
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
    (held.all(has_twin) && !is_complete(geometry, block, &newest)).then_some(block)
}

/// Whether a block holds the newest version of every page of one logical block, and nothing else.
fn is_complete(geometry: &Geometry, block: BlockId, newest: &[Option<PageCopy>]) -> bool {
    let per_block = geometry.pages_per_block();
    let places = newest.iter().flatten().map(|copy| (copy.spare.owner, copy.ppn));
    let held: Vec<(Lpn, Ppn)> =
        places.clone().filter(|&(_, ppn)| geometry.block_of(ppn) == block).collect();
    let lbn = held[0].0.0 / per_block;
    let pages = places.filter(|(lpn, _)| lpn.0 / per_block == lbn).count();
    are_at_home(geometry, &held) && held.len() == pages
}

/// Blocks without valid pages are free; the one that a suspect page would fall back to last.
fn take_free(map: &mut LogMap<impl BlockObserver>, blocks: &[BlockId], plan: &RecoveryPlan) {
    let mut free: Vec<BlockId> = blocks.to_vec();
    free.retain(|&block| map.valid(block) == 0);
    free.sort_by_key(|&block| Some(block) == plan.fallback);
    map.pool = Default::default();
    free.iter().for_each(|&block| map.pool.give_doubtful(block));
}

/// What all readable copies in a block, valid or not, say of it.
#[derive(Clone, Copy)]
struct BlockTrace {
    /// The lowest sequence.
    first: u64,
    /// The highest sequence; 0 if there is no copy.
    last: u64,
    /// The kind of the page that has it.
    kind: u8,
    /// The logical block of the copy seen last.
    lbn: Lbn,
    /// Whether each stands at its own offset of that logical block.
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

/// Moves a block's valid pages to a clean one, the suspect page last; returns that block, and
/// whether they stand at home there.
fn secure(
    nand: &mut Nand,
    map: &mut LogMap<impl BlockObserver>,
    block: BlockId,
    suspect: Ppn,
) -> Result<(BlockId, bool)> {
    let geometry = *nand.geometry();
    let mut pages = contents(&geometry, map).swap_remove(block.0 as usize);
    let at_home = are_at_home(&geometry, &pages);
    pages.sort_by_key(|&(_, ppn)| (ppn == suspect, ppn));
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

/// Finds each logical block its data block; the other blocks with valid pages are log blocks.
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

/// The kind of each slot's page, given a block's valid pages and the copies that were found.
fn kinds(geometry: &Geometry, pages: &[(Lpn, Ppn)], newest: &[Option<PageCopy>]) -> Vec<u8> {
    let mut kinds = vec![page_kind::NONE; geometry.pages_per_block() as usize];
    for &(lpn, ppn) in pages {
        let copy = newest[lpn.0 as usize].expect("a valid page was found");
        kinds[geometry.offset_of(ppn) as usize] = copy.spare.kind;
    }
    kinds
}

/// The valid pages of each block, in the order of logical pages.
fn contents(geometry: &Geometry, map: &LogMap<impl BlockObserver>) -> Vec<Vec<(Lpn, Ppn)>> {
    let mut contents = vec![Vec::new(); geometry.blocks() as usize];
    for lpn in (0..map.logical_pages()).map(Lpn) {
        if let Some(ppn) = map.flat.newest(lpn) {
            contents[geometry.block_of(ppn).0 as usize].push((lpn, ppn));
        }
    }
    contents
}

/// Whether all these pages of one block stand at their own offsets of one logical block.
fn are_at_home(geometry: &Geometry, pages: &[(Lpn, Ppn)]) -> bool {
    let per_block = geometry.pages_per_block();
    pages.iter().all(|&(lpn, ppn)| {
        lpn.0 / per_block == pages[0].0.0 / per_block
            && lpn.0 % per_block == geometry.offset_of(ppn)
    })
}
