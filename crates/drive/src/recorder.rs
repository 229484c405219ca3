//! A sink that keeps the operations of a chip, one by one, as a drive takes them.

use nand::{Cause, Op, OpSink, Operation};

use crate::operation::Issued;

/// Collects the operations of a chip, in order, until somebody takes them. A copy is a read and a
/// program.
#[derive(Debug, Default)]
pub struct Recorder {
    operations: Vec<Issued>,
}

impl Recorder {
    /// Moves the operations since the last call to `out`.
    pub fn drain_to(&mut self, out: &mut Vec<Issued>) {
        out.clear();
        core::mem::swap(&mut self.operations, out);
    }

    fn push(&mut self, op: Op, cause: Cause, place: u32) {
        self.operations.push(Issued { op, cause, place, ends_copy: false });
    }
}

impl OpSink for Recorder {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        match *operation {
            Operation::Read { ppn, .. } => self.push(Op::Read, cause, ppn.0),
            Operation::SpareRead { ppn, .. } => self.push(Op::SpareRead, cause, ppn.0),
            Operation::Program { first, owners } => {
                let program =
                    |(place, _)| Issued { op: Op::Program, cause, place, ends_copy: false };
                self.operations.extend((first.0..).zip(owners).map(program));
            }
            Operation::Copy { from, to, .. } => {
                for (source, place) in from.iter().zip(to.0..) {
                    self.operations.extend([
                        Issued { op: Op::Read, cause, place: source.0, ends_copy: false },
                        Issued { op: Op::Program, cause, place, ends_copy: true },
                    ]);
                }
            }
            Operation::Erase { block } => self.push(Op::Erase, cause, block.0),
        }
    }
}
