//! A sink that keeps the operations of a chip, one by one, as a drive takes them.

use nand::{Cause, Lpn, Op, OpSink, Operation};

use crate::operation::Issued;

/// Operations in order. A copy is a read and a program.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The operations as a drive takes them.
    pub issued: Vec<Issued>,
    /// The owner of each page; [`Lpn::NONE`] for an erase, or if the page is erased. A drive needs
    /// none, so they are recorded only for a log.
    pub owners: Vec<Lpn>,
}

/// Collects the operations of a chip until somebody takes them.
#[derive(Debug)]
pub struct Recorder {
    operations: Recorded,
    has_owners: bool,
}

impl Recorder {
    /// A recorder of operations, and of the owners of pages if they are wanted.
    pub fn new(has_owners: bool) -> Recorder {
        Recorder { operations: Recorded::default(), has_owners }
    }

    /// Moves the operations since the last call to `out`.
    pub fn drain_to(&mut self, out: &mut Recorded) {
        out.issued.clear();
        out.owners.clear();
        core::mem::swap(&mut self.operations, out);
    }

    fn push(&mut self, op: Op, cause: Cause, place: u32, owner: Lpn) {
        self.operations.issued.push(Issued { op, cause, place, ends_copy: false });
        if self.has_owners {
            self.operations.owners.push(owner);
        }
    }
}

impl OpSink for Recorder {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        let Recorded { issued, owners: owned } = &mut self.operations;
        match *operation {
            Operation::Read { ppn, owner } => self.push(Op::Read, cause, ppn.0, owner),
            Operation::SpareRead { ppn, owner } => self.push(Op::SpareRead, cause, ppn.0, owner),
            Operation::Program { first, owners } => {
                let program =
                    |(place, _)| Issued { op: Op::Program, cause, place, ends_copy: false };
                issued.extend((first.0..).zip(owners).map(program));
                if self.has_owners {
                    owned.extend(owners.iter().map(|&owner| Lpn(owner)));
                }
            }
            Operation::Copy { from, to, owners } => {
                for (source, place) in from.iter().zip(to.0..) {
                    issued.extend([
                        Issued { op: Op::Read, cause, place: source.0, ends_copy: false },
                        Issued { op: Op::Program, cause, place, ends_copy: true },
                    ]);
                }
                if self.has_owners {
                    owned.extend(owners.iter().flat_map(|&owner| [Lpn(owner); 2]));
                }
            }
            Operation::Erase { block } => self.push(Op::Erase, cause, block.0, Lpn::NONE),
        }
    }
}
