//! One run in a process that is sent one at a time.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use sim::sweep::RowRunner;
use sim::sweep::runner::CopiedTrace;

use crate::failure::raised;
use crate::options::memory_limit;
use crate::watched::watched;

/// The runner of this process, with its limits as they were given: it remembers traces from run to
/// run, and its runs share one limit of memory.
static RUNNER: Mutex<Option<(Limits, Arc<RowRunner>)>> = Mutex::new(None);

/// The limit of memory as it was given, and the bytes for cached requests.
type Limits = (Option<String>, u64);

/// Runs an order and returns its outcome, as JSON on one line; a run that fails has one, too.
/// `copies` are traces that were copied here: the beginning of the own name of each, the beginning
/// of the name of the copy, and the rest, which is the same. `worker` names this one. `look` is
/// called ten times a second and stops the run by raising. Runs with the same `memory_limit` and
/// `cache_bytes` share them; the latter are what the requests of all traces of the plan will about
/// take.
///
/// # Errors
/// `UsageError` if the order comes from another version of ftlab, or a trace here is not that of
/// the order; whatever `look` raises.
#[pyfunction]
#[pyo3(signature = (
    order, *, cache_bytes, worker, copies=Vec::new(), look=None, memory_limit=None
))]
pub fn run_order(
    py: Python<'_>,
    order: &str,
    cache_bytes: u64,
    worker: &str,
    copies: Vec<(String, String, String)>,
    look: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let runner = runner(memory_limit, cache_bytes)?;
    let copy = |(there, here, rest)| CopiedTrace { there, here, rest };
    let copies: Vec<CopiedTrace> = copies.into_iter().map(copy).collect();
    let outcome =
        watched(py, 1, look.as_ref(), |watch| runner.run(order, &copies, worker, &watch.run(0)))?;
    outcome.map_err(raised)
}

/// The runner for runs with this limit of memory. What is available by default changes from call to
/// call, so limits are compared as they were given.
fn runner(memory_limit: Option<&Bound<'_, PyAny>>, cache_bytes: u64) -> PyResult<Arc<RowRunner>> {
    let given = memory_limit.map(|limit| limit.str()?.extract::<String>()).transpose()?;
    let given = (given, cache_bytes);
    let limit_bytes = self::memory_limit(memory_limit)?;
    let mut known = RUNNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((limits, runner)) = &*known
        && *limits == given
    {
        return Ok(Arc::clone(runner));
    }
    let runner = Arc::new(RowRunner::new(limit_bytes, cache_bytes));
    *known = Some((given, Arc::clone(&runner)));
    Ok(runner)
}
