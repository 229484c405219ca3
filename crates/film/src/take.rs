//! A take: consecutive requests with all their operations, and the state of everything before.

use nand::{Cause, Op, OpRecord, RecordedBulk, Tally};

use crate::moment::{HostOp, Moment};
use crate::picture::{Blocks, Correction, Picture, Role};
use crate::scene::Scene;

/// Counters between two requests.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Requests served.
    pub requests: u64,
    /// Operations since the counters were reset, by kind and cause.
    pub tally: Tally,
    /// Pages of writes that entered the scheme.
    pub entered: u64,
    /// Free blocks.
    pub free_blocks: u32,
    /// The gauges of the FTL.
    pub gauges: Vec<f64>,
}

impl Counters {
    /// The counters now, after `requests` requests.
    pub fn of(now: &Moment, requests: u64) -> Counters {
        let report = now.report();
        Counters {
            requests,
            tally: now.nand.tally().clone(),
            entered: now.entered,
            free_blocks: report.free_blocks,
            gauges: report.gauges.iter().map(|(_, value)| *value).collect(),
        }
    }

    /// Operations of a kind, by cause.
    pub fn by_cause(&self, op: Op) -> [u64; Cause::ALL.len()] {
        Cause::ALL.map(|cause| self.tally.count(op, cause))
    }
}

/// A take.
pub struct Take {
    /// Its number among all takes, also those that are not kept.
    pub number: u64,
    /// Whether a power cut left the flash, so it may not be that at the end of the take before.
    pub is_cut: bool,
    /// The flash before its first request.
    pub blocks: Blocks,
    /// Programs that the film saw before its first request.
    pub programs: u32,
    /// The counters before its first request.
    pub before: Counters,
    /// Its requests.
    pub requests: Vec<TakenRequest>,
    /// Their pages.
    pub spans: Vec<TakenSpan>,
    /// Their operations.
    pub operations: OpRecord,
    /// Their scenes.
    pub scenes: Vec<Scene>,
    /// Corrections of places, at the end of their requests.
    pub corrections: Vec<Correction>,
    /// Changes of roles, at the end of their requests.
    pub roles: Vec<(u32, Role)>,
}

/// A request of a take. It has the next ones of each list.
#[derive(Clone, Debug)]
pub struct TakenRequest {
    /// Its number in the pass.
    pub number: u64,
    /// What it asks for.
    pub op: HostOp,
    /// Spans of pages.
    pub spans: u32,
    /// Bulks of operations.
    pub bulks: u32,
    /// Scenes.
    pub scenes: u32,
    /// Corrections.
    pub corrections: u32,
    /// Changes of roles.
    pub roles: u32,
    /// Pages of writes that have entered the scheme at its end.
    pub entered: u64,
    /// Free blocks at its end.
    pub free_blocks: u32,
    /// Gauges at its end.
    pub gauges: Vec<f64>,
}

/// Consecutive pages of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenSpan {
    /// The first page.
    pub first: u32,
    /// The number of pages.
    pub pages: u32,
    /// The stream of a write; 0 for none.
    pub stream: u8,
}

impl Take {
    /// A take that begins now.
    pub fn new(number: u64, flash: &Picture, before: Counters) -> Take {
        Take {
            number,
            is_cut: false,
            blocks: flash.blocks.clone(),
            programs: flash.programs(),
            before,
            requests: Vec::new(),
            spans: Vec::new(),
            operations: OpRecord::default(),
            scenes: Vec::new(),
            corrections: Vec::new(),
            roles: Vec::new(),
        }
    }

    /// How much there is to see: kinds of scenes count most, then scenes.
    pub fn interest(&self) -> u64 {
        let kinds = self.scenes.iter().fold(0_u64, |kinds, scene| kinds | 1 << (scene.kind % 64));
        64 * u64::from(kinds.count_ones()) + (self.scenes.len() as u64).min(63)
    }

    /// Operations; a copy is one.
    pub fn steps(&self) -> u64 {
        self.operations.bulks().map(|bulk| steps_of(&bulk)).sum()
    }
}

/// Operations of a bulk; a copy is one.
pub fn steps_of(bulk: &RecordedBulk) -> u64 {
    match bulk {
        RecordedBulk::Run { owners, .. } | RecordedBulk::Copies { owners, .. } => {
            owners.len() as u64
        }
    }
}
