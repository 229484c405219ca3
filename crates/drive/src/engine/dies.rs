//! Dies and channels at work.

use nand::Op;

use crate::command::{Command, Phase, Work};
use crate::engine::Drive;
use crate::events::What;
use crate::flash_operation::{FlashOperation, Stage};
use crate::journal::Entry;
use crate::pool::NONE;

/// How many waiting reads a die looks at for one that it can do together with another.
const LOOK_AHEAD: usize = 16;

/// The operations that a command joins.
struct Joined {
    count: u32,
    /// The time that all of them take in the array.
    array_ns: u64,
    /// The second one, or [`NONE`].
    next: u32,
    /// The program that was held by the last one, or [`NONE`].
    held: u32,
}

impl Drive {
    /// Lets an operation wait for a die. An idle die takes it at once.
    #[inline(always)]
    pub(super) fn queue(&mut self, own: u32, number: u16, is_read: bool) {
        let die = &mut self.dies[usize::from(number)];
        if die.is_idle() {
            return self.begin(number, own);
        }
        die.wait(own, is_read);
        if self.suspends && is_read {
            self.suspend_for_read(number);
        }
    }

    /// Gives a die its next command, if it is free and has one, or may be suspended for a read.
    #[inline(always)]
    pub(super) fn start(&mut self, number: u16) {
        let die = &mut self.dies[usize::from(number)];
        if die.running.is_some() {
            if self.suspends && die.has_read() {
                self.suspend_for_read(number);
            }
            return;
        }
        match die.take_next(self.profile.reads_first) {
            Some(first) => self.begin(number, first),
            None if die.suspended.is_some() => self.resume(number),
            None => {}
        }
    }

    /// Gives a free die a command with an operation and those that it can do together with it.
    fn begin(&mut self, number: u16, first: u32) {
        let die = &self.dies[usize::from(number)];
        let (channel, collected_ns) = (die.channel, die.usage.collecting_ns);
        let begun = self.begin_operation(first, collected_ns);
        let FlashOperation { stage: Stage { op, array_ns, channel_ns, .. }, cause, .. } = *begun;
        let mut joined = Joined { count: 1, array_ns, next: NONE, held: begun.held_program() };
        if self.joins && self.join(number, op, first) {
            joined = self.begin_others(number, first);
        }
        let Joined { count, array_ns, next, held } = joined;
        let (transfer_ns, is_loaded) = match op {
            Op::Program => (channel_ns, count == 1),
            _ => (self.durations.command_ns * u64::from(count), true),
        };
        let loaded_ns = self.transfer(channel, number, transfer_ns);
        let command = Command {
            work: Work::Flash(op),
            cause,
            first,
            count,
            transferred: 1,
            next_transfer: next,
            phase: if is_loaded { Phase::Array } else { Phase::Loading },
            array_ns,
            progress_ns: 0,
            started_ns: self.now_ns,
            resumed_ns: loaded_ns,
        };
        let die = &mut self.dies[usize::from(number)];
        let generation = die.occupy(self.now_ns, command);
        if held != NONE && self.operations[held].no_longer_held() {
            die.wait(held, false);
        }
        if is_loaded {
            die.usage.moving_ns += loaded_ns - self.now_ns;
            self.events.add_array_done(op, loaded_ns + array_ns, number, generation);
        } else {
            self.events.add(loaded_ns, What::Loaded { die: number, generation });
        }
    }

    /// An operation begins on a die that has spent this time on collection.
    #[inline(always)]
    fn begin_operation(&mut self, own: u32, collected_ns: u64) -> &FlashOperation {
        let operation = &mut self.operations[own];
        assert!(operation.may_begin(), "an operation began too early: {operation:?}");
        operation.started_ns = self.now_ns;
        operation.collected_after_ns = collected_ns;
        if operation.stage.op == Op::Program {
            self.lanes[operation.stage.lane].program_begins(own, operation.next_of_lane);
        }
        operation
    }

    /// Joins operations of the same kind to one that a die begins. Returns whether there are any.
    fn join(&mut self, number: u16, op: Op, first: u32) -> bool {
        match op {
            Op::Read | Op::SpareRead => self.join_reads(number, first),
            Op::Program => self.join_programs(first),
            Op::Erase => {}
        }
        self.operations[first].next_of_command != NONE
    }

    /// Joins reads in other planes to a read.
    fn join_reads(&mut self, number: u16, first: u32) {
        let (mut last, mut count) = (first, 1);
        while count < self.profile.planes {
            let operations = &self.operations;
            let joins = |own: u32| {
                let mut taken = first;
                while taken != NONE && operations[taken].reads_with(&operations[own]) {
                    taken = operations[taken].next_of_command;
                }
                taken == NONE
            };
            let die = &mut self.dies[usize::from(number)];
            let Some(own) = die.take_read(LOOK_AHEAD, joins) else { break };
            self.operations[last].next_of_command = own;
            last = own;
            count += 1;
        }
    }

    /// Joins the next programs of a row to a program.
    fn join_programs(&mut self, first: u32) {
        let (mut last, mut count) = (first, 1);
        while count < self.pages_at_once() {
            let next = self.operations[last].next_of_lane;
            if next == NONE {
                break;
            }
            let (before, own) = (&self.operations[last], &self.operations[next]);
            // What still holds it is the program before it.
            if !before.programs_with(own) || own.waits_for > 0 || own.held_by > 1 {
                break;
            }
            self.operations[next].held_by = 0;
            self.operations[last].next_of_command = next;
            last = next;
            count += 1;
        }
    }

    /// The operations begin that were joined to the first one of a command.
    fn begin_others(&mut self, number: u16, first: u32) -> Joined {
        let collected_ns = self.dies[usize::from(number)].usage.collecting_ns;
        let operation = &self.operations[first];
        let mut sum_ns = operation.stage.array_ns;
        let next = operation.next_of_command;
        let mut joined = Joined { count: 1, array_ns: sum_ns, next, held: NONE };
        let mut own = next;
        while own != NONE {
            let operation = self.begin_operation(own, collected_ns);
            let array_ns = operation.stage.array_ns;
            own = operation.next_of_command;
            joined.held = operation.held_program();
            joined.array_ns = joined.array_ns.max(array_ns);
            joined.count += 1;
            sum_ns += array_ns;
        }
        self.dies[usize::from(number)].usage.saved_ns += sum_ns - joined.array_ns;
        joined
    }

    /// Brings the next page of a program to its die; after the last one the array begins.
    pub(super) fn load_next(&mut self, number: u16) {
        let die = &mut self.dies[usize::from(number)];
        let (channel, generation) = (die.channel, die.generation);
        let command = die.running.as_mut().expect("the die has a command");
        let operation = &self.operations[command.next_transfer];
        command.next_transfer = operation.next_of_command;
        command.transferred += 1;
        let is_last = command.transferred == command.count;
        let loaded_ns = self.transfer(channel, number, operation.stage.channel_ns);
        if is_last {
            let end_ns = self.dies[usize::from(number)].array_begins(loaded_ns);
            self.events.add_array_done(Op::Program, end_ns, number, generation);
        } else {
            self.events.add(loaded_ns, What::Loaded { die: number, generation });
        }
    }

    /// Takes a channel for a time, if it is any. Returns the end.
    #[inline(always)]
    fn transfer(&mut self, channel: u16, die: u16, duration_ns: u64) -> u64 {
        if duration_ns == 0 {
            return self.now_ns;
        }
        let until_ns = self.channels[usize::from(channel)].take(self.now_ns, duration_ns);
        let from_ns = until_ns - duration_ns;
        self.journal.add(|| Entry::Channel { channel, die, from_ns, until_ns });
        until_ns
    }

    /// The array of a die has done its work, if it still works on the same command.
    #[inline(always)]
    pub(super) fn array_done(&mut self, number: u16, generation: u32) {
        let die = &mut self.dies[usize::from(number)];
        if die.generation != generation {
            return;
        }
        let command = die.running.as_mut().expect("the die has a command");
        let done_ns = command.progress_ns + (self.now_ns - command.resumed_ns);
        let Command { work, array_ns, first, started_ns, .. } = *command;
        assert_eq!(done_ns, array_ns, "the array of a die worked too long or too short");
        match work {
            Work::Flash(Op::Read | Op::SpareRead) => {
                command.phase = Phase::Unloading;
                command.transferred = 0;
                die.usage.array_ns += array_ns;
                return self.unload(number, first);
            }
            Work::Flash(_) => die.usage.array_ns += array_ns,
            Work::Suspension => die.usage.suspending_ns += array_ns,
        }
        die.vacate(number, self.now_ns, &mut self.journal);
        match work {
            Work::Flash(Op::Erase) => self.part_ended(first, number, started_ns),
            Work::Flash(_) => self.programs_ended(first),
            Work::Suspension => {}
        }
        self.start(number);
    }

    /// The programs of a command have ended.
    #[inline(always)]
    fn programs_ended(&mut self, first: u32) {
        let mut own = first;
        while own != NONE {
            own = self.ended(own);
        }
    }

    /// Sends the pages that a die has read over its channel.
    #[inline(always)]
    fn unload(&mut self, number: u16, first: u32) {
        let holds = self.profile.hold;
        let die = &mut self.dies[usize::from(number)];
        let channel = die.channel;
        if !holds {
            die.vacate(number, self.now_ns, &mut self.journal);
        }
        let mut own = first;
        while own != NONE {
            let operation = &self.operations[own];
            let next = operation.next_of_command;
            match operation.stage.channel_ns - self.durations.command_ns {
                0 => self.unloaded(own),
                transfer_ns => {
                    let end_ns = self.transfer(channel, number, transfer_ns);
                    self.events.add(end_ns, What::Unloaded(own));
                }
            }
            own = next;
        }
        if !holds {
            self.start(number);
        }
    }

    /// A page has left its die.
    pub(super) fn unloaded(&mut self, own: u32) {
        if !self.profile.hold {
            return self.read_ended(own);
        }
        let number = self.operations[own].stage.at.die;
        let die = &mut self.dies[usize::from(number)];
        let command = die.running.as_mut().expect("the die has a command");
        command.transferred += 1;
        let is_last = command.transferred == command.count;
        if is_last {
            die.vacate(number, self.now_ns, &mut self.journal);
        }
        self.read_ended(own);
        if is_last {
            self.start(number);
        }
    }
}
