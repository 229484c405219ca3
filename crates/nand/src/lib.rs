//! The ground floor: a NAND flash chip that keeps count, keeps order and can lose its power.
//!
//! * [`address`]  the kinds of numbers: [`Lpn`], [`Ppn`], [`BlockId`], sectors of a page
//! * [`geometry`] pages, blocks, program orders
//! * [`spare`]    the bytes beside each page: owner, version, sequence, kind
//! * [`payload`]  what a page holds: nothing (count), a stamp a sector, or bytes
//! * [`op`]       operations, their causes, and the one place where they are counted
//! * [`chip`]     the chip itself: rules, booking, wear
//! * [`cut`]      power cuts and what they leave behind
//! * [`timing`]   latencies; only clocks look at them
//! * [`preset`]   chips by name, each with its source
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod address;
pub mod chip;
pub mod cut;
mod error;
pub mod geometry;
pub mod op;
pub mod payload;
pub mod preset;
pub mod spare;
mod store;
pub mod timing;

pub use address::{BlockId, Lpn, Ppn, SectorMask};
pub use chip::{Nand, Page};
pub use cut::{Cut, Outcome, Struck};
pub use error::{Error, Result};
pub use geometry::{Geometry, ProgramOrder};
pub use op::{Cause, Op, Tally};
pub use payload::{Cells, Content, Data, Mode, Sink, Stamp};
pub use preset::Chip;
pub use spare::{PageState, Spare};
pub use timing::Timing;
