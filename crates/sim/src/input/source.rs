//! An opened trace, which can be read from its first request as often as needed: a workload that is
//! generated anew each time, cached requests of a file, a file that is parsed anew each time
//! because its requests could not be cached, or requests that the caller holds in memory.

use std::sync::Arc;

use ftl::device::block_bytes;
use spec::Spec;
use trace::replay::{ReadReport, Skipped};
use trace::{AddressSpace, ReadOptions, Replay, Request, RequestTable, TableBuilder, Trace, go_on};

use crate::config::named_trace::NamedTrace;
use crate::config::setup::Setup;
use crate::device::logical_blocks;
use crate::error::Result;
use crate::input::request_cache::{CacheBudget, CachedRequests};
use crate::input::survey::Survey;
use crate::progress::{Progress, Stage};

/// An opened trace.
pub struct RequestSource {
    trace: Trace,
    origin: Origin,
    /// The digest of the file, if it is known already.
    sha256: Option<String>,
    /// The survey, if it is known already.
    survey: Option<Survey>,
}

/// Where the requests come from.
enum Origin {
    /// A workload, generated for this capacity.
    Workload { capacity_bytes: u64 },
    /// A file.
    File,
    /// A file whose requests are cached.
    CachedFile(CachedRequests),
    /// The caller's memory.
    Table,
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
            NamedTrace::Requests(table) => Ok(RequestSource::table(setup, table)),
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
        Ok(RequestSource::of(trace, Origin::Workload { capacity_bytes }))
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
        let trace = trace.with_volume(experiment.volume.name());
        Ok(RequestSource::of(trace, Origin::File))
    }

    /// Requests in memory, read as the setup says.
    pub fn table(setup: &Setup, table: &Arc<RequestTable>) -> RequestSource {
        let Setup { experiment, .. } = setup;
        let trace = Trace::of_table(table).sorted(experiment.sort).with_limit(experiment.limit);
        let trace = trace.with_volume(experiment.volume.name());
        RequestSource::of(trace, Origin::Table)
    }

    fn of(trace: Trace, origin: Origin) -> RequestSource {
        RequestSource { trace, origin, sha256: None, survey: None }
    }

    /// The same trace, whose digest is known already.
    pub fn with_sha256(self, sha256: Option<String>) -> RequestSource {
        RequestSource { sha256, ..self }
    }

    /// The SHA-256 of the file as stored, in hexadecimal; none for a workload.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn sha256(&self) -> Result<Option<String>> {
        match &self.sha256 {
            Some(known) => Ok(Some(known.clone())),
            None => Ok(self.trace.sha256()?),
        }
    }

    /// The same trace; if it is a file, it is parsed now, surveyed, and its requests are cached.
    /// Those that do not fit the budget are cached in a temporary file. If that cannot be written,
    /// they are parsed again in each pass.
    ///
    /// # Errors
    /// The file cannot be read, or the run is stopped.
    pub fn cached(
        mut self,
        budget: &Arc<CacheBudget>,
        progress: &dyn Progress,
    ) -> Result<RequestSource> {
        if matches!(self.origin, Origin::File) {
            let mut survey = Survey::default();
            let see = |request: &Request| survey.see(request);
            if let Some(cached) = CachedRequests::read(&self.trace, budget, progress, see)? {
                self.origin = Origin::CachedFile(cached);
            }
            self.survey = Some(survey);
        }
        Ok(self)
    }

    /// The same trace with the requests to one volume alone, which may be cached, and their survey.
    pub(super) fn of_volume(
        &self,
        name: &str,
        cached: Option<CachedRequests>,
        survey: Survey,
    ) -> RequestSource {
        RequestSource {
            trace: self.trace.clone().with_volume(Some(name)),
            origin: cached.map_or(Origin::File, Origin::CachedFile),
            sha256: self.sha256.clone(),
            survey: Some(survey),
        }
    }

    /// The survey of the whole trace, which is read now if it was not surveyed before.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn survey(&self, progress: &dyn Progress) -> Result<Survey> {
        if let Some(survey) = &self.survey {
            return Ok(survey.clone());
        }
        let mut survey = Survey::default();
        self.for_each(progress, |request| survey.see(request))?;
        Ok(survey)
    }

    /// Calls `see` with every request.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn for_each(&self, progress: &dyn Progress, see: impl FnMut(&Request)) -> Result<()> {
        let report = |position| progress.report(Stage::Survey, position, self.length());
        self.replay()?.for_each(report, see)
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The capacity that a workload was generated for; none for other traces.
    pub fn capacity_bytes(&self) -> Option<u64> {
        match self.origin {
            Origin::Workload { capacity_bytes } => Some(capacity_bytes),
            Origin::File | Origin::CachedFile(_) | Origin::Table => None,
        }
    }

    /// The final value of [`Replay::position_bytes`], if it is known.
    pub fn length(&self) -> Option<u64> {
        match &self.origin {
            Origin::CachedFile(cached) => Some(cached.count()),
            Origin::Workload { .. } | Origin::File | Origin::Table => self.trace.size_hint_bytes(),
        }
    }

    /// The number of requests, if it is known without reading the trace.
    pub fn request_count(&self) -> Option<u64> {
        match &self.origin {
            Origin::CachedFile(cached) => Some(cached.count()),
            // The position in a workload is a number of requests.
            Origin::Workload { .. } => self.trace.size_hint_bytes(),
            // Some of its rows or lines may be skipped.
            Origin::File | Origin::Table => None,
        }
    }

    /// All requests as a table with this name.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn to_table(&self, name: &str) -> Result<RequestTable> {
        let (mut replay, mut builder) = (self.replay()?, TableBuilder::new(name));
        replay.for_each(go_on, |request| builder.push(request))?;
        Ok(replay.finish_table(builder))
    }

    /// Starts reading from the first request, after everything that comes before it, such as
    /// sorting.
    ///
    /// # Errors
    /// The file cannot be read, or the run is stopped.
    pub fn prepared(&self, stage: Stage, progress: &dyn Progress) -> Result<Replay> {
        let mut replay = self.replay()?;
        while replay.prepare()? {
            progress.report(stage, 0, None)?;
        }
        Ok(replay)
    }

    /// Starts reading from the first request.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn replay(&self) -> Result<Replay> {
        Ok(match &self.origin {
            Origin::CachedFile(cached) => cached.replay(),
            Origin::Workload { .. } | Origin::File | Origin::Table => self.trace.replay()?,
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
    /// Devices of the trace.
    pub devices: usize,
    /// Requests that were delivered.
    pub delivered: u64,
    /// Requests that were left when the pass ended.
    pub left: u64,
}

impl ReadTrace {
    /// The account of a pass that delivered `delivered` requests and left `left`.
    pub fn of(replay: &Replay, delivered: u64, left: u64) -> ReadTrace {
        let ReadReport { skipped, notes, devices, .. } = replay.report();
        ReadTrace { skipped, notes, devices: devices.len(), delivered, left }
    }

    /// The sum of what was read of several traces. Each note begins with the name of its trace.
    pub fn together<'a>(traces: impl Iterator<Item = (&'a str, &'a ReadTrace)>) -> ReadTrace {
        let (skipped, notes) = (Skipped::default(), Vec::new());
        let mut all = ReadTrace { skipped, notes, devices: 0, delivered: 0, left: 0 };
        for (name, trace) in traces {
            all.skipped.add_all(&trace.skipped);
            all.notes.extend(trace.notes.iter().map(|note| format!("{name}: {note}")));
            all.devices += trace.devices;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use crate::progress::NoProgress;
    use std::io::Write;

    fn all(source: &RequestSource) -> (Vec<Request>, Skipped) {
        let (mut stream, mut requests) = (source.replay().unwrap(), Vec::new());
        while stream.next_batch(&mut requests, 3).unwrap() > 0 {}
        (requests, stream.report().skipped)
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
        let survey = stored.survey(&NoProgress).unwrap();
        for budget_bytes in [0, 1 << 24] {
            let stored = RequestSource::file(&setup, path).unwrap();
            let cached = stored.cached(&CacheBudget::new(budget_bytes), &NoProgress).unwrap();
            assert!(matches!(cached.origin, Origin::CachedFile(_)));
            assert_eq!(cached.length(), Some(3));
            assert_eq!(format!("{:?}", cached.survey), format!("{:?}", Some(&survey)));
            for _ in 0..2 {
                assert!(all(&cached) == expected);
            }
        }
    }
}
