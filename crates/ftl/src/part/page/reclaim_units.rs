//! Reclaim units: blocks that are filled one after the other and collected together.
//!
//! ```text
//! class 0   [b3 b9 b4 ··]    open: b4 is being filled, one block is to come
//!           [b0 b7 b2 b5]    full: a candidate, with the sum of the valid pages of its blocks
//! victim    [·· ·· b6 b8]    two blocks are emptied and erased, b6 is next
//! ```
//! A unit of a real drive has a block on each plane of each die. Here any free blocks form one: the
//! blocks that a class opens one after the other. A block is erased as soon as it is emptied, so
//! garbage collection needs no more erased blocks than with single blocks; the rest of a victim is
//! emptied when space is needed again.
//!
//! The victim is chosen by the specification of the victim policy, over all full units: a choice
//! costs time proportional to their number, and there is one choice for all blocks of a unit.
//!
//! **After a power cut** nobody knows which blocks shared a unit. A mount forms new units of the
//! blocks of each class, in the order of their numbers; what is left over is the open unit.
//!
//! Invariant: with units of several blocks, each full block is in exactly one unit, open, full or
//! partly emptied, and the blocks of a unit that is not partly emptied are of one class.

use nand::{BlockId, Cause, Geometry, Op, Tally};
use spec::Params;

use crate::contract::page_policy::Class;
use crate::contract::{Metric, MountConfig, Report, Violation, ensure};
use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::policy::{Candidate, Policy};
use crate::part::page::victims::registry;

/// The name of the figure that tells the room in the open unit of each class.
pub const UNIT_ROOM: &str = "unit_room";

/// The statistics that Flexible Data Placement asks for (NVMe, TP4146), from what the chip counted:
/// bytes of the host's pages (HBMW), bytes programmed (MBMW) and bytes erased (MBE). None if the
/// report is not one of a scheme with reclaim units.
pub fn statistics(
    report: &Report,
    tally: &Tally,
    geometry: &Geometry,
) -> Option<[(&'static str, Metric); 3]> {
    report.figures.iter().find(|(name, _)| *name == UNIT_ROOM)?;
    let page_bytes = u64::from(geometry.page_bytes());
    let block_bytes = page_bytes * u64::from(geometry.pages_per_block());
    Some([
        ("host_bytes", Metric::Count(tally.count(Op::Program, Cause::Host) * page_bytes)),
        ("media_bytes", Metric::Count(tally.total(Op::Program) * page_bytes)),
        ("erased_bytes", Metric::Count(tally.total(Op::Erase) * block_bytes)),
    ])
}

/// The units of a device.
#[derive(Debug)]
pub struct ReclaimUnits {
    unit_blocks: usize,
    pages_per_block: u32,
    choice: VictimChoice,
    /// The open unit of each class; without blocks if there is none.
    open: Vec<Unit>,
    /// The full units, if units have several blocks. One that leaves gives its place to the last.
    full: Vec<Unit>,
    /// The blocks of the last victim that are not emptied yet, the next one last.
    left: Vec<BlockId>,
    /// Units opened and closed since the mount.
    openings: u64,
    closings: u64,
    /// Units that each class opened, since the last reset.
    opened: Vec<u64>,
    /// Units of several blocks that were chosen as victims, since the last reset.
    collected: u64,
}

#[derive(Debug)]
struct VictimChoice {
    policy: &'static Policy,
    params: Params,
    draws: Draws,
}

#[derive(Clone, Debug, Default)]
struct Unit {
    blocks: Vec<BlockId>,
    /// The number of its opening.
    opened: u64,
    /// The number of its closing.
    closed: u64,
    /// Host pages written when it closed.
    closed_at: u64,
}

impl ReclaimUnits {
    /// Units of `unit_blocks` blocks for this number of classes, on an empty device.
    pub fn new(
        device: &MountConfig,
        unit_blocks: u32,
        classes: usize,
        pages_per_block: u32,
    ) -> ReclaimUnits {
        let choice = VictimChoice {
            policy: registry::chosen(device.params),
            params: device.params.clone(),
            draws: Draws::new(device.seed),
        };
        ReclaimUnits {
            unit_blocks: unit_blocks as usize,
            pages_per_block,
            choice,
            open: vec![Unit::default(); classes],
            full: Vec::new(),
            left: Vec::new(),
            openings: 0,
            closings: 0,
            opened: vec![0; classes],
            collected: 0,
        }
    }

    /// Whether units have several blocks. If not, victims are chosen among blocks.
    pub fn have_several_blocks(&self) -> bool {
        self.unit_blocks > 1
    }

    /// Notes that a class opens a block: the next one of its unit, or the first one of a new unit.
    pub fn note_opened(&mut self, class: Class, block: BlockId) {
        let unit = &mut self.open[class as usize];
        if unit.blocks.is_empty() {
            self.openings += 1;
            unit.opened = self.openings;
            self.opened[class as usize] += 1;
        }
        unit.blocks.push(block);
    }

    /// Notes that the open block of a class is full, after `now` host pages.
    pub fn note_filled(&mut self, class: Class, now: u64) {
        let unit = &mut self.open[class as usize];
        if unit.blocks.len() == self.unit_blocks {
            let full = core::mem::take(unit);
            self.close(full, now);
        }
    }

    fn close(&mut self, unit: Unit, now: u64) {
        if self.have_several_blocks() {
            self.closings += 1;
            self.full.push(Unit { closed: self.closings, closed_at: now, ..unit });
        }
    }

    /// The next block to empty, after `now` host pages: of the last victim, or of a new one.
    /// `valid` tells the valid pages of a full block. None if no unit is a victim.
    pub fn next_victim(&mut self, now: u64, valid: impl Fn(BlockId) -> u32) -> Option<BlockId> {
        if self.left.is_empty() {
            self.left = self.choose(now, valid)?.blocks;
            self.left.reverse();
            self.collected += 1;
        }
        self.left.pop()
    }

    fn choose(&mut self, now: u64, valid: impl Fn(BlockId) -> u32) -> Option<Unit> {
        let candidate = |unit: &Unit| Candidate {
            block: unit.blocks[0],
            valid: unit.blocks.iter().map(|&block| valid(block)).sum(),
            opened: unit.opened,
            closed: unit.closed,
            age: now - unit.closed_at,
        };
        let candidates: Vec<Candidate> = self.full.iter().map(candidate).collect();
        let VictimChoice { policy, params, draws } = &mut self.choice;
        let pages = self.unit_blocks as u32 * self.pages_per_block;
        let first = (policy.specification)(&candidates, pages, params, draws)?;
        let at = self.full.iter().position(|unit| unit.blocks[0] == first)?;
        Some(self.full.swap_remove(at))
    }

    /// Forms the units anew, after a mount: of the full blocks of each class, after `now` host
    /// pages. `filling` are the blocks that are open, which their classes go on to fill.
    pub fn regroup(
        &mut self,
        full: impl Iterator<Item = (BlockId, Class)>,
        filling: impl Iterator<Item = (BlockId, Class)>,
        now: u64,
    ) {
        self.full.clear();
        self.left.clear();
        self.open.fill(Unit::default());
        for (block, class) in full {
            self.note_opened(class, block);
            self.note_filled(class, now);
        }
        filling.for_each(|(block, class)| self.note_opened(class, block));
        self.reset_counts();
    }

    /// Begins to count anew.
    pub fn reset_counts(&mut self) {
        self.collected = 0;
        self.opened.fill(0);
    }

    /// Units that each class opened, since the last reset.
    pub fn opened_by_class(&self) -> &[u64] {
        &self.opened
    }

    /// Units that were chosen as victims, if this number of blocks were emptied.
    pub fn collected(&self, victims: u64) -> u64 {
        if self.have_several_blocks() { self.collected } else { victims }
    }

    /// Pages that the open unit of a class can still take, if its open block has `room` pages left;
    /// those of a whole unit if none is open.
    pub fn room(&self, class: usize, room: u32) -> u64 {
        let to_come = self.unit_blocks - self.open[class].blocks.len();
        to_come as u64 * u64::from(self.pages_per_block) + u64::from(room)
    }

    /// Bytes of RAM that a controller spends on the units: the unit of each block.
    pub fn ram_bytes(&self, blocks: u64) -> u64 {
        if self.have_several_blocks() { 4 * blocks } else { 0 }
    }

    /// Checks that each of the `full` blocks, and each block that is being filled, is in one unit,
    /// with blocks of its own class.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        full: impl Iterator<Item = BlockId>,
        filling: impl Iterator<Item = BlockId>,
        class_of: impl Fn(BlockId) -> Class,
    ) -> Result<(), Violation> {
        if !self.have_several_blocks() {
            return Ok(());
        }
        let units = self.open.iter().chain(&self.full);
        let mut listed: Vec<BlockId> = self.left.clone();
        for unit in units {
            let class = unit.blocks.first().map(|&first| class_of(first));
            for &block in &unit.blocks {
                let own = class_of(block);
                ensure!(Some(own) == class, "{block:?} of class {own} is in a unit of {class:?}");
            }
            listed.extend(&unit.blocks);
        }
        let mut used: Vec<BlockId> = full.chain(filling).collect();
        listed.sort_unstable();
        used.sort_unstable();
        ensure!(listed == used, "the units hold {listed:?}, and {used:?} are in use");
        Ok(())
    }
}
