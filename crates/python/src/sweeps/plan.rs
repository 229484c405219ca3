//! Plans: their rows, and what another process needs to run one.

use std::path::PathBuf;

use cli::sweeps::PlanSource;
use pyo3::prelude::*;
use serde_json::Value;
use sim::parallel_runs::CACHE_BYTES;
use sim::plan::Scale;
use sim::sweep::key::RunOrder;
use sim::sweep::row_origin::other_field;
use sim::sweep::{
    SharedInputs, TraceDigests, largest_first, needed_cache_bytes, refuse_missing_traces,
};

use crate::failure::{UsageError, failed, raised};
use crate::options::{cache_bytes, memory_limit};
use crate::watched::watched;

/// A plan that was read and checked, with a row for each volume if it asks for that.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativePlan {
    pub source: PlanSource,
    pub scale: Scale,
    pub digests: TraceDigests,
    pub inputs: SharedInputs,
}

#[pymethods]
impl NativePlan {
    /// Reads a plan from a file. If rows are run here, requests of their traces are cached:
    /// `memory` bytes, and at most half of `memory_limit`. Traces of which each volume has a row
    /// are read now.
    ///
    /// # Errors
    /// `RunError` if it or a trace cannot be read, `UsageError` with line and column for a mistake,
    /// `KeyboardInterrupt`.
    #[staticmethod]
    #[pyo3(signature = (
        path, *, scale="full", traces=None, runs_here=true, memory=None, memory_limit=None
    ))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        scale: &str,
        traces: Option<PathBuf>,
        runs_here: bool,
        memory: Option<&Bound<'_, PyAny>>,
        memory_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NativePlan> {
        let scale = scale_of(scale)?;
        let source = PlanSource::read(&path, scale, traces.as_deref());
        let source = source.map_err(|failure| failed(&failure))?;
        let memory = runs_here.then(|| cache_bytes(memory)).transpose()?;
        NativePlan::of(py, source, scale, memory, memory_limit)
    }

    /// Reads a plan from a text. Plans that it names are in the current folder, or
    /// among those of the papers.
    ///
    /// # Errors
    /// As for `read`.
    #[staticmethod]
    #[pyo3(signature = (
        text, *, scale="full", traces=None, runs_here=true, memory=None, memory_limit=None
    ))]
    fn parse(
        py: Python<'_>,
        text: &str,
        scale: &str,
        traces: Option<PathBuf>,
        runs_here: bool,
        memory: Option<&Bound<'_, PyAny>>,
        memory_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NativePlan> {
        let scale = scale_of(scale)?;
        let source = PlanSource::parse(text, scale, traces.as_deref());
        let source = source.map_err(|failure| failed(&failure))?;
        let memory = runs_here.then(|| cache_bytes(memory)).transpose()?;
        NativePlan::of(py, source, scale, memory, memory_limit)
    }

    /// Refuses a plan of which no row has a trace that exists here.
    ///
    /// # Errors
    /// `RunError`.
    fn refuse_missing_traces(&self) -> PyResult<()> {
        refuse_missing_traces(&self.source.plan).map_err(raised)
    }

    /// The title; empty if it has none.
    #[getter]
    fn title(&self) -> &str {
        &self.source.plan.title
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.source.plan.rows.len()
    }

    /// The memory that the requests of all its traces will about take, at most what runs share by
    /// default.
    #[getter]
    fn cache_bytes(&self) -> u64 {
        needed_cache_bytes(&self.source.plan).min(CACHE_BYTES)
    }

    /// The names of the trace files of these rows, each once, with the files that each stands for.
    fn trace_files(&self, rows: Vec<usize>) -> Vec<(String, Vec<PathBuf>)> {
        let experiments = rows.iter().map(|&row| &self.source.plan.rows[row].experiment);
        let mut names: Vec<&str> = experiments.flat_map(|it| it.trace_files()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| (name.to_owned(), trace::stored_files(name))).collect()
    }

    /// These rows, in the order in which they should be begun: large volumes first.
    fn largest_first(&self, rows: Vec<usize>) -> Vec<usize> {
        largest_first(&self.source.plan, rows, &self.inputs)
    }

    /// For each of these rows the key of its run and the order for a worker. Reads the trace files
    /// that were not read before.
    ///
    /// # Errors
    /// `KeyboardInterrupt`.
    fn orders(&self, py: Python<'_>, rows: Vec<usize>) -> PyResult<Vec<(String, String)>> {
        let orders = watched(py, 1, None, |watch| {
            let order = |&row: &usize| {
                let experiment = &self.source.plan.rows[row].experiment;
                let order = RunOrder::of(experiment, &self.digests, &watch.run(0))?;
                Ok((order.key(), order.text()))
            };
            rows.iter().map(order).collect::<sim::Result<Vec<_>>>()
        })?;
        orders.map_err(raised)
    }
}

impl NativePlan {
    /// The number of a row, given as JSON.
    ///
    /// # Errors
    /// Why it is not one of this plan.
    pub fn row_of(&self, row: &Value) -> Result<usize, String> {
        let number = row["sweep"]["row"].as_u64().unwrap_or(u64::MAX) as usize;
        let rows = &self.source.plan.rows;
        let planned =
            rows.get(number).ok_or_else(|| format!("the plan has {} rows", rows.len()))?;
        other_field(row, planned).map_or(Ok(number), |other| Err(other.to_string()))
    }

    /// The plan of a source. Its rows are run here if there is memory for their requests.
    fn of(
        py: Python<'_>,
        source: PlanSource,
        scale: Scale,
        memory: Option<u64>,
        memory_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<NativePlan> {
        let limit_bytes = self::memory_limit(memory_limit)?;
        let inputs = match memory {
            Some(bytes) => SharedInputs::new(&source.plan, bytes, limit_bytes),
            None => SharedInputs::uncached(&source.plan),
        };
        let digests = TraceDigests::default();
        let source = watched(py, 1, None, |watch| {
            source.with_each_volume(&inputs, &digests, &watch.run(0))
        })?;
        let source = source.map_err(|failure| failed(&failure))?;
        Ok(NativePlan { source, scale, digests, inputs })
    }
}

fn scale_of(name: &str) -> PyResult<Scale> {
    match name {
        "full" => Ok(Scale::Full),
        "quick" => Ok(Scale::Quick),
        _ => Err(UsageError::new_err(format!("scale is `full` or `quick`, not `{name}`"))),
    }
}
