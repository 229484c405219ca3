//! Recovery: which part of the log gets each log block that a mount finds.
//!
//! A mount closes the log blocks that it finds, and takes them in the order of their last programs.
//! As long as the sequential log is below its size, a block with all pages at home joins it, unless
//! its logical block has one there already. Such a block need not have been sequential: it may have
//! been a random block, or the data block that a sequential block replaced. All other blocks join
//! the random log. They fit: if the sequential log is full, at most R blocks are left. If it is not
//! full, it turned a block with all pages at home away only because of another block of the same
//! logical block. At most one of these two was sequential, and at most one a data block. So no more
//! blocks are left than the random log had.
//!
//! A random block is hot or cold according to the kind of its last page, unless that partition has
//! R − 1 blocks already. `k`, the threshold, the sizes, the order of writes within a partition, and
//! the memory of the detector start from their initial values. A page that a mount found has no
//! distance until it is written again. With `sequential=adaptive` a part of the log may be found
//! larger than its initial size; it gives up a block when another part needs one.

use super::Last;
use super::merge_costs::Partition;
use crate::contract::{Error, Result};
use crate::part::log::log_mount::FoundLog;
use crate::part::recovery::page_kind;

impl Last {
    /// Assigns a role to a log block that a mount found.
    pub(super) fn take_over(&mut self, found: &FoundLog) -> Result<()> {
        if self.is_log_full() {
            let why = format!("there are more than {} log blocks", self.log_blocks);
            return Err(Error::Unmountable(why));
        }
        let has_seat = self.sequential.count() < self.sequential_blocks;
        if found.is_home && has_seat && !self.sequential.serves(found.lbns[0]) {
            self.sequential.adopt(&self.map, found.lbns[0], found.block);
            return Ok(());
        }
        let (wanted, other) = match found.kind {
            page_kind::HOT => (Partition::Hot, Partition::Cold),
            _ => (Partition::Cold, Partition::Hot),
        };
        let has_room = self.random.blocks_of(wanted) < self.random_blocks() - 1;
        let partition = if has_room { wanted } else { other };
        self.random.adopt(&mut self.map, found, partition);
        Ok(())
    }
}
