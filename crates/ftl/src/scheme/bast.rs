//! bast: block-associative sector translation (Kim, Kim, Noh, Min and Cho 2002). Each data block
//! may have one log block.
//!
//! ```text
//!   data [0 1 2 3]   log [2 0 2 _]     newest: 0 log slot 1, 1 data, 2 log slot 2, 3 data
//!        [4 5 6 7]   log [4 5 6 7]     full and in order: a switch merge
//!        [8 9 a b]   no log block      an update of 8 needs one; if none is left, the least
//!                                      recently written log block is merged first
//! ```
//! Data blocks are mapped by block, log blocks by page. A log block takes the updates of its data
//! block in the order of their arrival. Sequential writes end in switch merges, which cost one
//! erase per block. Small random writes update more data blocks than there are log blocks. Then
//! almost every write merges a log block that is nearly empty. This is *log block thrashing* (LAST
//! §2.3). If uniform random writes hit B data blocks and there are K log blocks, a write finds its
//! log block with probability K/B, so the number of merges per write is 1 − K/B.
//!
//! One of the extra blocks is kept clean for merging; the others are the log. Nothing is merged
//! before the room is needed. If the home of a page in its data block is still erased, the page is
//! written there instead of to a log block, provided that the chip's program order allows it.
//!
//! Departures: the paper does not say which log block is merged; here it is the least recently
//! written one. The paper keeps its maps in flash; here they are in RAM, and a mount scans the
//! spare areas.

use nand::{Cause, Nand};

use crate::contract::{Act, Ftl, Lecture, MountConfig, Result, Scheme};
use crate::part::log::block_associative::{BlockAssociative, VictimOrder};
use crate::part::log::log_map;
use crate::part::log::tied_logs::LEAST_EXTRA;

/// Block-associative sector translation.
pub static SCHEME: Scheme = Scheme {
    name: "bast",
    summary: "one log block for each data block that is being updated; victim: the least recently \
              written log block",
    source: "Kim, Kim, Noh, Min, Cho: A space-efficient flash translation layer for CompactFlash \
             systems, IEEE TCE 48(2), 2002; merges as in LAST §2.2",
    lecture: Lecture::of(file!(), include_str!("bast.rs")),
    acts: &[Act {
        cause: Cause::Merge,
        from: "log",
        to: "data",
        name: "full merge",
        says: "The log block of this logical block is full, or another logical block needs \
               a log block. The newest pages are gathered from the data block and its log \
               block in a clean block; both old blocks are erased.",
    }],
    least_extra: |_, _, _| LEAST_EXTRA,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 48),
    mount,
    ..Scheme::PLAIN
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    Ok(Box::new(BlockAssociative::mount(nand, device, VictimOrder::LeastRecentlyWritten)?))
}
