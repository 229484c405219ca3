//! Checks with power cuts.

pub mod faults;
pub mod power_loss;
