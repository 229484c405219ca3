//! Plans and sweeps: on this machine, or row by row on the workers of a cluster.
//!
//! ```text
//! NativePlan ─ orders ─▶ workers: run_order ─ outcomes ─▶ NativeSweep (journal) ─ finish ─▶ rows
//!            └────────────── NativeSweep.run on local cores ──────────────┘
//! ```
//! * [`plan`]   a plan: its rows, and their keys and orders
//! * [`sweep`]  the journal and the outputs of a sweep
//! * [`worker`] one run in a process that is sent one at a time

mod plan;
mod sweep;
mod worker;

use pyo3::prelude::*;

/// Adds this folder to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    plan::register(module)?;
    sweep::register(module)?;
    worker::register(module)
}
