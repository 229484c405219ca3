//! The order in which the requests of a pass are served: those of a single trace in its own order,
//! those of several loads in the order in which they are issued.
//!
//! The order of several loads is known ahead if all are open (they merge by time), or if all are
//! closed and time is serial (they take turns). Otherwise it depends on completions, and requests
//! come one at a time.

use trace::Request;

use crate::clock::request_queue::RequestQueue;
use crate::config::replay::Replay;
use crate::error::{Error, Result};
use crate::input::batch::{BATCH, Batch};
use crate::input::load_stream::LoadStream;
use crate::input::source::{ReadTrace, RequestSource};
use crate::progress::Progress;

/// The requests of a pass in their order.
pub enum RequestOrder<'a> {
    /// Those of a single trace.
    Single(SingleTrace),
    /// Those of several loads.
    Merged(MergedLoads<'a>),
}

impl RequestOrder<'_> {
    /// Reads the next requests into an empty batch, at most `left` of them. Returns their number; 0
    /// at the end. Several loads need the queue in which their requests wait.
    ///
    /// # Errors
    /// A trace cannot be read.
    #[inline]
    pub fn fill(
        &mut self,
        batch: &mut Batch,
        left: u64,
        queue: &mut Option<RequestQueue>,
    ) -> Result<usize> {
        match self {
            RequestOrder::Single(trace) => batch.read(&mut trace.stream, left),
            RequestOrder::Merged(loads) => {
                loads.fill(batch, left, queue.as_mut().expect("several loads queue"))
            }
        }
    }

    /// The number of requests that a load delivered. `all` is the number that all loads delivered.
    pub fn delivered(&self, load: usize, all: u64) -> u64 {
        match self {
            RequestOrder::Single(_) => all,
            RequestOrder::Merged(loads) => loads.loads[load].delivered(),
        }
    }

    /// The position of the pass, and the final position if it is known.
    pub fn position(&self) -> (u64, Option<u64>) {
        match self {
            RequestOrder::Single(trace) => (trace.stream.position_bytes(), trace.length),
            RequestOrder::Merged(loads) => loads.position(),
        }
    }

    /// Ends the pass after `delivered` requests.
    ///
    /// # Errors
    /// The rest of a trace cannot be read, or the run is stopped.
    pub fn end(self, delivered: u64, progress: &dyn Progress) -> Result<Vec<ReadTrace>> {
        match self {
            RequestOrder::Single(trace) => Ok(vec![ReadTrace::of(&trace.stream, delivered, 0)]),
            RequestOrder::Merged(MergedLoads { loads, .. }) => {
                loads.into_iter().map(|load| load.end(progress)).collect()
            }
        }
    }
}

/// A single trace.
pub struct SingleTrace {
    stream: trace::Replay,
    length: Option<u64>,
}

impl SingleTrace {
    /// A trace that is read by `stream`.
    pub fn new(source: &RequestSource, stream: trace::Replay) -> SingleTrace {
        SingleTrace { stream, length: source.length() }
    }
}

/// Several loads. They end when the first closed one has no further request, or when all open ones
/// have ended.
pub struct MergedLoads<'a> {
    loads: Vec<LoadStream<'a>>,
    replays: Vec<Replay>,
    /// The number of requests whose order is known ahead.
    known_ahead: u64,
    has_ended: bool,
}

impl<'a> MergedLoads<'a> {
    /// Loads from their first requests, with a replay each. `in_drive` tells whether they wait in a
    /// drive.
    ///
    /// # Errors
    /// A load without requests: it would end the run before it begins.
    pub fn new(
        loads: Vec<LoadStream<'a>>,
        replays: Vec<Replay>,
        in_drive: bool,
    ) -> Result<MergedLoads<'a>> {
        if let Some(empty) = loads.iter().find(|load| load.head().is_none()) {
            let why = format!("{} has no requests; leave out this load", empty.name());
            return Err(Error::Impossible(why));
        }
        let is_mixed = replays.iter().any(|replay| replay.is_open() != replays[0].is_open());
        let takes_turns = replays.len() == 1 || replays[0].is_open() || !in_drive;
        let known_ahead = if is_mixed || !takes_turns { 1 } else { BATCH as u64 };
        Ok(MergedLoads { loads, replays, known_ahead, has_ended: false })
    }

    fn fill(&mut self, batch: &mut Batch, left: u64, queue: &mut RequestQueue) -> Result<usize> {
        batch.clear();
        for _ in 0..left.min(self.known_ahead) {
            let Some(load) = self.next_load(queue) else { break };
            batch.push(load, self.take(load, queue)?);
        }
        Ok(batch.len())
    }

    /// The load whose next request is issued first.
    fn next_load(&self, queue: &mut RequestQueue) -> Option<usize> {
        if self.has_ended { None } else { queue.next_load(self.next_open()) }
    }

    /// The time at which the next request of any open load is issued, and that load.
    fn next_open(&self) -> Option<(u64, usize)> {
        let loads = self.replays.iter().zip(&self.loads).enumerate();
        let issues = loads.filter_map(|(load, (replay, stream))| match replay {
            Replay::Open { speed } => Some((speed.issue_ns(stream.head()?.time_ns), load)),
            Replay::Closed { .. } => None,
        });
        issues.min()
    }

    fn take(&mut self, load: usize, queue: &mut RequestQueue) -> Result<Request> {
        let request = self.loads[load].take()?;
        if !self.replays[load].is_open() {
            queue.take_closed();
            self.has_ended = self.loads[load].head().is_none();
        }
        Ok(request)
    }

    /// The position of the load that will probably end the pass, in ten-thousandths of that load.
    fn position(&self) -> (u64, Option<u64>) {
        const WHOLE: u64 = 10_000;
        let done = |load: &LoadStream| Some((load.share_done()? * WHOLE as f64) as u64);
        let with_replay = || self.loads.iter().zip(&self.replays);
        let closed = with_replay().filter(|(_, replay)| !replay.is_open());
        let furthest = closed.filter_map(|(load, _)| done(load)).max();
        let slowest = || self.loads.iter().filter_map(done).min();
        match furthest.or_else(slowest) {
            Some(done) => (done, Some(WHOLE)),
            None => (0, None),
        }
    }
}
