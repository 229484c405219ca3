//! What a replay prints: its steps, and below each its flash operations if they are wanted.

use check::cut::operation_lines::OperationLines;
use check::cut::power_loss::{Step, StepTexts, Watch};
use check::device::powered_device::PoweredDevice;

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
            let lines = OperationLines::new(|line: &str| say(&format!("    {line}\n")));
            device.attach(Box::new(lines));
        }
    }
}
