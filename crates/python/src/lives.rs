//! Lives of devices: a load until the flash is worn out.

use cli::texts;
use cli::texts::life::Lives;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use report::headline;
use report::html_page::Section;
use report::pages::life::over_the_life;
use sim::Experiment;
use sim::config::experiment::options;
use sim::run::life::{self, Life};

use crate::columns::requests::NativeRequests;
use crate::figures::of_sections;
use crate::guest::shown;
use crate::options::{cache_bytes, experiment, jobs, memory_limit};
use crate::run::{SharedRuns, setups};
use crate::watched::watched;

/// The lives of devices under one load.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeLives {
    trace: String,
    lives: Vec<Life>,
}

impl NativeLives {
    fn shown(&self) -> Lives<'_> {
        Lives::new(&self.trace, &self.lives)
    }
}

#[pymethods]
impl NativeLives {
    /// The lives as the JSON of `ftlab life --json`, with a newline at the end.
    fn to_json(&self) -> String {
        texts::json(&self.shown())
    }

    /// The lives as the table of `ftlab life`.
    fn text(&self) -> String {
        self.shown().text()
    }

    /// What came out, in a sentence or two.
    fn headline(&self) -> String {
        headline::lives::of(&self.lives).join(" ")
    }

    /// The lives as the report of `ftlab life`: a page of HTML.
    fn page(&self) -> String {
        self.shown().page().html()
    }

    /// The figures of the report, as the JSON of a list.
    fn figures(&self) -> String {
        let figures = over_the_life(&self.lives).into_iter().collect();
        of_sections(&[Section::of_figures("Over the life", figures)])
    }
}

/// Repeats the same trace, or the same requests, for several experiments, which differ in the FTL
/// only, until their devices can only be read.
///
/// # Errors
/// As `ftlab.errors` describes, for the first life that fails; `TypeError` for an option that a
/// life does not have.
#[pyfunction]
#[pyo3(signature = (
    options, *, requests=None, jobs=None, memory=None, progress=None, memory_limit=None
))]
pub fn lives(
    py: Python<'_>,
    options: Vec<Bound<'_, PyDict>>,
    requests: Option<Bound<'_, NativeRequests>>,
    jobs: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<NativeLives> {
    options.iter().try_for_each(check)?;
    let experiments = options.iter().map(experiment).collect::<PyResult<Vec<Experiment>>>()?;
    let runs = SharedRuns {
        setups: &setups(&experiments, requests.as_ref())?,
        jobs: self::jobs(jobs)?,
        cache_bytes: self::cache_bytes(memory)?,
        limit_bytes: self::memory_limit(memory_limit)?,
    };
    let lived =
        watched(py, experiments.len(), progress.as_ref(), |watch| runs.each(watch, life::life))?;
    let (trace, lives) = lived?;
    let ftls: Vec<&str> = experiments.iter().map(|it| &*it.ftl).collect();
    let named = lives.into_iter().zip(shown(&ftls)).map(|(life, ftl)| Life { ftl, ..life });
    Ok(NativeLives { trace, lives: named.collect() })
}

/// Refuses options that a life does not have.
fn check(keywords: &Bound<'_, PyDict>) -> PyResult<()> {
    for option in options().iter().filter(|option| !life::takes(option)) {
        if keywords.get_item(option.name)?.is_some_and(|value| !value.is_none()) {
            let why = format!("a life has no option `{}`", option.name);
            return Err(PyTypeError::new_err(why));
        }
    }
    Ok(())
}
