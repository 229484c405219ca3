//! The command `ftlab` inside the extension.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command as the whole process, with its handlers of signals. Returns the exit code.
///
/// `arguments` begin with the name of the command.
///
/// # Errors
/// `OSError` if signals cannot be handled.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    py.detach(|| {
        cli::take_process(&arguments)?;
        Ok(cli::main(&arguments))
    })
}
