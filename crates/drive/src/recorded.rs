//! The operations of a request as the chip reports them: one by one for a drive, and in bulk, with
//! the owners of pages, for a log.

use nand::{Cause, OpRecord, OpSink, Operation};

use crate::operation::Issued;
use crate::recorder::Recorder;

/// What was recorded since the last request.
#[derive(Default)]
pub struct Recorded {
    /// The operations as a drive takes them, if there is a drive.
    pub issued: Vec<Issued>,
    /// The operations for the log, if there is one.
    pub logged: OpRecord,
}

/// Records the operations of a chip until they are drained.
#[derive(Default)]
pub struct OperationSink {
    /// The operations as a drive takes them, if there is a drive.
    pub drive: Option<Recorder>,
    /// The operations for a log or a film, if there is one.
    pub log: Option<OpRecord>,
}

impl OperationSink {
    /// A sink that records for a drive, for a log, or for both.
    pub fn new(for_drive: bool, for_log: bool) -> OperationSink {
        OperationSink {
            drive: for_drive.then(Recorder::default),
            log: for_log.then(OpRecord::default),
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
