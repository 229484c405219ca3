//! Plans and sweeps: on this machine, or row by row on the workers of a cluster.
//!
//! ```text
//! NativePlan ─ orders ─▶ workers: run_order ─ outcomes ─▶ NativeSweep (journal) ─ finish ─▶ rows
//!            └────────────── NativeSweep.run on local cores ──────────────┘
//! ```
//! * [`plan`]   a plan: its rows, and their keys and orders
//! * [`sweep`]  the journal and the outputs of a sweep
//! * [`worker`] one run in a process that is sent one at a time

pub mod plan;
pub mod sweep;
pub mod worker;
