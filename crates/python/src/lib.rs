//! The extension module `ftlab._native`: it converts values of Python and calls the other crates.
//!
//! ```text
//! python/ftlab/*.py ──▶ _native ──▶ sim, trace, report, cli
//! ```
//! * `options` keywords become an experiment
//! * `watched` work without the interpreter, which looks for Ctrl-C and shows progress
//! * `run`     runs and comparisons, and their results
//! * `columns` requests and results as columns: NumPy, pandas, Arrow
//! * `traces`  trace files and workloads
//! * `sweeps`  plans, and sweeps here or on a cluster
//! * `figures` the figures of reports
//! * `papers`  the plans of the papers' experiments
//! * `policy`  policies of page mapping that are written in Python
//! * `lists`   schemes, chips, workloads and the other lists
//! * `command` the command `ftlab`
//! * `failure` from errors of Rust to exceptions
//!
//! Everything that has a meaning (defaults, checks, texts, figures) comes from those crates.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod columns;
mod command;
mod failure;
mod figures;
mod lists;
mod options;
mod papers;
mod policy;
mod run;
mod sweeps;
mod traces;
mod watched;

use pyo3::prelude::*;

/// The extension module of ftlab, made by Rust; use the package `ftlab`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    columns::requests::register(module)?;
    columns::result_rows::register(module)?;
    command::register(module)?;
    figures::register(module)?;
    lists::register(module)?;
    options::register(module)?;
    papers::register(module)?;
    policy::register(module)?;
    run::register(module)?;
    sweeps::register(module)?;
    traces::register(module)
}
