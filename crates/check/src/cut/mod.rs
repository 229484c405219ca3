//! Power cuts: what they leave on flash, and checks with them.

pub mod faults;
pub mod power_cut;
pub mod power_loss;
