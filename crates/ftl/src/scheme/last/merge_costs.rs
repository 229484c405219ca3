//! LAST's merge-cost table: for each random log block, the number of logical blocks that have valid
//! pages in it (Na).
//!
//! ```text
//! log block [1 5 1 9]    x    valid pages 5, 1, 9    Np = 4    Na = 3: logical blocks 0, 1 and 2
//! ```
//! A full merge costs Na × (Np copies + 1 erase) + 1 erase (LAST eq. 2). So Na is the price of a
//! victim, and a block with Na = 0 is dead. The table is updated page by page. When a page enters
//! or leaves a log block, Na changes only if no other page of its logical block is in the same log
//! block. The places of these pages show whether there is one.
//!
//! Full blocks are ranked: in the cold partition by Na, in the hot partition by whether they are
//! dead. Among equals the block that became full first comes first. Because each partition fills
//! one block after the other, that is also the one allocated first.

use nand::{BlockId, Geometry, Ppn};

use super::ranking::Ranking;
use crate::contract::{Violation, ensure};
use crate::part::log::block_observer::BlockObserver;
use crate::part::log::log_map::{Lbn, LogMap};

/// A partition of the random log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// For pages that are rewritten soon.
    Hot,
    /// For all other pages.
    Cold,
}

impl Partition {
    /// Both partitions.
    pub const BOTH: [Partition; 2] = [Partition::Hot, Partition::Cold];
}

/// The table's entry of a block.
#[derive(Clone, Copy, Debug, Default)]
struct BlockCost {
    /// The partition; none if this is not a random log block.
    partition: Option<Partition>,
    associated: u16,
}

/// The table.
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

    /// The partition of a block, if it is a random log block.
    #[inline]
    pub fn partition_of(&self, block: BlockId) -> Option<Partition> {
        self.entries.get(block.0 as usize).and_then(|entry| entry.partition)
    }

    /// Na: the number of logical blocks that have valid pages in a block.
    pub fn associated(&self, block: BlockId) -> u16 {
        self.entries[block.0 as usize].associated
    }

    /// The full blocks of a partition, in the order in which they became full.
    pub fn full_blocks(&self, partition: Partition) -> impl Iterator<Item = BlockId> + '_ {
        self.ranked[partition as usize].iter().map(|(block, _)| block)
    }

    /// Number of dead blocks among the full blocks of a partition.
    pub fn dead_blocks(&self, partition: Partition) -> u32 {
        self.ranked[partition as usize].iter().filter(|&(_, number)| number == 0).count() as u32
    }

    /// The full block of a partition with the lowest merge cost. The hot partition distinguishes
    /// only dead blocks from others: there it is a dead block or, if there is none, the block that
    /// became full first.
    pub fn cheapest(&self, partition: Partition) -> Option<BlockId> {
        self.ranked[partition as usize].lowest().map(|(block, _)| block)
    }

    // ---- Adding and removing blocks -------------------------------------------------------------

    /// Adds a random log block in which `associated` logical blocks have valid pages.
    pub fn follow(&mut self, block: BlockId, partition: Partition, associated: u16) {
        let other = self.partition_of(block);
        assert!(other.is_none(), "{block:?} enters {partition:?}, but is in {other:?}");
        self.entries[block.0 as usize] = BlockCost { partition: Some(partition), associated };
    }

    /// Ranks a random log block, which has become full.
    pub fn close(&mut self, block: BlockId) {
        let BlockCost { partition, associated } = self.entries[block.0 as usize];
        let partition = partition.expect("only random log blocks are closed");
        self.ranked[partition as usize].push(block, rank(partition, associated));
    }

    /// Removes a full block.
    pub fn forget(&mut self, block: BlockId) {
        let partition = core::mem::take(&mut self.entries[block.0 as usize]).partition;
        let partition = partition.expect("only random log blocks are forgotten");
        self.ranked[partition as usize].remove(block);
    }

    /// Compares the entry of a block with a recount.
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
    const OBSERVES: bool = true;

    #[inline]
    fn observes(&self, block: BlockId) -> bool {
        self.partition_of(block).is_some()
    }

    #[inline]
    fn enters(&mut self, block: BlockId, is_alone: bool) {
        if is_alone {
            self.set(block, self.associated(block) + 1);
        }
    }

    #[inline]
    fn leaves(&mut self, block: BlockId, is_alone: bool) {
        if is_alone {
            self.set(block, self.associated(block) - 1);
        }
    }
}

/// Compares the table with a recount.
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

/// The number by which a partition ranks a block with this Na.
fn rank(partition: Partition, associated: u16) -> u16 {
    match partition {
        Partition::Hot => associated.min(1),
        Partition::Cold => associated,
    }
}
