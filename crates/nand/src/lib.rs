//! A NAND flash chip: it enforces the rules of flash, counts operations and can lose its power.
//!
//! * [`address`]    the kinds of numbers: [`Lpn`], [`Ppn`], [`BlockId`], sectors of a page
//! * [`geometry`]   pages, blocks, program orders
//! * [`spare`]      the bytes beside each page: owner, version, sequence, kind
//! * [`payload`]    the contents of a page: nothing (count), a stamp for each sector, or bytes
//! * [`op`]         operations, their causes, and the tally that counts them
//! * [`Nand`]       the chip itself: rules, booking, wear
//! * [`power_cut`]  power cuts and what they leave on flash
//! * [`timing`]     latencies; only clocks use them
//! * [`chip_model`] chips by name, each with its source
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod address;
pub mod chip_model;
mod error;
pub mod geometry;
mod nand;
pub mod op;
pub mod payload;
pub mod power_cut;
pub mod spare;
mod store;
pub mod timing;

pub use address::{BlockId, Lpn, Ppn, SectorMask};
pub use chip_model::ChipModel;
pub use error::{Error, Result};
pub use geometry::{Geometry, ProgramOrder};
pub use nand::{Nand, Page};
pub use op::{Cause, Op, Tally};
pub use payload::{Cells, Content, Data, Mode, Sink, Stamp};
pub use power_cut::{Cut, Interruptible, Outcome};
pub use spare::{PageState, Spare};
pub use timing::Timing;
