//! LAST's merge-cost table: of how many logical blocks each random log block holds valid pages.
//!
//! ```text
//! log block [1 5 1 9]    x    valid pages 5, 1, 9    Np = 4    Na = 3: blocks 0, 1 and 2
//! ```
//! A full merge costs Na × (Np copies + 1 erase) + 1 erase (LAST eq. 2), so Na is the price of a
//! victim, and a block with Na = 0 is dead. The table is kept current page by page: a page that
//! comes or goes changes Na only if none of its siblings (the pages of its logical block) stands in
//! the same log block, and that is seen in one look over their places.
//!
//! Full blocks are ranked, on the cold partition by Na; on the hot partition it only matters
//! whether a block is dead. Among equals the one that was full first leads, and as each partition
//! fills one block after the other, that is also the one allocated first.

use nand::{BlockId, Geometry, Ppn};

use super::ranking::Ranking;
use crate::contract::{Violation, ensure};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};

/// The partitions of the random log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Pages that are written again soon.
    Hot,
    /// The others.
    Cold,
}

impl Partition {
    /// Both.
    pub const BOTH: [Partition; 2] = [Partition::Hot, Partition::Cold];
}

/// What the table says of a block.
#[derive(Clone, Copy, Debug, Default)]
struct BlockCost {
    /// None: it is no random log block.
    partition: Option<Partition>,
    associated: u16,
}

/// The associated data blocks of each random log block, page by page.
#[derive(Clone, Debug)]
pub struct MergeCosts {
    entries: Vec<BlockCost>,
    /// Full blocks of the hot partition, then of the cold one.
    ranked: [Ranking; 2],
}

impl MergeCosts {
    /// The table of a device of `blocks` blocks, of which at most `log_blocks` are in the log.
    pub fn new(blocks: u32, log_blocks: u32) -> MergeCosts {
        let ranked = Partition::BOTH.map(|_| Ranking::new(blocks, log_blocks));
        MergeCosts { entries: vec![BlockCost::default(); blocks as usize], ranked }
    }

    /// The partition that a block is in, if it is a random log block.
    #[inline]
    pub fn partition_of(&self, block: BlockId) -> Option<Partition> {
        self.entries.get(block.0 as usize).and_then(|entry| entry.partition)
    }

    /// Logical blocks that have valid pages in a block.
    pub fn associated(&self, block: BlockId) -> u16 {
        self.entries[block.0 as usize].associated
    }

    /// Full blocks of a partition, the one that was full first first.
    pub fn full_blocks(&self, partition: Partition) -> impl Iterator<Item = BlockId> + '_ {
        self.ranked[partition as usize].iter().map(|(block, _)| block)
    }

    /// Full blocks of a partition without valid pages.
    pub fn dead_blocks(&self, partition: Partition) -> u32 {
        self.ranked[partition as usize].iter().filter(|&(_, number)| number == 0).count() as u32
    }

    /// The full block of a partition that is merged at the lowest cost. The hot partition only
    /// tells dead ones from others, so there it is a dead one, or else the one that was full first.
    pub fn cheapest(&self, partition: Partition) -> Option<BlockId> {
        self.ranked[partition as usize].lowest().map(|(block, _)| block)
    }

    // ---- Blocks that come and go ----------------------------------------------------------------

    /// Watches a block in which `associated` logical blocks have valid pages.
    pub fn follow(&mut self, block: BlockId, partition: Partition, associated: u16) {
        let other = self.partition_of(block);
        assert!(other.is_none(), "{block:?} enters {partition:?} and is in {other:?}");
        self.entries[block.0 as usize] = BlockCost { partition: Some(partition), associated };
    }

    /// Ranks a watched block, which is full from now on.
    pub fn close(&mut self, block: BlockId) {
        let BlockCost { partition, associated } = self.entries[block.0 as usize];
        let partition = partition.expect("only random log blocks are closed");
        self.ranked[partition as usize].push(block, rank(partition, associated));
    }

    /// Watches a full block no more.
    pub fn forget(&mut self, block: BlockId) {
        let partition = core::mem::take(&mut self.entries[block.0 as usize]).partition;
        let partition = partition.expect("only random log blocks are forgotten");
        self.ranked[partition as usize].remove(block);
    }

    /// Compares what is said of a block with a recount.
    ///
    /// # Errors
    /// They differ.
    fn audit(&self, block: BlockId, recount: u16) -> core::result::Result<(), Violation> {
        let Some(partition) = self.partition_of(block) else { return Ok(()) };
        let count = self.associated(block);
        ensure!(count == recount, "{block:?} has {recount} associated data blocks, not {count}");
        let ranked = &self.ranked[partition as usize];
        let number = ranked.contains(block).then(|| ranked.number(block));
        let right = number.is_none_or(|number| number == rank(partition, count));
        ensure!(right, "{block:?} of {count} associated data blocks is ranked as {number:?}");
        Ok(())
    }

    fn set(&mut self, block: BlockId, associated: u16) {
        let entry = &mut self.entries[block.0 as usize];
        entry.associated = associated;
        let partition = entry.partition.expect("only random log blocks have a cost");
        let ranked = &mut self.ranked[partition as usize];
        if ranked.contains(block) {
            ranked.set(block, rank(partition, associated));
        }
    }
}

impl BlockObserver for MergeCosts {
    #[inline]
    fn observes(&self, block: BlockId) -> bool {
        self.partition_of(block).is_some()
    }

    #[inline]
    fn enters(&mut self, geometry: &Geometry, block: BlockId, siblings: &[Ppn]) {
        if !stand_in(geometry, block, siblings) {
            self.set(block, self.associated(block) + 1);
        }
    }

    #[inline]
    fn leaves(&mut self, geometry: &Geometry, block: BlockId, siblings: &[Ppn]) {
        if !stand_in(geometry, block, siblings) {
            self.set(block, self.associated(block) - 1);
        }
    }
}

/// Compares the table with a recount of each block's associated data blocks.
///
/// # Errors
/// The first contradiction.
pub fn audit(map: &LogMap<MergeCosts>, geometry: &Geometry) -> core::result::Result<(), Violation> {
    let mut associated = vec![0; geometry.blocks() as usize];
    let mut seen = vec![Lbn::MAX; geometry.blocks() as usize];
    for lbn in 0..map.logical_blocks() {
        for &ppn in map.newest_of(lbn).iter().filter(|&&ppn| ppn != Ppn::NONE) {
            let block = geometry.block_of(ppn).0 as usize;
            let before = core::mem::replace(&mut seen[block], lbn);
            associated[block] += u16::from(before != lbn);
        }
    }
    for (block, recount) in (0..).map(BlockId).zip(associated) {
        map.observer.audit(block, recount)?;
    }
    Ok(())
}

/// The number by which a partition ranks its blocks.
fn rank(partition: Partition, associated: u16) -> u16 {
    match partition {
        Partition::Hot => associated.min(1),
        Partition::Cold => associated,
    }
}

/// Whether one of these pages stands in a block. Without a branch a page, so that the compiler can
/// compare many at once.
fn stand_in(geometry: &Geometry, block: BlockId, pages: &[Ppn]) -> bool {
    let (first, per_block) = (geometry.first_page(block).0, geometry.pages_per_block());
    pages.iter().fold(false, |found, ppn| found | (ppn.0.wrapping_sub(first) < per_block))
}
