//! Counts of requests by their kind.

use trace::{Flags, Op, Request};

/// Counts of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests that flush before anything else.
    pub preflushes: u64,
    /// Requests whose data are durable when they complete.
    pub fua: u64,
    /// Trims that contain no whole page.
    pub trims_of_no_page: u64,
    /// Requests of each kind, by the code of the operation.
    requests: [u64; Op::ALL.len()],
    /// Their bytes.
    bytes: [u64; Op::ALL.len()],
}

impl RequestCounts {
    /// Counts a request that is served. `of_no_page` tells whether it has no page.
    #[inline]
    pub fn add(&mut self, request: &Request, of_no_page: bool) {
        let Request { op, flags, bytes, .. } = *request;
        self.requests[op as usize] += 1;
        self.bytes[op as usize] = self.bytes[op as usize].saturating_add(bytes);
        if flags != Flags::empty() {
            self.preflushes += u64::from(flags.contains(Flags::PREFLUSH));
            self.fua += u64::from(flags.contains(Flags::FUA));
        }
        if op == Op::Trim {
            self.trims_of_no_page += u64::from(of_no_page);
        }
    }

    /// Counts writes without flags.
    pub fn add_writes(&mut self, requests: u64, bytes: u64) {
        let op = Op::Write as usize;
        self.requests[op] += requests;
        self.bytes[op] = self.bytes[op].saturating_add(bytes);
    }

    /// Adds other counts.
    pub fn add_all(&mut self, other: &RequestCounts) {
        self.preflushes += other.preflushes;
        self.fua += other.fua;
        self.trims_of_no_page += other.trims_of_no_page;
        for op in Op::ALL.map(|op| op as usize) {
            self.requests[op] += other.requests[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
    }

    /// The number of requests of a kind.
    pub fn requests(&self, op: Op) -> u64 {
        self.requests[op as usize]
    }

    /// The bytes of the requests of a kind; the largest number if they are more.
    pub fn bytes(&self, op: Op) -> u64 {
        self.bytes[op as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, bytes: u64, flags: Flags) -> Request {
        Request { time_ns: 0, offset: 0, bytes, device: 0, op, flags, stream: 0 }
    }

    #[test]
    fn counts_of_batches_add_up() {
        let requests = [
            request(Op::Write, 512, Flags::FUA | Flags::PREFLUSH),
            request(Op::Write, u64::MAX, Flags::empty()),
            request(Op::Trim, 7, Flags::SYNC),
            request(Op::Flush, 0, Flags::empty()),
        ];
        let (mut all, mut sum) = (RequestCounts::default(), RequestCounts::default());
        for request in &requests {
            let mut one = RequestCounts::default();
            one.add(request, request.op != Op::Write);
            all.add(request, request.op != Op::Write);
            sum.add_all(&one);
        }
        assert_eq!(all, sum);
        sum.add_writes(2, 1024);
        assert_eq!((sum.requests(Op::Write), sum.bytes(Op::Write)), (4, u64::MAX));
        assert_eq!((all.preflushes, all.fua, all.trims_of_no_page), (1, 1, 1));
        assert_eq!(Op::ALL.map(|op| all.requests(op)), [0, 2, 1, 1]);
        assert_eq!((all.bytes(Op::Write), all.bytes(Op::Trim)), (u64::MAX, 7));
    }
}
