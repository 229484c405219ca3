//! The lists of FTLs, chips, workloads, formats, layers, victim policies, drives and wear policies.

use pyo3::prelude::*;

use crate::failure::UsageError;

/// A list as the JSON of `ftlab list`, or all lists by name if no name is given.
///
/// # Errors
/// `UsageError` if there is no such list.
#[pyfunction]
#[pyo3(signature = (name=None))]
pub fn list_json(name: Option<&str>) -> PyResult<String> {
    let unknown = || UsageError::new_err(format!("there is no list `{}`", name.unwrap_or("")));
    cli::list(name).ok_or_else(unknown)
}
