//! From errors of Rust to exceptions: a class for each kind of failure.

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use sim::Experiment;
use sim::config::command_line::replay_command;

pyo3::import_exception!(ftlab.errors, UsageError);
pyo3::import_exception!(ftlab.errors, RunError);
pyo3::import_exception!(ftlab.errors, ViolationError);
pyo3::import_exception!(ftlab.errors, BugError);

/// The exception for an error. `experiment` is what was run, if the command can run it as well.
pub fn exception(error: &sim::Error, experiment: Option<&Experiment>) -> PyErr {
    let message = error.to_string();
    match error {
        sim::Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        sim::Error::Violation { .. } => {
            ViolationError::new_err((message, experiment.map(replay_command)))
        }
        _ if error.exit_code() == 2 => UsageError::new_err(message),
        _ => RunError::new_err(message),
    }
}

/// The exception for a failure of the command.
pub fn failed(failure: &cli::failure::Failure) -> PyErr {
    let message = failure.message().to_owned();
    match failure.code() {
        2 => UsageError::new_err(message),
        3 => ViolationError::new_err((message, None::<String>)),
        _ => RunError::new_err(message),
    }
}

/// The exception for an error that no command replays.
pub fn raised(error: impl Into<sim::Error>) -> PyErr {
    exception(&error.into(), None)
}

/// An exception with the line of the user's source that raised it.
pub fn described(py: Python<'_>, raised: &PyErr) -> String {
    let place = || -> PyResult<String> {
        let traceback = raised.traceback(py).ok_or_else(|| PyValueError::new_err(""))?;
        let frames = py.import("traceback")?.call_method1("extract_tb", (traceback,))?;
        let last = frames.get_item(frames.len()? - 1)?;
        let (file, line): (String, u32) =
            (last.getattr("filename")?.extract()?, last.getattr("lineno")?.extract()?);
        Ok(format!(" ({file}:{line})"))
    };
    format!("{raised}{}", place().unwrap_or_default())
}

/// The exception for a panic, which is a bug of this program.
pub fn bug(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    let version = env!("CARGO_PKG_VERSION");
    BugError::new_err(format!("bug in ftlab {version}: {text}. Please report it with these lines"))
}
