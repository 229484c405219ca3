//! The result of a run.
//!
//! * [`run_result`]   the fields, as they appear in the JSON
//! * [`run_part`]     how it was measured
//! * [`layers_part`]  parameters and metrics of the layers
//! * [`counts`]       pages, operations by cause, merges
//! * [`latencies`]    exact sums and percentiles of service and response times
//! * [`series`]       samples taken along the trace
//! * [`trace_part`]   the requests of the run, and of each of several loads
//! * [`wear`]         the wear of the blocks
//! * [`media_part`]   blocks that failed
//! * [`notes`]        sentences that a reader of the figures should know
//! * [`json_values`]  parameters and metrics of schemes and layers
//! * [`record`]       parts whose columns follow from their fields
//! * [`columns`]      the columns of a csv row
//! * [`evidence`]     counters that the laws and notes need
//! * [`laws`]         equations that every result obeys

pub mod columns;
pub mod counts;
pub mod drive_part;
pub mod evidence;
pub mod json_values;
pub mod latencies;
pub mod laws;
pub mod layers_part;
pub mod media_part;
pub mod notes;
pub mod record;
pub mod run_part;
pub mod run_result;
pub mod series;
pub mod trace_part;
pub mod wear;
