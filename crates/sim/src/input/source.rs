//! An opened trace, which can be read from its first request as often as needed: a workload that is
//! generated anew each time, a file that is read anew each time, or cached requests of a file.

use std::sync::Arc;

use ftl::device::block_bytes;
use spec::Spec;
use trace::replay::Skipped;
use trace::{AddressSpace, ReadOptions, Replay, Request, Trace};

use crate::config::named_trace::NamedTrace;
use crate::config::setup::Setup;
use crate::device::logical_blocks;
use crate::error::{Error, Result};
use crate::input::request_cache::{CacheBudget, CachedRequests};
use crate::progress::{Progress, Stage};

/// An opened trace.
pub struct RequestSource {
    trace: Trace,
    /// The capacity that a workload was generated for; none for a file.
    capacity_bytes: Option<u64>,
    cached: Option<CachedRequests>,
}

impl RequestSource {
    /// Opens the only trace of a setup. A workload is over the capacity of the setup.
    ///
    /// # Errors
    /// The trace cannot be opened, or has options that do not apply to it.
    pub fn open(setup: &Setup) -> Result<RequestSource> {
        setup.check_file_options()?;
        let capacity_bytes = setup.experiment.capacity_bytes;
        match &setup.traces[0].trace {
            NamedTrace::Workload(spec) => RequestSource::workload(setup, spec, capacity_bytes),
            NamedTrace::File(path) => RequestSource::file(setup, path),
        }
    }

    /// A workload over a capacity, by default its own.
    ///
    /// # Errors
    /// The workload cannot be generated for this capacity.
    pub fn workload(
        setup: &Setup,
        spec: &Spec,
        capacity_bytes: Option<u64>,
    ) -> Result<RequestSource> {
        let experiment = &setup.experiment;
        let page_bytes = setup.chip.page_bytes;
        let capacity_bytes = match capacity_bytes {
            Some(bytes) => bytes,
            None => trace::default_capacity(spec, page_bytes)?,
        };
        let blocks = logical_blocks(&setup.chip, capacity_bytes)?;
        let capacity_bytes = blocks.saturating_mul(block_bytes(&setup.chip));
        let space = AddressSpace { capacity_bytes, page_bytes };
        let trace = Trace::generate(spec, &space, experiment.seed)?.with_limit(experiment.limit);
        Ok(RequestSource { trace, capacity_bytes: Some(capacity_bytes), cached: None })
    }

    /// A trace file, read as the setup says.
    ///
    /// # Errors
    /// The file cannot be opened, or has another format.
    pub fn file(setup: &Setup, path: &str) -> Result<RequestSource> {
        let experiment = &setup.experiment;
        let options = ReadOptions {
            format: setup.format.clone(),
            skip_bad: experiment.skip_bad,
            limit: experiment.limit,
        };
        let trace = Trace::open(path, &options)?.sorted(experiment.sort);
        Ok(RequestSource { trace, capacity_bytes: None, cached: None })
    }

    /// The same trace with its requests cached in memory, if it is a file and fits the budget. A
    /// trace that cannot be read to its end is not cached: the run that reads it reports why.
    ///
    /// # Errors
    /// The run is stopped.
    pub fn cached(
        mut self,
        budget: &Arc<CacheBudget>,
        progress: &dyn Progress,
    ) -> Result<RequestSource> {
        if self.capacity_bytes.is_none() {
            self.cached = match CachedRequests::read(&self.trace, budget, progress) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                read => read.ok().flatten(),
            };
        }
        Ok(self)
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The capacity that a workload was generated for; none for a file.
    pub fn capacity_bytes(&self) -> Option<u64> {
        self.capacity_bytes
    }

    /// The final value of [`RequestStream::position`], if it is known.
    pub fn length(&self) -> Option<u64> {
        match &self.cached {
            Some(cached) => Some(cached.count()),
            None => self.trace.size_hint_bytes(),
        }
    }

    /// The number of requests, if it is known without reading the trace.
    pub fn request_count(&self) -> Option<u64> {
        match (&self.cached, self.capacity_bytes) {
            (Some(cached), _) => Some(cached.count()),
            // The position in a workload is a number of requests.
            (None, Some(_)) => self.trace.size_hint_bytes(),
            (None, None) => None,
        }
    }

    /// Starts reading from the first request, after everything that comes before it, such as sorting.
    ///
    /// # Errors
    /// The file cannot be read, or the run is stopped.
    pub fn prepared(&self, stage: Stage, progress: &dyn Progress) -> Result<RequestStream<'_>> {
        let mut stream = self.replay()?;
        stream.prepare(stage, progress)?;
        Ok(stream)
    }

    /// Starts reading from the first request.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn replay(&self) -> Result<RequestStream<'_>> {
        Ok(match &self.cached {
            Some(requests) => RequestStream::Cached { requests, position: 0 },
            None => RequestStream::Stored(self.trace.replay()?),
        })
    }
}

/// What a pass has read of a trace, apart from the requests themselves.
#[derive(Clone, Debug)]
pub struct ReadTrace {
    /// Lines and requests that were skipped in the whole trace.
    pub skipped: Skipped,
    /// Sentences about the trace as it was read.
    pub notes: Vec<String>,
    /// Requests that were delivered.
    pub delivered: u64,
    /// Requests that were left when the pass ended.
    pub left: u64,
}

impl ReadTrace {
    /// The sum of what was read of several traces. Each note begins with the name of its trace.
    pub fn together<'a>(traces: impl Iterator<Item = (&'a str, &'a ReadTrace)>) -> ReadTrace {
        let mut all =
            ReadTrace { skipped: Skipped::default(), notes: Vec::new(), delivered: 0, left: 0 };
        for (name, trace) in traces {
            all.skipped.add_all(&trace.skipped);
            all.notes.extend(trace.notes.iter().map(|note| format!("{name}: {note}")));
            all.delivered += trace.delivered;
            all.left += trace.left;
        }
        all
    }

    /// The requests of the trace: delivered, skipped, or left.
    pub fn requests(&self) -> u64 {
        self.delivered + self.skipped.total() + self.left
    }
}

/// One pass over the requests of a source.
pub enum RequestStream<'a> {
    /// From a file or a generator.
    Stored(Replay),
    /// From memory.
    Cached {
        /// The requests.
        requests: &'a CachedRequests,
        /// The number of requests delivered so far.
        position: u64,
    },
}

impl RequestStream<'_> {
    /// Does everything that comes before the first request, such as sorting, part by part.
    fn prepare(&mut self, stage: Stage, progress: &dyn Progress) -> Result<()> {
        let RequestStream::Stored(replay) = self else { return Ok(()) };
        while replay.prepare()? {
            progress.report(stage, 0, None)?;
        }
        Ok(())
    }

    /// Appends up to `max` requests to `out`. Returns how many were appended; 0 only at the end.
    ///
    /// # Errors
    /// A malformed line, or bytes that cannot be read.
    pub fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        match self {
            RequestStream::Stored(replay) => Ok(replay.next_batch(out, max)?),
            RequestStream::Cached { requests, position } => {
                let count = requests.deliver(*position, out, max);
                *position += count as u64;
                Ok(count)
            }
        }
    }

    /// What was skipped so far; cached requests report what was skipped in the whole trace. Both
    /// agree at the end.
    pub fn skipped(&self) -> &Skipped {
        match self {
            RequestStream::Stored(replay) => replay.skipped(),
            RequestStream::Cached { requests, .. } => requests.skipped(),
        }
    }

    /// Sentences about the trace as it was read so far; cached requests report those about the
    /// whole trace. Both agree at the end.
    pub fn notes(&self) -> Vec<String> {
        match self {
            RequestStream::Stored(replay) => replay.notes(),
            RequestStream::Cached { requests, .. } => requests.notes().to_vec(),
        }
    }

    /// The account of a pass that delivered `delivered` requests and left `left`.
    pub fn read_trace(&self, delivered: u64, left: u64) -> ReadTrace {
        ReadTrace { skipped: self.skipped().clone(), notes: self.notes(), delivered, left }
    }

    /// How far this pass has come, in the unit of [`RequestSource::length`].
    pub fn position(&self) -> u64 {
        match self {
            RequestStream::Stored(replay) => replay.position_bytes(),
            RequestStream::Cached { position, .. } => *position,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use crate::progress::NoProgress;
    use std::io::Write;

    fn all(source: &RequestSource) -> (Vec<Request>, Skipped) {
        let (mut stream, mut requests) = (source.replay().unwrap(), Vec::new());
        while stream.next_batch(&mut requests, 3).unwrap() > 0 {}
        (requests, stream.skipped().clone())
    }

    #[test]
    fn every_pass_delivers_the_same_cached_or_not() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0,0,0,W,0.0\n0,8,512,R,0.5\n1,8,4096,W,1.5\n0,0,512,W,2.5\n").unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let setup = Setup::new(&Experiment { trace, ..Experiment::default() }).unwrap();
        let path = setup.experiment.trace.as_deref().unwrap();
        let stored = RequestSource::file(&setup, path).unwrap();
        let expected = all(&stored);
        assert_eq!((expected.0.len(), expected.1.get("zero-length")), (3, 1));
        let cached = stored.cached(&CacheBudget::new(1 << 24), &NoProgress).unwrap();
        assert_eq!(cached.length(), Some(3));
        for _ in 0..2 {
            assert!(all(&cached) == expected);
        }
        let stored = RequestSource::file(&setup, path).unwrap();
        let stored = stored.cached(&CacheBudget::new(0), &NoProgress).unwrap();
        assert!(stored.cached.is_none() && all(&stored) == expected);
    }
}
