//! What a timeline can show: entries of the drive's journal with what they need to be drawn.

use drive::Answer;
use drive::journal::{DieWork, EndedOperation, Transfer};

/// Something to draw.
#[derive(Clone, Copy, Debug)]
pub enum Record {
    /// A request that was answered.
    Request(RequestRecord),
    /// A flash operation that ended.
    Operation(OperationRecord),
    /// A die was occupied.
    Die {
        /// With what.
        work: DieWork,
        /// Whether it went on with a command that was suspended.
        is_resumed: bool,
    },
    /// A channel was occupied.
    Channel(Transfer),
    /// A counter has a new value.
    Counter {
        /// The counter.
        counter: Counter,
        /// Since when.
        at_ns: u64,
        /// The value.
        value: f64,
    },
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct RequestRecord {
    /// Its number in the drive.
    pub id: u64,
    /// Its number in the measured pass.
    pub number: u64,
    /// The place that it had in the queue.
    pub slot: u32,
    /// Its answer.
    pub answer: Answer,
    /// How many of its operations had not ended.
    pub unfinished: u32,
}

/// A flash operation that ended.
#[derive(Clone, Copy, Debug)]
pub struct OperationRecord {
    /// The operation.
    pub ended: EndedOperation,
    /// The number of its request in the measured pass.
    pub number: u64,
    /// The place that its request had in the queue.
    pub slot: u32,
    /// When its request was issued.
    pub issued_ns: u64,
}

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Requests in the drive.
    QueueDepth,
    /// Pages in the drive's buffer.
    BufferPages,
    /// Free blocks of the FTL.
    FreeBlocks,
    /// Pages programmed for each page that the host wrote.
    WriteAmplification,
}

impl Counter {
    /// The number of counters.
    pub const COUNT: usize = 4;

    /// The name.
    pub fn name(self) -> &'static str {
        ["queue depth", "pages in the buffer", "free blocks", "write amplification"][self as usize]
    }
}

impl Record {
    /// When it began, and when it ended.
    pub fn span(&self) -> (u64, u64) {
        match self {
            Record::Request(request) => (request.answer.issued_ns, request.answer.answered_ns),
            Record::Operation(operation) => (operation.ended.started_ns, operation.ended.ended_ns),
            Record::Die { work, .. } => (work.from_ns, work.until_ns),
            Record::Channel(transfer) => (transfer.from_ns, transfer.until_ns),
            Record::Counter { at_ns, .. } => (*at_ns, *at_ns),
        }
    }
}
