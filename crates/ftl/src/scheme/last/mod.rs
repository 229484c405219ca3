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
//! **Beyond the paper** there are three tuners, all off by default: see [`beyond`].
//!
//! Invariants: there are at most `log` log blocks, so at least one block is clean while no merge is
//! in progress. A partition has at most one open block, and only full blocks are victims. 1 ≤ k ≤
//! R·Np, and the maximum size of the hot partition is between 1 and R − 1.
//!
//! **Recovery**: see `recovery.rs`.
//!
//! **Wear** (§3.4.3). Blocks of the hot partition are erased often, and those with cold data nearly
//! never, so the paper exchanges hot and cold blocks periodically. `--wear swap` does that, below
//! this scheme and every other one: see [`nand::wear`].

pub mod beyond;
pub mod merge_costs;
pub mod partition_regulator;
pub mod random_partition;
pub mod random_victim;
pub mod ranking;
mod recovery;
mod replacement;
mod report;
pub mod sequential_log;

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Nand};
use spec::{Kind, Param, Params, Value};

use self::beyond::Tuners;
use self::beyond::threshold::{self, AutoThreshold, HasThreshold};
use self::merge_costs::{MergeCosts, Partition};
use self::partition_regulator::{PartitionRegulator, PartitionState};
use self::random_partition::{LEAST_RANDOM, RandomPartitions};
use self::random_victim::RandomVictim;
use self::sequential_log::SequentialLog;
use crate::contract::{
    Act, BlockRole, Ftl, Lecture, Merges, MountConfig, Report, Result, Run, Scheme, Span,
    Violation, base_is, ensure,
};
use crate::part::log::log_map::{self, LogMap, WriteTarget};
use crate::part::log::log_mount;
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
        doc: "requests larger than this go to the sequential log (LAST §3.2); auto: from 512 \
              bytes to 64 KiB, as it would have cost least",
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
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[
        Act {
            cause: Cause::Merge,
            from: "sequential log",
            to: "data",
            name: "sequential merge",
            says: "A sequential log block is reclaimed: the pages that it lacks are copied to \
               it, or the newest pages are gathered in a clean block.",
        },
        Act {
            cause: Cause::Merge,
            from: "hot log",
            to: "data",
            name: "hot merge",
            says: "A block of the hot partition is reclaimed although some of its pages are \
               still valid. Each of their logical blocks is merged.",
        },
        Act {
            cause: Cause::Merge,
            from: "cold log",
            to: "data",
            name: "cold merge",
            says: "A block of the cold partition is reclaimed. Each logical block with a valid \
               page in it is merged: its newest pages are gathered in a clean block. The \
               victim is the block with the fewest such logical blocks.",
        },
    ],
    params: PARAMS,
    corners: &["threshold=512", "threshold=512,detector=streams", "threshold=auto"],
    refuses,
    least_extra,
    memory: |params, geometry, _| {
        let last = log_map::memory_bytes(geometry, 64);
        last + threshold::memory_bytes(params, geometry, last)
    },
    mount,
    ..Scheme::PLAIN
};

/// Default size of the sequential log: one in this number of log blocks.
const LOG_PER_SEQUENTIAL: u64 = 16;

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
    match device.params.get("threshold") {
        Some(Value::Size(_)) => Ok(Box::new(ftl)),
        _ => {
            let log_pages = ftl.log_blocks * nand.geometry().pages_per_block();
            let format = |nand: &Nand| Last::format(nand, device);
            Ok(Box::new(AutoThreshold::new(ftl, nand, device.timing, log_pages, format)?))
        }
    }
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

struct Last {
    map: LogMap<MergeCosts>,
    /// Runs of larger requests are sequential.
    threshold_bytes: u64,
    sequential: SequentialLog,
    random: RandomPartitions,
    /// Maximum number of log blocks; how many of them are reserved for the sequential log.
    log_blocks: u32,
    sequential_blocks: u32,
    regulator: PartitionRegulator,
    /// The tuners beyond the paper.
    tuners: Tuners,
    /// The random block that is being merged; reused to save allocations.
    victim: RandomVictim,
    random_merges: Merges,
    counts: LastCounts,
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
        let (is_on, random_blocks) = (params.switch("adapt"), log_blocks - sequential_blocks);
        let threshold_bytes = match params.get("threshold") {
            Some(Value::Size(bytes)) => *bytes,
            _ => 0,
        };
        Last {
            threshold_bytes,
            sequential: SequentialLog::new(geometry.blocks(), map.logical_blocks(), log_blocks),
            random: RandomPartitions::new(geometry, log_blocks),
            log_blocks,
            sequential_blocks,
            regulator: PartitionRegulator::new(is_on, random_blocks, pages),
            tuners: Tuners::new(params, &map, log_blocks),
            victim: RandomVictim::new(pages),
            random_merges: Merges::default(),
            counts: LastCounts::default(),
            map,
        }
    }

    // ---- Sizes ----------------------------------------------------------------------------------

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

    /// The detector: it tells sequential runs from random ones (LAST §3.2).
    fn is_sequential(&mut self, run: &Run, page_bytes: u32) -> bool {
        let is_large = run.request_bytes > self.threshold_bytes && run.pages > 1;
        self.tuners.continues_stream(run, self.threshold_bytes, page_bytes) || is_large
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
        let pages = pages.min(self.tuners.pages_max());
        let pages = self.sequential.write(nand, &mut self.map, run, index, pages)?;
        self.resize(pages);
        Ok(pages)
    }

    /// Makes room for a sequential page. If its logical block has a log block that ends beyond the
    /// page, merges that. If it has none, gives it one, or merges another to free one.
    fn make_sequential_room(&mut self, nand: &mut Nand, lpn: Lpn) -> Result<()> {
        let lbn = self.map.lbn_of(lpn);
        if self.sequential.serves(lbn) {
            return self.sequential.merge(nand, &mut self.map, lbn).map(drop);
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
        self.tuners.opened(&self.map, lpn);
        Ok(())
    }

    fn merge_sequential_victim(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.sequential.victim(&self.map).expect("the sequential log has a block");
        let plan = self.sequential.merge(nand, &mut self.map, victim)?;
        self.tuners.evicted(victim, plan);
        Ok(())
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
        if self.regulator.is_due(self.random.clock()) {
            self.regulator.regulate(self.partition_state(), self.random_blocks());
        }
        self.resize(1);
        Ok(1)
    }

    fn partition_state(&self) -> PartitionState {
        PartitionState {
            dead: self.map.observer.dead_blocks(Partition::Hot),
            hot: self.random.utilization(&self.map, Partition::Hot),
            cold: self.random.utilization(&self.map, Partition::Cold),
        }
    }

    /// Counts pages written to the log. The tuners may resize the sequential log. Stands apart:
    /// inlined, it cost its caller as many instructions as the call saved.
    #[inline(never)]
    fn resize(&mut self, pages: u32) {
        if let Some(blocks) = self.tuners.resize(pages, self.sequential_blocks) {
            self.sequential_blocks = blocks;
            self.regulator.fit(self.random_blocks());
        }
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
        let is_fixed = !self.tuners.resizes();
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
}

impl HasThreshold for Last {
    fn set_threshold(&mut self, bytes: u64) {
        self.threshold_bytes = bytes;
    }

    fn follow(&mut self, rival: &Last) {
        self.threshold_bytes = rival.threshold_bytes;
        self.sequential_blocks = rival.sequential_blocks;
        self.regulator.follow(&rival.regulator);
    }
}

impl Ftl for Last {
    base_is!(self.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        let is_sequential = self.is_sequential(run, nand.geometry().page_bytes());
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
        self.audit_sizes()
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(self.map.data_roles());
        roles.extend(self.sequential.blocks().map(|it| BlockRole::plain(it, "sequential log")));
        for (partition, name) in [(Partition::Hot, "hot log"), (Partition::Cold, "cold log")] {
            let blocks = self.random.iter(&self.map, partition);
            roles.extend(blocks.map(|block| BlockRole::plain(block, name)));
        }
    }

    fn report(&self) -> Report {
        self.own_report()
    }

    fn reset_report(&mut self) {
        self.map.reset_report();
        self.sequential.reset_counts();
        self.random_merges = Merges::default();
        self.counts = LastCounts::default();
    }
}
