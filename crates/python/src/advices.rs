//! Advice on a load, from its log.

use cli::texts;
use cli::texts::advise::Advices;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use report::headline;
use sim::MemoryBudget;
use sim::advise::bench::Bench;
use sim::advise::subject::Choices;
use sim::advise::{Advice, Question};
use sim::config::experiment::options;

use crate::columns::requests::NativeRequests;
use crate::failure::raised;
use crate::options::{experiment, jobs, memory_limit};
use crate::watched::watched;

/// The advice on a load.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeAdvice {
    advice: Advice,
}

impl NativeAdvice {
    fn shown(&self) -> Advices<'_> {
        Advices::new(std::slice::from_ref(&self.advice))
    }
}

#[pymethods]
impl NativeAdvice {
    /// The advice as the JSON of `ftlab advise --json`, with a newline at the end.
    fn to_json(&self) -> String {
        texts::json(&self.shown())
    }

    /// The advice as the page of `ftlab advise`.
    fn text(&self) -> String {
        self.shown().text()
    }

    /// The advice as the report of `ftlab advise`: a page of HTML.
    fn page(&self) -> String {
        self.shown().page().html()
    }

    /// What came out, in a sentence or two.
    fn headline(&self) -> String {
        headline::advice::of(&self.advice).join(" ")
    }

    /// Whether any question is answered.
    #[getter]
    fn answers(&self) -> bool {
        self.advice.answers()
    }
}

/// Advises on a load: a log, a workload, or `requests`. The question is the write amplification for
/// which over-provisioning is sought, and the queue depths.
///
/// # Errors
/// As `ftlab.errors` describes; `TypeError` for an option that an advice does not have.
#[pyfunction]
#[pyo3(signature = (
    options, *, question, requests=None, jobs=None, progress=None, memory_limit=None
))]
pub fn advise(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    question: (f64, Vec<u32>),
    requests: Option<Bound<'_, NativeRequests>>,
    jobs: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<NativeAdvice> {
    check(options)?;
    let is_given = |name| options.get_item(name).map(|it| it.is_some_and(|it| !it.is_none()));
    let choices = Choices {
        experiment: experiment(options)?,
        has_chip: is_given("chip")?,
        has_fit: is_given("fit")?,
        requests: requests.map(|requests| requests.get().table.clone()),
    };
    let (target, depths) = question;
    let question = Question::new(target, depths).map_err(raised)?;
    let (memory, jobs) = (MemoryBudget::new(self::memory_limit(memory_limit)?), self::jobs(jobs)?);
    let advice = watched(py, 1, progress.as_ref(), |watch| {
        let bench = Bench { jobs, memory: &memory, monitor: &|_| Box::new(watch.run(0)) };
        sim::advise::advise(&choices, &question, &bench)
    })?;
    Ok(NativeAdvice { advice: advice.map_err(raised)? })
}

/// Refuses options that an advice does not have.
fn check(keywords: &Bound<'_, PyDict>) -> PyResult<()> {
    for option in options().iter().filter(|option| !sim::advise::takes(option)) {
        if keywords.get_item(option.name)?.is_some_and(|value| !value.is_none()) {
            let why = format!("an advice has no option `{}`", option.name);
            return Err(PyTypeError::new_err(why));
        }
    }
    Ok(())
}
