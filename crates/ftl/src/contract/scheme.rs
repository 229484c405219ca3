//! A scheme, as the registry lists it.

use nand::{ChipModel, Geometry, Mode, Nand};
use spec::{Param, Params};

use super::act::Act;
use super::error::Result;
use super::ftl::Ftl;
use super::lecture::Lecture;
use super::mount_config::{Durability, MountConfig};

/// A scheme, as the registry lists it.
#[derive(Debug)]
pub struct Scheme {
    /// The name that users write.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The publication.
    pub source: &'static str,
    /// The text and the picture that explain it.
    pub lecture: Lecture,
    /// What it does with blocks, in its own words; the first one that fits counts.
    pub acts: &'static [Act],
    /// Its parameters.
    pub params: &'static [Param],
    /// Settings, such as `cmt=8`, that bring a tiny device into situations in which others get only
    /// at their full size. The tests check these forms too.
    pub corners: &'static [&'static str],
    /// Refuses parameters that contradict each other or the chip. Returns the reason.
    pub refuses: fn(&Params, &ChipModel) -> Option<String>,
    /// Properties of the resizable part of its map; none if no part is resizable.
    pub map_budget: Option<MapBudget>,
    /// The minimum number of extra blocks.
    pub least_extra: fn(&Params, &ChipModel, logical_blocks: u32) -> u32,
    /// The largest number of bytes that it stores beside the header in the spare area of a page.
    pub scheme_bytes: fn(&Params, &Geometry, Durability) -> u32,
    /// Whether a policy from outside can place its pages.
    pub takes_policy: bool,
    /// Whether it is told when pages die, if a trace is replayed: it bounds other schemes, and is
    /// for simulations only.
    pub needs_future: bool,
    /// The most blocks that it fills at the same time with pages of its own choice, by its
    /// parameters; none if that is not a fixed number.
    pub open_blocks: Option<fn(&Params) -> u32>,
    /// Memory that simulating it takes.
    pub memory: SimulationMemory,
    /// Recovers from any state of the flash; formats a factory-new chip.
    pub mount: fn(&mut Nand, &MountConfig) -> Result<Box<dyn Ftl>>,
}

impl Scheme {
    /// A scheme without anything of its own. A scheme states how it differs from it.
    pub const PLAIN: Scheme = Scheme {
        name: "",
        summary: "",
        source: "",
        lecture: Lecture::of("", ""),
        acts: &[],
        params: &[],
        corners: &[],
        refuses: |_, _| None,
        map_budget: None,
        least_extra: |_, _, _| 0,
        scheme_bytes: |_, _, _| 0,
        takes_policy: false,
        needs_future: false,
        open_blocks: None,
        memory: |_, _, _| 0,
        mount: |_, _| unreachable!("a scheme states how it is mounted"),
    };
}

/// Bytes of memory that the simulation of a scheme or layer takes at most on a chip in this mode:
/// its maps and lists, without the chip. It is not the RAM of a controller, which is in the
/// [report](Ftl::report).
pub type SimulationMemory = fn(&Params, &Geometry, Mode) -> u64;

/// The memory of tables with `for_page` bytes a page and `for_block` bytes a block of the chip.
pub fn table_bytes(geometry: &Geometry, for_page: u64, for_block: u64) -> u64 {
    u64::from(geometry.pages()) * for_page + u64::from(geometry.blocks()) * for_block
}

/// Properties of a map of which a part can grow and shrink at run time.
#[derive(Clone, Copy, Debug)]
pub struct MapBudget {
    /// The parameter that a budget replaces; empty if there is none.
    pub replaces: &'static str,
    /// Granularity of resizing, in bytes.
    pub unit_bytes: fn(&Geometry) -> u64,
    /// Bytes of RAM per page in this part.
    pub entry_bytes: u64,
    /// Default number of requests from one tuning to the next.
    pub interval: u64,
}
