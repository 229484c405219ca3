//! The window of the first operations of a run.
//!
//! The window closes when the last of them has ended. What began before belongs to it as a whole,
//! and what begins later does not.

use crate::run::timeline::record::Record;

/// The window.
#[derive(Debug)]
pub struct FirstOperations {
    /// Operations that the window still takes.
    left: u64,
    closed_ns: Option<u64>,
    /// Whether operations ended after the window had closed.
    pub went_on: bool,
}

impl FirstOperations {
    /// The window of `operations` operations, one at least.
    pub fn new(operations: u64) -> FirstOperations {
        FirstOperations { left: operations.max(1), closed_ns: None, went_on: false }
    }

    /// Whether the next record belongs to the window.
    pub fn takes(&mut self, record: &Record) -> bool {
        let counts = matches!(record, Record::Operation(operation) if operation.ended.counts);
        let (from_ns, until_ns) = record.span();
        match self.closed_ns {
            Some(closed_ns) => {
                self.went_on |= counts;
                from_ns < closed_ns
            }
            None => {
                self.left -= u64::from(counts);
                self.closed_ns = (self.left == 0).then_some(until_ns);
                true
            }
        }
    }
}
