//! A fully associative log: a log block takes pages of any logical block. Beside it, one block
//! serves a sequential stream, unless the scheme leaves it to the random log. fast and faster are
//! built on it. There are two rules by which a stream is recognised ([`Streams`]). That of FAST is
//! a write at offset 0:
//!
//! ```text
//! data [0 1 2 3] [4 5 6 7] [8 9 a b]   SW [4 5 _ _]   RW [9 2 9 1] [b 7 2 _]   clean [_ _ _ _]
//!
//! write 4: offset 0             the SW block is merged, and a new one is opened for LBN 1
//! write 6: next in the SW       appended there
//! write 8: offset 0             as for 4, for LBN 2
//! write 5: none of these        to the head of the RW log
//! ```
//! The other one is a run of consecutive pages, of which the sixth opens the SW block:
//!
//! ```text
//! data [0 … 15] [16 … 31]   SW [16 … 23 _ _]   RW [9 …]
//!
//! write 1 2 3 4 5               to the head of the RW log
//! write 6: the run's sixth      the SW block is merged; a new one takes copies of 0 … 5, then 6
//! write 7: next in the SW       appended there
//! write 3: none of these        to the head of the RW log, as all other pages of LBN 0
//! ```
//! A full block is then merged at once, and not when the next stream needs it: a page of its owner
//! that went to RW meanwhile would turn the switch into a full merge. A page before the run may be
//! unmapped. Then there is nothing to copy for its slot, and the stream stays in RW.
//!
//! A page whose home is still erased is written there, before any of these rules applies. The same
//! holds if the merge that makes room for a page leaves its home erased.
//!
//! Of E extra blocks, one is kept clean for merging and one is the SW block. The random log (RW)
//! has the others, except for blocks that the scheme sets aside. When the random log needs a block
//! and has its maximum, the scheme must reclaim one.
//!
//! Invariants: the SW block, the RW blocks and those set aside are at most E − 1 together, so one
//! block is clean while nothing is being reclaimed. Each block is in exactly one list.
//!
//! **Recovery** ([`log_mount`]). A mount finds no SW block, and at most E − 1 log blocks. The
//! former SW block and blocks set aside are among them, so RW may have more blocks than its
//! maximum. The surplus is merged, oldest block first, before the log opens its next block, and not
//! during the mount: a mount that merges would itself have to survive a power cut at each of its
//! operations.
//!
//! There are at most E − 1 log blocks for the following reason. All pages of a data block are at
//! home, so each logical block that had a data block with valid pages is given one again. Only
//! blocks that were in SW, RW or set aside remain. Blocks in transition do not add to them: the
//! target of an unfinished merge is given up; after a complete merge the old data block has no
//! valid page left; and a block that was being moved has no valid page left either.

use core::ops::Range;

use nand::{BlockId, Lpn, Nand};
use spec::{Kind, Param, Params};

use crate::contract::{
    BlockRole, Error, Merges, Metric, MountConfig, Report, Result, Run, Violation, ensure,
};
use crate::part::log::log_map::{LogMap, WriteTarget};
use crate::part::log::log_mount::{self, FoundLog};
use crate::part::log::merge;
use crate::part::log::random_log::{Associated, RandomLog};
use crate::part::log::sequential_block::SequentialBlock;

/// The minimum of extra blocks: SW, one RW block, and a clean block for merging.
pub const LEAST_EXTRA: u32 = 3;

/// Bytes of RAM for the map entry of one page of the log.
pub const PAGE_ENTRY_BYTES: u64 = 4;

/// Bytes of RAM for the map entries of one log block.
pub fn entry_bytes(pages_per_block: u32) -> u64 {
    PAGE_ENTRY_BYTES * u64::from(pages_per_block)
}

/// The position in a run of consecutive pages from which on a page belongs to a stream. The
/// firmware of FASTer's author (2011) opens the SW block with the sixth page.
const STREAM_FROM: u32 = 6;

/// How a sequential stream is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Not at all: there is no SW block, and RW has one more.
    None,
    /// By a write at offset 0.
    AtOffset0,
    /// By a run of consecutive pages.
    ByRun,
}

impl Streams {
    /// The parameter `sequential`. Its default is that of the scheme.
    pub const fn param(doc: &'static str) -> Param {
        Param::key("sequential", Kind::Choice(&["run", "offset0", "false"]), "", doc)
    }

    /// The value of the parameter, if it was given.
    pub fn given(params: &Params) -> Option<Streams> {
        params.opt_choice("sequential").map(|word| match word {
            "run" => Streams::ByRun,
            "offset0" => Streams::AtOffset0,
            _ => Streams::None,
        })
    }

    /// Number of SW blocks.
    pub fn blocks(self) -> u32 {
        u32::from(self != Streams::None)
    }
}

/// The run of consecutive pages that the host is writing.
#[derive(Clone, Copy, Debug)]
pub struct HostRun {
    /// The page after the last one.
    next: Lpn,
    /// Number of pages so far.
    pages: u32,
}

impl HostRun {
    /// Nothing was written.
    pub const NONE: HostRun = HostRun { next: Lpn::NONE, pages: 0 };

    /// The position in its run that a page has if it is written now; the first page has position 1.
    fn position(self, lpn: Lpn) -> u32 {
        if lpn == self.next { self.pages.saturating_add(1) } else { 1 }
    }

    /// Whether a page belongs to a stream if it is written now.
    pub fn is_stream(self, lpn: Lpn) -> bool {
        self.position(lpn) >= STREAM_FROM
    }

    /// At most `most` pages from `lpn` on, and none behind the first page that begins a stream.
    fn pages_alike(self, lpn: Lpn, most: u32) -> u32 {
        match STREAM_FROM.saturating_sub(self.position(lpn)) {
            0 => most,
            before => most.min(before),
        }
    }

    /// Adds pages that were written.
    pub fn add(&mut self, first: Lpn, pages: u32) {
        let before = self.position(first) - 1;
        *self = HostRun { next: first.plus(pages), pages: before.saturating_add(pages) };
    }
}

/// The block to which the next pages of a run belong, and the number of these pages.
#[derive(Clone, Copy, Debug)]
enum TargetBlock {
    /// Their data block.
    Home(u32),
    /// A new SW block: the page starts a stream, or is the first that shows it.
    NewSequential,
    /// The SW block: the page is next in the stream.
    Sequential(u32),
    /// The random log.
    Random(u32),
}

/// The result of one step towards a write.
#[derive(Clone, Copy, Debug)]
pub enum WriteStep {
    /// It wrote this many pages.
    Wrote(u32),
    /// It merged the SW block or opened a block. The next step decides again.
    MadeRoom,
    /// A block of the random log must be reclaimed first.
    MustReclaim,
}

/// A map, an SW block and a random log.
#[derive(Debug)]
pub struct FullyAssociative {
    /// The map and the free blocks.
    pub map: LogMap,
    /// The random log.
    pub random: RandomLog,
    sequential: SequentialBlock,
    streams: Streams,
    /// Kept only if streams are recognised by a run.
    host_run: HostRun,
    /// Whether the SW block was merged since the scheme last asked.
    merged_stream: bool,
    /// Maximum number of blocks of the random log.
    random_max: u32,
    /// Number of log blocks that the scheme sets aside.
    aside: u32,
    /// Merges of all kinds.
    pub merges: Merges,
    /// Number of full merges of random-log victims, by number of associated data blocks.
    random_associated: Vec<u64>,
    /// Scratch list of the data blocks with which a victim is associated.
    pub associated: Associated,
}

impl FullyAssociative {
    /// Mounts with log blocks set aside: `aside` gives their number, from that of all log blocks. A
    /// factory-new chip is formatted. Returns the log blocks that were found, oldest first. The
    /// scheme must hand each to the random log or to its own list.
    ///
    /// # Errors
    /// The power is lost again, or the flash is in a state that such a log cannot have left.
    pub fn mount(
        nand: &mut Nand,
        device: &MountConfig,
        aside: impl Fn(u32) -> u32,
        streams: Streams,
    ) -> Result<(FullyAssociative, Vec<FoundLog>)> {
        let mut map = LogMap::format(nand, device);
        let found = match nand.is_factory_new() {
            true => Vec::new(),
            false => log_mount::recover(nand, device, &mut map)?,
        };
        let (most, count) = (map.extra_blocks() - 1, found.len() as u32);
        if count > most {
            let why = format!("there are {count} log blocks, at most {most} are allowed");
            return Err(Error::Unmountable(why));
        }
        let (pages, aside) = (nand.geometry().pages_per_block(), aside(most));
        let log = FullyAssociative {
            random: RandomLog::new(most),
            sequential: SequentialBlock::default(),
            streams,
            host_run: HostRun::NONE,
            merged_stream: false,
            random_max: most - streams.blocks() - aside,
            aside,
            merges: Merges::default(),
            random_associated: Vec::new(),
            associated: Associated::new(pages, map.logical_blocks()),
            map,
        };
        Ok((log, found))
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Writes at most `most` pages of the run from page `index` on, up to the first page that goes
    /// to another block, or makes room for them.
    ///
    /// # Errors
    /// The power fails.
    #[inline(always)]
    pub fn step(&mut self, nand: &mut Nand, run: &Run, index: u32, most: u32) -> Result<WriteStep> {
        let lpn = run.first.plus(index);
        let by_run = self.streams == Streams::ByRun;
        let most = if by_run { self.host_run.pages_alike(lpn, most) } else { most };
        let target = match self.map.place(nand.geometry().program_order(), lpn, most) {
            WriteTarget::Home(pages) => TargetBlock::Home(pages),
            WriteTarget::Log(pages) => self.target_block(nand, lpn, pages),
        };
        let map = &mut self.map;
        let written = match target {
            TargetBlock::Home(pages) => map.write_home(nand, run, index, pages)?,
            TargetBlock::Sequential(pages) => {
                self.sequential.append(nand, map, run, index, pages)?
            }
            TargetBlock::Random(pages) if self.random.room() > 0 => {
                self.random.append(nand, map, run, index, pages)?
            }
            _ => return self.make_room(nand, target, lpn),
        };
        if by_run {
            self.host_run.add(lpn, written);
            if self.sequential.is_full() {
                self.merge_stream(nand)?;
            }
        }
        Ok(WriteStep::Wrote(written))
    }

    fn target_block(&self, nand: &Nand, lpn: Lpn, pages: u32) -> TargetBlock {
        let offset = lpn.0 % nand.geometry().pages_per_block();
        match self.sequential.next() {
            Some(next) if next == lpn => TargetBlock::Sequential(pages),
            _ if self.opens_stream(lpn, offset) => TargetBlock::NewSequential,
            Some(next) if next > lpn => TargetBlock::Random(pages.min(next.0 - lpn.0)),
            _ => TargetBlock::Random(pages),
        }
    }

    /// Whether a page that is not next in the SW block opens a new one.
    fn opens_stream(&self, lpn: Lpn, offset: u32) -> bool {
        match self.streams {
            Streams::None => false,
            Streams::AtOffset0 => offset == 0,
            Streams::ByRun => {
                let before = lpn.0 - offset..lpn.0;
                self.host_run.is_stream(lpn)
                    && self.sequential.owner() != Some(self.map.lbn_of(lpn))
                    && (offset == 0 || self.map.flat.mapped_run(before.clone()) == Some(before))
            }
        }
    }

    /// Merges the SW block in its present state.
    fn merge_stream(&mut self, nand: &mut Nand) -> Result<()> {
        self.merged_stream = true;
        self.sequential.merge(nand, &mut self.map, &mut self.merges)
    }

    /// Whether the newest version of a page is in the SW block.
    pub fn is_in_stream(&self, nand: &Nand, lpn: Lpn) -> bool {
        let block = |ppn| nand.geometry().block_of(ppn);
        let newest = self.map.flat.newest(lpn).map(block);
        newest.is_some() && newest == self.sequential.block()
    }

    /// Whether the SW block was merged since the last call.
    pub fn take_merged_stream(&mut self) -> bool {
        core::mem::take(&mut self.merged_stream)
    }

    /// Makes room for a page: merges the SW block or opens a block, if it may.
    #[inline(never)]
    fn make_room(&mut self, nand: &mut Nand, target: TargetBlock, lpn: Lpn) -> Result<WriteStep> {
        let (is_over, may_grow) = (self.is_over_its_maximum(), self.random.len() < self.random_max);
        let map = &mut self.map;
        match target {
            TargetBlock::NewSequential if self.sequential.block().is_some() => {
                self.merge_stream(nand)?;
            }
            TargetBlock::NewSequential if !is_over => self.sequential.open(nand, map, lpn)?,
            TargetBlock::Random(_) if may_grow => {
                self.random.open(nand, map)?;
            }
            _ => return Ok(WriteStep::MustReclaim),
        }
        Ok(WriteStep::MadeRoom)
    }

    /// Whether the random log has more blocks than its maximum. This can be so after a mount, and
    /// when the budget has shrunk.
    pub fn is_over_its_maximum(&self) -> bool {
        self.random.len() > self.random_max
    }

    // ---- Reclaiming ---------------------------------------------------------------------------

    /// Merges all data blocks with which a victim is associated, and erases the victim. The random
    /// log does not contain it any more.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_victim(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        if self.map.valid(victim) == 0 {
            return merge::dead(nand, &mut self.map, &mut self.merges, victim);
        }
        self.merge_associated(nand, victim, 0..nand.geometry().pages_per_block())?;
        merge::discard(nand, &mut self.map, victim)
    }

    /// Merges the data blocks that have valid pages in these slots of a victim, if any.
    ///
    /// # Errors
    /// The power fails.
    pub fn merge_associated(
        &mut self,
        nand: &mut Nand,
        victim: BlockId,
        slots: Range<u32>,
    ) -> Result<()> {
        let (map, merges) = (&mut self.map, &mut self.merges);
        let associated = self.associated.list(map, map.valid_pages(nand, victim, slots));
        if associated.is_empty() {
            return Ok(());
        }
        merge::count(&mut self.random_associated, associated.len());
        merge::bring_all_home(nand, map, merges, associated)
    }

    /// Sets the RAM budget of the log's map, at four bytes per page. SW and one RW block are always
    /// allowed. The scheme must then reclaim blocks while the log [is over its
    /// maximum](Self::is_over_its_maximum).
    pub fn set_budget(&mut self, bytes: u64) {
        let paid = bytes / entry_bytes(self.map.pages_per_block());
        let log_blocks = paid.min(u64::from(self.map.extra_blocks() - 1)) as u32;
        self.random_max = log_blocks.saturating_sub(self.streams.blocks() + self.aside).max(1);
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Bytes of the log's map at its maximum.
    pub fn log_map_bytes(&self) -> u64 {
        u64::from(self.log_blocks()) * entry_bytes(self.map.pages_per_block())
    }

    /// Maximum number of log blocks, including SW and those set aside.
    pub fn log_blocks(&self) -> u32 {
        self.streams.blocks() + self.random_max + self.aside
    }

    /// Compares all data structures with each other and with the chip. `aside` lists the set-aside
    /// blocks in use.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        nand: &Nand,
        aside: impl Iterator<Item = BlockId>,
    ) -> core::result::Result<(), Violation> {
        let logs = || self.sequential.block().into_iter().chain(self.random.blocks());
        let aside: Vec<BlockId> = aside.collect();
        let (count, most) = (logs().count() + aside.len(), self.map.extra_blocks() as usize - 1);
        ensure!(count <= most, "{count} log blocks, at most {most}");
        self.map.audit(nand, logs().chain(aside))?;
        self.sequential.audit(nand)?;
        self.random.audit(nand, &self.map)
    }

    /// The roles of data blocks and log blocks.
    pub fn roles(&self, roles: &mut Vec<BlockRole>) {
        roles.extend(self.map.data_roles());
        roles.extend(self.random.blocks().map(|block| BlockRole::plain(block, "log")));
        let stream = self.sequential.block().zip(self.sequential.owner());
        roles.extend(stream.map(|(block, lbn)| BlockRole::of(block, "SW", lbn)));
    }

    /// What a scheme with this log reports: the maps, merges, and the sizes of the log.
    pub fn report(&self) -> Report {
        let counts = &self.random_associated;
        let merges: u64 = counts.iter().sum();
        let merged: u64 = (0..).zip(counts).map(|(associated, count)| associated * count).sum();
        let mean = if merges > 0 { merged as f64 / merges as f64 } else { 0.0 };
        let mut report = self.map.report();
        report.ram.map += self.log_map_bytes();
        if self.streams == Streams::ByRun {
            report.ram.other += size_of::<HostRun>() as u64;
        }
        report.merges = Some(self.merges.clone());
        report.figures.extend([
            ("rw_associated_blocks", Metric::Counts(counts.clone())),
            ("mean_rw_associated_blocks", Metric::Real(mean)),
        ]);
        let (may, in_use) = (self.log_blocks(), self.random.len());
        report.gauges = vec![("log_blocks", may.into()), ("rw_blocks", in_use.into())];
        report
    }

    /// Sets merges and figures to zero.
    pub fn reset_report(&mut self) {
        self.merges = Merges::default();
        self.random_associated.clear();
        self.map.reset_report();
    }
}
