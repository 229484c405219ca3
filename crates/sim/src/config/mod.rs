//! The options of a run.
//!
//! * [`experiment`] all options as one value
//! * [`setup`]      all options read and checked, which a run is built from
//! * [`named_trace`] the file or workload that a trace's name stands for
//! * `keywords`     options that are one keyword of a few

pub mod experiment;
pub(crate) mod keywords;
pub mod named_trace;
pub mod setup;
