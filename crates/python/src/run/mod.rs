//! Runs and comparisons, and their results; films of them.

pub mod films;

use std::num::NonZeroUsize;
use std::sync::Arc;

use cli::texts::comparison::{Comparison, labels};
use cli::texts::groups::Group;
use cli::texts::{self, groups};
use ftl::contract::page_policy::PolicySource;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::config::named_trace::NamedTrace;
use sim::config::setup::ReplayedTrace;
use sim::input::request_cache::needed_bytes;
use sim::{Experiment, Input, MemoryBudget, RunOptions, RunResult, Setup, parallel_runs};

use crate::columns::requests::NativeRequests;
use crate::failure::{exception, raised};
use crate::figures::{PrintedFiles, printed, values_of};
use crate::guest::{named, shown};
use crate::options::{cache_bytes, experiment, jobs, memory_limit};
use crate::policy::PythonPolicy;
use crate::watched::{Watch, watched};

/// The result of one run.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeResult {
    pub result: RunResult,
}

#[pymethods]
impl NativeResult {
    /// The result as the JSON of `ftlab run --json`, with a newline at the end.
    fn to_json(&self) -> String {
        texts::json(&self.result)
    }

    /// The result as the table of `ftlab run`.
    fn text(&self) -> String {
        texts::result::text(&self.result)
    }
}

/// Several results as the JSON of `ftlab compare --json`, with a newline at the end.
#[pyfunction]
pub fn results_json(results: Vec<PyRef<'_, NativeResult>>) -> String {
    texts::json(&cloned(&results))
}

/// Results side by side, given as JSON with the quantities by which they are compared: the texts
/// that `ftlab compare` makes of them.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeComparison {
    labels: Vec<String>,
    results: Vec<String>,
    groups: Groups,
}

#[pymethods]
impl NativeComparison {
    #[new]
    fn new(labels: Vec<String>, results: Vec<String>, groups: Groups) -> NativeComparison {
        NativeComparison { labels, results, groups }
    }

    /// The table of `ftlab compare`.
    ///
    /// # Errors
    /// `UsageError` if a text is not the JSON of a result, or if labels and results do not match.
    fn text(&self) -> PyResult<String> {
        Ok(self.comparison()?.text())
    }

    /// The report of `ftlab compare`: a page of HTML.
    ///
    /// # Errors
    /// As for `text`.
    fn page(&self) -> PyResult<String> {
        Ok(self.comparison()?.page().html())
    }

    /// The table of `ftlab compare --latex`.
    ///
    /// # Errors
    /// As for `text`.
    fn latex(&self) -> PyResult<String> {
        Ok(self.comparison()?.latex())
    }

    /// The files that `ftlab compare --svg` writes.
    ///
    /// # Errors
    /// As for `text`, or a figure cannot be drawn.
    fn svg(&self, py: Python<'_>) -> PyResult<PrintedFiles> {
        printed(py, &self.comparison()?.page())
    }
}

impl NativeComparison {
    fn comparison(&self) -> PyResult<Comparison<'_>> {
        let values = values_of(&self.labels, &self.results)?;
        let groups = self.groups.iter().cloned().map(|(title, rows)| Group { title, rows });
        Ok(Comparison {
            labels: &self.labels,
            values,
            groups: groups.collect(),
            command: "compare",
        })
    }
}

/// Titles of groups of quantities, each with the rows of the group: the name of the quantity, then
/// its value for each result.
type Groups = Vec<(String, Vec<Vec<String>>)>;

/// The quantities by which `ftlab compare` compares results, in groups.
#[pyfunction]
pub fn result_groups(results: Vec<PyRef<'_, NativeResult>>) -> Groups {
    let groups = groups::groups(&cloned(&results)).into_iter();
    groups.map(|group| (group.title, group.rows)).collect()
}

fn cloned(results: &[PyRef<'_, NativeResult>]) -> Vec<RunResult> {
    results.iter().map(|one| one.result.clone()).collect()
}

/// Runs an experiment. Its trace is `requests`, if they are given.
///
/// # Errors
/// As `ftlab.errors` describes.
#[pyfunction]
#[pyo3(signature = (options, *, requests=None, policy=None, progress=None, memory_limit=None))]
pub fn run(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    requests: Option<Bound<'_, NativeRequests>>,
    policy: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<NativeResult> {
    let experiment = experiment(options)?;
    let memory = MemoryBudget::new(self::memory_limit(memory_limit)?);
    let setup = setup(&experiment, requests.as_ref()).map_err(raised)?;
    let policy = policy.map(PythonPolicy::new).transpose()?;
    // What a guest raised in an earlier check is not the reason if this run fails.
    drop(crate::guest::take_raised());
    let result = watched(py, 1, progress.as_ref(), |watch| {
        let progress = &watch.run(0);
        let policy = policy.clone().map(|policy| Arc::new(policy) as Arc<dyn PolicySource>);
        sim::run(&setup, RunOptions { progress, memory: &memory, policy, ..RunOptions::default() })
    })?;
    let result = result.map_err(|error| match &policy {
        None => {
            crate::guest::take_raised().unwrap_or_else(|| exception(&error, replayable(&setup)))
        }
        Some(policy) => policy.take_raised().unwrap_or_else(|| exception(&error, None)),
    })?;
    Ok(NativeResult { result: named(result) })
}

/// The setup of an experiment, for these requests if they are given.
fn setup(
    experiment: &Experiment,
    requests: Option<&Bound<'_, NativeRequests>>,
) -> sim::Result<Setup> {
    let setup = Setup::new(experiment)?;
    match requests {
        Some(requests) => setup.with_requests(&requests.get().table),
        None => Ok(setup),
    }
}

/// The experiment of a setup, if the command can run it: neither requests nor FTL are of this
/// process.
fn replayable(setup: &Setup) -> Option<&Experiment> {
    let in_memory = |one: &ReplayedTrace| matches!(one.trace, NamedTrace::Requests(_));
    let is_here =
        setup.traces.iter().any(in_memory) || crate::guest::is_class(&setup.experiment.ftl);
    (!is_here).then_some(&setup.experiment)
}

/// Runs the same trace, or the same requests, on the same device for several experiments, which
/// differ in FTL, durability and the treatment of trims only. Returns the name and the result of
/// each.
///
/// # Errors
/// As `ftlab.errors` describes, for the first run that fails.
#[pyfunction]
#[pyo3(signature = (
    options, *, requests=None, jobs=None, memory=None, progress=None, memory_limit=None
))]
pub fn compare(
    py: Python<'_>,
    options: Vec<Bound<'_, PyDict>>,
    requests: Option<Bound<'_, NativeRequests>>,
    jobs: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, NativeResult)>> {
    let experiments = options.iter().map(experiment).collect::<PyResult<Vec<Experiment>>>()?;
    let runs = SharedRuns {
        setups: &setups(&experiments, requests.as_ref())?,
        jobs: self::jobs(jobs)?,
        cache_bytes: self::cache_bytes(memory)?,
        limit_bytes: self::memory_limit(memory_limit)?,
    };
    let compared =
        watched(py, experiments.len(), progress.as_ref(), |watch| runs.each(watch, sim::run))?;
    let results = compared?.1.into_iter().map(|result| NativeResult { result: named(result) });
    let ftls: Vec<&str> = experiments.iter().map(|it| &*it.ftl).collect();
    let shown = experiments.iter().zip(shown(&ftls));
    let shown = shown.map(|(it, ftl)| Experiment { ftl, ..it.clone() });
    Ok(labels(&shown.collect::<Vec<_>>()).into_iter().zip(results).collect())
}

/// The setups of experiments, for these requests if they are given.
///
/// # Errors
/// As `ftlab.errors` describes, for the first experiment that is wrong.
pub fn setups(
    experiments: &[Experiment],
    requests: Option<&Bound<'_, NativeRequests>>,
) -> PyResult<Vec<Setup>> {
    let setups = experiments.iter().map(|one| setup(one, requests));
    setups.collect::<sim::Result<_>>().map_err(raised)
}

/// Runs over one trace, several at a time.
pub struct SharedRuns<'a> {
    pub setups: &'a [Setup],
    pub jobs: NonZeroUsize,
    /// Memory for the requests that the runs share.
    pub cache_bytes: u64,
    /// Memory that the runs may take.
    pub limit_bytes: Option<u64>,
}

impl SharedRuns<'_> {
    /// The name of the trace and what `run` returns for each setup, or the failure of the first
    /// run that fails.
    pub fn each<T: Send>(
        &self,
        watch: &Watch,
        run: impl Fn(&Setup, RunOptions) -> sim::Result<T> + Sync,
    ) -> PyResult<(String, Vec<T>)> {
        let Some(first) = self.setups.first() else { return Ok((String::new(), Vec::new())) };
        let needed_bytes = needed_bytes(first.experiment.trace_files());
        let memory =
            MemoryBudget::beside_cache(self.limit_bytes, self.cache_bytes.min(needed_bytes));
        let input = Input::open_cached(first, memory.cache_bytes(), &watch.run(0));
        let input = input.map_err(raised)?;
        let results = parallel_runs::in_order(self.setups.len(), self.jobs, |index, turn| {
            watch.in_python(|| {
                let (setup, progress) = (&self.setups[index], watch.run(index));
                let options = RunOptions {
                    input: Some(&input),
                    progress: &turn.watched(&progress),
                    memory: &memory,
                    ..RunOptions::default()
                };
                run(setup, options).map_err(|error| exception(&error, replayable(setup)))
            })
        })?;
        Ok((input.names(), results))
    }
}
