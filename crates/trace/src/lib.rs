//! What a host asks: block-I/O traces from files, made-up workloads, and what can be said of both.
//!
//! ```text
//! files, archive, stdin ─ input ─ window ─ parse/{spc,msr,…} ┐
//!                                                            ├─ Replay: Requests in batches
//! spec + seed ─── generate/{uniform,zipf,skew,oltp,…} ───────┘            │
//!                                                     survey, write, and the simulator
//! ```
//!
//! * [`request`]: the request, the one thing all formats become
//! * [`replay`]: [`Trace`], a source that can be read again, and [`Replay`], one reading of it
//! * [`registry`]: the known formats and workloads, as data
//! * [`mod@survey`]: everything there is to say about a trace, in one pass
//! * [`locality`], [`examples`]: where writes go and come back to, in a second pass and a third
//! * [`sample`]: a bounded part of something long
//! * [`pages`], [`volumes`]: the pages a trace touches; several devices laid end to end
//! * [`mod@write`]: requests back to text
//!
//! A new format is one file in `parse/` and its line in the registry; so is a workload in
//! `generate/`.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod archive;
pub mod error;
pub mod examples;
mod format;
pub mod generate;
mod histories;
mod input;
pub mod locality;
mod named;
mod packing;
pub mod pages;
pub mod parse;
mod place;
pub mod registry;
pub mod replay;
pub mod request;
pub mod sample;
mod sizes;
pub mod sort;
mod source;
pub mod survey;
pub mod volumes;
mod walk;
mod window;
pub mod write;

pub use error::{Error, Result};
pub use generate::Space;
pub use named::stored_files;
pub use registry::default_capacity;
pub use replay::{ReadOptions, Replay, Skipped, Trace};
pub use request::{Flags, Op, Request};
pub use survey::{Survey, survey};
