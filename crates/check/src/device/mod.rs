//! A device between power-on and power-off, and what can happen to it: cuts and crashes.

pub mod action;
pub mod background_sync;
pub mod host_buffer;
pub mod machine_crash;
pub mod power_cut;
pub mod powered_device;
