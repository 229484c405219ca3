//! bast: each data block may borrow one log block (Kim, Kim, Noh, Min and Cho 2002).
//!
//! ```text
//!   data [0 1 2 3]   log [2 0 2 _]     newest: 0 log, 1 data, 2 log (third slot), 3 data
//!        [4 5 6 7]   log [4 5 6 7]     in order and whole: will be switched
//!        [8 9 a b]   —                 an update of 8 needs a log block: if all are lent,
//!                                      the least recently written one is merged
//! ```
//! Data blocks are mapped by block, log blocks by page; a log block takes updates of its one data
//! block in the order in which they come. Sequential writes end in switch merges, one erase a
//! block. Small random writes keep more data blocks busy than there are log blocks, and every write
//! merges a log block that is hardly used: *log block thrashing* (LAST §2.3). For uniform random
//! writes over B data blocks with K log blocks a write finds its log block with probability K/B, so
//! there are 1 − K/B merges a write.
//!
//! Of `extra` blocks one is kept clean for merging, the rest is the log. Nothing is merged before
//! the room is needed. A write whose place in the data block is still erased goes there first, as
//! far as the chip's program order allows it.
//!
//! Departures: the paper leaves the victim open; it is the least recently written log block here.
//! The paper keeps its maps in flash; here they are in RAM, and a mount scans the spare areas.

use nand::Nand;

use crate::contract::{Ftl, MountConfig, Result, Scheme};
use crate::part::log::block_associative::{BlockAssociative, VictimOrder};
use crate::part::log::tied_logs::LEAST_EXTRA;

/// Block-associative sector translation.
pub static SCHEME: Scheme = Scheme {
    name: "bast",
    summary: "a log block for each data block that is being updated, as far as they go",
    source: "Kim, Kim, Noh, Min, Cho: A space-efficient flash translation layer for CompactFlash \
             systems, IEEE TCE 48(2), 2002; merges as in LAST §2.2",
    params: &[],
    corners: &[],
    refuses: |_, _| None,
    map_budget: None,
    least_extra: |_, _, _| LEAST_EXTRA,
    mount,
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    Ok(Box::new(BlockAssociative::mount(nand, device, VictimOrder::LeastRecentlyWritten)?))
}
