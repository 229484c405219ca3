//! What does it cost? One trace, one device, one FTL: exact counts, serial times, laws kept.
//!
//! ```text
//! Experiment ── Input (trace, layout, touched pages)
//!      │             │ requests
//!      └─ Device ──► host: runs of pages ──► Ftl ──► Nand, which counts
//!                                                      │
//!                             verify: shadow ◄─────────┤ tally
//!                                                      ▼
//!                             laws ◄── result ◄── clock, stats, series
//! ```
//!
//! * [`experiment`] the configuration as a value: what the command, a file or Python may set
//! * [`source`]     where requests come from, as often as they are asked for
//! * [`input`]      the trace of an experiment, and what must be known of it beforehand
//! * [`device`]     how many blocks there are, and whose
//! * [`host`]       from the bytes of a request to runs of pages
//! * [`batch`]      requests read together, so that all can be looked ahead to
//! * [`machine`]    a device at work, request by request
//! * [`clock`]      from counts to time
//! * [`measure`]    what is observed in the measured pass
//! * [`surveyed`]   traces looked through whole, for drawings of them
//! * [`stats`]      exact sums and percentiles of service and response times
//! * [`series`]     samples along the way
//! * [`oplog`]      every flash operation, a line each
//! * [`verify`]     a shadow copy of every sector
//! * [`mismatch`]   what it found, in words
//! * [`watch`]      who looks on, and may stop a run
//! * [`mod@run`]    precondition, warm up, measure
//! * [`result`]     what a run says, as JSON
//! * [`columns`]    the names of its fields
//! * [`laws`]       what every result obeys
//! * [`plan`]       many experiments in one file, and what they should show
//! * [`sweep`]      the runs of a plan on all cores, resumable
//!
//! Serial time ranks FTLs; it does not predict the latency of an SSD with channels and queues.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod batch;
pub mod clock;
pub mod columns;
pub mod device;
pub mod error;
pub mod experiment;
pub mod host;
pub mod input;
pub mod laws;
pub mod machine;
pub mod measure;
pub mod mismatch;
pub mod oplog;
pub mod plan;
pub mod result;
pub mod run;
pub mod series;
pub mod source;
pub mod stats;
pub mod surveyed;
pub mod sweep;
pub mod verify;
pub mod watch;
mod words;

pub use error::{Error, Result};
pub use experiment::Experiment;
pub use input::Input;
pub use result::RunResult;
pub use run::{run, run_logged, run_on, run_on_logged};
pub use watch::{Stage, Unwatched, Watch};
