//! The operations of a request as the chip reports them: one by one for a drive, and in bulk, with
//! the owners of pages, for a log.

use drive::{Issued, Recorder};
use nand::{Cause, Lpn, Op, OpSink, Operation};

/// What was recorded since the last request.
#[derive(Default)]
pub struct Recorded {
    /// The operations as a drive takes them, if there is a drive.
    pub issued: Vec<Issued>,
    /// The operations for the log, if there is one.
    pub logged: LoggedOperations,
}

/// Operations in bulk, as they left the chip.
#[derive(Default)]
pub struct LoggedOperations {
    bulks: Vec<Bulk>,
    /// For each bulk its sources, if it is of copies, and then its owners.
    pages: Vec<u32>,
}

/// Operations of one kind on consecutive places.
struct Bulk {
    /// Their kind; `None` for copies.
    op: Option<Op>,
    cause: Cause,
    first: u32,
    count: usize,
}

/// Operations of one kind, under one cause.
pub enum LoggedBulk<'a> {
    /// Operations on consecutive places, each with its owner.
    Run {
        /// Their kind.
        op: Op,
        /// Their cause.
        cause: Cause,
        /// The place of the first.
        first: u32,
        /// The owners, as LPNs.
        owners: &'a [u32],
    },
    /// Copies: for each one a read, then a program.
    Copies {
        /// Their cause.
        cause: Cause,
        /// The source of each copy.
        from: &'a [u32],
        /// The destination of the first; those of the others follow.
        to: u32,
        /// The owner of each copy, as an LPN.
        owners: &'a [u32],
    },
}

impl LoggedOperations {
    fn clear(&mut self) {
        self.bulks.clear();
        self.pages.clear();
    }

    fn push(&mut self, op: Option<Op>, cause: Cause, first: u32, owners: &[u32]) {
        self.bulks.push(Bulk { op, cause, first, count: owners.len() });
        self.pages.extend_from_slice(owners);
    }

    /// The operations in their order.
    pub fn bulks(&self) -> impl Iterator<Item = LoggedBulk<'_>> {
        let mut pages = self.pages.as_slice();
        let mut take = move |count| pages.split_off(..count).expect("each bulk has its pages");
        self.bulks.iter().map(move |&Bulk { op, cause, first, count }| match op {
            Some(op) => LoggedBulk::Run { op, cause, first, owners: take(count) },
            None => {
                let from = take(count);
                LoggedBulk::Copies { cause, from, to: first, owners: take(count) }
            }
        })
    }
}

impl OpSink for LoggedOperations {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        match *operation {
            Operation::Read { ppn, owner } => self.push(Some(Op::Read), cause, ppn.0, &[owner.0]),
            Operation::SpareRead { ppn, owner } => {
                self.push(Some(Op::SpareRead), cause, ppn.0, &[owner.0]);
            }
            Operation::Program { first, owners } => {
                self.push(Some(Op::Program), cause, first.0, owners);
            }
            Operation::Copy { from, to, owners } => {
                self.pages.extend(from.iter().map(|source| source.0));
                self.push(None, cause, to.0, owners);
            }
            Operation::Erase { block } => {
                self.push(Some(Op::Erase), cause, block.0, &[Lpn::NONE.0]);
            }
        }
    }
}

/// Records the operations of a chip until they are drained.
pub struct OperationSink {
    drive: Option<Recorder>,
    log: Option<LoggedOperations>,
}

impl OperationSink {
    /// A sink that records for a drive, for a log, or for both.
    pub fn new(for_drive: bool, for_log: bool) -> OperationSink {
        OperationSink {
            drive: for_drive.then(Recorder::default),
            log: for_log.then(LoggedOperations::default),
        }
    }

    /// Moves the operations since the last call to `out`.
    pub fn drain_to(&mut self, out: &mut Recorded) {
        if let Some(drive) = &mut self.drive {
            drive.drain_to(&mut out.issued);
        }
        if let Some(log) = &mut self.log {
            out.logged.clear();
            core::mem::swap(log, &mut out.logged);
        }
    }
}

impl OpSink for OperationSink {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        if let Some(drive) = &mut self.drive {
            drive.take(cause, operation);
        }
        if let Some(log) = &mut self.log {
            log.take(cause, operation);
        }
    }

    fn all_idle(&mut self) {
        if let Some(drive) = &mut self.drive {
            drive.all_idle();
        }
    }
}
