//! Checks with power cuts.

pub mod counts;
pub mod faults;
pub mod filmed;
pub mod isolated;
pub mod operation_lines;
pub mod power_loss;
pub mod repro;
pub mod shrinking;
