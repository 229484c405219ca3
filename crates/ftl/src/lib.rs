//! The flash translation layers, each in a file that follows its paper.
//!
//! Imports go in one direction: [`contract`] ← [`part`] ← [`scheme`], [`layer`] ← [`registry`] ←
//! [`device`], a chip with a scheme and layers on it. No scheme imports another one, a layer, a
//! clock or a statistic; what two of them share is a part.
//!
//! An FTL does not own the chip; it gets it for each call. So a power cycle is to drop the one and
//! to mount another on the same flash:
//!
//! ```
//! use ftl::device::Size;
//! use ftl::{Choice, Device, Durability, Layers, Run};
//! use nand::{ChipModel, Data, Lpn, Mode, Nand};
//! use spec::Spec;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chip = ChipModel::from_spec(&Spec::parse("slc-fast2010")?)?;
//! let choice = Choice::from_spec(&Spec::parse("page:victim=fifo")?)?;
//! let size = Size { logical_blocks: 16, extra_blocks: 8 };
//! let device = Device::new(chip, choice, Layers::default(), size, Durability::Paper, 1)?;
//! let mut nand = device.new_chip(Mode::Stamps);
//! let mut ftl = device.mount(&mut nand)?;
//! ftl.write(&mut nand, &Run::whole(Lpn(3), 1, 2048, Data::Stamp(1)), &[])?;
//! ftl.base_mut().flush(&mut nand, None)?;
//! drop(ftl);
//!
//! let mut nand = Nand::power_up(nand.into_array());
//! let ftl = device.mount(&mut nand)?;
//! assert!(ftl.base().place(&nand, Lpn(3)).is_some());
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod contract;
pub mod device;
pub mod layer;
pub mod part;
pub mod registry;
pub mod scheme;

pub use contract::{
    Base, BlockLender, Durability, Entered, Error, Extent, Facet, FacetKind, Ftl, LayerReport,
    LayerTotals, MapBudget, MapEvent, Merges, Metric, MissCosts, MountConfig, Ram, Report,
    ResizableMap, Result, Run, Scheme, Span, Tuner, Violation,
};
pub use device::Device;
pub use layer::{LAYERS, Layers};
pub use part::recovery::trim_log::{blocks_max, system_blocks};
pub use registry::{Choice, SCHEMES};
