//! Trace files and workloads: read, described, converted.

use std::fs::File;
use std::sync::Mutex;

use cli::texts::volumes::Volumes;
use cli::texts::{self, description};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use sim::config::named_trace::DEFAULT_TRACE;
use sim::input::source::RequestSource;
use sim::{Error, Experiment, Progress, Setup, Stage};
use trace::replay::BATCH;
use trace::writer::{OutputFormat, write_trace};
use trace::{ReadReport, Replay, TableBuilder};

use crate::columns::capsule;
use crate::columns::request_stream::{RequestStream, Source};
use crate::columns::requests::NativeRequests;
use crate::failure::{UsageError, raised};
use crate::options::{count, experiment};
use crate::watched::watched;

/// An opened trace. It can be read any number of times.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeTrace {
    source: RequestSource,
    /// The pages in which it is described unless others are asked for.
    page_bytes: u64,
}

impl NativeTrace {
    fn of(setup: &Setup, source: sim::Result<RequestSource>) -> PyResult<NativeTrace> {
        let source = source.map_err(raised)?;
        Ok(NativeTrace { source, page_bytes: description::page_bytes(setup, None) })
    }

    fn replay(&self, py: Python<'_>) -> PyResult<Replay> {
        py.detach(|| self.source.replay()).map_err(raised)
    }
}

#[pymethods]
impl NativeTrace {
    /// Opens a file.
    ///
    /// # Errors
    /// `UsageError` for wrong options, `RunError` if the file cannot be read.
    #[staticmethod]
    fn file(py: Python<'_>, path: &str, options: &Bound<'_, PyDict>) -> PyResult<NativeTrace> {
        let of_file = Experiment { trace: Some(path.to_owned()), ..experiment(options)? };
        let setup = Setup::new(&of_file).map_err(raised)?;
        if setup.traces[0].trace.is_workload() {
            return Err(UsageError::new_err(format!(
                "{path} is no file, but a workload; ftlab.trace.generate makes its requests"
            )));
        }
        let source = py.detach(|| RequestSource::file(&setup, path));
        Ok(NativeTrace {
            page_bytes: description::PUBLISHED_PAGE_BYTES,
            ..NativeTrace::of(&setup, source)?
        })
    }

    /// The trace of a run with these options: a file or a workload, by default the built-in one. A
    /// workload is generated for these pages, if they are given.
    ///
    /// # Errors
    /// `UsageError` for wrong options, `RunError` if a file cannot be read.
    #[staticmethod]
    #[pyo3(signature = (name, options, page=None))]
    fn named(
        py: Python<'_>,
        name: Option<&str>,
        options: &Bound<'_, PyDict>,
        page: Option<&str>,
    ) -> PyResult<NativeTrace> {
        let (name, experiment) = (name.unwrap_or(DEFAULT_TRACE), experiment(options)?);
        let page = page.map(parse_page).transpose()?;
        let is_workload = |setup: &Setup| setup.traces[0].trace.is_workload();
        let setup = || description::setup(name, &experiment, None);
        let mut setup = setup().map_err(raised)?;
        if is_workload(&setup) && page.is_some() {
            let of_pages = description::setup(name, &experiment, page);
            setup = of_pages.map_err(raised)?;
        }
        let source = py.detach(|| RequestSource::open(&setup));
        NativeTrace::of(&setup, source)
    }

    /// Requests in memory.
    #[staticmethod]
    fn of_requests(requests: &NativeRequests) -> PyResult<NativeTrace> {
        let setup = Setup::new(&Experiment::default());
        let setup = setup.and_then(|setup| setup.with_requests(&requests.table));
        let setup = setup.map_err(raised)?;
        NativeTrace::of(&setup, RequestSource::open(&setup))
    }

    /// The path of a file, the spec of a workload, or the name of requests.
    #[getter]
    fn name(&self) -> &str {
        self.source.trace().name()
    }

    /// The name of the format, or `workload`, or `columns`.
    #[getter]
    fn format(&self) -> &str {
        self.source.trace().format()
    }

    /// Whether it is generated.
    #[getter]
    fn is_workload(&self) -> bool {
        self.source.capacity_bytes().is_some()
    }

    /// All requests, in memory.
    ///
    /// # Errors
    /// `RunError` if the trace cannot be read; `KeyboardInterrupt`.
    fn requests(&self, py: Python<'_>) -> PyResult<NativeRequests> {
        let length = self.source.length();
        let table = watched(py, 1, None, |watch| {
            let progress = watch.run(0);
            let report = |position| progress.report(Stage::Survey, position, length);
            self.source.trace().to_table::<Error>(report)
        })?;
        Ok(NativeRequests::of(table.map_err(raised)?))
    }

    /// The requests in pieces of `rows` each.
    ///
    /// # Errors
    /// `UsageError` if `rows` is no number from 1 on, `RunError` if the file cannot be opened
    /// again.
    fn batches(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<NativeBatches> {
        let rows = count("rows", rows)?;
        let (replay, name) = (Mutex::new(self.replay(py)?), self.name().to_owned());
        Ok(NativeBatches { replay, name, rows })
    }

    /// The requests as a stream of Arrow, read while the stream is.
    ///
    /// # Errors
    /// `RunError` if the file cannot be opened again.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let replay = self.replay(py)?;
        capsule::of_reader(py, RequestStream::boxed(Source::Replay(replay)))
    }

    /// The description as the JSON of `ftlab trace info --json`, with a newline at the end.
    ///
    /// # Errors
    /// `UsageError` for a wrong page size, `RunError` if the trace cannot be read;
    /// `KeyboardInterrupt`.
    #[pyo3(signature = (page=None, brief=false))]
    fn info(&self, py: Python<'_>, page: Option<&str>, brief: bool) -> PyResult<String> {
        let page_bytes = page.map(parse_page).transpose()?.map_or(self.page_bytes, u64::from);
        let described = watched(py, 1, None, |watch| {
            let (trace, progress) = (self.source.trace(), watch.run(0));
            let (survey, locality) = description::statistics(trace, page_bytes, brief, &progress)?;
            Ok::<_, Error>(description::json(trace, &survey, locality.as_ref())?)
        })?;
        described.map_err(raised)
    }

    /// Writes the trace in the format `fio`, `blkparse` or `csv`. Returns a sentence on names of
    /// volumes that had to change.
    ///
    /// # Errors
    /// `UsageError` for another format; `RunError` if the trace cannot be read or written, or if
    /// the format cannot express it; `KeyboardInterrupt`.
    fn write(&self, py: Python<'_>, path: &str, format: &str) -> PyResult<Option<String>> {
        let format = match format {
            "fio" => OutputFormat::Fio,
            "blkparse" => OutputFormat::Blkparse,
            "csv" => OutputFormat::Csv,
            other => {
                let what = format!("traces are written as fio, blkparse or csv, not as `{other}`");
                return Err(UsageError::new_err(what));
            }
        };
        let written = watched(py, 1, None, |watch| self.written(path, format, &watch.run(0)))?;
        written.map_err(raised)
    }
}

impl NativeTrace {
    fn written(
        &self,
        path: &str,
        format: OutputFormat,
        progress: &dyn Progress,
    ) -> sim::Result<Option<String>> {
        let file = File::create(path).map_err(trace::Error::Write)?;
        let length = self.source.length();
        let report = |position| progress.report(Stage::Survey, position, length);
        let changes = write_trace(self.source.trace(), file, format, report)?.changes;
        Ok((!changes.is_empty()).then(|| changes.join(" ")))
    }
}

/// The volumes of a file with their figures, as JSON: that of `ftlab trace info --each-volume`.
///
/// # Errors
/// `UsageError` for wrong options or a workload, `RunError` if the file cannot be read;
/// `KeyboardInterrupt`.
#[pyfunction]
pub fn volumes_json(py: Python<'_>, path: &str, options: &Bound<'_, PyDict>) -> PyResult<String> {
    let setup = description::setup(path, &experiment(options)?, None).map_err(raised)?;
    let volumes = watched(py, 1, None, |watch| Volumes::read(&setup, &watch.run(0)))?;
    Ok(texts::json(&volumes.map_err(raised)?.json()))
}

/// The requests of a trace in pieces.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeBatches {
    replay: Mutex<Replay>,
    name: String,
    rows: u64,
}

#[pymethods]
impl NativeBatches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// `RunError` if the trace cannot be read.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<NativeRequests>> {
        py.check_signals()?;
        let read = py.detach(|| self.next());
        let table = read.map_err(raised)?;
        Ok(table.map(NativeRequests::of))
    }
}

impl NativeBatches {
    fn next(&self) -> trace::Result<Option<trace::RequestTable>> {
        let mut replay = self.replay.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut builder = TableBuilder::new(&self.name);
        let mut batch = Vec::with_capacity(BATCH);
        while builder.rows() < self.rows {
            let wanted = (self.rows - builder.rows()).min(BATCH as u64) as usize;
            if replay.next_batch(&mut batch, wanted)? == 0 {
                break;
            }
            batch.drain(..).for_each(|request| builder.push(&request));
        }
        // What is skipped belongs to the whole trace, not to one of its pieces.
        let has_rows = builder.rows() > 0;
        let devices = replay.report().devices;
        let table = builder.finish_replay(ReadReport { devices, ..ReadReport::default() });
        Ok(has_rows.then_some(table))
    }
}

fn parse_page(text: &str) -> PyResult<u32> {
    description::parse_page(text).map_err(|why| UsageError::new_err(format!("page: {why}")))
}
