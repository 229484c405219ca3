//! From counts to time. A clock sees the chip's tally, never a scheme.

pub mod serial;
