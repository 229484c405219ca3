//! A sink that keeps the operations of a chip, one by one, as a drive takes them.

use nand::{Cause, Op, OpSink, Operation};

use crate::operation::Issued;

/// Collects the operations of a chip, in order, until somebody takes them. A copy is a read and a
/// program.
#[derive(Debug, Default)]
pub struct Recorder {
    operations: Vec<Issued>,
    /// Whether the next program or erase comes after all before it.
    after_all: bool,
}

impl Recorder {
    /// Moves the operations since the last call to `out`.
    pub fn drain_to(&mut self, out: &mut Vec<Issued>) {
        out.clear();
        core::mem::swap(&mut self.operations, out);
    }

    fn push(&mut self, op: Op, cause: Cause, place: u32) {
        self.operations.push(Issued::new(op, cause, place));
    }

    /// Notes that the first program or erase since the list had this length comes after all before
    /// it.
    fn mark_first_write(&mut self, from: usize) {
        let is_write = |it: &&mut Issued| matches!(it.op, Op::Program | Op::Erase);
        if let Some(first) = self.operations[from..].iter_mut().find(is_write) {
            (first.after_all, self.after_all) = (true, false);
        }
    }
}

impl OpSink for Recorder {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        let recorded = self.operations.len();
        match *operation {
            Operation::Read { ppn, .. } => self.push(Op::Read, cause, ppn.0),
            Operation::SpareRead { ppn, .. } => self.push(Op::SpareRead, cause, ppn.0),
            Operation::Program { first, owners } => {
                let program = |(place, _)| Issued::new(Op::Program, cause, place);
                self.operations.extend((first.0..).zip(owners).map(program));
            }
            Operation::Copy { from, to, .. } => {
                for (source, place) in from.iter().zip(to.0..) {
                    self.operations.extend([
                        Issued::new(Op::Read, cause, source.0),
                        Issued { ends_copy: true, ..Issued::new(Op::Program, cause, place) },
                    ]);
                }
            }
            Operation::Erase { block } => self.push(Op::Erase, cause, block.0),
        }
        if self.after_all {
            self.mark_first_write(recorded);
        }
    }

    fn all_idle(&mut self) {
        self.after_all = true;
    }
}

#[cfg(test)]
mod tests {
    use nand::{BlockId, Lpn, Ppn};

    use super::*;

    #[test]
    fn the_first_program_or_erase_after_a_wait_is_the_one_that_waits() {
        let mut recorder = Recorder::default();
        let read = Operation::Read { ppn: Ppn(3), owner: Lpn(0) };
        let program = Operation::Program { first: Ppn(8), owners: &[0, 1] };
        recorder.take(Cause::Host, &program);
        recorder.all_idle();
        recorder.take(Cause::Host, &read);
        recorder.take(Cause::Host, &program);
        recorder.all_idle();
        recorder.take(Cause::Gc, &Operation::Copy { from: &[Ppn(3)], to: Ppn(10), owners: &[0] });
        recorder.take(Cause::Gc, &Operation::Erase { block: BlockId(1) });
        let mut recorded = Vec::new();
        recorder.drain_to(&mut recorded);
        let waits: Vec<_> = recorded.iter().map(|it| (it.op, it.after_all)).collect();
        let (read, program) = (Op::Read, Op::Program);
        let host = [(program, false), (program, false), (read, false), (program, true)];
        let rest = [(program, false), (read, false), (program, true), (Op::Erase, false)];
        assert_eq!(waits, [host, rest].concat());
    }
}
