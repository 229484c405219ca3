//! Workloads: requests made from a spec, a space and a seed, the same on every machine.
//!
//! ```text
//! Workload ── place ──> Placement: where the next request goes       one file a workload
//!     └────> Generator: how many, reads or writes, when              here
//! ```
//!
//! All workloads share some keys. `writes` requests are writes; `reads` is the share of all
//! requests that are reads, in a random order but of an exact number; they come one every
//! `interarrival`.
//!
//! There are two kinds. The *plain* ones are an idea with a few knobs: all requests have the size
//! `request`, a page unless given, and reads are placed like the writes. A space is cut into
//! *units*, each the whole pages that one request spans. A request starts at the start of its unit;
//! one smaller than a page lies anywhere in it, at a multiple of its size if that divides the page,
//! else at a sector. So `pages=` touched pages are touched pages at any size.
//!
//! The *calibrated* ones stand for traces that papers used and nobody can have. Each is a table of
//! `streams`, fitted to what the papers say of the trace; sizes, places and the space it is laid
//! over belong to it, whatever the pages of the device. docs/workloads.md compares them with what
//! is published and captured.
//!
//! Nothing here depends on a mathematical library or on the version of a crate: random words come
//! from Xoshiro256++, everything behind them is in these files.

pub(crate) mod generator;
pub(crate) mod grid;
pub(crate) mod math;
pub(crate) mod params;
pub(crate) mod random;
pub(crate) mod scatter;
pub(crate) mod streams;
pub(crate) mod tiers;
pub mod workload;
pub mod workloads;
