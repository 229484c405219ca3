//! Tied log blocks: each is tied to one logical block. This part knows which logical block has
//! which log block, how far each log block is filled, and which is merged next for want of room.
//!
//! ```text
//! LBN 0 ─▶ log [1 3 1 _]     room for one page      merged first: the log block of LBN 2,
//!     1 ─▶ none              no room                then that of LBN 0
//!     2 ─▶ log [8 9 _ _]     room for two pages
//! ```
//! The scheme decides what is written to a log block and how it is merged.
//!
//! Invariants: a logical block has at most one log block, and all valid pages of a log block belong
//! to its logical block. There are at most `extra − 1` log blocks, so one block is clean while no
//! merge is in progress.

use nand::{BlockId, Nand};

use crate::contract::{Error, MountConfig, Result, Run, Violation, ensure};
use crate::part::index::recency::Recency;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::log_mount::{self, FoundLog};
use crate::part::log::merge::LogBlock;
use crate::part::recovery::block_audit;

/// The minimum of extra blocks: a log block, and a clean block for merging.
pub const LEAST_EXTRA: u32 = 2;

/// The log blocks of a scheme.
#[derive(Clone, Debug)]
pub struct TiedLogs {
    of: Vec<Option<LogBlock>>,
    /// The logical blocks that have a log block, in the order in which these are merged for want of
    /// room.
    queue: Recency,
    most: u32,
    pages_per_block: u32,
}

impl TiedLogs {
    /// Mounts a map and its log blocks; a factory-new chip is formatted. Log blocks that are found
    /// are closed.
    ///
    /// # Errors
    /// The power is lost again, or the flash is in a state that such a log cannot have left.
    pub fn mount(nand: &mut Nand, device: &MountConfig) -> Result<(LogMap, TiedLogs)> {
        let mut map = LogMap::format(nand, device);
        let mut logs = TiedLogs {
            of: vec![None; map.logical_blocks() as usize],
            queue: Recency::new(map.logical_blocks()),
            most: map.extra_blocks() - 1,
            pages_per_block: map.pages_per_block(),
        };
        if !nand.is_factory_new() {
            for found in log_mount::recover(nand, device, &mut map)? {
                logs.take_over(&found)?;
            }
        }
        Ok((map, logs))
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// The log block of a logical block, if it has one.
    #[inline]
    pub fn of(&self, lbn: Lbn) -> Option<LogBlock> {
        self.of[lbn as usize]
    }

    /// Number of free slots in the log block of a logical block; 0 if it has no log block.
    #[inline]
    pub fn room(&self, lbn: Lbn) -> u32 {
        self.of(lbn).map_or(0, |log| self.pages_per_block - log.filled)
    }

    /// The logical block whose log block must be merged before another can be opened. None if one
    /// can be opened now.
    pub fn victim(&self) -> Option<Lbn> {
        self.queue.first().filter(|_| self.queue.len() == self.most)
    }

    /// Number of log blocks.
    pub fn count(&self) -> u32 {
        self.queue.len()
    }

    /// Maximum number of log blocks.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// All log blocks, each with its logical block.
    pub fn iter(&self) -> impl Iterator<Item = (Lbn, LogBlock)> + '_ {
        (0..).zip(&self.of).filter_map(|(lbn, log)| Some((lbn, (*log)?)))
    }

    // ---- Updates ------------------------------------------------------------------------------

    /// Makes a clean block the log block of a logical block that has none. It will be merged last.
    pub fn open(&mut self, lbn: Lbn, block: BlockId) {
        self.insert(lbn, LogBlock { block, filled: 0 });
    }

    fn insert(&mut self, lbn: Lbn, log: LogBlock) {
        assert!(
            self.of(lbn).is_none(),
            "LBN {lbn} has a log block already and is given {:?}",
            log.block
        );
        assert!(self.count() < self.most, "there are {} log blocks already", self.most);
        self.of[lbn as usize] = Some(log);
        self.queue.push(lbn);
    }

    /// Appends up to `most` pages of a run, from page `index` on, to the log block of their logical
    /// block. Returns the number of pages written, as [`LogMap::write`] does.
    ///
    /// # Errors
    /// The power fails.
    pub fn append(
        &mut self,
        nand: &mut Nand,
        map: &mut LogMap,
        run: &Run,
        index: u32,
        most: u32,
    ) -> Result<u32> {
        let lbn = map.lbn_of(run.first.plus(index));
        let room = self.room(lbn);
        assert!(room > 0, "LBN {lbn} is written to a log block that is full, or missing");
        let log = self.of[lbn as usize].as_mut().expect("a log block with room");
        let to = nand.geometry().page(log.block, log.filled);
        let done = map.write(nand, run, index, most.min(room), to)?;
        log.filled += done;
        Ok(done)
    }

    /// Moves the log block of a logical block to the end of the order: it will be merged last.
    pub fn put_off(&mut self, lbn: Lbn) {
        self.queue.touch(lbn);
    }

    /// Removes the log block of a logical block, which is about to be merged.
    pub fn close(&mut self, lbn: Lbn) -> LogBlock {
        self.queue.remove(lbn);
        self.of[lbn as usize].take().expect("a log block is opened before it is merged")
    }

    /// Adds a log block that a mount found; all its slots count as used. The caller passes the
    /// blocks in the order of their last programs.
    ///
    /// # Errors
    /// The flash is in a state that such a log cannot have left.
    fn take_over(&mut self, found: &FoundLog) -> Result<()> {
        let strange = |why: String| Err(Error::Unmountable(why));
        let block = found.block;
        let &[lbn] = found.lbns.as_slice() else {
            let count = found.lbns.len();
            return strange(format!("block {} serves {count} logical blocks, not one", block.0));
        };
        if let Some(other) = self.of(lbn) {
            let (one, other) = (block.0, other.block.0);
            return strange(format!("blocks {other} and {one} are both logs of block {lbn}"));
        }
        if self.count() == self.most {
            return strange(format!("there are more than {} log blocks", self.most));
        }
        self.insert(lbn, LogBlock { block, filled: self.pages_per_block });
        Ok(())
    }

    // ---- Auditing -----------------------------------------------------------------------------

    /// Compares the log blocks with the map and with the chip.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand, map: &LogMap) -> core::result::Result<(), Violation> {
        map.audit(nand, self.iter().map(|(_, log)| log.block))?;
        for (lbn, LogBlock { block, filled }) in self.iter() {
            let newest = map.newest_of(lbn).iter();
            let held = newest.filter(|&&ppn| nand.geometry().block_of(ppn) == block).count();
            let valid = map.valid(block);
            ensure!(
                held as u32 == valid,
                "{held} of {valid} valid pages in {block:?} belong to LBN {lbn}"
            );
            block_audit::programmed_or_closed(nand, block, filled, self.pages_per_block)?;
        }
        let (tied, queued) = (self.iter().count() as u32, self.count());
        ensure!(tied == queued, "{tied} logical blocks have a log block, {queued} are queued");
        ensure!(tied <= self.most, "{tied} log blocks, at most {}", self.most);
        let stray = self.queue.iter().find(|&lbn| self.of(lbn).is_none());
        ensure!(stray.is_none(), "LBN {stray:?} is queued but has no log block");
        Ok(())
    }
}
