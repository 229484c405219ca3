//! Operations with their places, as they leave the chip.
//!
//! ```text
//! Nand ─ operation ─┬─ Tally   counts it, always
//!                   └─ OpSink  if one is attached: a log, a clock, a timeline
//! ```
//! A sink sees every operation that the tally counts, in order, under the same cause. Runs and
//! copies arrive in bulk. A sink knows nothing of faults and power cuts: an operation that a cut
//! interrupted looks complete to it.

use core::any::Any;

use crate::address::{BlockId, Lpn, Ppn};
use crate::op::{Cause, Op, Tally};

/// One operation, or a bulk of operations of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A page was read, with its spare area.
    Read {
        /// The page.
        ppn: Ppn,
        /// Its owner.
        owner: Lpn,
    },
    /// The spare area of a page was read.
    SpareRead {
        /// The page.
        ppn: Ppn,
        /// Its owner.
        owner: Lpn,
    },
    /// Consecutive pages of one block were programmed.
    Program {
        /// The first page.
        first: Ppn,
        /// The owner of each page, as an LPN.
        owners: &'a [u32],
    },
    /// Pages were copied to consecutive pages of one block: for each one, in order, a read and then
    /// a program.
    Copy {
        /// The source of each copy.
        from: &'a [Ppn],
        /// The destination of the first copy.
        to: Ppn,
        /// The owner of each copy, as an LPN.
        owners: &'a [u32],
    },
    /// A block was erased.
    Erase {
        /// The block.
        block: BlockId,
    },
}

/// A receiver of the operations of a chip.
pub trait OpSink: Any + Send {
    /// Takes the next operation.
    fn take(&mut self, cause: Cause, operation: &Operation);

    /// All operations so far are complete before the next one begins.
    fn all_idle(&mut self) {}
}

/// Records each operation in the tally, and passes it to the sink if there is one. Operations are
/// recorded nowhere else.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) tally: Tally,
    pub(crate) sink: Option<Box<dyn OpSink>>,
}

impl Ledger {
    pub(crate) fn all_idle(&mut self) {
        if let Some(sink) = &mut self.sink {
            sink.all_idle();
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, cause: Cause, operation: Operation) {
        match operation {
            Operation::Read { .. } => self.tally.add(Op::Read, cause, 1),
            Operation::SpareRead { .. } => self.tally.add(Op::SpareRead, cause, 1),
            Operation::Program { owners, .. } => {
                self.tally.add(Op::Program, cause, owners.len() as u64);
            }
            Operation::Copy { owners, .. } => self.tally.add_copies(cause, owners.len() as u64),
            Operation::Erase { .. } => self.tally.add(Op::Erase, cause, 1),
        }
        if let Some(sink) = &mut self.sink {
            // A copy, so that the original need not be in memory if there is no sink.
            let copied = operation;
            sink.take(cause, &copied);
        }
    }
}
