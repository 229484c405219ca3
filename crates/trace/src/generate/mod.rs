//! Workloads: requests generated from a spec, an address space and a seed, identical on every
//! machine.
//!
//! ```text
//! Workload ──▶ Placement: address and size of each request               one file per workload
//!     └──────▶ Course: number of requests, operations, arrival times     common to all
//! ```
//!
//! Some keys are common to all workloads. `writes` is the number of writes. `reads` is the share of
//! all requests that are reads: their number is exact, their order random. One request arrives
//! every `interarrival`.
//!
//! There are four kinds of workloads:
//!
//! * *Plain* workloads implement one idea with a few parameters. All requests have the size
//!   `request`, by default a page. Reads are placed like writes. The space is divided into *units*:
//!   a unit is the smallest number of whole pages that a request fits in. A request begins at the
//!   start of a unit. A request smaller than a page begins anywhere in its page: at a multiple of
//!   its size if that divides the page, else at any sector. So `pages=` is the number of touched
//!   pages for requests of any size.
//! * *Calibrated* workloads replace traces that papers used and did not publish. Most are tables of
//!   streams (`streams`) fitted to the figures in the papers; `tpcc_drift` runs transactions. The
//!   sizes, the addresses and the size of the space belong to the workload and do not depend on the
//!   pages of the device. docs/workloads.md compares them with published and captured figures.
//! * *Standard* workloads are those of a standard, with its sizes and its places.
//! * *Stores* are caches and databases of today after published descriptions. They name a stream
//!   with each write. What they discard, and read in order to rewrite it, comes on top of the reads
//!   and writes.
//!
//! No result depends on a mathematical library or on the version of a crate: random words come from
//! Xoshiro256++, and all further arithmetic is in these files.
//!
//! * [`workloads`]: the list of workloads, by kind
//! * [`workload`]: the declaration of a workload
//! * `params`: the keys that workloads share
//! * `course`: numbers, operations and times of requests
//! * `generator`: the reader of all workloads
//! * `grid`: units and positions of requests
//! * `tiers`, `scatter`: hot and cold units, scattered over the space
//! * `streams`: the engine of most calibrated workloads
//! * `checkpoint_queue`: dirty pages of a buffer, written back oldest first
//! * `weighted_choice`: a choice among items with weights
//! * `recency`: places in the order of their last use
//! * `zipf_ranks`: ranks whose probabilities follow Zipf's law
//! * `random`, `math`: random numbers, logarithm and exponential

pub(crate) mod checkpoint_queue;
pub(crate) mod course;
pub(crate) mod generator;
pub(crate) mod grid;
pub(crate) mod math;
pub(crate) mod params;
pub(crate) mod random;
pub(crate) mod recency;
pub(crate) mod scatter;
pub(crate) mod streams;
pub(crate) mod tiers;
pub(crate) mod weighted_choice;
pub mod workload;
pub mod workloads;
pub(crate) mod zipf_ranks;
