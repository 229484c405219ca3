//! A die: what waits for it, and what it works on.

use crate::engine::state::command::{Command, Phase, Work};
use crate::engine::state::fifo::Fifo;
use crate::journal::{DieWork, Entry, Journal};
use crate::usage::DieUsage;

/// A die.
#[derive(Debug, Default)]
pub(crate) struct Die {
    pub channel: u16,
    /// Operations that may begin, those that could begin first in front. Each comes with its
    /// place in the order of both queues.
    reads: Fifo<(u64, u32)>,
    writes: Fifo<(u64, u32)>,
    came: u64,
    pub running: Option<Command>,
    pub suspended: Option<Command>,
    /// Read commands that it has begun during the suspension.
    pub reads_between: u32,
    /// Counts commands, so that events of earlier commands are recognised.
    pub generation: u32,
    /// Whether an event will ask again for a suspension of the running command.
    pub will_ask: bool,
    /// When `running` last changed from or to none.
    pub changed_ns: u64,
    pub usage: DieUsage,
}

impl Die {
    /// An idle die on a channel.
    pub fn on(channel: u16) -> Die {
        Die { channel, ..Die::default() }
    }

    /// Lets an operation wait for the die.
    #[inline(always)]
    pub fn wait(&mut self, own: u32, is_read: bool) {
        let queue = if is_read { &mut self.reads } else { &mut self.writes };
        queue.push((self.came, own));
        self.came += 1;
    }

    /// Whether it does nothing and nothing waits for it.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        let is_free = self.running.is_none() && self.suspended.is_none();
        is_free && self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether a read waits.
    #[inline(always)]
    pub fn has_read(&self) -> bool {
        !self.reads.is_empty()
    }

    /// Takes the operation that comes next: the first one, or the first read if `reads_first`.
    /// While a command is suspended, only reads come.
    #[inline(always)]
    pub fn take_next(&mut self, reads_first: bool) -> Option<u32> {
        let only_reads = self.suspended.is_some();
        let is_read_next = match self.reads.front() {
            None => only_reads,
            Some(read) => {
                let is_first = self.writes.front().is_none_or(|write| read < write);
                is_first || reads_first || only_reads
            }
        };
        let queue = if is_read_next { &mut self.reads } else { &mut self.writes };
        queue.pop().map(|(_, own)| own)
    }

    /// Takes the first of the waiting reads that this holds for, among the first `most`.
    pub fn take_read(&mut self, most: usize, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let mut first = self.reads.waiting().iter().take(most);
        let position = first.position(|&(_, own)| holds(own))?;
        Some(self.reads.remove(position).1)
    }

    /// Gives the idle die a command. Returns its generation.
    #[inline(always)]
    pub fn occupy(&mut self, now_ns: u64, command: Command) -> u32 {
        assert!(self.running.is_none(), "a die that is occupied got a command");
        assert!(now_ns >= self.changed_ns, "a die got a command before it was free");
        self.changed_ns = now_ns;
        self.generation += 1;
        self.will_ask = false;
        self.running = Some(command);
        self.generation
    }

    /// The array begins or goes on when everything is loaded. Returns when it will be done.
    #[inline(always)]
    pub fn array_begins(&mut self, loaded_ns: u64) -> u64 {
        let command = self.running.as_mut().expect("an idle die has no array at work");
        command.begin_array(loaded_ns);
        self.usage.moving_ns += loaded_ns - self.changed_ns;
        command.array_end_ns()
    }

    /// Takes the command from the die, which has this number.
    #[inline(always)]
    pub fn vacate(&mut self, number: u16, now_ns: u64, journal: &mut Journal) {
        let command = self.running.as_ref().expect("only an occupied die is vacated");
        journal.add(|| Entry::Die(work_done(number, command, self.changed_ns, now_ns)));
        let occupied_ns = now_ns - self.changed_ns;
        if command.phase == Phase::Unloading {
            self.usage.moving_ns += now_ns - command.array_end_ns();
        }
        self.usage.occupied_ns += occupied_ns;
        if command.collects {
            self.usage.collecting_ns += occupied_ns;
        }
        self.changed_ns = now_ns;
        self.running = None;
    }

    /// The time spent on collection until now.
    #[inline(always)]
    pub fn collecting_ns(&self, now_ns: u64) -> u64 {
        let current = self.running.as_ref().filter(|command| command.collects);
        self.usage.collecting_ns + current.map_or(0, |_| now_ns - self.changed_ns)
    }
}

/// What a die did under a command from one time to another.
fn work_done(die: u16, command: &Command, from_ns: u64, until_ns: u64) -> DieWork {
    let Command { work, cause, count: operations, phase, .. } = *command;
    let op = match work {
        Work::Flash(op) => Some(op),
        Work::Suspension => None,
    };
    let is_done = phase == Phase::Unloading || command.array_end_ns() <= until_ns;
    let is_suspended = op.is_some() && !is_done;
    DieWork { die, op, cause, operations, is_suspended, from_ns, until_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_comes_next_unless_reads_come_first() {
        let waiting = |writes_before_reads: bool| {
            let mut die = Die::on(3);
            die.wait(9, !writes_before_reads);
            die.wait(3, writes_before_reads);
            die
        };
        assert_eq!(waiting(true).channel, 3);
        let taken = |mut die: Die, reads_first| {
            [die.take_next(reads_first), die.take_next(reads_first), die.take_next(reads_first)]
        };
        assert_eq!(taken(waiting(false), false), [Some(9), Some(3), None], "the read came first");
        assert_eq!(taken(waiting(true), false), [Some(9), Some(3), None], "the write came first");
        assert_eq!(taken(waiting(true), true), [Some(3), Some(9), None]);
    }
}
