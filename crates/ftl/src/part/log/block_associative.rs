//! A block-associative log: each log block serves one logical block. bast and fmax are built on it.
//!
//! ```text
//! data  LBN 0 ─▶ [0 1 2 3]      log of 0 ─▶ [1 3 1 _]     next victim: 0, then 2
//!           1 ─▶ [4 5 6 7]
//!           2 ─▶ [8 9 a b]      log of 2 ─▶ [8 9 _ _]     in order: can be merged partially
//! ```
//! Updates of a logical block are appended to its log block. A logical block without a log block is
//! given one. If all [`TiedLogs`] are in use, a victim is merged first. A full log block is not
//! merged when it fills, but when the next update needs room. The two schemes differ only in the
//! choice of the victim, which needs no search.
//!
//! **Recovery**: see [`log_mount`](crate::part::log::log_mount). Log blocks that a mount finds are
//! closed. They are merged when they are in the way.

use nand::Nand;

use crate::contract::{
    BlockRole, Ftl, Merges, Metric, MountConfig, Report, Result, Run, Span, Violation, base_is,
};
use crate::part::log::log_map::{Lbn, LogMap, WriteTarget};
use crate::part::log::merge;
use crate::part::log::tied_logs::TiedLogs;

/// Which log block is merged when another logical block needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimOrder {
    /// The one that was written least recently.
    LeastRecentlyWritten,
    /// The one that was allocated least recently.
    LeastRecentlyAllocated,
}

/// An FTL with a block-associative log.
#[derive(Debug)]
pub struct BlockAssociative {
    map: LogMap,
    victim: VictimOrder,
    logs: TiedLogs,
    merges: Merges,
    /// Number of slots that were used in merged log blocks.
    merged_slots: u64,
}

impl BlockAssociative {
    /// Mounts; a factory-new chip is formatted.
    ///
    /// # Errors
    /// The power is lost again, or the flash is in a state that such a log cannot have left.
    pub fn mount(
        nand: &mut Nand,
        device: &MountConfig,
        victim: VictimOrder,
    ) -> Result<BlockAssociative> {
        let (map, logs) = TiedLogs::mount(nand, device)?;
        Ok(BlockAssociative { map, victim, logs, merges: Merges::default(), merged_slots: 0 })
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Writes the pages of the run from page `index` on, up to the first page that goes to another
    /// block. Returns the number of pages written.
    fn write_some(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<u32> {
        let lpn = run.first.plus(index);
        let lbn = self.map.lbn_of(lpn);
        let order = nand.geometry().program_order();
        loop {
            match self.map.place(order, lpn, run.pages - index) {
                WriteTarget::Home(pages) => return self.map.write_home(nand, run, index, pages),
                WriteTarget::Log(pages) => match self.logs.room(lbn) {
                    0 => self.make_room(nand, lbn)?,
                    _ => return self.append(nand, run, index, pages),
                },
            }
        }
    }

    fn append(&mut self, nand: &mut Nand, run: &Run, index: u32, most: u32) -> Result<u32> {
        let lbn = self.map.lbn_of(run.first.plus(index));
        let done = self.logs.append(nand, &mut self.map, run, index, most)?;
        if self.victim == VictimOrder::LeastRecentlyWritten {
            self.logs.put_off(lbn);
        }
        Ok(done)
    }

    /// Merges the full log block of a logical block. If the logical block has none, gives it one.
    fn make_room(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        if self.logs.of(lbn).is_some() {
            return self.merge(nand, lbn);
        }
        if let Some(victim) = self.logs.victim() {
            self.merge(nand, victim)?;
        }
        self.logs.open(lbn, self.map.flat.pool.take(nand)?);
        Ok(())
    }

    fn merge(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        let log = self.logs.close(lbn);
        self.merged_slots += u64::from(log.filled);
        let plan = merge::plan(&self.map, nand.geometry(), lbn, log);
        merge::carry_out(nand, &mut self.map, &mut self.merges, lbn, log, plan)
    }
}

impl Ftl for BlockAssociative {
    base_is!(self.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            index += self.write_some(nand, run, index)?;
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.logs.audit(nand, &self.map)
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(self.map.data_roles());
        let logs = self.logs.iter();
        roles.extend(logs.map(|(lbn, log)| BlockRole::of(log.block, "log", lbn)));
    }

    /// The map has an entry of four bytes for each page of the log, beside that of each block.
    fn report(&self) -> Report {
        let mut report = self.map.report();
        report.ram.map += 4 * u64::from(self.map.pages_per_block()) * u64::from(self.logs.most());
        report.figures.push(("merged_log_pages", Metric::Count(self.merged_slots)));
        report.merges = Some(self.merges.clone());
        report
    }

    fn reset_report(&mut self) {
        self.map.reset_report();
        (self.merges, self.merged_slots) = (Merges::default(), 0);
    }
}
