//! A flash operation inside the drive.

use nand::{Cause, Op};

use crate::operation::is_collection;
use crate::places::Place;
use crate::shares::Shares;

/// No operation, no request.
pub(crate) const NOTHING: usize = usize::MAX;

/// A flash operation, from its issue to its end.
#[derive(Debug)]
pub(crate) struct FlashOperation {
    pub op: Op,
    pub cause: Cause,
    /// The PPN; for an erase the block.
    pub page: u32,
    pub block: u32,
    pub at: Place,
    /// The order of issue.
    pub number: u64,
    pub request: usize,
    /// The time that it takes in the array.
    pub array_ns: u64,
    /// The time that it takes on the channel, with its command.
    pub channel_ns: u64,
    /// What it waits for: its request's entry, earlier operations, room in the buffer.
    pub waits_for: u32,
    /// The first entry of its list of dependent operations.
    pub dependents: usize,
    /// Whether it is part of a copy.
    pub copy: Copy,
    /// Whether the request is answered only after it.
    pub is_awaited: bool,
    /// Whether it programs data that waits in the drive's buffer, and its entry there.
    pub is_buffered: bool,
    pub buffer_entry: usize,
    /// Whether its page is read from the drive's buffer.
    pub is_in_buffer: bool,
    /// Whether all operations that one command can program with it have been issued.
    pub row_is_complete: bool,
    /// Of the erases of a stripe's blocks, only the first counts as an operation of the FTL.
    pub counts: bool,
    /// When it could begin.
    pub ready_ns: u64,
    /// When its die took it.
    pub started_ns: u64,
    /// What its die had spent on collection when it could begin; once it has begun, how much of
    /// that fell between.
    pub collecting_ns: u64,
    /// Where the time went until it could begin; at its end, until then.
    pub shares: Shares,
}

/// Part of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copy {
    None,
    /// The read, with its program.
    Source(usize),
    /// The program: when its read ended, as soon as that is known, and its entry among all copies
    /// that are not finished.
    Target {
        read_ns: Option<u64>,
        entry: usize,
    },
}

impl FlashOperation {
    pub fn is_read(&self) -> bool {
        matches!(self.op, Op::Read | Op::SpareRead)
    }

    pub fn collects(&self) -> bool {
        is_collection(self.cause)
    }

    pub fn is_ready(&self) -> bool {
        self.waits_for == 0
    }

    /// Whether a later operation must not overtake this one: pages of a block are programmed in
    /// order and erased together, and a page is read after it was programmed.
    pub fn holds_back(&self, later: &FlashOperation) -> bool {
        self.block == later.block
            && match (self.is_read(), later.is_read()) {
                (true, true) => false,
                (false, true) => self.op == Op::Erase || self.page == later.page,
                (true, false) => later.op == Op::Erase || self.page == later.page,
                (false, false) => true,
            }
    }

    /// Whether one command can do this operation and a ready later one.
    pub fn joins(&self, later: &FlashOperation) -> bool {
        let is_same_row = (self.block, self.at.row) == (later.block, later.at.row);
        self.op == later.op && self.op != Op::Erase && is_same_row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(op: Op, block: u32, page: u32) -> FlashOperation {
        FlashOperation {
            op,
            cause: Cause::Host,
            page,
            block,
            at: Place { die: 0, plane: 0, row: 0, index: 0, ends_row: false },
            number: 0,
            request: 0,
            array_ns: 0,
            channel_ns: 0,
            waits_for: 0,
            dependents: NOTHING,
            copy: Copy::None,
            is_awaited: false,
            is_buffered: false,
            buffer_entry: NOTHING,
            is_in_buffer: false,
            row_is_complete: false,
            counts: true,
            ready_ns: 0,
            started_ns: 0,
            collecting_ns: 0,
            shares: Shares::default(),
        }
    }

    #[test]
    fn operations_on_a_block_keep_their_order_where_flash_demands_it() {
        use Op::{Erase, Program, Read, SpareRead};
        let holds = |earlier: (Op, u32), later: (Op, u32)| {
            let later = operation(later.0, 1, later.1);
            let is_held = operation(earlier.0, 1, earlier.1).holds_back(&later);
            assert!(!operation(earlier.0, 2, earlier.1 + 64).holds_back(&later), "other blocks");
            is_held
        };
        assert!(holds((Program, 3), (Program, 4)) && holds((Program, 3), (Erase, 0)));
        assert!(holds((Erase, 0), (Program, 3)) && holds((Erase, 0), (Read, 3)));
        assert!(holds((Read, 3), (Erase, 0)) && holds((SpareRead, 3), (Erase, 0)));
        assert!(holds((Program, 3), (Read, 3)) && !holds((Program, 3), (Read, 2)));
        assert!(!holds((Read, 3), (Read, 3)) && !holds((Read, 3), (Program, 4)));
    }
}
