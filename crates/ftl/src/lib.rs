//! The flash translation layers, each in a file that follows its paper.
//!
//! Imports go in one direction: [`contract`] ← [`part`] ← [`scheme`], [`layer`] ← [`registry`] ←
//! [`device`], a chip with a scheme and layers on it. No scheme imports another one, a layer, a
//! clock or a statistic; what two of them share is a part.
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
