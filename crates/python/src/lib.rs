//! The extension module `ftlab._native`: it converts values of Python and calls the other crates.
//!
//! ```text
//! python/ftlab/*.py ──▶ _native ──▶ sim, trace, report, cli
//! ```
//! * `options` keywords become an experiment
//! * `watched` work without the interpreter, which looks for Ctrl-C and shows progress
//! * `run`     runs and comparisons, and their results; films of them
//! * `advices` advice on a load, from its log
//! * `lives`   lives of devices: a load until the flash is worn out
//! * `columns` requests and results as columns: NumPy, pandas, Arrow
//! * `traces`  trace files and workloads
//! * `sweeps`  plans, and sweeps here or on a cluster
//! * `figures` the figures of reports, and the names of their pages
//! * `papers`  the plans of the papers' experiments
//! * `guest`   FTLs that are written in Python
//! * `power_cuts` an FTL under power cuts at every flash operation
//! * `policy`  policies of page mapping that are written in Python
//! * `lists`   schemes, chips, workloads and the other lists
//! * `command` the command `ftlab`
//! * `failure` from errors of Rust to exceptions
//!
//! Everything that has a meaning (defaults, checks, texts, figures) comes from those crates.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod advices;
mod columns;
mod command;
mod failure;
mod figures;
mod guest;
mod lists;
mod lives;
mod options;
mod papers;
mod policy;
mod power_cuts;
mod run;
mod sweeps;
mod traces;
mod watched;

/// The extension module of ftlab, made by Rust; use the package `ftlab`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        advices::{NativeAdvice, advise},
        columns::requests::{NativeRequests, RequestsBuilder, op_code},
        columns::result_rows::rows_stream,
        command::command,
        figures::headline_text,
        figures::{figure_svg, figures_json, refuse_other_format},
        guest::Chip,
        lists::list_json,
        lives::{NativeLives, lives},
        options::run_options,
        papers::paper_plans,
        policy::{CopyFacts, DeviceFacts, ErasedFacts, WriteFacts},
        power_cuts::{NativeCheck, NativeFinding, power_cuts},
        run::{
            NativeComparison, NativeResult, compare,
            films::{NativeFilms, films},
            result_groups, results_json, run,
        },
        sweeps::plan::NativePlan,
        sweeps::sweep::{NativeRows, NativeSweep, rows_text},
        sweeps::worker::run_order,
        traces::{NativeBatches, NativeTrace, volumes_json},
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python calls it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::guest::install();
        Ok(())
    }
}
