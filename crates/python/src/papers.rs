//! The plans with which the experiments of the papers are repeated.

use pyo3::prelude::*;

/// The name and the TOML text of the plan of each experiment, in the order of `ftlab papers`.
#[pyfunction]
fn paper_plans() -> Vec<(&'static str, &'static str)> {
    cli::paper_plans().collect()
}

/// Adds this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(paper_plans, module)?)
}
