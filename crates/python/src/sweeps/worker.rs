//! One run in a process that is sent one at a time.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use sim::parallel_runs::CACHE_BYTES;
use sim::sweep::RowRunner;
use sim::sweep::runner::CopiedTrace;

use crate::failure::raised;
use crate::options::memory_limit;
use crate::watched::watched;

/// The runner of this process, with the limit as it was given: it remembers traces from run to run,
/// and its runs share one limit of memory.
static RUNNER: Mutex<Option<(Option<String>, Arc<RowRunner>)>> = Mutex::new(None);

/// Runs an order and returns its outcome, as JSON on one line; a run that fails has one, too.
/// `copies` are traces that were copied here: the beginning of the own name of each, the beginning
/// of the name of the copy, and the rest, which is the same. `look` is called ten times a second
/// and stops the run by raising. Runs with the same `memory_limit` share it.
///
/// # Errors
/// `UsageError` if the order comes from another version of ftlab, or a trace here is not that of
/// the order; whatever `look` raises.
#[pyfunction]
#[pyo3(signature = (order, *, copies=Vec::new(), look=None, memory_limit=None))]
pub fn run_order(
    py: Python<'_>,
    order: &str,
    copies: Vec<(String, String, String)>,
    look: Option<Py<PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let runner = runner(memory_limit)?;
    let copy = |(there, here, rest)| CopiedTrace { there, here, rest };
    let copies: Vec<CopiedTrace> = copies.into_iter().map(copy).collect();
    let outcome = watched(py, 1, look.as_ref(), |watch| runner.run(order, &copies, &watch.run(0)))?;
    outcome.map_err(raised)
}

/// The runner for runs with this limit of memory. What is available by default changes from call to
/// call, so limits are compared as they were given.
fn runner(memory_limit: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<RowRunner>> {
    let given = memory_limit.map(|limit| limit.str()?.extract::<String>()).transpose()?;
    let limit_bytes = self::memory_limit(memory_limit)?;
    let mut known = RUNNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((limit, runner)) = &*known
        && *limit == given
    {
        return Ok(Arc::clone(runner));
    }
    let runner = Arc::new(RowRunner::new(limit_bytes, CACHE_BYTES));
    *known = Some((given, Arc::clone(&runner)));
    Ok(runner)
}
