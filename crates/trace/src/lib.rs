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
//! * [`derived`]: block traces that follow from traces of another kind
//! * [`analysis`]: statistics of a trace
//! * [`sort`]: sorting a trace by time
//! * [`table`]: packed requests, in memory or in a temporary file
//! * [`writer`]: writing requests as text
//! * [`log_writes`]: logs of what became durable on a disk, as Linux's dm-log-writes keeps them
//!
//! A trace is recognised by its content, and can be read any number of times:
//!
//! ```
//! use trace::{Op, ReadOptions, Trace};
//!
//! let spc = b"0,20941264,8192,W,0.551706\n0,20939840,8192,R,0.554041\n";
//! let trace = Trace::of_bytes("financial", spc, &ReadOptions::default())?;
//! let requests = trace.requests()?;
//! assert_eq!((requests[0].op, requests[0].bytes), (Op::Write, 8192));
//! assert_eq!(requests[1].time_ns - requests[0].time_ns, 2_335_000);
//! # Ok::<(), trace::Error>(())
//! ```
//!
//! A new format costs a file in a folder of `parse/formats/` and a line in the list there
//! ([`parse::formats`]). A new workload costs a file in a folder of `generate/workloads/` and a
//! line in the list there ([`generate::workloads`]).

#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(unix))]
compile_error!("ftlab-trace needs Unix: on Windows, build it in WSL");

pub mod analysis;
mod catalogue;
pub mod derived;
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
pub use replay::{ReadOptions, ReadReport, Replay, Skipped, Trace, go_on};
pub use request::{Flags, Op, Request};
pub use table::builder::{ColumnBlock, TableBuilder};
pub use table::request_store::{RequestStore, SpillFile, StoreBuilder};
pub use table::request_table::RequestTable;
