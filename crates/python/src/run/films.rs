//! Films: an FTL at work, operation by operation, or two side by side.

use std::borrow::Cow;

use cli::texts;
use film::Film;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::{Experiment, FilmOutput, RunOptions, RunResult, parallel_runs};

use crate::columns::requests::NativeRequests;
use crate::guest::{named, shown};
use crate::options::{experiment, memory_limit};
use crate::run::{NativeResult, SharedRuns, setups};
use crate::watched::watched;

/// Films of the same requests, and the results of their runs.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeFilms {
    /// The names of the FTLs.
    #[pyo3(get)]
    labels: Vec<String>,
    films: Vec<Film>,
    results: Vec<RunResult>,
}

#[pymethods]
impl NativeFilms {
    /// The page of `ftlab run --film`, or of `ftlab compare --film`.
    fn page(&self) -> String {
        let command = if self.films.len() == 1 { "run" } else { "compare" };
        texts::film::page(&self.films, command)
    }

    /// What `--film-data` writes, for each film.
    fn data(&self) -> Vec<Cow<'_, [u8]>> {
        self.films.iter().map(|film| Cow::Borrowed(&*film.bytes)).collect()
    }

    /// What each film leaves out, in a sentence; empty if it shows everything.
    fn left_out(&self) -> Vec<String> {
        self.films.iter().map(|film| film.left_out.clone()).collect()
    }

    fn results(&self) -> Vec<NativeResult> {
        let named = |result: &RunResult| NativeResult { result: named(result.clone()) };
        self.results.iter().map(named).collect()
    }
}

/// Runs the same trace, or the same requests, for experiments that differ in the FTL only, and
/// films them. Several films show the same requests.
///
/// # Errors
/// As `ftlab.errors` describes, for the first run that fails.
#[pyfunction]
#[pyo3(signature = (options, *, requests=None, progress=None, memory_limit=None))]
pub fn films(
    py: Python<'_>,
    options: Vec<Bound<'_, PyDict>>,
    requests: Option<Bound<'_, NativeRequests>>,
    progress: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<NativeFilms> {
    let experiments = options.iter().map(experiment).collect::<PyResult<Vec<Experiment>>>()?;
    let runs = SharedRuns {
        setups: &setups(&experiments, requests.as_ref())?,
        jobs: parallel_runs::jobs(None),
        cache_bytes: parallel_runs::CACHE_BYTES,
        limit_bytes: self::memory_limit(memory_limit)?,
    };
    let is_even = experiments.len() > 1;
    watched(py, experiments.len(), progress.as_ref(), |watch| {
        let (_, runs) = runs.each(watch, |setup, options| {
            let mut footage = None;
            let film = Some(FilmOutput { out: &mut footage, is_even });
            let result = sim::run(setup, RunOptions { film, ..options.shortened() })?;
            Ok((result, footage.expect("a run that ends well was filmed")))
        })?;
        let (results, footage) = runs.into_iter().unzip();
        let ftls: Vec<&str> = experiments.iter().map(|it| &*it.ftl).collect();
        Ok(NativeFilms {
            labels: shown(&ftls),
            films: film::films(footage, film::BYTES_MAX),
            results,
        })
    })?
}
