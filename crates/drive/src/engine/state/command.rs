//! What a die works on.

use nand::{Cause, Op};

use crate::engine::state::flash_operation::FlashOperation;

/// A command: one operation, or several of one kind in the same row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub work: Work,
    pub cause: Cause,
    /// Whether its cause is collection.
    pub collects: bool,
    /// The first operation; each knows the next one. A suspension has none.
    pub first: u32,
    /// How many operations there are.
    pub count: u32,
    /// Operations whose transfers have begun (programs) or ended (reads).
    pub transferred: u32,
    /// The next operation whose transfer begins.
    pub next_transfer: u32,
    pub phase: Phase,
    /// The time in the array, and how much of it was done before the last suspension.
    pub array_ns: u64,
    pub progress_ns: u64,
    /// When the die took it.
    pub started_ns: u64,
    /// When the array begins, or goes on, as far as is known.
    pub resumed_ns: u64,
}

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A flash operation.
    Flash(Op),
    /// A suspension of another command.
    Suspension,
}

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Data comes over the channel.
    Loading,
    /// The array works.
    Array,
    /// Data leaves over the channel.
    Unloading,
}

impl Command {
    /// A command with one operation, whose data comes first.
    #[inline(always)]
    pub fn new(operation: &FlashOperation, first: u32, now_ns: u64) -> Command {
        Command {
            work: Work::Flash(operation.stage.op),
            cause: operation.cause,
            collects: operation.collects,
            first,
            count: 1,
            transferred: 1,
            next_transfer: operation.next_of_command,
            phase: Phase::Loading,
            array_ns: operation.stage.array_ns,
            progress_ns: 0,
            started_ns: now_ns,
            resumed_ns: now_ns,
        }
    }

    /// The array begins when everything is loaded.
    #[inline(always)]
    pub fn begin_array(&mut self, loaded_ns: u64) {
        self.phase = Phase::Array;
        self.resumed_ns = loaded_ns;
    }

    /// When the array will have done its work.
    pub fn array_end_ns(&self) -> u64 {
        self.resumed_ns + self.array_ns - self.progress_ns
    }

    /// The first time from `now_ns` on at which it can be suspended: it has made at least
    /// `least_ns` of progress since it began or went on, and a step has ended.
    pub fn may_be_suspended_ns(&self, now_ns: u64, least_ns: u64, step_ns: u64) -> u64 {
        let from_ns = now_ns.max(self.resumed_ns + least_ns);
        if step_ns == 0 {
            return from_ns;
        }
        let done_ns = self.progress_ns + (from_ns - self.resumed_ns).max(1);
        self.resumed_ns + done_ns.next_multiple_of(step_ns) - self.progress_ns
    }
}
