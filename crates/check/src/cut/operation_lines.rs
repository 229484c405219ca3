//! The flash operations of a replay as lines, which stand below its steps.
//!
//! ```text
//! write page 3, number 2
//!   17 program host 9 system      `--cut 17` interrupts this program of page 9
//! power lost at operation 17, program of page 9, outcome torn
//! mount
//!   0 spare meta 0 system
//! ```
//! The pages of a guest belong to the `system`: only the guest knows what they hold. A line is told
//! when the operation is made, so those before a crash of a guest are there.

use nand::{Cause, Lpn, Op, OpSink, Operation, Ppn};

/// Tells a line for each flash operation, in the words of `--log-ops`.
pub struct OperationLines<F> {
    /// Programs and erases since the power is on, as `--cut` counts them.
    changes: u64,
    tell: F,
}

impl<F: FnMut(&str) + Send + 'static> OperationLines<F> {
    /// Lines for a device whose power is just on.
    pub fn new(tell: F) -> OperationLines<F> {
        OperationLines { changes: 0, tell }
    }

    fn line(&mut self, op: Op, cause: Cause, place: u32, owner: Lpn) {
        let owner = match owner {
            Lpn::NONE => "-".to_owned(),
            Lpn::SYSTEM => "system".to_owned(),
            Lpn(page) => page.to_string(),
        };
        (self.tell)(&format!("{} {op} {cause} {place} {owner}", self.changes));
        self.changes += u64::from(matches!(op, Op::Program | Op::Erase));
    }
}

impl<F: FnMut(&str) + Send + 'static> OpSink for OperationLines<F> {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        match *operation {
            Operation::Read { ppn, owner } => self.line(Op::Read, cause, ppn.0, owner),
            Operation::SpareRead { ppn, owner } => self.line(Op::SpareRead, cause, ppn.0, owner),
            Operation::Program { first, owners } => {
                for (place, &owner) in (first.0..).zip(owners) {
                    self.line(Op::Program, cause, place, Lpn(owner));
                }
            }
            Operation::Copy { from, to, owners } => {
                for ((&Ppn(source), place), &owner) in from.iter().zip(to.0..).zip(owners) {
                    self.line(Op::Read, cause, source, Lpn(owner));
                    self.line(Op::Program, cause, place, Lpn(owner));
                }
            }
            Operation::Erase { block } => self.line(Op::Erase, cause, block.0, Lpn::NONE),
        }
    }
}
