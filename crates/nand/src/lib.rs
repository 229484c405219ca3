//! A NAND flash chip: it enforces the rules of flash, counts operations and can lose its power.
//!
//! * [`address`]     the kinds of numbers: [`Lpn`], [`Ppn`], [`BlockId`], sectors of a page
//! * [`spare`]       the bytes beside each page: owner, version, sequence, kind
//! * [`geometry`]    pages, blocks, program orders
//! * [`payload`]     the contents of a page: nothing (count), a stamp for each sector, or bytes
//! * [`page_store`]  the storage behind a chip; [`memory_store`] keeps it in memory
//! * [`flash_array`] pages, blocks and the rules of flash
//! * [`power_cut`]   power cuts and what they leave on flash
//! * [`op`]          operations, their causes, and the tally that counts them
//! * [`op_sink`]     operations with their places, for logs and clocks
//! * [`op_record`]   a record of operations in bulk, with the owners of pages
//! * [`Nand`]        the chip itself: an array that counts its operations
//! * [`timing`]      latencies; only clocks use them
//! * [`chip_model`]  chips by name, each with its source
//!
//! Each file imports only from those above it in this list.
//!
//! A page of a chip that only counts is programmed once, and its block is erased before the next
//! time:
//!
//! ```
//! use nand::{BlockId, Cause, Content, Data, Geometry, Lpn, Mode, Nand, Op, Page, Ppn};
//! use nand::ProgramOrder;
//!
//! // Eight blocks of four pages of 2 KiB, each with a spare area of 64 bytes.
//! let geometry = Geometry::new(2048, 64, 4, 8, ProgramOrder::Ascending)?;
//! let mut nand = Nand::new(geometry, Mode::Count);
//! let content = Content::Host { data: Data::Stamp(1), mask: 0b1111, base: None };
//! nand.program(Ppn(0), &Page { owner: Lpn(7), kind: 1, extra: &[], content }, Cause::Host)?;
//! nand.erase(BlockId(0), Cause::Gc)?;
//! assert_eq!(nand.tally().count(Op::Program, Cause::Host), 1);
//! # Ok::<(), nand::Error>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

pub mod address;
mod cells;
pub mod chip_model;
mod error;
pub mod flash_array;
pub mod geometry;
pub mod memory_store;
mod nand;
pub mod op;
pub mod op_record;
pub mod op_sink;
pub mod page_store;
pub mod payload;
pub mod power_cut;
pub mod spare;
pub mod timing;

pub use address::{BlockId, Lpn, Ppn, SectorMask};
pub use cells::Cells;
pub use chip_model::ChipModel;
pub use error::{Error, Result};
pub use flash_array::FlashArray;
pub use geometry::{Geometry, Pairing, ProgramOrder};
pub use memory_store::MemoryStore;
pub use nand::media::Media;
pub use nand::media::model::MediaModel;
pub use nand::mounting::Mounting;
pub use nand::power::Power;
pub use nand::wear::{self, WearChoice};
pub use nand::{Nand, ProgramGuard};
pub use op::{Cause, Op, Tally};
pub use op_record::{OpRecord, RecordedBulk};
pub use op_sink::{OpSink, Operation};
pub use page_store::PageStore;
pub use payload::{Content, Copies, Data, Mode, Page, Pages, Sink, Stamp};
pub use power_cut::{Cut, Interruptible, Outcome};
pub use spare::{PageState, Spare};
pub use timing::Timing;
