//! Plans: their rows, and what another process needs to run one.

use std::path::PathBuf;

use cli::sweeps::PlanSource;
use pyo3::prelude::*;
use sim::plan::Scale;
use sim::sweep::TraceDigests;
use sim::sweep::key::RunOrder;

use crate::failure::{UsageError, failed, raised};
use crate::watched::watched;

/// A plan that was read and checked.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativePlan {
    pub source: PlanSource,
    pub scale: Scale,
    pub digests: TraceDigests,
}

#[pymethods]
impl NativePlan {
    /// Reads a plan from a file.
    ///
    /// # Errors
    /// `RunError` if it cannot be read, `UsageError` with line and column for a mistake.
    #[staticmethod]
    #[pyo3(signature = (path, *, scale="full", traces=None))]
    fn read(path: PathBuf, scale: &str, traces: Option<PathBuf>) -> PyResult<NativePlan> {
        let scale = scale_of(scale)?;
        let source = PlanSource::read(&path, scale, traces.as_deref());
        NativePlan::of(source, scale)
    }

    /// Reads a plan from a text. Plans that it names are in the current folder, or
    /// among those of the papers.
    ///
    /// # Errors
    /// `UsageError` with line and column for a mistake.
    #[staticmethod]
    #[pyo3(signature = (text, *, scale="full", traces=None))]
    fn parse(text: &str, scale: &str, traces: Option<PathBuf>) -> PyResult<NativePlan> {
        let scale = scale_of(scale)?;
        NativePlan::of(PlanSource::parse(text, scale, traces.as_deref()), scale)
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

    /// The names of the trace files of these rows, each once, with the files that each stands for.
    fn trace_files(&self, rows: Vec<usize>) -> Vec<(String, Vec<PathBuf>)> {
        let experiments = rows.iter().map(|&row| &self.source.plan.rows[row].experiment);
        let mut names: Vec<&str> = experiments.flat_map(|it| it.trace_files()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| (name.to_owned(), trace::stored_files(name))).collect()
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
    fn of(source: Result<PlanSource, cli::failure::Failure>, scale: Scale) -> PyResult<NativePlan> {
        let source = source.map_err(|failure| failed(&failure))?;
        Ok(NativePlan { source, scale, digests: TraceDigests::default() })
    }
}

fn scale_of(name: &str) -> PyResult<Scale> {
    match name {
        "full" => Ok(Scale::Full),
        "quick" => Ok(Scale::Quick),
        _ => Err(UsageError::new_err(format!("scale is `full` or `quick`, not `{name}`"))),
    }
}
