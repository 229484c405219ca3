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
//! * [`analysis::survey`]: everything there is to say about a trace, in one pass
//! * [`analysis::locality`]: where writes go and come back to, in a second pass
//! * [`volumes`]: several devices laid end to end
//! * [``writer`]: requests back to text
//!
//! A new format is one file in `parse/formats/` and its line in the list there; so is a workload in
//! `generate/workloads/`.

#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod analysis;
pub mod error;
pub mod generate;
pub mod input;
pub mod parse;
mod reader;
pub mod registry;
pub mod replay;
pub mod request;
pub mod sort;
pub mod volumes;
pub mod writer;

pub use error::{Error, Result};
pub use generate::workload::AddressSpace;
pub use input::resolve_path::stored_files;
pub use registry::default_capacity;
pub use replay::{ReadOptions, Replay, Skipped, Trace};
pub use request::{Flags, Op, Request};
