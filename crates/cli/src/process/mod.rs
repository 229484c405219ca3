//! The process of the command: signals, and the memory that it takes.

pub mod memory_limit;
pub mod signals;
