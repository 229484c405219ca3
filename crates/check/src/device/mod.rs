//! A device between power-on and power-off, and what can happen to it.

pub mod action;
pub mod background_sync;
pub mod host_buffer;
pub mod powered_device;
