//! What an FTL is mounted with.

use nand::{BlockId, Timing};
use spec::Params;

/// What an FTL is mounted with.
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
    /// Seed of whatever the scheme draws at random.
    pub seed: u64,
    /// The chip's latencies, for schemes that weigh costs in time.
    pub timing: Timing,
}

/// What must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// What the papers' schemes write, and not a page more: trims may come back.
    Paper,
    /// Everything that was flushed, trims too (tombstones in system blocks).
    Full,
}

impl Durability {
    /// The names that users write, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["paper", "full"];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
