//! What does it cost? One trace, one device, one FTL: exact counts, serial times, checked laws.
//!
//! ```text
//! Experiment ── Input (trace, layout, touched pages)
//!      │             │ requests
//!      └─ Device ──► host: runs of pages ──► Ftl ──► Nand, which counts
//!                                                      │
//!                             shadow: verify ◄─────────┤ tally
//!                                                      ▼
//!                             laws ◄── result ◄── clock, latencies, series
//! ```
//!
//! * [`config`]     the options of a run
//! * [`input`]      the trace: opened, laid out, cut into runs of pages
//! * [`device`]     layout of the physical blocks
//! * [`mod@run`]    precondition, warm up, measure
//! * [`clock`]      from counts to time
//! * [`result`]     the result of a run as JSON, and the laws that it obeys
//! * [`plan`]       many experiments in one file, with claims and drawings
//! * [`sweep`]      the runs of a plan on all cores, resumable
//! * [`sizing`]     the least over-provisioning, TBW and DWPD; bounds of placement
//! * [`advise`]     sizing, endurance, latency and more from a log, in one answer
//! * [`memory`]     the memory that runs take, estimated and shared
//! * [`parallel_runs`] several runs at a time
//! * [`progress`]   reports of progress, and the way to stop a run
//! * [`shadow`]     a shadow copy of every sector, for verification
//! * [`mismatch`]   what verification found wrong
//! * [`error`]      everything that can go wrong with a run
//!
//! An experiment is a value with documented defaults:
//!
//! ```
//! use sim::{Experiment, RunOptions, Setup};
//!
//! let experiment = Experiment {
//!     trace: Some("uniform:writes=20K".into()),
//!     ftl: "page:victim=greedy".into(),
//!     capacity_bytes: Some(8 << 20),
//!     ..Experiment::default()
//! };
//! let result = sim::run(&Setup::new(&experiment)?, RunOptions::default())?;
//! assert!(result.write_amplification.unwrap() > 1.0);
//! # Ok::<(), sim::Error>(())
//! ```
//!
//! Serial time ranks FTLs; it does not predict the latency of an SSD with channels and queues.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod advise;
pub mod clock;
pub mod config;
pub mod device;
pub mod error;
pub mod input;
pub mod memory;
pub mod mismatch;
pub mod parallel_runs;
pub mod plan;
pub mod progress;
pub mod result;
pub mod run;
pub mod shadow;
pub mod sizing;
pub mod sweep;

pub use config::experiment::Experiment;
pub use config::setup::Setup;
pub use error::{Error, OtherSweep, Result};
pub use input::Input;
pub use memory::MemoryBudget;
pub use progress::{NoProgress, Progress, Stage};
pub use result::run_result::RunResult;
pub use run::filmed::FilmOutput;
pub use run::timeline::{Extent, TimelineOutput};
pub use run::{RunOptions, run};
