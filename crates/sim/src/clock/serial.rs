//! The serial clock: one operation after the other, as all five papers count.
//!
//! ```text
//! service(request)   = Σ count × latency over the operations that it causes
//! increment(request) = the part of its service time that is not under cause host
//! ```
//! Without layers, cause host covers exactly the pages of the request. A write buffer, however,
//! hands down pages of earlier requests.
//!
//! Under open replay one server takes the requests in the order of their arrival:
//!
//! ```text
//! start = max(arrival, end of the previous one)    response = start + service − arrival
//! ```

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

/// The one server of an open replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    free_at_ns: u64,
}

impl Server {
    /// Serves a request and returns its response time.
    #[inline]
    pub fn serve(&mut self, arrival_ns: u64, service_ns: u64) -> u64 {
        self.free_at_ns = self.free_at_ns.max(arrival_ns).saturating_add(service_ns);
        self.free_at_ns - arrival_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_a_busy_server() {
        let mut server = Server::default();
        assert_eq!(server.serve(0, 100), 100);
        assert_eq!(server.serve(10, 100), 190, "waits 90");
        assert_eq!(server.serve(500, 1), 1, "the server is idle");
        assert_eq!(server.serve(500, 0), 1, "waits for a request that arrived at the same time");
    }
}
