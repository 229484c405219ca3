//! The traces of a run, opened and surveyed, so that a device can be built for them.
//!
//! A file is surveyed before the run. The survey finds the end of each volume: volumes are laid end
//! to end, and by default the capacity is what the traces need. `--fit compact` goes through the
//! requests a second time, because touched pages can be numbered only after all volumes have their
//! places. One survey serves all FTLs of a comparison.
//!
//! A file is parsed once, during its survey. Its requests are cached meanwhile, so that later
//! passes only unpack them.
//!
//! A run has one trace, or several loads at once. Each load has a part of the device; the parts are
//! laid end to end like volumes, unless they are shared. A workload spans its default capacity. If
//! a capacity is given, the workloads share equally what the files leave of it.
//!
//! * [`source`]        an opened trace, readable as often as needed
//! * [`request_cache`] the requests of a file, cached in memory or in a temporary file
//! * [`split_trace`]   a trace split into its volumes
//! * [`survey`]        what a trace needs of a device
//! * [`layout`]        the places of volumes and loads
//! * [`request_order`] the order in which the requests of a pass are served
//! * [`load_stream`]   the requests of one of several loads
//! * [`host`]          from the bytes of a request to runs of pages
//! * [`streams`]       the streams of writes
//! * [`batch`]         requests that are read together
//! * [`request_counts`] counts of requests by their kind
//! * [`trace_stats`]   statistics of a whole trace, for drawings

pub mod batch;
pub mod host;
pub mod layout;
pub mod load_stream;
pub mod request_cache;
pub mod request_counts;
pub mod request_order;
pub mod source;
pub mod split_trace;
pub mod streams;
pub mod survey;
pub mod trace_stats;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ftl::device::block_bytes;
use spec::Spec;
use trace::analysis::page_set::{PageRanks, PageSet};
use trace::analysis::survey::survey as survey_pages;
use trace::{Op, go_on};

use crate::config::choices::{Fit, Streams};
use crate::config::named_trace::NamedTrace;
use crate::config::replay::Replay;
use crate::config::setup::{ReplayedTrace, Setup};
use crate::device::logical_blocks;
use crate::error::{Error, Result};
use crate::input::host::{Host, Placing};
use crate::input::layout::{Layout, LoadPlace};
use crate::input::load_stream::LoadStream;
use crate::input::request_cache::{CacheBudget, RUN_CACHE_BYTES};
use crate::input::request_order::{MergedLoads, RequestOrder, SingleTrace};
use crate::input::source::RequestSource;
use crate::input::streams::StreamRule;
use crate::progress::{Progress, Stage};

/// The opened traces of a run, their volumes laid out.
pub struct Input {
    loads: Vec<InputLoad>,
    /// The first byte of each volume of all loads.
    bases: Vec<u64>,
    touched: Option<PageRanks>,
    needed_bytes: u64,
    opened_in: Duration,
}

/// An opened trace: the only one, or one of several loads.
pub struct InputLoad {
    source: Arc<RequestSource>,
    sha256: Option<String>,
    place: LoadPlace,
    /// The stream of its writes, if it is a load with one.
    stream: Option<u8>,
}

impl InputLoad {
    /// The source of the requests.
    pub fn source(&self) -> &RequestSource {
        &self.source
    }

    /// The name of the trace.
    pub fn name(&self) -> &str {
        self.source.trace().name()
    }

    fn stream(&self, stage: Stage, progress: &dyn Progress) -> Result<LoadStream<'_>> {
        let stream = self.source.prepared(stage, progress)?;
        LoadStream::new(&self.source, stream, self.place.first_volume)
    }

    /// SHA-256 of the file as stored, or of requests in memory; none for a workload.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// Its place on the device.
    pub fn place(&self) -> &LoadPlace {
        &self.place
    }
}

impl Input {
    /// Opens and surveys the traces of a setup for a single run.
    ///
    /// # Errors
    /// A trace cannot be read, or does not fit the options.
    pub fn open(setup: &Setup, progress: &dyn Progress) -> Result<Input> {
        Input::open_cached(setup, RUN_CACHE_BYTES, progress)
    }

    /// Opens and surveys the traces of a setup. Files are parsed once: their requests are cached in
    /// `cache_bytes` of memory, and in temporary files if that is not enough.
    ///
    /// # Errors
    /// A trace cannot be read, or does not fit the options.
    pub fn open_cached(setup: &Setup, cache_bytes: u64, progress: &dyn Progress) -> Result<Input> {
        let (started, budget) = (Instant::now(), CacheBudget::new(cache_bytes));
        let open = |path: &str| -> Result<_> {
            Ok(Arc::new(RequestSource::file(setup, path)?.cached(&budget, progress)?))
        };
        let input = Input::with_files(setup, progress, open)?;
        Ok(Input { opened_in: started.elapsed(), ..input })
    }

    /// Surveys the traces of a setup; `open` opens its files.
    ///
    /// # Errors
    /// A trace cannot be read, or does not fit the options.
    pub fn with_files<E: From<Error>>(
        setup: &Setup,
        progress: &dyn Progress,
        open: impl Fn(&str) -> core::result::Result<Arc<RequestSource>, E>,
    ) -> core::result::Result<Input, E> {
        setup.check_file_options()?;
        setup.experiment.refuse_each_volume()?;
        let mut opened = Vec::with_capacity(setup.traces.len());
        // Files come first: workloads share what they leave.
        for replayed in &setup.traces {
            opened.push(match &replayed.trace {
                NamedTrace::Workload(_) => None,
                NamedTrace::File(path) => {
                    Some(OpenedTrace::stored(open(path)?, setup, replayed.replay, progress)?)
                }
                NamedTrace::Requests(table) => {
                    let source = Arc::new(RequestSource::table(setup, table));
                    Some(OpenedTrace::stored(source, setup, replayed.replay, progress)?)
                }
            });
        }
        let files = opened.iter().flatten().map(|file| file.blocks(setup)).sum();
        let capacity_bytes = workload_capacity(setup, files)?;
        let complete =
            |(file, replayed): (Option<OpenedTrace>, &ReplayedTrace)| match (file, &replayed.trace)
            {
                (None, NamedTrace::Workload(spec)) => {
                    OpenedTrace::workload(setup, spec, capacity_bytes)
                }
                (file, _) => Ok(file.expect("files were opened above")),
            };
        let opened = opened.into_iter().zip(&setup.traces).map(complete);
        let opened = opened.collect::<Result<Vec<OpenedTrace>>>()?;
        if setup.experiment.streams == Streams::Column {
            needs_streams(&opened)?;
        }
        Ok(Input::of(opened, setup, progress)?)
    }

    /// Lays out opened traces.
    fn of(opened: Vec<OpenedTrace>, setup: &Setup, progress: &dyn Progress) -> Result<Input> {
        let mut layout = Layout::new(block_bytes(&setup.chip), setup.experiment.shared);
        let mut loads = Vec::with_capacity(opened.len());
        for (OpenedTrace { source, ends }, replayed) in opened.into_iter().zip(&setup.traces) {
            let (sha256, place) = (source.sha256()?, layout.add(&ends)?);
            loads.push(InputLoad { source, sha256, place, stream: replayed.stream });
        }
        let (bases, needed_bytes) = layout.finish();
        let mut input =
            Input { loads, bases, touched: None, needed_bytes, opened_in: Duration::ZERO };
        if setup.experiment.fit == Fit::Compact {
            input.compact(setup.chip.page_bytes.into(), progress)?;
        }
        if input.needed_bytes == 0 && setup.experiment.capacity_bytes.is_none() {
            return Err(input.without_pages(setup.chip.page_bytes.into())?);
        }
        Ok(input)
    }

    /// The error for traces that need no capacity. It says what they have instead, because they
    /// are probably not those that the user wanted to record.
    fn without_pages(&self, page_bytes: u64) -> Result<Error> {
        let mut what = Vec::new();
        for load in &self.loads {
            let contents = survey_pages(load.source.trace(), page_bytes, go_on)?.contents();
            what.push(format!("trace `{}` has {contents}", load.name()));
        }
        Ok(Error::Impossible(format!(
            "no page is read or written, so there is nothing to give the device a size: {}; give \
             `--capacity` to replay it all the same",
            what.join("; ")
        )))
    }

    /// Numbers the touched pages.
    fn compact(&mut self, page_bytes: u64, progress: &dyn Progress) -> Result<()> {
        let touched = self.touched_pages(page_bytes, progress)?;
        self.needed_bytes = touched.len().saturating_mul(page_bytes);
        self.touched = Some(touched.freeze());
        Ok(())
    }

    /// The pages that reads and writes touch, in the addresses of all volumes laid out.
    fn touched_pages(&self, page_bytes: u64, progress: &dyn Progress) -> Result<PageSet> {
        let mut pages = PageSet::default();
        for InputLoad { source, place, .. } in &self.loads {
            source.for_each(progress, |request| {
                let base = self.bases[(place.first_volume + request.device) as usize];
                if let Op::Read | Op::Write = request.op {
                    let first = (base + request.offset) / page_bytes;
                    let last = (base + request.end() - 1) / page_bytes;
                    pages.insert_range(first, last - first + 1);
                }
            })?;
        }
        Ok(pages)
    }

    /// The traces: a single one, or several loads.
    pub fn loads(&self) -> &[InputLoad] {
        &self.loads
    }

    /// The names of the traces.
    pub fn names(&self) -> String {
        self.joined(InputLoad::name)
    }

    /// A text for each trace, joined.
    pub fn joined<'a>(&'a self, text: impl Fn(&'a InputLoad) -> &'a str) -> String {
        self.loads.iter().map(text).collect::<Vec<_>>().join(" + ")
    }

    /// The requests of a pass in their order, from the first.
    ///
    /// # Errors
    /// A file cannot be read, a load has no requests, or the run is stopped.
    pub fn order(
        &self,
        setup: &Setup,
        stage: Stage,
        progress: &dyn Progress,
    ) -> Result<RequestOrder<'_>> {
        if !setup.has_tenants() {
            let stream = self.loads[0].source.prepared(stage, progress)?;
            return Ok(RequestOrder::Single(SingleTrace::new(self.loads[0].source(), stream)));
        }
        let streams = self.loads.iter().map(|load| load.stream(stage, progress));
        let streams = streams.collect::<Result<_>>()?;
        Ok(RequestOrder::Merged(MergedLoads::new(streams, setup.replays(), setup.drive.is_some())?))
    }

    /// The time that opening and surveying took.
    pub fn opened_in(&self) -> Duration {
        self.opened_in
    }

    /// The capacity that the traces need.
    pub fn needed_bytes(&self) -> u64 {
        self.needed_bytes
    }

    /// The host that cuts the requests for a device of this geometry and capacity.
    ///
    /// # Errors
    /// The touched pages do not fit, or there are more volumes than streams.
    pub fn host(
        &self,
        fit: Fit,
        streams: Streams,
        geometry: &nand::Geometry,
        capacity_bytes: u64,
    ) -> Result<Host<'_>> {
        let placing = match (fit, &self.touched) {
            (Fit::Error, _) => Placing::Error,
            (Fit::Wrap, _) => Placing::Wrap,
            (Fit::Compact, Some(_)) if self.needed_bytes > capacity_bytes => {
                return Err(Error::Impossible(format!(
                    "the pages that the trace touches take {} bytes, the capacity is {}",
                    self.needed_bytes, capacity_bytes
                )));
            }
            (Fit::Compact, touched) => {
                Placing::Compact(touched.as_ref().expect("numbered when the trace was opened"))
            }
        };
        let streams = match self.loads.iter().any(|load| load.stream.is_some()) {
            true => StreamRule::Load(self.streams_of_loads()),
            false => StreamRule::new(streams, self.bases.len())?,
        };
        Ok(Host::new(&self.bases, placing, streams, geometry, capacity_bytes))
    }

    /// For each volume the stream of its load.
    fn streams_of_loads(&self) -> Vec<u8> {
        let mut streams = vec![0; self.bases.len()];
        for load in &self.loads {
            streams[load.place.first_volume as usize..].fill(load.stream.unwrap_or(0));
        }
        streams
    }
}

/// A trace that was opened but has no place yet.
struct OpenedTrace {
    source: Arc<RequestSource>,
    /// For each volume the end of the last byte that is requested.
    ends: Vec<u64>,
}

impl OpenedTrace {
    /// A file, or requests in memory.
    fn stored(
        source: Arc<RequestSource>,
        setup: &Setup,
        replay: Replay,
        progress: &dyn Progress,
    ) -> Result<OpenedTrace> {
        let survey = source.survey(progress)?;
        if setup.has_tenants() && replay.is_open() && survey.has_one_time() {
            return Err(Error::Impossible(format!(
                "all requests of {} have the same time, so they cannot be issued at their own \
                 times; give this load `@closed`",
                source.trace().name()
            )));
        }
        Ok(OpenedTrace { ends: survey.ends().to_vec(), source })
    }

    fn workload(setup: &Setup, spec: &Spec, capacity_bytes: Option<u64>) -> Result<OpenedTrace> {
        let source = RequestSource::workload(setup, spec, capacity_bytes)?;
        let ends = source.capacity_bytes().into_iter().collect();
        Ok(OpenedTrace { ends, source: Arc::new(source) })
    }

    /// The blocks that its volumes take; 0 if all loads share theirs.
    fn blocks(&self, setup: &Setup) -> u64 {
        let blocks = |&end: &u64| end.div_ceil(block_bytes(&setup.chip));
        match setup.experiment.shared {
            true => 0,
            false => self.ends.iter().map(blocks).sum(),
        }
    }
}

/// Checks that a trace names streams.
fn needs_streams(opened: &[OpenedTrace]) -> Result<()> {
    for OpenedTrace { source, .. } in opened {
        if source.trace().has_streams()? {
            return Ok(());
        }
    }
    let names: Vec<&str> = opened.iter().map(|opened| opened.source.trace().name()).collect();
    Err(Error::Impossible(format!(
        "`--streams column` needs a trace that names the streams of its writes, and {} does not; \
         give `--streams volume` or `size`, or, if a csv has a column of streams, name it: \
         `--format csv:columns=…+stream`",
        names.join(" ")
    )))
}

/// The capacity of each workload, if the capacity of the device is given. It is what the files
/// leave of that capacity, divided equally unless the loads are shared.
fn workload_capacity(setup: &Setup, file_blocks: u64) -> Result<Option<u64>> {
    let workloads =
        setup.traces.iter().filter(|replayed| replayed.trace.is_workload()).count() as u64;
    let (Some(capacity_bytes), 1..) = (setup.experiment.capacity_bytes, workloads) else {
        return Ok(None);
    };
    let blocks = logical_blocks(&setup.chip, capacity_bytes)?;
    let sharers = if setup.experiment.shared { 1 } else { workloads };
    match blocks.saturating_sub(file_blocks) / sharers {
        0 => Err(Error::Impossible(format!(
            "the capacity is {blocks} blocks, of which trace files take {file_blocks}; that leaves \
             less than a block for each workload, so give a larger `--capacity`"
        ))),
        blocks => Ok(Some(blocks.saturating_mul(block_bytes(&setup.chip)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use crate::config::values::Volume;
    use crate::input::batch::Batch;
    use crate::progress::NoProgress;
    use std::io::Write;

    const TWO_VOLUMES: &str = "0,0,1024,W,0.0\n1,255,4096,R,0.1\n0,4,512,W,0.2\n";

    fn opened(text: &str, change: impl Fn(&mut Experiment)) -> Result<Input> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let mut experiment = Experiment { trace, ..Experiment::default() };
        change(&mut experiment);
        Input::open(&Setup::new(&experiment)?, &NoProgress)
    }

    #[test]
    fn volumes_are_laid_end_to_end_each_rounded_up_to_a_block() {
        let input = opened(TWO_VOLUMES, |_| ()).unwrap();
        assert_eq!(input.bases, [0, 128 * 1024]);
        assert_eq!(input.needed_bytes(), 128 * 1024 + 255 * 512 + 4096);
    }

    #[test]
    fn a_volume_is_called_as_the_trace_calls_it() {
        let named = |name: &str| Volume::Named(name.to_owned());
        let text = TWO_VOLUMES.replace("\n1,", "\n145,");
        let one = opened(&text, |e| e.volume = named("145")).unwrap();
        assert_eq!((one.bases.as_slice(), one.needed_bytes()), (&[0][..], 134_656));
        let none = opened(&text, |e| e.volume = named("1")).err().unwrap();
        assert_eq!(none.exit_code(), 2);
        let (none, ending) = (none.to_string(), " has no volume `1`; it has 2: `0`, `145`");
        assert!(none.starts_with("trace ") && none.ends_with(ending), "{none}");
        let near = opened(&text, |e| e.volume = named("146")).err().unwrap().to_string();
        assert!(near.contains("did you mean `145`?"), "{near}");
    }

    #[test]
    fn a_trace_that_touches_no_page_is_refused_with_what_it_has() {
        let flushes = "8,0 0 1 0.1 9 D FF 0 + 0 [a]\n8,0 0 1 0.2 9 D FF 0 + 0 [a]\n";
        let refused = opened(flushes, |_| {}).err().unwrap();
        assert_eq!(refused.exit_code(), 2);
        let message = refused.to_string();
        assert!(message.contains("has 2 flushes; give `--capacity`"), "{message}");
        assert!(opened(flushes, |e| e.capacity_bytes = Some(1 << 20)).is_ok());
    }

    /// The streams of all spans that are served.
    fn streams(text: &str, change: impl Fn(&mut Experiment)) -> Result<Vec<u8>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let mut experiment = Experiment { trace, ..Experiment::default() };
        change(&mut experiment);
        let (setup, streams) = (Setup::new(&experiment)?, experiment.streams);
        let input = Input::open(&setup, &NoProgress)?;
        let geometry = nand::Geometry::new(2048, 64, 64, 9, nand::ProgramOrder::Any).unwrap();
        let host = input.host(Fit::Error, streams, &geometry, 1 << 30)?;
        let (mut order, mut batch) =
            (input.order(&setup, Stage::Measure, &NoProgress)?, Batch::default());
        order.fill(&mut batch, 99, &mut None)?;
        batch.cut(&host).map_err(|(at, _)| Error::Impossible(at.to_string()))?;
        Ok(batch.spans().iter().map(|span| span.stream).collect())
    }

    #[test]
    fn streams_come_from_volumes_columns_or_sizes() {
        // Device, page, bytes, operation, stream.
        let text = "a,0,2048,W,x\nb,9,2048,W,y\nb,9,2048,R,y\na,4,8192,W,\nc,2,1000000,W,x\n";
        let with = |option: Streams, volume: Volume| {
            streams(text, |experiment| {
                let format = "csv:columns=dev+off.pages+len.bytes+op+stream";
                experiment.format = Some(format.to_owned());
                (experiment.streams, experiment.volume) = (option, volume.clone());
            })
            .unwrap()
        };
        assert_eq!(with(Streams::Off, Volume::All), [0, 0, 0, 0, 0]);
        assert_eq!(with(Streams::Volume, Volume::All), [1, 2, 0, 1, 3]);
        assert_eq!(with(Streams::Volume, Volume::Named("c".into())), [1]);
        assert_eq!(with(Streams::Column, Volume::All), [1, 2, 0, 0, 1]);
        assert_eq!(with(Streams::Size, Volume::All), [1, 1, 0, 2, 4]);
    }

    #[test]
    fn a_trace_without_streams_is_refused_if_they_are_wanted() {
        let column = |experiment: &mut Experiment| experiment.streams = Streams::Column;
        let of_file = streams(TWO_VOLUMES, column).unwrap_err();
        let trace = Some("uniform:writes=10".to_owned());
        let mut experiment = Experiment { trace, ..Experiment::default() };
        column(&mut experiment);
        let setup = Setup::new(&experiment).unwrap();
        let of_workload = Input::open(&setup, &NoProgress).err().unwrap();
        for error in [of_file, of_workload] {
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("names the streams of its writes"), "{error}");
        }
    }

    #[test]
    fn a_workload_takes_no_file_options() {
        let trace = Some("uniform:writes=10".to_owned());
        let (skip_bad, volume) = (true, Volume::Named("0".to_owned()));
        for (experiment, option) in [
            (
                Experiment { trace: trace.clone(), skip_bad, ..Experiment::default() },
                "`--skip-bad`",
            ),
            (Experiment { trace, volume, ..Experiment::default() }, "`--volume`"),
        ] {
            let error = Input::open(&Setup::new(&experiment).unwrap(), &NoProgress).err().unwrap();
            assert!(error.to_string().contains(option), "{error}");
        }
    }

    #[test]
    fn compact_needs_what_is_touched() {
        let input = opened(TWO_VOLUMES, |e| e.fit = Fit::Compact).unwrap();
        assert_eq!(input.needed_bytes(), (2 + 3) * 2048);
        let geometry = nand::Geometry::new(2048, 64, 64, 9, nand::ProgramOrder::Any).unwrap();
        assert!(input.host(Fit::Compact, Streams::Off, &geometry, 5 * 2048).is_ok());
        let error = input.host(Fit::Compact, Streams::Off, &geometry, 4 * 2048).err().unwrap();
        assert!(error.to_string().contains("take 10240 bytes, the capacity is 8192"), "{error}");
    }

    #[test]
    fn a_file_is_read_once_whether_it_is_cached_in_memory_or_not() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(TWO_VOLUMES.as_bytes()).unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let fit = Fit::Compact;
        let setup = Setup::new(&Experiment { trace, fit, ..Experiment::default() }).unwrap();
        let inputs =
            [1 << 30, 0].map(|bytes| Input::open_cached(&setup, bytes, &NoProgress).unwrap());
        let last = Input::open(&setup, &NoProgress).unwrap();
        drop(file);
        assert!(RequestSource::open(&setup).is_err(), "the file is gone");
        for input in inputs.into_iter().chain([last]) {
            let source = input.loads()[0].source();
            let (mut stream, mut requests) = (source.replay().unwrap(), Vec::new());
            assert_eq!(stream.next_batch(&mut requests, 9).unwrap(), 3);
        }
    }
}
