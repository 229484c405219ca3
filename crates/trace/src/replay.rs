//! A trace, which can be read any number of times, and a replay, which reads it once in batches.
//!
//! A trace is often read several times: surveyed, used for warm-up, and measured. So a [`Trace`]
//! has no position. It contains the location of the bytes, or the parameters of a workload, and
//! what the format learnt about the trace.

use std::io;
use std::sync::{Arc, OnceLock};

use spec::{Params, Spec};

use crate::detection;
use crate::error::{Error, Result};
use crate::generate::generator::Generator;
use crate::generate::workload::{AddressSpace, Workload};
use crate::input::stored_trace::StoredTrace;
use crate::parse::doubts::Observed;
use crate::parse::format::Format;
pub use crate::reader::{BATCH, OTHER_VOLUME, ReadReport, Skipped};
use crate::reader::{ReadMode, Reader, ReaderFactory};
use crate::registry;
use crate::request::Request;
use crate::sort::SortedReader;
use crate::table::builder::TableBuilder;
use crate::table::reader::TableReader;
use crate::table::request_store::{RequestStore, StoreBuilder};
use crate::table::request_table::RequestTable;
use crate::table::store_reader::StoreReader;

/// The check of [`Replay::for_each`] that never ends the reading.
///
/// # Errors
/// None.
pub fn go_on(_position: u64) -> Result<()> {
    Ok(())
}

/// How to read a trace file.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format; `None`: detected by the content.
    pub format: Option<Spec>,
    /// Count bad lines instead of failing at the first.
    pub skip_bad: bool,
    /// Deliver at most this many requests.
    pub limit: Option<u64>,
}

/// A sequence of requests that can be read any number of times: a file, a generated workload, or
/// requests in memory.
#[derive(Clone)]
pub struct Trace {
    name: String,
    origin: Arc<TraceOrigin>,
    /// The values of all keys of the format or workload.
    params: Params,
    /// Whether requests are sorted by time; those of workloads are always in order.
    sort: bool,
    limit: Option<u64>,
    /// The only volume whose requests are delivered, if there is one.
    volume: Option<String>,
}

enum TraceOrigin {
    File(FileOrigin),
    Workload(&'static Workload, AddressSpace, u64),
    Table(Arc<RequestTable>),
}

struct FileOrigin {
    input: Arc<StoredTrace>,
    format: &'static Format,
    /// A sentence about the detected format.
    note: Option<String>,
    skip_bad: bool,
    /// Made at the first replay, because the format may have to read the whole file for it.
    source: OnceLock<Box<dyn ReaderFactory>>,
}

impl Trace {
    /// Opens a trace file; `-` is standard input, which is copied to a temporary file.
    ///
    /// # Errors
    /// The file cannot be read, or its format is unknown, ambiguous or specified incorrectly.
    pub fn open(path: &str, options: &ReadOptions) -> Result<Trace> {
        Trace::of_input(StoredTrace::open(path)?, options)
    }

    /// A trace in memory, with a name for messages.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn of_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Trace> {
        Trace::of_input(StoredTrace::of_bytes(name, bytes)?, options)
    }

    fn of_input(input: StoredTrace, options: &ReadOptions) -> Result<Trace> {
        let (spec, note) = match &options.format {
            Some(spec) => (spec.clone(), None),
            None => {
                let reading = detection::detect(&input)?;
                let note = reading.note();
                (reading.spec, note)
            }
        };
        let format = registry::format(&spec.name)?;
        let params = spec::resolve(&format!("format {}", format.name), &spec.pairs, format.params)?;
        let (input, source, skip_bad) = (Arc::new(input), OnceLock::new(), options.skip_bad);
        let name = input.name().to_owned();
        let origin = TraceOrigin::File(FileOrigin { input, format, note, skip_bad, source });
        Ok(Trace::of(name, origin, params).with_limit(options.limit))
    }

    /// A workload over an address space. `seed` is that of the run; `seed=` in the spec overrides
    /// it.
    ///
    /// # Errors
    /// Unknown workload or key, or parameters that are impossible in this space.
    pub fn generate(spec: &Spec, space: &AddressSpace, seed: u64) -> Result<Trace> {
        let workload = registry::workload(&spec.name)?;
        let params = workload.resolve(&spec.pairs)?;
        Generator::new(workload, &params, space, seed)?;
        let origin = TraceOrigin::Workload(workload, *space, seed);
        Ok(Trace::of(spec.to_string(), origin, params))
    }

    fn of(name: String, origin: TraceOrigin, params: Params) -> Trace {
        let origin = Arc::new(origin);
        Trace { name, origin, params, sort: false, limit: None, volume: None }
    }

    /// Requests in memory.
    pub fn of_table(table: &Arc<RequestTable>) -> Trace {
        let origin = TraceOrigin::Table(table.clone());
        Trace::of(table.name().to_owned(), origin, Params::default())
    }

    /// The same trace sorted by time. Requests with the same time stay in the order of the file.
    /// For the cost see [`crate::sort`]; workloads are always in order.
    pub fn sorted(self, sort: bool) -> Trace {
        Trace { sort, ..self }
    }

    /// The same trace with at most `limit` requests.
    pub fn with_limit(mut self, limit: Option<u64>) -> Trace {
        self.limit = limit;
        self
    }

    /// The requests of the same trace to one volume, by its name in the trace. They keep the times
    /// that they have among those of all volumes, and a limit counts the requests of all.
    pub fn with_volume(mut self, volume: Option<&str>) -> Trace {
        self.volume = volume.map(str::to_owned);
        self
    }

    /// The path of the file, `standard input`, the spec of the workload, or the name of the
    /// requests in memory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the format, or `workload`, or `columns` for requests in memory.
    pub fn format(&self) -> &str {
        match &*self.origin {
            TraceOrigin::File(file) => file.format.name,
            TraceOrigin::Workload(..) => "workload",
            TraceOrigin::Table(_) => "columns",
        }
    }

    /// The parameters of the format or workload, including defaults.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Whether the trace names the streams of its writes.
    ///
    /// # Errors
    /// The file cannot be opened, or lacks something that its format requires.
    pub fn has_streams(&self) -> Result<bool> {
        match &*self.origin {
            TraceOrigin::File(file) => Ok(file.source(&self.params)?.has_streams()),
            TraceOrigin::Workload(..) => Ok(self.generator()?.is_some_and(|it| it.names_streams())),
            TraceOrigin::Table(table) => Ok(table.has_streams()),
        }
    }

    /// The SHA-256 of the bytes as stored, in hexadecimal; `None` for workloads. For requests in
    /// memory it is [`RequestTable::sha256`].
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn sha256(&self) -> Result<Option<String>> {
        match &*self.origin {
            TraceOrigin::File(file) => file.input.sha256().map(Some),
            TraceOrigin::Workload(..) => Ok(None),
            TraceOrigin::Table(table) => Ok(Some(table.sha256().to_owned())),
        }
    }

    /// The generator of a workload; none for other traces.
    fn generator(&self) -> Result<Option<Generator>> {
        match &*self.origin {
            TraceOrigin::Workload(workload, space, seed) => {
                Generator::new(workload, &self.params, space, *seed).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The stored size, up to which [`Replay::position_bytes`] counts. For a workload and for
    /// requests in memory both are in requests. `None` if the trace has a limit, as the replay then
    /// ends earlier.
    pub fn size_hint_bytes(&self) -> Option<u64> {
        match (&*self.origin, self.limit) {
            (_, Some(_)) => None,
            (TraceOrigin::File(file), None) => Some(file.input.size_bytes()),
            (TraceOrigin::Workload(..), None) => {
                self.generator().ok().flatten().map(|all| all.requests())
            }
            (TraceOrigin::Table(table), None) => Some(table.rows()),
        }
    }

    /// Starts reading at the first request.
    ///
    /// # Errors
    /// The file cannot be opened again, or lacks something that its format requires.
    pub fn replay(&self) -> Result<Replay> {
        let mut remarks = None;
        let reader: Box<dyn Reader> = match &*self.origin {
            TraceOrigin::File(file) => {
                let columns = file.source(&self.params)?.csv_spec();
                remarks = Some(Remarks {
                    input: Some(Arc::clone(&file.input)),
                    note: file.note.clone(),
                    columns,
                    ..Remarks::new(&self.name)
                });
                file.reader(&self.params, self.sort)?
            }
            TraceOrigin::Workload(workload, space, seed) => {
                Box::new(Generator::new(workload, &self.params, space, *seed)?)
            }
            TraceOrigin::Table(table) => {
                // What is odd about a trace was said when it was read into the table.
                let is_said = !table.report().notes.is_empty();
                remarks = (!is_said).then(|| Remarks::new(&self.name));
                let reader = Box::new(TableReader::new(table, self.sort));
                if self.sort { Box::new(SortedReader::new(reader)) } else { reader }
            }
        };
        let volume =
            self.volume.as_deref().map(|volume| Box::new(OneVolume::new(&self.name, volume)));
        Ok(Replay { reader, remarks, left: self.limit.unwrap_or(u64::MAX), volume })
    }

    /// Reads the whole trace into a table with the same name. `check` is called after each batch
    /// with the position, in the unit of [`Trace::size_hint_bytes`], and may end the reading.
    ///
    /// # Errors
    /// As [`Trace::replay`] and [`Replay::next_batch`], or the error of `check`.
    pub fn to_table<E: From<Error>>(
        &self,
        check: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<RequestTable, E> {
        let (mut replay, mut builder) = (self.replay()?, TableBuilder::new(&self.name));
        replay.for_each(check, |request| builder.push(request))?;
        Ok(replay.finish_table(builder))
    }

    /// Reads the whole trace into memory; for tests and short traces.
    ///
    /// # Errors
    /// As [`Trace::replay`] and [`Replay::next_batch`].
    pub fn requests(&self) -> Result<Vec<Request>> {
        let (mut replay, mut requests) = (self.replay()?, Vec::new());
        while replay.next_batch(&mut requests, BATCH)? > 0 {}
        Ok(requests)
    }
}

impl FileOrigin {
    /// What the format learnt about the file.
    fn source(&self, params: &Params) -> Result<&dyn ReaderFactory> {
        let source = match self.source.get() {
            Some(source) => source,
            None => {
                let learnt = self.format.open(params, &self.input)?;
                self.source.get_or_init(|| learnt)
            }
        };
        Ok(&**source)
    }

    fn reader(&self, params: &Params, sort: bool) -> Result<Box<dyn Reader>> {
        let source = self.source(params)?;
        let raw_times = sort || source.is_unsorted();
        let reader = source.reader(&self.input, ReadMode { skip_bad: self.skip_bad, raw_times })?;
        Ok(if raw_times { Box::new(SortedReader::new(reader)) } else { reader })
    }
}

/// A reader of a trace, with a position.
pub struct Replay {
    reader: Box<dyn Reader>,
    /// What is said about the requests as they were read; `None` if it was said before.
    remarks: Option<Remarks>,
    left: u64,
    /// The only volume whose requests are delivered, if there is one.
    volume: Option<Box<OneVolume>>,
}

/// Lets only the requests to one volume pass, as volume 0.
struct OneVolume {
    /// The name of the trace.
    trace: String,
    name: String,
    number: Option<u32>,
    /// The number of volumes whose names were looked at.
    known: u32,
    /// Requests to other volumes.
    others: u64,
}

impl OneVolume {
    fn new(trace: &str, name: &str) -> OneVolume {
        let (trace, name) = (trace.to_owned(), name.to_owned());
        OneVolume { trace, name, number: None, known: 0, others: 0 }
    }

    /// Drops the requests to other volumes from `from` on. `names` are those of the volumes so far.
    fn retain(&mut self, out: &mut Vec<Request>, from: usize, names: impl Fn() -> Vec<String>) {
        let seen = out[from..].iter().map(|request| request.device + 1).max().unwrap_or(0);
        if self.number.is_none() && seen > self.known {
            self.number = names().iter().position(|name| *name == self.name).map(|at| at as u32);
            self.known = seen;
        }
        let mut kept = from;
        for at in from..out.len() {
            if Some(out[at].device) == self.number {
                out[kept] = Request { device: 0, ..out[at] };
                kept += 1;
            }
        }
        self.others += (out.len() - kept) as u64;
        out.truncate(kept);
    }

    /// Checks that it is one of the volumes of the whole trace.
    fn expect_among(&self, volumes: Vec<String>) -> Result<()> {
        if self.number.is_some() || volumes.contains(&self.name) {
            return Ok(());
        }
        Err(Error::no_volume(&self.trace, &self.name, volumes))
    }
}

/// What is said about the requests of a trace as they were read.
struct Remarks {
    /// The name of the trace.
    name: String,
    /// The stored bytes, if it is a file.
    input: Option<Arc<StoredTrace>>,
    /// A sentence about the detected format.
    note: Option<String>,
    /// What csv calls the columns of the trace, if it has columns.
    columns: Option<String>,
    observed: Observed,
}

impl Replay {
    /// Starts reading at the first request of a store.
    pub fn of_store(store: &Arc<RequestStore>) -> Replay {
        let reader = Box::new(StoreReader::new(store));
        Replay { reader, remarks: None, left: u64::MAX, volume: None }
    }

    /// Does a part of the work that comes before the first request, such as sorting, and returns
    /// whether there is more of it. Without such calls the first batch takes that time.
    ///
    /// # Errors
    /// As [`Replay::next_batch`].
    pub fn prepare(&mut self) -> Result<bool> {
        self.reader.prepare()
    }

    /// Appends up to `max` requests to `out` and returns their number, which is 0 only at the end.
    ///
    /// Requests before an error are appended, too.
    ///
    /// # Errors
    /// A bad line, or bytes that cannot be read or decompressed; or the trace has ended without
    /// the volume that is asked for.
    pub fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let Some(mut volume) = self.volume.take() else { return self.next_of_all(out, max) };
        let before = out.len();
        let read = loop {
            let read = self.next_of_all(out, max);
            volume.retain(out, before, || self.reader.report().devices);
            if !matches!(read, Ok(1..)) || out.len() > before {
                break read;
            }
        };
        let ended = matches!(read, Ok(0)) && max > 0;
        let found = if ended { volume.expect_among(self.reader.report().devices) } else { Ok(()) };
        self.volume = Some(volume);
        found.and(read.map(|_| out.len() - before))
    }

    fn next_of_all(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let wanted = self.left.min(max as u64) as usize;
        let before = out.len();
        let read = self.reader.next_batch(out, wanted);
        if let Some(remarks) = &mut self.remarks {
            remarks.observed.see(&out[before..]);
        }
        let count = read?;
        if count == 0 && wanted > 0 {
            self.remarks.iter_mut().for_each(|remarks| remarks.observed.end());
            self.check_that_something_is_left()?;
        }
        self.left -= count as u64;
        Ok(count)
    }

    /// The position, in the unit of [`Trace::size_hint_bytes`].
    pub fn position_bytes(&self) -> u64 {
        self.reader.position_bytes()
    }

    /// Calls `visit` with each request up to the end. `check` is called after each batch with the
    /// position, and may end the reading; [`go_on`] never does.
    ///
    /// # Errors
    /// As [`Replay::next_batch`], or the error of `check`.
    pub fn for_each<E: From<Error>>(
        &mut self,
        mut check: impl FnMut(u64) -> std::result::Result<(), E>,
        mut visit: impl FnMut(&Request),
    ) -> std::result::Result<(), E> {
        while self.prepare()? {
            check(0)?;
        }
        let mut batch = Vec::with_capacity(BATCH);
        while self.next_batch(&mut batch, BATCH)? > 0 {
            batch.drain(..).for_each(|request| visit(&request));
            check(self.position_bytes())?;
        }
        Ok(())
    }

    /// The table of all requests of this replay, which are in the builder. It includes what else
    /// was read of the trace: names of devices, counts of skipped requests, notes.
    pub fn finish_table(&self, builder: TableBuilder) -> RequestTable {
        builder.finish_replay(self.report())
    }

    /// The store of all requests of this replay, which are in the builder, with the name of the
    /// trace and what else was read of it.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn finish_store(&self, name: &str, builder: StoreBuilder) -> io::Result<RequestStore> {
        builder.finish(name, self.report())
    }

    /// The same for the requests of each volume, which are in the builder with its number.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn finish_volumes(
        &self,
        name: &str,
        builders: Vec<StoreBuilder>,
    ) -> io::Result<Vec<RequestStore>> {
        let report = self.report();
        let all: u64 = builders.iter().map(StoreBuilder::requests).sum();
        let names = report.devices.iter();
        let stores = names.zip(builders).map(|(volume, builder)| {
            let others = all - builder.requests();
            builder.finish(name, report.of_volume(volume, others))
        });
        stores.collect()
    }

    /// Refuses a trace that has ended without a request, because all its lines were bad.
    fn check_that_something_is_left(&self) -> Result<()> {
        let Some(remarks) = self.remarks.as_ref().filter(|it| it.observed.requests() == 0) else {
            return Ok(());
        };
        let ReadReport { skipped, first_bad, .. } = self.reader.report();
        match first_bad {
            Some(first) => Err(Error::NothingLeft {
                name: remarks.name.clone(),
                count: skipped.malformed(),
                first,
            }),
            None => Ok(()),
        }
    }

    /// What was read so far besides the requests. Its notes are about what the reader chose, such
    /// as the replayed action or a unit that the trace does not state, about what it skipped, and
    /// about signs that the trace is misread.
    pub fn report(&self) -> ReadReport {
        let report = self.report_of_all();
        match &self.volume {
            Some(volume) => report.of_volume(&volume.name, volume.others),
            None => report,
        }
    }

    fn report_of_all(&self) -> ReadReport {
        let mut report = self.reader.report();
        if let Some(Remarks { input, note, columns, observed, .. }) = &self.remarks {
            report.notes.splice(..0, note.clone());
            report.notes.extend(input.iter().flat_map(|input| input.notes()));
            report.notes.extend(bad_lines(&report, observed.requests()));
            report.notes.extend(observed.doubts(&report.skipped, columns.as_deref()));
        }
        report
    }
}

impl Remarks {
    fn new(name: &str) -> Remarks {
        let (name, observed) = (name.to_owned(), Observed::default());
        Remarks { name, input: None, note: None, columns: None, observed }
    }
}

/// A sentence about the bad lines or records that were skipped beside `requests` requests.
fn bad_lines(report: &ReadReport, requests: u64) -> Option<String> {
    let first = report.first_bad.as_ref()?;
    let (bad, all) = (report.skipped.malformed(), requests + report.skipped.total());
    let share = 100.0 * bad as f64 / all as f64;
    let warning = if share > 1.0 { ", so the results may not be those of the trace" } else { "" };
    Some(format!(
        "`--skip-bad` left out {bad} of {all} lines or records ({share:.1} %){warning}. The first: \
         {first}."
    ))
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    const fn is_sent<T: Send>() {}
    // Sweeps read the same trace in several threads.
    is_shared::<Trace>();
    is_sent::<Replay>();
    is_sent::<Error>();
};
