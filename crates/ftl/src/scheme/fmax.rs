//! fmax: a data block and its replacement block (Ban 1999, as FASTer §II.B describes it).
//!
//! ```text
//!   data [0 1 2 3]   replacement [1 3 1 _]     an update takes the next clean page, whatever its
//!        [4 5 6 7]   —                         offset; at most one replacement block each
//! ```
//! When the replacement block is full, or a data block needs one and none is left, a pair is
//! merged: the block's own, or that of the replacement block allocated longest ago. Being written
//! does not save a replacement block, so the hottest data block is merged as often as any other;
//! that victim is all in which fmax differs from bast, and where it falls behind. As contents
//! allow, a merge is a switch, partial or full one, or the erase of a dead block.
//!
//! Of `extra` blocks one is kept clean for merging. A write whose place in the data block is still
//! erased goes there first, as far as the chip's program order allows it.
//!
//! Departure: FASTer's "any clean page" is always the next one, which every program order allows.

use nand::Nand;

use crate::contract::{Ftl, MountConfig, Result, Scheme};
use crate::part::log::block_associative::{BlockAssociative, VictimOrder};
use crate::part::log::tied_logs::LEAST_EXTRA;

/// Replacement blocks.
pub static SCHEME: Scheme = Scheme {
    name: "fmax",
    summary: "at most one replacement block a data block, merged in the order of allocation",
    source: "Ban: Flash file system optimized for page-mode flash technologies, US patent \
             5,937,425, 1999; as FASTer §II.B describes it",
    params: &[],
    corners: &[],
    refuses: |_, _| None,
    map_budget: None,
    least_extra: |_, _, _| LEAST_EXTRA,
    mount,
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    Ok(Box::new(BlockAssociative::mount(nand, device, VictimOrder::LeastRecentlyAllocated)?))
}
