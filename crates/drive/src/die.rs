//! A die: what waits for it, what it works on, and how it chooses what comes next.

use std::collections::VecDeque;

use nand::Op;
use slab::Slab;

use crate::command::{Command, Phase, Work};
use crate::flash_operation::FlashOperation;
use crate::usage::DieUsage;

/// A die.
#[derive(Debug, Default)]
pub(crate) struct Die {
    /// Operations that have not begun, in the order of issue.
    pub queue: VecDeque<usize>,
    /// How many of them are ready.
    pub ready: usize,
    /// Programs that have not ended.
    pub programs: usize,
    pub running: Option<Command>,
    pub suspended: Option<Command>,
    /// Reads that it has begun during the suspension.
    pub reads_between: u32,
    /// Counts changes of `running`, so that events of earlier commands are recognised.
    pub generation: u32,
    /// Whether an event will ask again for a suspension of the running command.
    pub will_ask: bool,
    /// When `running` last changed from or to none.
    pub changed_ns: u64,
    pub usage: DieUsage,
}

impl Die {
    /// Gives the idle die a command.
    pub fn occupy(&mut self, now_ns: u64, command: Command) {
        assert!(self.running.is_none(), "a die that is occupied got a command");
        assert!(now_ns >= self.changed_ns, "a die got a command before it was free");
        self.changed_ns = now_ns;
        self.generation += 1;
        self.will_ask = false;
        self.running = Some(command);
    }

    /// Takes the command from the die.
    pub fn vacate(&mut self, now_ns: u64) -> Command {
        let command = self.running.take().expect("only an occupied die is vacated");
        let occupied_ns = now_ns - self.changed_ns;
        if command.phase == Phase::Unloading {
            self.usage.moving_ns += now_ns - command.array_end_ns();
        }
        self.usage.occupied_ns += occupied_ns;
        self.usage.collecting_ns += if command.collects { occupied_ns } else { 0 };
        self.changed_ns = now_ns;
        self.generation += 1;
        command
    }

    /// The time spent on collection until now.
    pub fn collecting_ns(&self, now_ns: u64) -> u64 {
        let current = self.running.as_ref().filter(|command| command.collects);
        self.usage.collecting_ns + current.map_or(0, |_| now_ns - self.changed_ns)
    }

    /// The position in the queue of the operation that comes next: the first that is ready and
    /// overtakes none that must come before it; reads first, if `reads_first`. While a command is
    /// suspended, only reads. Operations in incomplete rows that were issued from number
    /// `complete_before` on wait for the rest of their row, if `rows_wait`.
    pub fn next(
        &self,
        operations: &Slab<FlashOperation>,
        reads_first: bool,
        rows_wait: Option<u64>,
    ) -> Option<usize> {
        if self.ready == 0 {
            return None;
        }
        let (mut other, mut left) = (None, self.ready);
        let only_reads = self.suspended.is_some();
        for (position, &id) in self.queue.iter().enumerate() {
            let operation = &operations[id];
            if !operation.is_ready() {
                continue;
            }
            let is_read = operation.is_read();
            if (is_read || (!only_reads && other.is_none()))
                && is_whole(operation, rows_wait)
                && self.may_come(position, operation, operations)
            {
                if is_read || !reads_first {
                    return Some(position);
                }
                other = Some(position);
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        other
    }

    /// Whether an operation in the queue overtakes none that must come before it.
    fn may_come(
        &self,
        position: usize,
        operation: &FlashOperation,
        operations: &Slab<FlashOperation>,
    ) -> bool {
        let waiting = self.queue.range(..position);
        let suspended = self.suspended.iter().flat_map(|command| &command.operations);
        !waiting.chain(suspended).any(|&earlier| operations[earlier].holds_back(operation))
    }

    /// Takes the operation at a position out of the queue, with those after it that the same
    /// command can do, at most `most` in all.
    pub fn take(
        &mut self,
        position: usize,
        operations: &Slab<FlashOperation>,
        most: usize,
        rows_wait: Option<u64>,
    ) -> Vec<usize> {
        let first = self.queue.remove(position).expect("a position in the queue");
        let mut taken = vec![first];
        let mut at = position;
        while taken.len() < most && at < self.queue.len() {
            let later = &operations[self.queue[at]];
            let joins = later.is_ready()
                && operations[first].joins(later)
                && is_whole(later, rows_wait)
                && self.may_come(at, later, operations);
            match joins {
                true => taken.extend(self.queue.remove(at)),
                false => at += 1,
            }
        }
        self.ready -= taken.len();
        taken
    }

    /// Operations that have not begun, and programs that have not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> {
        let commands = self.running.iter().chain(&self.suspended);
        let programs = commands.filter(|command| command.work == Work::Flash(Op::Program));
        let begun = programs.flat_map(|command| command.operations.iter());
        self.queue.iter().chain(begun).copied()
    }
}

fn is_whole(operation: &FlashOperation, rows_wait: Option<u64>) -> bool {
    operation.is_read()
        || operation.row_is_complete
        || rows_wait.is_none_or(|complete_before| operation.number < complete_before)
}
