//! What happened when: requests, operations, and what dies and channels were occupied with.
//!
//! The drive keeps a journal when it is asked to ([`crate::Drive::keep_journal`]). All times are in
//! nanoseconds.

use nand::{Cause, Op};

use crate::operation::Answer;

/// Something that has ended, or a count that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A request was issued.
    Issue {
        /// Its number, in the order of issue, from 0.
        number: u64,
        /// When it was issued.
        at_ns: u64,
    },
    /// A request was answered.
    Request {
        /// Its number.
        number: u64,
        /// Its answer.
        answer: Answer,
        /// How many entries about its operations are still to come.
        unfinished: u32,
    },
    /// Pages entered the drive's buffer or left it.
    Buffer {
        /// When they did.
        at_ns: u64,
        /// The pages that are in it now.
        pages: u64,
    },
    /// A flash operation ended.
    Operation(EndedOperation),
    /// A die was occupied.
    Die(DieWork),
    /// A channel was occupied.
    Channel(Transfer),
}

/// The time of an operation on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The channel.
    pub channel: u16,
    /// The die with which it worked.
    pub die: u16,
    /// The kind of the operation.
    pub op: Op,
    /// Its cause.
    pub cause: Cause,
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub until_ns: u64,
}

/// A flash operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedOperation {
    /// Its kind.
    pub op: Op,
    /// Its cause.
    pub cause: Cause,
    /// The page, or the block that was erased.
    pub place: u32,
    /// The number of its request.
    pub request: u64,
    /// The die.
    pub die: u16,
    /// Whether it counts as an operation of the FTL; of the erases of a stripe only one does.
    pub counts: bool,
    /// Whether the page was read from the drive's buffer.
    pub is_from_buffer: bool,
    /// When it waited for nothing but its die.
    pub ready_ns: u64,
    /// When its die took it.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
}

/// What a die did for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DieWork {
    /// The die.
    pub die: u16,
    /// The kind of its operations; none for a suspension.
    pub op: Option<Op>,
    /// Their cause.
    pub cause: Cause,
    /// How many operations the command has.
    pub operations: u32,
    /// Whether the command was suspended at the end.
    pub is_suspended: bool,
    /// When it began, or went on.
    pub from_ns: u64,
    /// When it ended, or was suspended.
    pub until_ns: u64,
}

/// The entries since they were last taken; none if no journal is kept.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    is_kept: bool,
    entries: Vec<Entry>,
}

impl Journal {
    /// Begins to keep entries.
    pub fn begin(&mut self) {
        self.is_kept = true;
    }

    /// Whether entries are kept.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Adds an entry, if entries are kept.
    #[inline]
    pub fn add(&mut self, entry: impl FnOnce() -> Entry) {
        if self.is_kept {
            self.entries.push(entry());
        }
    }

    /// Moves the entries to `out`.
    pub fn drain_to(&mut self, out: &mut Vec<Entry>) {
        out.append(&mut self.entries);
    }
}
