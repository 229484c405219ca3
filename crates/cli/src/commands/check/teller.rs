//! What a replay prints: its steps, and below each its flash operations if they are wanted.
//!
//! ```text
//!   write page 3, number 2
//!     17 program host 9 system      `--cut 17` interrupts this program of page 9
//!   power lost at operation 17, program of page 9, outcome torn
//!   mount
//!     0 spare meta 0 system
//! ```
//! The pages of a guest belong to the `system`: only the guest knows what they hold. An operation
//! is printed when it is made, so those before a crash of a guest are there.

use check::cut::power_loss::{Step, StepTexts, Watch};
use check::device::powered_device::PoweredDevice;
use nand::{Cause, Lpn, Op, OpSink, Operation, Ppn};

use crate::process::stdout::say;

/// Prints a replay.
pub struct Teller {
    is_quiet: bool,
    /// Whether it prints every flash operation.
    has_operations: bool,
    texts: StepTexts,
}

impl Teller {
    /// Prints steps unless it is quiet, and their flash operations if they are wanted.
    pub fn new(is_quiet: bool, has_operations: bool) -> Teller {
        Teller { is_quiet, has_operations, texts: StepTexts::default() }
    }

    /// Prints a text.
    pub fn tell(&self, text: &str) {
        if !self.is_quiet {
            say(text);
        }
    }
}

impl Watch for Teller {
    fn step(&mut self, step: Step) {
        let text = self.texts.next(step);
        self.tell(&format!("  {text}\n"));
    }

    fn powered(&mut self, device: &mut PoweredDevice) {
        if self.has_operations {
            device.attach(Box::new(Lines { changes: 0 }));
        }
    }
}

/// Prints a line for each flash operation, in the words of `--log-ops`.
struct Lines {
    /// Programs and erases since the power is on, as `--cut` counts them.
    changes: u64,
}

impl Lines {
    fn line(&mut self, op: Op, cause: Cause, place: u32, owner: Lpn) {
        let owner = match owner {
            Lpn::NONE => "-".to_owned(),
            Lpn::SYSTEM => "system".to_owned(),
            Lpn(page) => page.to_string(),
        };
        say(&format!("    {} {op} {cause} {place} {owner}\n", self.changes));
        self.changes += u64::from(matches!(op, Op::Program | Op::Erase));
    }
}

impl OpSink for Lines {
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
