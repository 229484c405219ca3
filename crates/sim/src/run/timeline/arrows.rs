//! Arrows from requests to their operations.
//!
//! Viewers draw an arrow only if the slices at both ends come before it. Operations end before
//! their request is answered, and some before their die is free, so arrows wait for the slices. In
//! a window, the slice at one end may be missing; then the arrow is never drawn.

use std::collections::HashMap;

use crate::run::timeline::record::OperationRecord;

/// Arrows that wait for slices.
#[derive(Debug, Default)]
pub struct Arrows {
    /// Requests that are drawn, with the number of operations that had not ended when they were
    /// answered and have not ended since.
    requests: HashMap<u64, u32>,
    waiting_for_request: HashMap<u64, Vec<OperationRecord>>,
    /// Commands that are drawn, with the number of their operations that have not passed.
    commands: HashMap<Command, u32>,
    waiting_for_command: HashMap<Command, Vec<OperationRecord>>,
}

/// A command: its die, and when it began.
type Command = (u16, u64);

impl Arrows {
    /// An operation has ended. Arrows that can be drawn go to `out`.
    pub fn operation(&mut self, operation: OperationRecord, out: &mut Vec<OperationRecord>) {
        let id = operation.ended.request;
        match self.requests.get_mut(&id) {
            None => self.waiting_for_request.entry(id).or_default().push(operation),
            Some(unfinished) => {
                *unfinished -= 1;
                if *unfinished == 0 {
                    self.requests.remove(&id);
                }
                self.pass(operation, out);
            }
        }
    }

    /// A request was drawn.
    pub fn request(&mut self, id: u64, unfinished: u32, out: &mut Vec<OperationRecord>) {
        if unfinished > 0 {
            self.requests.insert(id, unfinished);
        }
        for operation in self.waiting_for_request.remove(&id).unwrap_or_default() {
            self.pass(operation, out);
        }
    }

    /// The beginning of a command was drawn.
    pub fn command(
        &mut self,
        die: u16,
        from_ns: u64,
        operations: u32,
        out: &mut Vec<OperationRecord>,
    ) {
        *self.commands.entry((die, from_ns)).or_default() += operations;
        for operation in self.waiting_for_command.remove(&(die, from_ns)).unwrap_or_default() {
            self.pass(operation, out);
        }
    }

    /// The request of an operation is drawn.
    fn pass(&mut self, operation: OperationRecord, out: &mut Vec<OperationRecord>) {
        let command = (operation.ended.die, operation.ended.started_ns);
        match self.commands.get_mut(&command) {
            None => self.waiting_for_command.entry(command).or_default().push(operation),
            Some(operations) => {
                *operations -= 1;
                if *operations == 0 {
                    self.commands.remove(&command);
                }
                out.push(operation);
            }
        }
    }
}
