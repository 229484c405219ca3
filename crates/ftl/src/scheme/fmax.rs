//! fmax: a replacement block for each data block that is updated (Ban 1999, as FASTer §II.B
//! describes it).
//!
//! ```text
//!   data [0 1 2 3]   replacement [1 3 1 _]     an update goes to the next clean page of the
//!        [4 5 6 7]   no replacement block      replacement block, whatever its offset
//! ```
//! Two events cause a merge. If the replacement block of a data block is full, this pair is merged.
//! If a data block needs a replacement block and none is left, the pair whose replacement block was
//! allocated first is merged. Writing to a replacement block does not protect it, so the hottest
//! data block is merged as often as any other. This choice of the victim is the only difference
//! from bast, and the reason why fmax performs worse. A merge is a switch, partial or full merge,
//! as the contents allow, or the erase of a dead block.
//!
//! One of the extra blocks is kept clean for merging. If the home of a page in its data block is
//! still erased, the page is written there, provided that the chip's program order allows it.
//!
//! Departure: where FASTer says "any clean page", we take the next one, which every program order
//! allows.

use nand::{Cause, Nand};

use crate::contract::{Act, Ftl, Lecture, MountConfig, Result, Scheme};
use crate::part::log::block_associative::{BlockAssociative, VictimOrder};
use crate::part::log::log_map;
use crate::part::log::tied_logs::LEAST_EXTRA;

/// Replacement blocks.
pub static SCHEME: Scheme = Scheme {
    name: "fmax",
    summary: "one log block for each data block that is being updated; victim: the least recently \
              allocated log block",
    source: "Ban: Flash file system optimized for page-mode flash technologies, US patent \
             5,937,425, 1999; as FASTer §II.B describes it",
    lecture: Lecture::of(file!(), include_str!("fmax.rs")),
    acts: &[Act {
        cause: Cause::Merge,
        from: "log",
        to: "data",
        name: "full merge",
        says: "The log block of this logical block is full, or it was allocated least \
               recently and another logical block needs one. The newest pages are gathered \
               in a clean block; both old blocks are erased.",
    }],
    least_extra: |_, _, _| LEAST_EXTRA,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 48),
    mount,
    ..Scheme::PLAIN
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    Ok(Box::new(BlockAssociative::mount(nand, device, VictimOrder::LeastRecentlyAllocated)?))
}
