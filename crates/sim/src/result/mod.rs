//! The result of a run.
//!
//! * [`run_result`] the fields, as they appear in the JSON
//! * [`run_part`]   how it was measured
//! * [`counts`]     pages, operations by cause, merges
//! * [`wear`]       the wear of the blocks
//! * [`evidence`]   counters that the laws need
//! * [`latencies`]  exact sums and percentiles of service and response times
//! * [`series`]     samples taken along the trace
//! * [`columns`]    the columns of a csv row
//! * [`laws`]       equations that every result obeys

pub mod columns;
pub mod counts;
pub mod evidence;
pub mod latencies;
pub mod laws;
pub mod run_part;
pub mod run_result;
pub mod series;
pub mod wear;
