//! The serial clock: one operation after the other, as all five papers count.
//!
//! ```text
//! service(request)   = Σ count × latency over the operations that it causes
//! increment(request) = the part of its service time that is not under cause host
//! ```
//! Without layers, cause host covers exactly the pages of the request. A write buffer, however,
//! hands down pages of earlier requests.
//!
//! The [`service_queue`](super::service_queue) adds the time that requests wait.

use nand::{Cause, Tally, Timing};

/// The largest latency: sums over realistic counts must fit into 64 bits of nanoseconds.
pub const LATENCY_NS_MAX: u64 = 10_000_000_000;

/// Turns the tally of a chip into time.
#[derive(Clone, Copy, Debug)]
pub struct SerialClock {
    timing: Timing,
}

impl SerialClock {
    /// A clock for a chip with these latencies.
    pub fn new(timing: Timing) -> SerialClock {
        SerialClock { timing }
    }

    /// The time of all operations since the last reset.
    #[inline]
    pub fn now_ns(&self, tally: &Tally) -> u64 {
        self.timing.serial_ns(tally)
    }

    /// The time of the operations under cause host.
    #[inline]
    pub fn host_ns(&self, tally: &Tally) -> u64 {
        self.timing.serial_ns_under(Cause::Host, tally)
    }
}
