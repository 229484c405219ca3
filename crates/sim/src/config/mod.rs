//! The options of a run.
//!
//! * [`experiment`] all options as one value
//! * `keywords`     options that are one keyword of a few

pub mod experiment;
pub(crate) mod keywords;
