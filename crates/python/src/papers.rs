//! The plans with which the experiments of the papers are repeated.

use pyo3::prelude::*;

/// The name and the TOML text of the plan of each experiment, in the order of `ftlab papers`.
#[pyfunction]
pub fn paper_plans() -> Vec<(&'static str, &'static str)> {
    cli::paper_plans().collect()
}
