//! A scheme as the registry lists it.

use nand::{ChipModel, Geometry, Nand};
use spec::{Param, Params};

use super::error::Result;
use super::ftl::Ftl;
use super::mount_config::MountConfig;

/// A scheme as the registry lists it.
#[derive(Debug)]
pub struct Scheme {
    /// The name that users write.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Settings, such as `cmt=8`, under which a tiny device does what others do at their size; the
    /// tests attack these forms too.
    pub corners: &'static [&'static str],
    /// Refuses parameters that contradict each other or the chip, with the sentence that says why.
    pub refuses: fn(&Params, &ChipModel) -> Option<String>,
    /// How the part of its map grows and shrinks that can; none if nothing can.
    pub map_budget: Option<MapBudget>,
    /// The fewest extra blocks it works with.
    pub least_extra: fn(&Params, &ChipModel, logical_blocks: u32) -> u32,
    /// Comes back from whatever is on the flash; a factory-new chip is formatted.
    pub mount: fn(&mut Nand, &MountConfig) -> Result<Box<dyn Ftl>>,
}

/// Of a scheme whose map has a part that can grow and shrink at run time: how that goes.
#[derive(Clone, Copy, Debug)]
pub struct MapBudget {
    /// The parameter that a budget takes the place of; empty if there is none.
    pub replaces: &'static str,
    /// Bytes by which the part is tuned: what it is made of.
    pub unit_bytes: fn(&Geometry) -> u64,
    /// Bytes of what it keeps for one page.
    pub entry_bytes: u64,
    /// Requests from one tuning to the next.
    pub interval: u64,
}
