//! Schemes without a log, count for count: by hand, and against naive models.
//!
//! The models know the counting rules and no data structure: they search all blocks for a victim
//! and recount what they need.

mod block;
mod dac;
mod device;
mod dftl;
mod page;
