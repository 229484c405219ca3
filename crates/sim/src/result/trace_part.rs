//! The requests of a result: those of the whole run, and those of each of several loads.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::result::counts::HostPages;
use crate::result::latencies::{ByOp, Summary};
use crate::result::record::record;

/// The reason for skipping requests that a load still had when the run ended.
pub const NOT_SERVED: &str = "not served";

record! {
    /// The requests of the measured pass.
    #[derive(Clone, Debug, Default)]
    pub struct TracePart {
        pub name: String,
        pub format: String,
        /// Requests read from the trace, served or skipped.
        pub requests: u64,
        pub reads: u64,
        pub writes: u64,
        pub trims: u64,
        /// Flushes that are requests of their own.
        pub flushes: u64,
        pub read_bytes: u64,
        pub written_bytes: u64,
        /// Distinct logical pages that reads and writes touched.
        pub footprint_pages: u64,
        pub skipped: Map<String, Value>,
        pub trimmed_bytes: u64,
        /// Trims that cover no whole page; serving them does nothing.
        pub trims_of_no_page: u64,
        /// Requests that ask for a flush before they are served; pure flushes are included.
        pub preflushes: u64,
        /// Writes that ask to be durable when they are answered (forced unit access).
        pub fua: u64,
        /// Requests with a time before that of an earlier request.
        pub backward_times: u64,
    }
}

impl TracePart {
    /// The number of requests that were served.
    pub fn served(&self) -> u64 {
        self.reads + self.writes + self.trims + self.flushes
    }
}

/// The requests of a load and their times.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/results.md documents every field of a result")]
pub struct TenantPart {
    #[serde(flatten)]
    pub trace: TracePart,
    pub trace_sha256: Option<String>,
    pub replay: String,
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
        self.trace.served()
    }

    /// The number of requests that were left when the run ended.
    pub fn not_served(&self) -> u64 {
        self.trace.skipped.get(NOT_SERVED).and_then(Value::as_u64).unwrap_or(0)
    }
}
