//! A flash operation inside the drive.

use nand::{Cause, Op};

use crate::engine::state::pool::NONE;
use crate::operation::is_collection;
use crate::places::Place;

/// A flash operation, from its issue to its end. A copy is one operation of two stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlashOperation {
    /// What a die does for it now, or next.
    pub stage: Stage,
    /// The program of a copy whose read has not ended.
    pub program: Option<Stage>,
    pub cause: Cause,
    /// Whether its cause is collection.
    pub collects: bool,
    /// Whether the request is answered only after it.
    pub is_awaited: bool,
    /// Whether it programs data that waits in the drive's buffer.
    pub is_buffered: bool,
    /// Whether the page that it reads is in the drive's buffer.
    pub is_in_buffer: bool,
    pub is_in_open_row: bool,
    pub request: u32,
    /// The next operation of its request.
    pub next_of_request: u32,
    /// What it waits for: its request's entry, earlier operations, room in the buffer.
    pub waits_for: u32,
    /// What keeps it from its die when it waits for nothing else: earlier operations on its block,
    /// and the rest of its row. It keeps a copy from its second die.
    pub held_by: u32,
    /// The lane that a copy has left, but that is kept until its end.
    pub source_lane: u32,
    /// The next program of its lane.
    pub next_of_lane: u32,
    /// Another program of its open row.
    pub next_of_row: u32,
    /// The next operation of the same command.
    pub next_of_command: u32,
    /// Its place among the buffered programs.
    pub buffer_entry: u32,
    /// Dies of an erase that have not ended.
    pub parts: u32,
    /// The first entry of its list of dependents.
    pub dependents: u32,
    /// Where the time went until `since_ns`, if that differs from its request.
    pub path: u32,
    pub since_ns: u64,
    /// When it waited for nothing but its die.
    pub ready_ns: u64,
    /// When its die took it.
    pub started_ns: u64,
    /// What its die had spent on collection when it was ready, and when it began.
    pub collected_before_ns: u64,
    pub collected_after_ns: u64,
}

/// What a die does for an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub op: Op,
    /// The PPN; for an erase the block.
    pub page: u32,
    /// Of an erase, the place in the first die.
    pub at: Place,
    pub lane: u32,
    /// The time that it takes in the array.
    pub array_ns: u64,
    /// The time that it takes on the channel, with its command.
    pub channel_ns: u64,
}

impl FlashOperation {
    /// No operation.
    pub const NONE: FlashOperation = FlashOperation::new(Stage::NONE, Cause::Host, NONE);

    /// An operation that waits for its request to enter.
    #[inline(always)]
    pub const fn new(stage: Stage, cause: Cause, request: u32) -> FlashOperation {
        FlashOperation {
            stage,
            program: None,
            cause,
            collects: is_collection(cause),
            is_awaited: false,
            is_buffered: false,
            is_in_buffer: false,
            is_in_open_row: false,
            request,
            next_of_request: NONE,
            waits_for: 1,
            held_by: 0,
            source_lane: NONE,
            next_of_lane: NONE,
            next_of_row: NONE,
            next_of_command: NONE,
            buffer_entry: NONE,
            parts: 1,
            dependents: NONE,
            path: NONE,
            since_ns: 0,
            ready_ns: 0,
            started_ns: 0,
            collected_before_ns: 0,
            collected_after_ns: 0,
        }
    }

    /// The entries that a journal gets of it: one for each stage, or each part of an erase.
    pub fn entries(&self) -> u32 {
        self.parts + u32::from(self.program.is_some())
    }

    /// Whether its end may let something else begin, or leaves something to be tidied up.
    #[inline(always)]
    pub fn is_followed(&self) -> bool {
        let is_erase = self.stage.op == Op::Erase;
        is_erase || self.is_buffered || self.dependents != NONE || self.path != NONE
    }

    /// Whether its die may take it.
    #[inline(always)]
    pub fn may_begin(&self) -> bool {
        self.waits_for == 0 && (self.held_by == 0 || self.program.is_some())
    }

    /// One thing less that keeps it from its die. Returns whether it may begin now.
    #[inline(always)]
    pub fn no_longer_held(&mut self) -> bool {
        self.held_by -= 1;
        // The read of a copy is held by nothing.
        self.may_begin() && self.program.is_none()
    }

    /// A die takes it that has spent this time on collection.
    #[inline(always)]
    pub fn begin(&mut self, now_ns: u64, collected_ns: u64) {
        assert!(self.may_begin(), "an operation began too early: {self:?}");
        self.started_ns = now_ns;
        self.collected_after_ns = collected_ns;
    }

    /// Whether it programs this page.
    #[inline(always)]
    pub fn programs(&self, page: u32) -> bool {
        self.program.as_ref().unwrap_or(&self.stage).page == page
    }

    /// Whether one command of the die can read this page and that of a later read: they have the
    /// same number in the blocks of two planes.
    pub fn reads_with(&self, later: &FlashOperation) -> bool {
        let (own, later) = (&self.stage, &later.stage);
        let is_same_kind = own.op == later.op && own.lane == later.lane;
        is_same_kind && own.at.index == later.at.index && own.at.plane != later.at.plane
    }

    /// Whether one command can program this page and a later one.
    pub fn programs_with(&self, later: &FlashOperation) -> bool {
        let (own, later) = (&self.stage, &later.stage);
        own.op == Op::Program && later.op == Op::Program && own.at.row == later.at.row
    }
}

impl Stage {
    /// Nothing to do.
    const NONE: Stage =
        Stage { op: Op::Read, page: 0, at: Place::FIRST, lane: NONE, array_ns: 0, channel_ns: 0 };

    #[inline(always)]
    pub fn is_read(&self) -> bool {
        matches!(self.op, Op::Read | Op::SpareRead)
    }
}

/// Something that waits for an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dependent {
    /// Another operation.
    Operation(u32),
    /// An operation on a page that is programmed first, or on a block that is erased first.
    Held(u32),
    /// The answer of another request.
    Request(u32),
}
