//! The serial clock: one operation after the other, as all five papers count.
//!
//! ```text
//! service(request)   = Σ count × latency over the operations that it set off
//! increment(request) = the part of that which is not under cause host
//! ```
//! Without layers what is under cause host is the bare operation, the request's own pages; a write
//! buffer hands down pages of earlier requests.
//!
//! Under open replay one server takes the requests in the order of their arrival:
//!
//! ```text
//! start = max(arrival, end of the one before)    response = start + service − arrival
//! ```

use nand::{Cause, Tally, Timing};

/// Latencies above this are refused: sums of real counts must fit 64 bits of nanoseconds.
pub const LATENCY_NS_MAX: u64 = 10_000_000_000;

/// Reads the chip's tally as a clock.
#[derive(Clone, Copy, Debug)]
pub struct SerialClock {
    timing: Timing,
}

impl SerialClock {
    /// A clock for a chip of these latencies.
    pub fn new(timing: Timing) -> SerialClock {
        SerialClock { timing }
    }

    /// The time that all operations since the last reset took.
    #[inline]
    pub fn now_ns(&self, tally: &Tally) -> u64 {
        self.timing.serial_ns(tally)
    }

    /// The part of it that the host's own pages took.
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
    fn a_server_lets_requests_wait_for_each_other_and_never_goes_back() {
        let mut server = Server::default();
        assert_eq!(server.serve(0, 100), 100);
        assert_eq!(server.serve(10, 100), 190, "waits 90");
        assert_eq!(server.serve(500, 1), 1, "comes to an idle server");
        assert_eq!(server.serve(500, 0), 1, "waits for its twin");
    }
}
