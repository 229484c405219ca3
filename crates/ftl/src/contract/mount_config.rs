//! The configuration of a mount.

use nand::{BlockId, Timing};
use spec::{Params, named_enum};

use super::foresight::Foresight;
use super::page_policy::PolicySource;

/// The configuration of a mount.
#[derive(Clone, Copy, Debug)]
pub struct MountConfig<'a> {
    /// The scheme's parameters.
    pub params: &'a Params,
    /// Exported capacity in blocks.
    pub logical_blocks: u32,
    /// The blocks that the FTL may use, ascending: logical, extra and, last, system blocks.
    pub blocks: &'a [BlockId],
    /// Whether trims must survive a power cut.
    pub durability: Durability,
    /// Seed of the scheme's random choices.
    pub seed: u64,
    /// The chip's latencies, for schemes that compare costs in time.
    pub timing: Timing,
    /// Places pages instead of a scheme that [takes a policy](super::scheme::Scheme::takes_policy).
    pub policy: Option<&'a dyn PolicySource>,
    /// What a scheme that [needs the future](super::scheme::Scheme::needs_future) knows of it.
    pub foresight: Option<&'a dyn Foresight>,
}

named_enum! {
    /// What must survive a power cut.
    pub enum Durability: "durability" {
        /// The papers' schemes without any additional program: trims may be forgotten.
        Paper = "paper",
        /// Everything that was flushed, including trims, for which tombstones go to system blocks.
        Full = "full",
    }
}
