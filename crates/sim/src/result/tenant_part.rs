//! The part of a result for one of several loads.

use serde::Serialize;
use serde_json::Value;

use crate::config::replay::Replay;
use crate::result::counts::HostPages;
use crate::result::latencies::{ByOp, Summary};
use crate::result::run_result::{NOT_SERVED, TracePart};

/// The requests of a load and their times.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/results.md documents every field of a result")]
pub struct TenantPart {
    #[serde(flatten)]
    pub trace: TracePart,
    pub trace_sha256: Option<String>,
    pub replay: Replay,
    /// The first byte of its part of the device.
    pub first_byte: u64,
    /// The size of its part.
    pub bytes: u64,
    /// Pages that it requested.
    pub host_pages: HostPages,
    /// The sum of its service times.
    pub time_us: f64,
    pub service_us: ByOp<Summary>,
    pub increment_us: ByOp<Summary>,
    pub response_us: ByOp<Summary>,
}

impl TenantPart {
    /// The load as the user writes it.
    pub fn label(&self) -> String {
        format!("{}@{}", self.trace.name, self.replay)
    }

    /// The number of requests that were served.
    pub fn served(&self) -> u64 {
        let TracePart { reads, writes, trims, flushes, .. } = self.trace;
        reads + writes + trims + flushes
    }

    /// The number of requests that were left when the run ended.
    pub fn not_served(&self) -> u64 {
        self.trace.skipped.get(NOT_SERVED).and_then(Value::as_u64).unwrap_or(0)
    }
}
