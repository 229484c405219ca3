//! The load of a trace over time: reads, writes and bytes in each stretch of time.

use crate::error::Error;
use crate::replay::Trace;
use crate::request::{Op, Request};

/// The largest number of stretches. When a request is later than that, stretches are merged.
const STRETCHES_MAX: usize = 400;
/// The length of the stretches at the beginning.
const SHORTEST_NS: u64 = 1000;

/// Requests and bytes in stretches of equal length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The length of a stretch: a power of two times a microsecond.
    pub stretch_ns: u64,
    /// The stretches from the time 0 on, at most 400.
    pub stretches: Vec<StretchLoad>,
}

/// The requests of a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StretchLoad {
    /// Reads.
    pub reads: OpLoad,
    /// Writes.
    pub writes: OpLoad,
}

/// The reads or the writes of a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpLoad {
    /// The number of requests.
    pub requests: u64,
    /// The sum of their sizes; at most what 64 bits hold.
    pub bytes: u64,
}

impl OpLoad {
    fn add(&mut self, other: OpLoad) {
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Reads the whole trace and counts its load over time. `check` is that of [`Replay::for_each`].
///
/// # Errors
/// Any error of reading the trace, or that of `check`.
///
/// [`Replay::for_each`]: crate::Replay::for_each
pub fn load<E: From<Error>>(
    trace: &Trace,
    check: impl FnMut(u64) -> core::result::Result<(), E>,
) -> core::result::Result<Load, E> {
    let mut load = Load { stretch_ns: SHORTEST_NS, stretches: Vec::new() };
    trace.replay()?.for_each(check, |request| load.add(request))?;
    Ok(load)
}

impl Load {
    fn add(&mut self, request: &Request) {
        while request.time_ns / self.stretch_ns >= STRETCHES_MAX as u64 {
            self.merge_pairs();
        }
        let at = (request.time_ns / self.stretch_ns) as usize;
        if self.stretches.len() <= at {
            self.stretches.resize(at + 1, StretchLoad::default());
        }
        let one = OpLoad { requests: 1, bytes: request.bytes };
        match request.op {
            Op::Read => self.stretches[at].reads.add(one),
            Op::Write => self.stretches[at].writes.add(one),
            Op::Trim | Op::Flush => {}
        }
    }

    fn merge_pairs(&mut self) {
        self.stretch_ns *= 2;
        let merged = |pair: &[StretchLoad]| {
            let mut sum = StretchLoad::default();
            for stretch in pair {
                sum.reads.add(stretch.reads);
                sum.writes.add(stretch.writes);
            }
            sum
        };
        self.stretches = self.stretches.chunks(2).map(merged).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Flags;

    fn of(times_ns: impl IntoIterator<Item = u64>) -> Load {
        let mut load = Load { stretch_ns: SHORTEST_NS, stretches: Vec::new() };
        for (at, time_ns) in times_ns.into_iter().enumerate() {
            let op = if at % 3 == 0 { Op::Read } else { Op::Write };
            load.add(&Request {
                time_ns,
                offset: 0,
                bytes: 512,
                device: 0,
                op,
                flags: Flags::empty(),
                stream: 0,
            });
        }
        load
    }

    #[test]
    fn every_request_is_in_the_stretch_of_its_time() {
        let load = of([0, 999, 1000, 399_999]);
        assert_eq!((load.stretch_ns, load.stretches.len()), (1000, 400));
        let at = |at: usize| (load.stretches[at].reads.requests, load.stretches[at].writes.bytes);
        assert_eq!([at(0), at(1), at(2), at(399)], [(1, 512), (0, 512), (0, 0), (1, 0)]);
    }

    #[test]
    fn a_longer_trace_has_longer_stretches_and_loses_no_request() {
        let load = of((0..100_000).map(|at| at * 7_777));
        assert!((200..=400).contains(&load.stretches.len()), "{}", load.stretches.len());
        let requests = |of: fn(&StretchLoad) -> OpLoad| -> u64 {
            load.stretches.iter().map(|stretch| of(stretch).requests).sum()
        };
        assert_eq!(requests(|stretch| stretch.reads), 33_334);
        assert_eq!(requests(|stretch| stretch.writes), 66_666);
        let last = load.stretches.last().unwrap();
        assert!(last.reads.requests + last.writes.requests > 0, "no empty stretch at the end");
    }

    #[test]
    fn times_that_go_back_and_absurd_times_are_counted() {
        let load = of([5000, 10, u64::MAX]);
        let requests: u64 = load
            .stretches
            .iter()
            .map(|stretch| stretch.reads.requests + stretch.writes.requests)
            .sum();
        assert_eq!(requests, 3);
    }
}
