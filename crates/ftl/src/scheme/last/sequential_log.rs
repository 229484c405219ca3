//! LAST's sequential log: log blocks that serve one logical block each, with every page at its own
//! offset.
//!
//! ```text
//! data  LBN 0 ─▶ [0 1 2 3]      log of 0 ─▶ [0 1 2 3]     whole: is switched before all others
//!           1 ─▶ [4 5 6 7]      log of 1 ─▶ [4 5 _ _]     a run from page 6 on is appended
//!           2 ─▶ [8 9 a b]      log of 2 ─▶ [8 9 a _]     filled in: a run began at page a
//! ```
//! A run that starts at the end of the block is appended. If it starts beyond the end, the missing
//! pages are copied in first. If it starts before the end, the block is merged first. So a block
//! stays in order as long as none of its pages is written elsewhere or trimmed, and its merge is a
//! switch or partial merge. If one of its pages is stale, the merge is full; if all are stale, the
//! block is dead. The block may skip a page that is unmapped. That does not break the order, unless
//! the page is later written in the data block: a switch or partial merge would lose it.
//!
//! The victim is a *whole* block, which is one with all pages valid. If there are several whole
//! blocks, it is the one that was allocated first. If there is none, the victim is the least
//! recently written block (LAST §3.3). Both are found without a search. When a page of a whole
//! block becomes stale, nothing is updated. Instead a block is checked again when it is about to be
//! chosen; once it is not whole, it never becomes whole again.
//!
//! Invariants: a logical block has at most one block here. A block is programmed only below its
//! end, with page `i` at offset `i`.

use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn};

use super::merge_costs::MergeCosts;
use super::ranking::Ranking;
use crate::contract::{Merges, Result, Run, Violation, ensure};
use crate::part::index::recency::Recency;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge::{self, LogBlock, MergePlan};

/// A block of the sequential log.
#[derive(Clone, Copy, Debug)]
struct SequentialLogBlock {
    block: BlockId,
    /// The end: the first offset that was neither programmed nor skipped.
    end: u32,
    /// Number of pages written or copied to it; skipped pages do not count.
    held: u32,
}

/// The rank of whole blocks among the victims.
const WHOLE: u16 = 0;
const NOT_WHOLE: u16 = 1;

/// The sequential log.
#[derive(Clone, Debug)]
pub struct SequentialLog {
    /// The log block of each logical block that has one.
    logs: Vec<Option<SequentialLogBlock>>,
    /// The logical block that each log block serves; meaningless for other blocks.
    lbn_of: Vec<Lbn>,
    /// The logical blocks that have a log block, the least recently written first.
    queue: Recency,
    /// The log blocks, whole ones first, in the order in which they were allocated.
    whole: Ranking,
    /// Merges of sequential log blocks.
    pub merges: Merges,
    /// Number of host pages written to the sequential log.
    pub pages: u64,
    /// Number of pages copied in because a run started beyond the end of a block.
    pub filled_in_pages: u64,
}

impl SequentialLog {
    /// An empty log of at most `log_blocks` blocks, for a device of `blocks` blocks.
    pub fn new(blocks: u32, logical_blocks: u32, log_blocks: u32) -> SequentialLog {
        SequentialLog {
            logs: vec![None; logical_blocks as usize],
            lbn_of: vec![0; blocks as usize],
            queue: Recency::new(logical_blocks),
            whole: Ranking::new(blocks, log_blocks),
            merges: Merges::default(),
            pages: 0,
            filled_in_pages: 0,
        }
    }

    /// Number of blocks in use.
    pub fn count(&self) -> u32 {
        self.queue.len()
    }

    /// Whether a logical block has a log block here.
    pub fn serves(&self, lbn: Lbn) -> bool {
        self.logs[lbn as usize].is_some()
    }

    /// Whether a page can be written: its logical block has a log block that ends at or before the
    /// page.
    pub fn takes(&self, map: &LogMap<MergeCosts>, lpn: Lpn) -> bool {
        let lbn = map.lbn_of(lpn);
        let offset = lpn.0 - lbn * map.pages_per_block();
        self.logs[lbn as usize].is_some_and(|owned| owned.end <= offset)
    }

    /// The blocks in use.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.whole.iter().map(|(block, _)| block)
    }

    // ---- Adding blocks --------------------------------------------------------------------------

    /// Makes a clean block the log block of a logical block that has none.
    pub fn open(&mut self, lbn: Lbn, block: BlockId) {
        self.give(lbn, SequentialLogBlock { block, end: 0, held: 0 });
    }

    /// Adds a block that a mount found. It is closed. It is known to be in order only if all its
    /// pages are valid.
    pub fn adopt(&mut self, map: &LogMap<MergeCosts>, lbn: Lbn, block: BlockId) {
        let pages = map.pages_per_block();
        self.give(lbn, SequentialLogBlock { block, end: pages, held: pages });
        self.note_whole(map, lbn);
    }

    fn give(&mut self, lbn: Lbn, owned: SequentialLogBlock) {
        let other = self.logs[lbn as usize];
        assert!(other.is_none(), "LBN {lbn} is given {owned:?} and has {other:?}");
        self.logs[lbn as usize] = Some(owned);
        self.lbn_of[owned.block.0 as usize] = lbn;
        self.queue.push(lbn);
        self.whole.push(owned.block, NOT_WHOLE);
    }

    // ---- Writing --------------------------------------------------------------------------------

    /// Writes up to `most` pages of a run, each at its own offset. They must be in one logical
    /// block, and its log block must [take](Self::takes) the first one.
    ///
    /// # Errors
    /// The power fails.
    pub fn write(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap<MergeCosts>,
        run: &Run,
        index: u32,
        most: u32,
    ) -> Result<u32> {
        let lpn = run.first.plus(index);
        let lbn = map.lbn_of(lpn);
        let offset = lpn.0 - lbn * map.pages_per_block();
        self.fill_in(nand, map, lbn, offset)?;
        let owned =
            self.logs[lbn as usize].as_mut().expect("its logical block has a log block here");
        debug_assert!(owned.end == offset, "{lpn:?} of offset {offset} was written to {owned:?}");
        let pages = map.write(nand, run, index, most, nand.geometry().page(owned.block, offset))?;
        (owned.end, owned.held) = (offset + pages, owned.held + pages);
        self.pages += u64::from(pages);
        self.queue.touch(lbn);
        self.note_whole(map, lbn);
        Ok(pages)
    }

    /// Copies in the pages between the end of a block and `offset`.
    fn fill_in(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap<MergeCosts>,
        lbn: Lbn,
        offset: u32,
    ) -> Result<()> {
        let Some(owned) = self.logs[lbn as usize].as_mut() else { return Ok(()) };
        let missing = map.newest_of(lbn)[owned.end as usize..offset as usize].iter();
        let missing = missing.filter(|&&ppn| ppn != Ppn::NONE).count() as u32;
        let filled = map.gather(nand, lbn, owned.end..offset, owned.block, Cause::Merge)?;
        map.pad(nand, owned.block, filled..offset, Cause::Merge)?;
        (owned.end, owned.held) = (offset, owned.held + missing);
        self.filled_in_pages += u64::from(missing);
        Ok(())
    }

    fn note_whole(&mut self, map: &LogMap<MergeCosts>, lbn: Lbn) {
        let Some(owned) = self.logs[lbn as usize] else { return };
        if map.valid(owned.block) == map.pages_per_block() {
            self.whole.set(owned.block, WHOLE);
        }
    }

    // ---- Merging --------------------------------------------------------------------------------

    /// The victim: the logical block of the log block to merge next, if there is one.
    pub fn victim(&mut self, map: &LogMap<MergeCosts>) -> Option<Lbn> {
        while let Some((block, WHOLE)) = self.whole.lowest() {
            let lbn = self.lbn_of[block.0 as usize];
            if map.valid(block) == map.pages_per_block() {
                return Some(lbn);
            }
            self.whole.set(block, NOT_WHOLE);
        }
        self.queue.first()
    }

    /// Merges the log block of a logical block in its present state. Returns how it was merged.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap<MergeCosts>,
        lbn: Lbn,
    ) -> Result<MergePlan> {
        let owned = self.logs[lbn as usize].take().expect("a victim has a block");
        self.queue.remove(lbn);
        self.whole.remove(owned.block);
        let plan = plan(map, nand.geometry(), lbn, owned);
        let log = LogBlock { block: owned.block, filled: owned.end };
        merge::carry_out(nand, map, &mut self.merges, lbn, log, plan)?;
        Ok(plan)
    }

    /// Resets the counts.
    pub fn reset_counts(&mut self) {
        self.merges = Merges::default();
        (self.pages, self.filled_in_pages) = (0, 0);
    }

    // ---- Queries --------------------------------------------------------------------------------

    /// Checks that each block serves its own logical block only, with each page at home and no page
    /// beyond its end.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        nand: &Nand,
        map: &LogMap<MergeCosts>,
    ) -> core::result::Result<(), Violation> {
        let mut blocks = 0;
        for (lbn, owned) in (0..).zip(&self.logs) {
            let Some(owned) = owned else { continue };
            audit_block(nand, map, lbn, *owned)?;
            let block = owned.block;
            ensure!(self.whole.contains(block), "{block:?} of LBN {lbn} is not ranked");
            ensure!(
                self.lbn_of[block.0 as usize] == lbn,
                "{block:?} serves LBN {lbn}, but is recorded for another"
            );
            blocks += 1;
        }
        let (queued, ranked) = (self.queue.len(), self.whole.count());
        ensure!(blocks == queued, "of {blocks} sequential log blocks, {queued} are queued");
        ensure!(blocks == ranked, "of {blocks} sequential log blocks, {ranked} are ranked");
        for (block, number) in self.whole.iter() {
            let is_whole = map.valid(block) == nand.geometry().pages_per_block();
            ensure!(number == WHOLE || !is_whole, "{block:?} is whole, but not ranked as whole");
        }
        Ok(())
    }
}

/// Decides how to merge a block in its present state.
fn plan(
    map: &LogMap<MergeCosts>,
    geometry: &Geometry,
    lbn: Lbn,
    owned: SequentialLogBlock,
) -> MergePlan {
    let valid = map.valid(owned.block);
    match owned.end {
        _ if valid == 0 => MergePlan::Dead,
        _ if valid < owned.held || would_lose(map, geometry, lbn, owned) => MergePlan::Full,
        end if end == geometry.pages_per_block() => MergePlan::Switch,
        end => MergePlan::Partial { from: end },
    }
}

/// Whether the newest version of a page that the block skipped is in the data block.
fn would_lose(
    map: &LogMap<MergeCosts>,
    geometry: &Geometry,
    lbn: Lbn,
    owned: SequentialLogBlock,
) -> bool {
    let data = map.data_block(lbn);
    let below = &map.newest_of(lbn)[..owned.end as usize];
    let is_data = |ppn: &Ppn| *ppn != Ppn::NONE && Some(geometry.block_of(*ppn)) == data;
    owned.held < owned.end && below.iter().any(is_data)
}

fn audit_block(
    nand: &Nand,
    map: &LogMap<MergeCosts>,
    lbn: Lbn,
    SequentialLogBlock { block, end, held }: SequentialLogBlock,
) -> core::result::Result<(), Violation> {
    let first = nand.geometry().first_page(block).0;
    let at_home = map.newest_of(lbn).iter().zip(first..).filter(|(at, home)| at.0 == *home);
    let (at_home, valid) = (at_home.count() as u32, map.valid(block));
    ensure!(at_home == valid, "{at_home} of {valid} valid pages of {block:?} are at home");
    ensure!(valid <= held, "{block:?} was given {held} pages and has {valid} valid ones");
    ensure!(held <= end, "{block:?} was given {held} pages and ends at {end}");
    let (below, above) = nand.owners(block).split_at(end as usize);
    let pages = below.iter().filter(|&&owner| Lpn(owner).is_host()).count() as u32;
    let is_closed = end as usize == nand.owners(block).len();
    ensure!(pages == held || is_closed, "{block:?} was given {held} pages and holds {pages}");
    let erased = above.iter().all(|&owner| owner == Lpn::NONE.0);
    ensure!(erased, "{block:?} is programmed beyond its end, offset {end}");
    Ok(())
}
