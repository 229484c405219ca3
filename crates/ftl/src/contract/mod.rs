//! The contract between flash translation layers and their callers.
//!
//! Each call lends the chip to the FTL, and no FTL owns it. So dropping an FTL and mounting another
//! on the same chip is a power cycle. An FTL sees neither time nor statistics; ages are counted in
//! writes.

pub mod act;
pub mod audit;
mod calls;
pub mod error;
pub mod extent;
pub mod facets;
pub mod foresight;
pub mod ftl;
pub mod guest;
pub mod lecture;
pub mod mount_config;
pub mod page_policy;
pub mod report;
pub mod run;
pub mod scheme;
pub mod span;

pub use act::{Act, BlockRole};
pub use audit::Violation;
pub(crate) use audit::ensure;
pub use error::{Error, Result};
pub use extent::Extent;
pub use facets::{
    BlockLender, Facet, FacetKind, LayerTotals, MapEvent, MissCosts, ResizableMap, Tuner,
};
pub use ftl::{Base, Ftl, base_is};
pub use lecture::Lecture;
pub use mount_config::{Durability, MountConfig};
pub use report::{Entered, LayerReport, Merges, Metric, Ram, Report};
pub use run::Run;
pub use scheme::{MapBudget, Scheme, SimulationMemory, table_bytes};
pub use span::Span;
