//! Counts and times of a result: pages, operations by cause, merges.

use ftl::Entered;
use nand::{Cause, Op, Tally, Timing};
use serde::Serialize;

use crate::result::latencies::us;

/// Pages that entered the scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostPages {
    /// Pages of reads, mapped or not.
    pub read: u64,
    /// Pages of writes, in part or whole.
    pub written: u64,
    /// Pages of trims.
    pub trimmed: u64,
}

impl From<Entered> for HostPages {
    fn from(entered: Entered) -> HostPages {
        let Entered { read, written, trimmed } = entered;
        HostPages { read, written, trimmed }
    }
}

impl From<HostPages> for Entered {
    fn from(pages: HostPages) -> Entered {
        let HostPages { read, written, trimmed } = pages;
        Entered { read, written, trimmed }
    }
}

/// Operations of one kind by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct Causes {
    pub host: u64,
    pub rmw: u64,
    pub gc: u64,
    pub merge: u64,
    pub map: u64,
    pub log: u64,
    pub wear: u64,
    pub meta: u64,
    pub total: u64,
}

impl Causes {
    /// The counts that `count` gives for each cause, and `total` beside them.
    pub fn new(count: impl Fn(Cause) -> u64, total: u64) -> Causes {
        Causes {
            host: count(Cause::Host),
            rmw: count(Cause::Rmw),
            gc: count(Cause::Gc),
            merge: count(Cause::Merge),
            map: count(Cause::Map),
            log: count(Cause::Log),
            wear: count(Cause::Wear),
            meta: count(Cause::Meta),
            total,
        }
    }

    /// The operations of one kind in a tally.
    pub fn of(tally: &Tally, op: Op) -> Causes {
        Causes::new(|cause| tally.count(op, cause), tally.total(op))
    }

    /// The copies in a tally.
    pub fn copies(tally: &Tally) -> Causes {
        Causes::new(|cause| tally.copies(cause), tally.copies_total())
    }

    /// The count under one cause.
    pub fn get(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Host => self.host,
            Cause::Rmw => self.rmw,
            Cause::Gc => self.gc,
            Cause::Merge => self.merge,
            Cause::Map => self.map,
            Cause::Log => self.log,
            Cause::Wear => self.wear,
            Cause::Meta => self.meta,
        }
    }

    /// The counts by name, in the order of the causes.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Cause::ALL.into_iter().map(|cause| (cause.name(), self.get(cause)))
    }
}

/// Merges of a log-block scheme.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct MergesPart {
    pub switch: u64,
    pub partial: u64,
    pub full: u64,
    pub dead: u64,
    pub associated_blocks: Vec<u64>,
}

impl From<ftl::Merges> for MergesPart {
    fn from(merges: ftl::Merges) -> MergesPart {
        let ftl::Merges { switch, partial, full, dead, associated_blocks } = merges;
        MergesPart { switch, partial, full, dead, associated_blocks }
    }
}

/// Serial time by cause.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct TimePart {
    pub total: f64,
    pub dram: f64,
    pub host: f64,
    pub rmw: f64,
    pub gc: f64,
    pub merge: f64,
    pub map: f64,
    pub log: f64,
    pub wear: f64,
    pub meta: f64,
}

impl TimePart {
    /// Σ count × latency for each cause, and over all, with the time of the layers' DRAM.
    pub fn of(tally: &Tally, timing: &Timing, dram_ns: u64) -> TimePart {
        let spent = |cause| us(timing.serial_ns_under(cause, tally));
        TimePart {
            total: us(timing.serial_ns(tally) + dram_ns),
            dram: us(dram_ns),
            host: spent(Cause::Host),
            rmw: spent(Cause::Rmw),
            gc: spent(Cause::Gc),
            merge: spent(Cause::Merge),
            map: spent(Cause::Map),
            log: spent(Cause::Log),
            wear: spent(Cause::Wear),
            meta: spent(Cause::Meta),
        }
    }

    /// The fields beside the total, by name.
    pub fn fields(&self) -> [(&'static str, f64); 9] {
        [
            ("dram", self.dram),
            ("host", self.host),
            ("rmw", self.rmw),
            ("gc", self.gc),
            ("merge", self.merge),
            ("map", self.map),
            ("log", self.log),
            ("wear", self.wear),
            ("meta", self.meta),
        ]
    }
}
