//! last: locality-aware sector translation (Lee, Shin, Kim and Kim 2008).
//!
//! ```text
//!                    ┌ large ─▶ sequential log   [0 1 2 3]  [8 9 _ _]   own offsets, one LBN each
//! write ─▶ detector ─┤                  ┌ hot    [1 6 1 6]  [6 1 _ _]   soon rewritten: blocks
//!                    └ small ─▶ random ─┤                               become dead by themselves
//!                                       └ cold   [3 9 5 7]  [2 _ _ _]   victim: lowest Na
//! ```
//! **Detector** (§3.2). A request larger than `threshold` is sequential, any other is random. The
//! idea is that large writes are parts of longer ones, and that small writes are repeated soon. A
//! run of a single page is never sequential, whatever the size of its request.
//!
//! **Sequential log** (§3.3). A few log blocks, each tied to one data block, so that several
//! streams can end in switch and partial merges: see [`mod@sequential_log`].
//!
//! **Partitions of the random log** (§3.4.2). The distance between two writes of a page is counted
//! in pages written to the random log; it is 1 for two writes in a row. If the distance is below
//! `k`, the page is hot, and stays hot until it is evicted. This is decided before room is made.
//! Hot pages become stale together, so their blocks become dead and cost an erase without copies.
//! Cold pages stay longer: each one that is rewritten in the meantime may save the merge of its
//! data block. With R blocks in the random log, `k` and the size of the hot partition are
//! re-evaluated every R·Np pages ([`partition_regulator`]).
//!
//! **Replacement** (§3.4.3). A partition opens a block if it and the random log are below their
//! maximum sizes. Otherwise a full block is merged first. A partition at its maximum merges one of
//! its own blocks. A partition below it merges the best block of both partitions:
//!
//! 1. a dead hot block;
//! 2. otherwise the oldest hot block, if more than 4·R·Np pages were written to the random log
//!    since its last program;
//! 3. otherwise the cold block with the lowest Na, the number of data blocks that its merge has to
//!    rewrite ([`merge_costs`]).
//!
//! So the victim decides which partition gives up a block; the partition that needs one gets it.
//! Random log blocks are merged fully, or erased if they are dead, even if they happen to be in
//! order.
//!
//! **Beyond the paper** there are three options, all off by default. Its conclusion leaves the
//! first two as future work. `sequential=adaptive` sizes the sequential log by what one more block
//! would save on either part of the log ([`earnings`]): after every log·Np pages written to the
//! log, one block (or a 256th of a large log) goes to the part that would save more.
//! `detector=streams` also recognises sequential streams of small writes: a run that continues a
//! stream is sequential if the stream including this run is larger than the threshold
//! ([`stream_table`]). This holds for runs of one page too. `threshold=auto` chooses the threshold
//! by what requests of each size cost in either log ([`threshold`]).
//!
//! Invariants: there are at most `log` log blocks, so at least one block is clean while no merge is
//! in progress. A partition has at most one open block, and only full blocks are victims. 1 ≤ k ≤
//! R·Np, and the maximum size of the hot partition is between 1 and R − 1.
//!
//! **Recovery.** A mount closes the log blocks that it finds, and takes them in the order of their
//! last programs. As long as the sequential log is below its size, a block with all pages at home
//! joins it, unless its logical block has one there already. Such a block need not have been
//! sequential: it may have been a random block, or the data block that a sequential block replaced.
//! All other blocks join the random log. They fit: if the sequential log is full, at most R blocks
//! are left. If it is not full, it turned a block with all pages at home away only because of
//! another block of the same logical block. At most one of these two was sequential, and at most
//! one a data block. So no more blocks are left than the random log had.
//!
//! A random block is hot or cold according to the kind of its last page, unless that partition has
//! R − 1 blocks already. `k`, the threshold, the sizes, the order of writes within a partition, and
//! the memory of the detector start from their initial values. A page that a mount found has no
//! distance until it is written again. With `sequential=adaptive` a part of the log may be found
//! larger than its initial size; it gives up a block when another part needs one.
//!
//! Departure: the paper exchanges hot and cold blocks to level their wear. Wear levelling is not a
//! task of the scheme here.

pub mod earnings;
pub mod merge_costs;
pub mod partition_regulator;
pub mod random_partition;
pub mod ranking;
pub mod sequential_log;
pub mod stream_table;
pub mod threshold;

use nand::{BlockId, ChipModel, Geometry, Lpn, Nand, Ppn};
use spec::{Kind, Param, Params, Value};

use self::earnings::{Advice, Earnings};
use self::merge_costs::{MergeCosts, Partition};
use self::partition_regulator::{PartitionRegulator, PartitionState};
use self::random_partition::RandomPartitions;
use self::sequential_log::SequentialLog;
use self::stream_table::StreamTable;
use self::threshold::AutoThreshold;
use crate::contract::{
    Base, Error, Ftl, Merges, Metric, MountConfig, Ram, Report, Result, Run, Scheme, Span,
    Violation, ensure,
};
use crate::part::log::log_map::{self, Lbn, LogMap, WriteTarget};
use crate::part::log::log_mount::{self, FoundLog};
use crate::part::log::merge::{self, MergePlan};
use crate::part::recovery::page_kind;

static PARAMS: &[Param] = &[
    Param {
        name: "log",
        kind: Kind::Count,
        default: "0",
        unit: "blocks",
        doc: "the number of log blocks; 0: all extra blocks but one",
    },
    Param {
        name: "sequential_log",
        kind: Kind::Count,
        default: "0",
        unit: "blocks",
        doc: "the number of blocks in the sequential log; 0: a sixteenth of the log, at least one \
              (LAST §4)",
    },
    Param {
        name: "threshold",
        kind: Kind::SizeOr(&["auto"]),
        default: "4KiB",
        unit: "",
        doc: "requests larger than this go to the sequential log (LAST §3.2); auto: from 4 to \
              64 KiB, by what either log costs for requests of this size",
    },
    Param {
        name: "adapt",
        kind: Kind::Switch,
        default: "true",
        unit: "",
        doc: "whether k and the size of the hot partition adapt (LAST §3.4.2)",
    },
    Param {
        name: "sequential",
        kind: Kind::Choice(&["fixed", "adaptive"]),
        default: "fixed",
        unit: "",
        doc: "whether the size of the sequential log is fixed, or adapts to the merges that it \
              saves (LAST §5 leaves this open)",
    },
    Param {
        name: "detector",
        kind: Kind::Choice(&["size", "streams"]),
        default: "size",
        unit: "",
        doc: "size: large writes are sequential; streams: small writes that continue one another \
              are sequential too (LAST §5)",
    },
];

/// Locality-aware sector translation.
pub static SCHEME: Scheme = Scheme {
    name: "last",
    summary: "separate logs for large writes, hot small writes and cold small writes; victim: the \
              cheapest merge",
    source: "Lee, Shin, Kim, Kim: LAST: locality-aware sector translation for NAND flash \
             memory-based storage systems, SIGOPS OSR 42(6), 2008",
    params: PARAMS,
    corners: &["threshold=512", "threshold=512,detector=streams", "threshold=auto"],
    refuses,
    least_extra,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 64),
    mount,
    ..Scheme::PLAIN
};

/// The minimum of random log blocks: one for each partition.
const LEAST_RANDOM: u64 = 2;
/// Default size of the sequential log: one in this number of log blocks.
const LOG_PER_SEQUENTIAL: u64 = 16;
/// A hot block is old if more than `OLD` · R · Np pages were written to the random log since its
/// last program.
const OLD: u64 = 4;
/// If the size of the sequential log is adaptive, it changes in steps of one `STEP`-th of the log.
const STEP: u32 = 256;

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    let (log, sequential) = (params.count("log"), sequential_log(params, params.count("log")));
    let needs = sequential.saturating_add(LEAST_RANDOM);
    (log > 0 && log < needs).then(|| {
        format!("log={log} is less than {sequential} sequential and {LEAST_RANDOM} random blocks")
    })
}

fn sequential_log(params: &Params, log: u64) -> u64 {
    match params.count("sequential_log") {
        0 => (log / LOG_PER_SEQUENTIAL).max(1),
        given => given,
    }
}

fn least_extra(params: &Params, _: &ChipModel, _: u32) -> u32 {
    let least_log = sequential_log(params, 0).saturating_add(LEAST_RANDOM);
    let log = params.count("log").max(least_log);
    u32::try_from(log.saturating_add(1)).unwrap_or(u32::MAX)
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let mut ftl = Last::format(nand, device);
    if !nand.is_factory_new() {
        for found in log_mount::recover(nand, device, &mut ftl.map)? {
            ftl.take_over(&found)?;
        }
        ftl.regulator.start(ftl.partition_state());
    }
    Ok(Box::new(ftl))
}

struct Last {
    map: LogMap<MergeCosts>,
    detector: Detector,
    sequential: SequentialLog,
    random: RandomPartitions,
    /// Maximum number of log blocks; how many of them are reserved for the sequential log.
    log_blocks: u32,
    sequential_blocks: u32,
    regulator: PartitionRegulator,
    /// What one more block would save, if sizes are adaptive.
    earnings: Option<Earnings>,
    /// The threshold, if it is automatic.
    auto: Option<AutoThreshold>,
    /// Pages to be written to the log until sizes are re-evaluated.
    until_resize: u32,
    /// The valid pages of a random victim, and their logical blocks; reused to save allocations.
    moving: Vec<Lpn>,
    associated: Vec<Lbn>,
    random_merges: Merges,
    counts: LastCounts,
}

/// Counts since the last reset.
#[derive(Clone, Copy, Default)]
struct LastCounts {
    /// Host pages written to each partition.
    pages: [u64; 2],
    dead_hot_victims: u64,
    old_hot_victims: u64,
    cold_victims: u64,
}

/// The log to which a page goes.
#[derive(Clone, Copy)]
enum TargetLog {
    Sequential,
    Random(Partition),
}

impl Last {
    fn format(nand: &Nand, device: &MountConfig) -> Last {
        let mut map = LogMap::observed(nand, device, MergeCosts::new(0, 0));
        let (geometry, params) = (nand.geometry(), device.params);
        let log_blocks = match params.count("log") {
            0 => map.extra_blocks() - 1,
            given => given as u32,
        };
        map.observer = MergeCosts::new(geometry.blocks(), log_blocks);
        let sequential_blocks = sequential_log(params, u64::from(log_blocks)) as u32;
        let pages = geometry.pages_per_block();
        let (is_on, is_adaptive) =
            (params.switch("adapt"), params.choice("sequential") == "adaptive");
        let detector = Detector::new(params);
        let is_auto = detector.threshold_bytes.is_none();
        Last {
            detector,
            sequential: SequentialLog::new(geometry.blocks(), map.logical_blocks(), log_blocks),
            random: RandomPartitions::new(geometry, log_blocks),
            log_blocks,
            sequential_blocks,
            regulator: PartitionRegulator::new(is_on, log_blocks - sequential_blocks, pages),
            earnings: is_adaptive.then(|| Earnings::new(pages)),
            auto: is_auto.then(|| AutoThreshold::new(map.logical_blocks(), log_blocks, pages)),
            until_resize: log_blocks * pages,
            moving: Vec::with_capacity(pages as usize),
            associated: Vec::with_capacity(pages as usize),
            random_merges: Merges::default(),
            counts: LastCounts::default(),
            map,
        }
    }

    // ---- Sizes ----------------------------------------------------------------------------------

    /// Bytes of the merge-cost table: log2 Np bits per random log block (LAST §3.4.3).
    fn cost_table_bytes(&self) -> u64 {
        let bits = u64::from(u32::BITS - (self.map.pages_per_block() - 1).leading_zeros());
        (bits * u64::from(self.random_blocks())).div_ceil(8)
    }

    /// R: maximum number of random log blocks.
    fn random_blocks(&self) -> u32 {
        self.log_blocks - self.sequential_blocks
    }

    /// Blocks that a partition may have.
    fn size_of(&self, partition: Partition) -> u32 {
        match partition {
            Partition::Hot => self.regulator.hot_blocks(),
            Partition::Cold => self.random_blocks() - 1,
        }
    }

    /// Whether all log blocks are in use, even if one part exceeds its size.
    fn is_log_full(&self) -> bool {
        self.sequential.count() + self.random.count() == self.log_blocks
    }

    // ---- Writing --------------------------------------------------------------------------------

    /// The threshold for a run, in bytes.
    fn threshold_for(&self, run: &Run) -> u64 {
        match &self.auto {
            Some(auto) => auto.bytes_for(self.map.lbn_of(run.first)),
            None => self.detector.threshold_bytes.expect("a threshold is fixed or automatic"),
        }
    }

    /// Writes the pages of the run from page `index` on, up to the first page that goes to another
    /// block. Returns the number of pages written.
    fn write_some(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        is_sequential: bool,
    ) -> Result<u32> {
        let lpn = run.first.plus(index);
        let locality = match is_sequential {
            true => TargetLog::Sequential,
            false => TargetLog::Random(self.partition_of(nand.geometry(), lpn)),
        };
        let order = nand.geometry().program_order();
        loop {
            let pages = match self.map.place(order, lpn, run.pages - index) {
                WriteTarget::Home(pages) => return self.map.write_home(nand, run, index, pages),
                WriteTarget::Log(pages) => pages,
            };
            match locality {
                TargetLog::Sequential if self.sequential.takes(&self.map, lpn) => {
                    return self.write_sequential(nand, run, index, pages);
                }
                TargetLog::Sequential => self.make_sequential_room(nand, lpn)?,
                TargetLog::Random(partition) if self.random.has_room(partition) => {
                    return self.write_random(nand, run, index, partition);
                }
                TargetLog::Random(partition) => self.make_random_room(nand, partition)?,
            }
        }
    }

    // ---- The sequential log: LAST §3.3 ----------------------------------------------------------

    fn write_sequential(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        pages: u32,
    ) -> Result<u32> {
        let pages = pages.min(self.until_resize);
        let before = self.sequential.filled_in_pages;
        let done = self.sequential.write(nand, &mut self.map, run, index, pages)?;
        if let Some(auto) = &mut self.auto {
            let lbn = self.map.lbn_of(run.first.plus(index));
            auto.wrote_sequential(lbn, run.request_bytes, self.sequential.filled_in_pages - before);
            auto.count(done);
        }
        self.resize(done);
        Ok(done)
    }

    /// Makes room for a sequential page. If its logical block has a log block that ends beyond the
    /// page, merges that. If it has none, gives it one, or merges another to free one.
    fn make_sequential_room(&mut self, nand: &mut Nand, lpn: Lpn) -> Result<()> {
        let lbn = self.map.lbn_of(lpn);
        if self.sequential.serves(lbn) {
            return self.merge_sequential(nand, lbn).map(drop);
        }
        if self.sequential.count() >= self.sequential_blocks {
            return self.merge_sequential_victim(nand);
        }
        if self.is_log_full() {
            let victim = self.victim_of_both(nand.geometry());
            return self.merge_random(nand, victim.expect("the random log is over its size"));
        }
        let block = self.map.flat.pool.take(nand)?;
        self.sequential.open(lbn, block);
        if let Some(earnings) = &mut self.earnings {
            earnings.note_opened(lbn, lpn.0 % nand.geometry().pages_per_block());
        }
        Ok(())
    }

    fn merge_sequential_victim(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.sequential.victim(&self.map).expect("the sequential log has a block");
        let plan = self.merge_sequential(nand, victim)?;
        if let (Some(earnings), MergePlan::Partial { from }) = (&mut self.earnings, plan) {
            earnings.note_merged(victim, from);
        }
        Ok(())
    }

    fn merge_sequential(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<MergePlan> {
        let plan = self.sequential.merge(nand, &mut self.map, lbn)?;
        if let Some(auto) = &mut self.auto {
            auto.settle_sequential(lbn, plan);
        }
        Ok(plan)
    }

    // ---- Hot and cold: LAST §3.4.2 --------------------------------------------------------------

    /// The partition to which a page belongs at present.
    fn partition_of(&self, geometry: &Geometry, lpn: Lpn) -> Partition {
        if !self.map.is_away(lpn) {
            return Partition::Cold;
        }
        let ppn = self.map.flat.entry(lpn.0);
        match self.map.observer.partition_of(geometry.block_of(ppn)) {
            Some(Partition::Cold) => match self.random.distance(geometry, ppn) {
                Some(distance) if distance < self.regulator.k() => Partition::Hot,
                _ => Partition::Cold,
            },
            Some(Partition::Hot) => Partition::Hot,
            None => Partition::Cold,
        }
    }

    fn write_random(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        partition: Partition,
    ) -> Result<u32> {
        let kind = match partition {
            Partition::Hot => page_kind::HOT,
            Partition::Cold => page_kind::DATA,
        };
        let to = self.random.next_page(nand.geometry(), partition);
        self.map.write_as(nand, run, index, 1, to, kind)?;
        let entered = self.map.observer.partition_of(nand.geometry().block_of(to));
        debug_assert!(entered == Some(partition), "a {partition:?} page entered {entered:?}");
        self.random.wrote(nand.geometry(), &mut self.map, partition);
        self.counts.pages[partition as usize] += 1;
        self.account_random(nand.geometry(), run, index, to);
        if self.regulator.is_due(self.random.clock()) {
            self.regulator.regulate(self.partition_state(), self.random_blocks());
        }
        self.resize(1);
        Ok(1)
    }

    /// Records where a page of the random log comes from, if the threshold is automatic.
    fn account_random(&mut self, geometry: &Geometry, run: &Run, index: u32, to: Ppn) {
        let Some(auto) = &mut self.auto else { return };
        let lpn = run.first.plus(index);
        let is_first = lpn.0.is_multiple_of(geometry.pages_per_block());
        let starts = index == 0 || is_first || geometry.offset_of(to) == 0;
        let place = self.random.place_of(geometry, to);
        auto.wrote_random(place, run.request_bytes, starts);
        auto.count(1);
    }

    fn partition_state(&self) -> PartitionState {
        PartitionState {
            dead: self.map.observer.dead_blocks(Partition::Hot),
            hot: self.random.utilization(&self.map, Partition::Hot),
            cold: self.random.utilization(&self.map, Partition::Cold),
        }
    }

    // ---- Replacement: LAST §3.4.3 ---------------------------------------------------------------

    /// Gives a partition a block, or merges a log block so that one becomes free.
    fn make_random_room(&mut self, nand: &mut Nand, partition: Partition) -> Result<()> {
        let is_at_its_size = self.random.blocks_of(partition) >= self.size_of(partition);
        if is_at_its_size {
            let victim = self.map.observer.cheapest(partition);
            return self
                .merge_random(nand, victim.expect("a partition at its size has full blocks"));
        }
        if self.random.count() >= self.random_blocks() {
            let victim = self.victim_of_both(nand.geometry());
            return self.merge_random(nand, victim.expect("the other partition has full blocks"));
        }
        if self.is_log_full() {
            return self.merge_sequential_victim(nand);
        }
        let block = self.map.flat.pool.take(nand)?;
        self.random.open(&mut self.map, block, partition);
        Ok(())
    }

    /// The best victim of both partitions. (After the random log was made smaller there may be no
    /// cold block.)
    fn victim_of_both(&self, geometry: &Geometry) -> Option<BlockId> {
        let costs = &self.map.observer;
        let old = OLD * u64::from(self.random_blocks()) * u64::from(geometry.pages_per_block());
        let goes =
            |hot: &BlockId| costs.associated(*hot) == 0 || self.random.age(geometry, *hot) > old;
        let hot = costs.cheapest(Partition::Hot);
        hot.filter(goes).or(costs.cheapest(Partition::Cold)).or(hot)
    }

    fn merge_random(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        self.list_pages(nand, victim);
        match self.map.observer.partition_of(victim) {
            Some(Partition::Hot) if self.moving.is_empty() => self.counts.dead_hot_victims += 1,
            Some(Partition::Hot) => self.counts.old_hot_victims += 1,
            _ => self.counts.cold_victims += 1,
        }
        if let Some(earnings) = &mut self.earnings {
            earnings.note_victim(&self.map, &self.moving);
        }
        self.settle_random(nand.geometry(), victim);
        self.random.remove(&mut self.map, victim);
        let merges = &mut self.random_merges;
        match self.associated.is_empty() {
            true => merge::dead(nand, &mut self.map, merges, victim),
            false => merge::full(nand, &mut self.map, merges, &self.associated, victim),
        }
    }

    /// Settles a victim whose valid pages are listed, if the threshold is automatic.
    fn settle_random(&mut self, geometry: &Geometry, victim: BlockId) {
        let Some(auto) = &mut self.auto else { return };
        auto.settle_random(self.random.places_of(geometry, victim));
        let map = &self.map;
        for pages in self.moving.chunk_by(|one, other| map.lbn_of(*one) == map.lbn_of(*other)) {
            let first = map.flat.entry(pages[0].0);
            auto.charge_random(self.random.place_of(geometry, first));
        }
    }

    /// Lists the valid pages of a victim, ascending, and their logical blocks.
    fn list_pages(&mut self, nand: &Nand, victim: BlockId) {
        let slots = nand.geometry().first_page(victim).0..;
        let owners = nand.owners(victim).iter().map(|&owner| Lpn(owner)).zip(slots);
        let is_valid = |&(lpn, slot): &(Lpn, u32)| {
            lpn.is_host() && self.map.flat.newest(lpn).is_some_and(|newest| newest.0 == slot)
        };
        self.moving.clear();
        self.moving.extend(owners.filter(is_valid).map(|(lpn, _)| lpn));
        self.moving.sort_unstable();
        self.associated.clear();
        self.associated.extend(self.moving.iter().map(|&lpn| self.map.lbn_of(lpn)));
        self.associated.dedup();
    }

    // ---- Sizes by earnings: beyond the paper ----------------------------------------------------

    /// Counts pages written to the log. When the interval ends, moves a block between the parts of
    /// the log.
    fn resize(&mut self, pages: u32) {
        let Some(earnings) = &mut self.earnings else { return };
        self.until_resize -= pages;
        if self.until_resize > 0 {
            return;
        }
        self.until_resize = self.log_blocks * self.map.pages_per_block();
        let step = (self.log_blocks / STEP).max(1);
        let most = self.log_blocks - LEAST_RANDOM as u32;
        self.sequential_blocks = match earnings.advise() {
            Advice::Sequential => (self.sequential_blocks + step).min(most),
            Advice::Random => self.sequential_blocks.saturating_sub(step).max(1),
            Advice::Stay => self.sequential_blocks,
        };
        self.regulator.fit(self.random_blocks());
    }

    // ---- Recovery -------------------------------------------------------------------------------

    /// Assigns a role to a log block that a mount found.
    fn take_over(&mut self, found: &FoundLog) -> Result<()> {
        if self.is_log_full() {
            let why = format!("there are more than {} log blocks", self.log_blocks);
            return Err(Error::Unmountable(why));
        }
        let has_seat = self.sequential.count() < self.sequential_blocks;
        if found.is_home && has_seat && !self.sequential.serves(found.lbns[0]) {
            self.sequential.adopt(&self.map, found.lbns[0], found.block);
            return Ok(());
        }
        let (wanted, other) = match found.kind {
            page_kind::HOT => (Partition::Hot, Partition::Cold),
            _ => (Partition::Cold, Partition::Hot),
        };
        let has_room = self.random.blocks_of(wanted) < self.random_blocks() - 1;
        let partition = if has_room { wanted } else { other };
        self.random.adopt(&mut self.map, found, partition);
        Ok(())
    }

    // ---- Queries --------------------------------------------------------------------------------

    fn log(&self) -> impl Iterator<Item = BlockId> + '_ {
        let random = Partition::BOTH
            .into_iter()
            .flat_map(|partition| self.random.iter(&self.map, partition));
        self.sequential.blocks().chain(random)
    }

    fn audit_sizes(&self) -> core::result::Result<(), Violation> {
        let (sequential, random) = (self.sequential.count(), self.random.count());
        let (most, of) = (self.sequential_blocks, self.log_blocks);
        ensure!(sequential + random <= of, "{sequential} and {random} log blocks, at most {of}");
        let is_fixed = self.earnings.is_none();
        ensure!(!is_fixed || sequential <= most, "{sequential} sequential blocks, at most {most}");
        let most = self.random_blocks();
        ensure!(!is_fixed || random <= most, "{random} random blocks, at most {most}");
        for partition in Partition::BOTH {
            let blocks = self.random.blocks_of(partition);
            ensure!(
                !is_fixed || blocks < most,
                "{blocks} of {most} random blocks are {partition:?}"
            );
        }
        self.regulator.audit(most)
    }

    fn merges(&self) -> Merges {
        let (one, other) = (&self.sequential.merges, &self.random_merges);
        let longer = one.associated_blocks.len().max(other.associated_blocks.len());
        let of = |counts: &Merges, i: usize| counts.associated_blocks.get(i).copied().unwrap_or(0);
        Merges {
            switch: one.switch + other.switch,
            partial: one.partial + other.partial,
            full: one.full + other.full,
            dead: one.dead + other.dead,
            associated_blocks: (0..longer).map(|i| of(one, i) + of(other, i)).collect(),
        }
    }
}

/// The detector: it tells sequential writes from random ones (LAST §3.2).
struct Detector {
    /// The threshold; `None` if it is automatic.
    threshold_bytes: Option<u64>,
    streams: Option<StreamTable>,
}

impl Detector {
    fn new(params: &Params) -> Detector {
        let notices_streams = params.choice("detector") == "streams";
        let streams = notices_streams.then(StreamTable::default);
        let threshold_bytes = match params.get("threshold") {
            Some(Value::Size(bytes)) => Some(*bytes),
            _ => None,
        };
        Detector { threshold_bytes, streams }
    }

    fn is_sequential(&mut self, run: &Run, threshold_bytes: u64, page_bytes: u32) -> bool {
        let is_large = run.request_bytes > threshold_bytes && run.pages > 1;
        let Some(streams) = &mut self.streams else { return is_large };
        let stream = streams.extend(run.first, run.pages);
        is_large || stream.is_some_and(|pages| pages * u64::from(page_bytes) > threshold_bytes)
    }
}

impl Ftl for Last {
    fn base(&self) -> &dyn Base {
        &self.map
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        &mut self.map
    }

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        let (threshold, page_bytes) = (self.threshold_for(run), nand.geometry().page_bytes());
        let is_sequential = self.detector.is_sequential(run, threshold, page_bytes);
        let mut index = 0;
        while index < run.pages {
            index += self.write_some(nand, run, index, is_sequential)?;
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, self.log())?;
        self.sequential.audit(nand, &self.map)?;
        self.random.audit(nand, &self.map)?;
        if let Some(auto) = &self.auto {
            auto.audit(|lbn| self.sequential.serves(lbn))?;
        }
        self.audit_sizes()
    }

    fn report(&self) -> Report {
        let mut report = self.map.report();
        self.add_ram(&mut report.ram);
        report.merges = Some(self.merges());
        report.figures.extend(self.figures());
        report.gauges = self.gauges();
        report
    }

    fn reset_report(&mut self) {
        self.map.reset_report();
        self.sequential.reset_counts();
        self.random_merges = Merges::default();
        self.counts = LastCounts::default();
    }
}

impl Last {
    /// As in LAST §4, the random log is mapped by page and the sequential log by block. In addition
    /// there is the merge-cost table, with log2 Np bits per random log block. The dates of random
    /// log pages, four bytes each, are not in the paper's count.
    fn add_ram(&self, ram: &mut Ram) {
        let (random, sequential) = (self.random_blocks(), self.sequential_blocks);
        let random_pages = u64::from(random) * u64::from(self.map.pages_per_block());
        let streams = self.detector.streams.as_ref().map_or(0, |_| 8 * stream_table::ENDS as u64);
        let auto = self.auto.as_ref().map_or(0, AutoThreshold::ram_bytes);
        ram.map += 4 * random_pages + 4 * u64::from(sequential);
        ram.other += self.cost_table_bytes() + 4 * random_pages + streams + auto;
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        let counts = &self.counts;
        let (sequential, random) = (&self.sequential.merges, &self.random_merges);
        let by_degree = Metric::Counts(random.associated_blocks.clone());
        let figures = [
            ("sequential_pages", self.sequential.pages),
            ("hot_pages", counts.pages[Partition::Hot as usize]),
            ("cold_pages", counts.pages[Partition::Cold as usize]),
            ("filled_in_pages", self.sequential.filled_in_pages),
            ("dead_hot_victims", counts.dead_hot_victims),
            ("old_hot_victims", counts.old_hot_victims),
            ("cold_victims", counts.cold_victims),
            ("sequential_switch_merges", sequential.switch),
            ("sequential_partial_merges", sequential.partial),
            ("sequential_full_merges", sequential.full),
            ("sequential_dead_merges", sequential.dead),
            ("random_full_merges", random.full),
            ("random_dead_merges", random.dead),
            ("merge_cost_table_bytes", self.cost_table_bytes()),
        ];
        let figures = figures.map(|(name, count)| (name, Metric::Count(count))).into_iter();
        figures.chain([("rw_associated_blocks", by_degree)]).collect()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let now = self.partition_state();
        let mut gauges = vec![
            ("U_hot", now.hot.ratio()),
            ("U_cold", now.cold.ratio()),
            ("N_d", f64::from(now.dead)),
            ("k", self.regulator.k() as f64),
            ("hot_blocks", f64::from(self.random.blocks_of(Partition::Hot))),
            ("cold_blocks", f64::from(self.random.blocks_of(Partition::Cold))),
            ("hot_cap", f64::from(self.regulator.hot_blocks())),
            ("sequential_blocks", f64::from(self.sequential.count())),
            ("sequential_cap", f64::from(self.sequential_blocks)),
        ];
        let threshold = self.auto.as_ref().map(|auto| ("threshold_bytes", auto.bytes() as f64));
        gauges.extend(threshold);
        gauges
    }
}
