//! The flash translation layers, each one file that reads like its paper.
//!
//! Imports fall: [`contract`] ← [`part`] ← [`scheme`], [`layer`] ← [`registry`]. No scheme knows
//! another one, a layer, a clock or a statistic; what two share is a part.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod contract;
pub mod layer;
pub mod part;
pub mod registry;
pub mod scheme;

pub use contract::{
    Base, BlockLender, Durability, Entered, Error, Ftl, LayerReport, Layered, MapBudget, MapEvent,
    Merges, Metric, MissCosts, MountConfig, Ram, Report, ResizableMap, Result, Run, Scheme,
    Violation,
};
pub use layer::{LAYERS, Layers};
pub use part::recovery::trim_log::system_blocks;
pub use registry::{Choice, SCHEMES};
