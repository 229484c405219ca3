//! What a user tells a running server, and what it answers.
//!
//! * [`command`]  commands
//! * [`stats`]    what was done

pub mod command;
pub mod stats;
