//! The results of reading a trace before it is replayed.

use trace::Request;

/// What a device for a trace has to be able to hold, and whether the trace has times.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// For each volume the end of the last byte that is requested.
    ends: Vec<u64>,
    requests: u64,
    last_time_ns: u64,
}

impl Survey {
    /// Adds the next request.
    #[inline]
    pub fn see(&mut self, request: &Request) {
        let device = request.device as usize;
        if device >= self.ends.len() {
            self.ends.resize(device + 1, 0);
        }
        self.ends[device] = request.end().max(self.ends[device]);
        self.requests += 1;
        self.last_time_ns = request.time_ns;
    }

    /// Whether there are several requests and all have the same time. Times begin at 0 and never
    /// decrease.
    pub fn has_one_time(&self) -> bool {
        self.requests > 1 && self.last_time_ns == 0
    }

    /// For each volume the end of the last byte that is requested.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }
}
