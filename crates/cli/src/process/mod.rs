//! The process of the command: signals, standard output, and the memory that it takes.

pub mod memory_limit;
pub mod signals;
pub mod stdout;
