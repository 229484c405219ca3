//! Block-I/O traces from files and from memory, generated workloads, and statistics of them.
//!
//! ```text
//! files, archives, stdin ─▶ input ─▶ parse (spc, msr, …) ──────┐
//!                                                              ├─▶ Replay: batches of requests
//! spec and seed ─────────▶ generate (uniform, zipf, oltp, …) ──┤           │
//! columns in memory ─────▶ table ──────────────────────────────┘           │
//!                                                      analysis, writer, and the simulator
//! ```
//!
//! * [`request`]: the request, the common form of all formats and workloads
//! * [`replay`]: [`Trace`], which can be read any number of times, and [`Replay`], which reads it
//!   once
//! * [`registry`]: formats and workloads by name
//! * `detection`: formats by content
//! * [`input`]: finding, decompressing and reading stored bytes
//! * [`parse`]: trace formats
//! * [`generate`]: generated workloads
//! * [`analysis`]: statistics of a trace
//! * [`sort`]: sorting a trace by time
//! * [`table`]: packed requests, in memory or in a temporary file
//! * [`writer`]: writing requests as text
//! * [`log_writes`]: logs of what became durable on a disk, as Linux's dm-log-writes keeps them
//!
//! A new format costs a file in a folder of `parse/formats/` and a line in the list there
//! ([`parse::formats`]). A new workload costs a file in a folder of `generate/workloads/` and a
//! line in the list there ([`generate::workloads`]).

#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod analysis;
mod catalogue;
mod detection;
pub mod error;
pub mod generate;
pub mod input;
pub mod log_writes;
pub mod parse;
mod reader;
pub mod registry;
pub mod replay;
pub mod request;
pub mod sort;
pub mod table;
pub mod writer;

pub use error::{Error, Result};
pub use generate::workload::AddressSpace;
pub use input::resolve_path::stored_files;
pub use registry::default_capacity;
pub use replay::{ReadOptions, ReadReport, Replay, Skipped, Trace};
pub use request::{Flags, Op, Request};
pub use table::builder::{ColumnBlock, TableBuilder};
pub use table::request_store::{RequestStore, SpillFile, StoreBuilder};
pub use table::request_table::RequestTable;
