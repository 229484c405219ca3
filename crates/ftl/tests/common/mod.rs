//! What the devices of all test programs here share: a chip, a scheme and a mount, from texts.

use ftl::{Choice, Durability, MountConfig};
use nand::{BlockId, ChipModel, Geometry, Timing};
use spec::Spec;

/// The chip that a spec such as `slc-lsb:pages_per_block=4` names.
pub fn chip(spec: &str) -> ChipModel {
    ChipModel::from_spec(&Spec::parse(spec).unwrap()).unwrap()
}

/// The scheme and parameters that a spec names.
pub fn choice(spec: &str) -> Choice {
    Choice::from_spec(&Spec::parse(spec).unwrap()).unwrap()
}

/// All blocks of a chip.
pub fn blocks(geometry: &Geometry) -> Vec<BlockId> {
    (0..geometry.blocks()).map(BlockId).collect()
}

/// A mount as the papers have it: trims may be forgotten, and nothing is known of the future.
pub fn config<'a>(
    choice: &'a Choice,
    logical_blocks: u32,
    blocks: &'a [BlockId],
    timing: Timing,
) -> MountConfig<'a> {
    MountConfig {
        params: &choice.params,
        logical_blocks,
        blocks,
        durability: Durability::Paper,
        seed: 0,
        timing,
        policy: None,
        foresight: None,
    }
}
