//! A flash operation inside the drive.

use nand::{Cause, Op};

use crate::operation::is_collection;
use crate::places::Place;
use crate::shares::Shares;

/// A flash operation, from its issue to its end.
#[derive(Debug)]
pub(crate) struct FlashOperation {
    pub op: Op,
    pub cause: Cause,
    /// The PPN; for an erase the block.
    pub page: u32,
    pub at: Place,
    pub request: u32,
    /// The next operation of its request.
    pub next_of_request: u32,
    /// The time that it takes in the array.
    pub array_ns: u64,
    /// The time that it takes on the channel, with its command.
    pub channel_ns: u64,
    /// What it waits for: its request's entry, earlier operations, room in the buffer.
    pub waits_for: u32,
    /// What keeps it from its die when it waits for nothing else: earlier operations on its block,
    /// and the rest of its row.
    pub held_by: u32,
    /// The first entry of its list of dependents.
    pub dependents: u32,
    /// Its lane, and the next write in it.
    pub lane: u32,
    pub next_of_lane: u32,
    /// Which of the writes of its lane it is.
    pub number_in_lane: u32,
    /// Another program of its open row.
    pub next_of_row: u32,
    pub is_in_open_row: bool,
    /// The next operation of the same command.
    pub next_of_command: u32,
    pub has_begun: bool,
    /// Whether it is part of a copy.
    pub copy: Copy,
    /// Whether the request is answered only after it.
    pub is_awaited: bool,
    /// Whether it programs data that waits in the drive's buffer, and its entry there.
    pub is_buffered: bool,
    pub buffer_entry: u32,
    /// Whether its page is read from the drive's buffer.
    pub is_in_buffer: bool,
    /// Of the erases of a stripe's blocks, only the first counts as an operation of the FTL.
    pub counts: bool,
    /// When it waited for nothing but its die.
    pub ready_ns: u64,
    /// When its die took it.
    pub started_ns: u64,
    /// What its die had spent on collection when it was ready; once it has begun, how much of
    /// that fell between.
    pub collecting_ns: u64,
    /// Where the time went until it was ready.
    pub shares: Shares,
}

/// Part of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copy {
    None,
    /// The read, with its program.
    Source {
        target: u32,
    },
    /// The program: whether its read has ended, and the departure to which the copy belongs.
    Target {
        was_read: bool,
        departure: u32,
    },
}

impl FlashOperation {
    pub fn is_read(&self) -> bool {
        matches!(self.op, Op::Read | Op::SpareRead)
    }

    pub fn collects(&self) -> bool {
        is_collection(self.cause)
    }

    /// Whether its die may take it.
    pub fn may_begin(&self) -> bool {
        self.waits_for == 0 && self.held_by == 0
    }

    /// Whether a later read must not overtake this write: it reads the same page, or one of an
    /// erased block.
    pub fn holds_back(&self, read_page: u32) -> bool {
        self.op == Op::Erase || self.page == read_page
    }

    /// Whether one command of the die can read this page and that of a later read: they have the
    /// same number in the blocks of two planes.
    pub fn reads_with(&self, later: &FlashOperation) -> bool {
        let is_same_kind = self.op == later.op && self.lane == later.lane;
        is_same_kind && self.at.index == later.at.index && self.at.plane != later.at.plane
    }

    /// Whether one command can program this page and a later one.
    pub fn programs_with(&self, later: &FlashOperation) -> bool {
        self.op == Op::Program && later.op == Op::Program && self.at.row == later.at.row
    }
}

/// Copies out of a block that have not ended. An erase of the block waits for them.
#[derive(Debug)]
pub(crate) struct Departure {
    pub block: u32,
    pub unfinished: u32,
    /// The first entry of the list of erases.
    pub dependents: u32,
}

/// Something that waits for an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dependent {
    /// Another operation.
    Operation(u32),
    /// A read of a page that is programmed or erased first.
    Held(u32),
    /// The answer of another request.
    Request(u32),
}
