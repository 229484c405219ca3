//! Dies and channels at work.

use nand::Op;

use crate::command::{Command, Phase, Work};
use crate::engine::Drive;
use crate::events::What;
use crate::journal::{DieWork, Entry};
use crate::pool::NONE;

/// How many waiting reads a die looks at for one that it can do together with another.
const LOOK_AHEAD: usize = 16;

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
        let count = if self.joins { self.join(number, first) } else { 1 };
        let (array_ns, held) = self.begin_operations(number, first);
        let operation = &self.operations[first];
        let op = operation.stage.op;
        let (channel_ns, is_loaded) = match op {
            Op::Program => (operation.stage.channel_ns, count == 1),
            _ => (self.durations.command_ns * u64::from(count), true),
        };
        let command = Command {
            work: Work::Flash(op),
            cause: operation.cause,
            first,
            count,
            transferred: 1,
            next_transfer: operation.next_of_command,
            phase: Phase::Loading,
            array_ns,
            progress_ns: 0,
            started_ns: self.now_ns,
            resumed_ns: self.now_ns,
        };
        self.dies[usize::from(number)].occupy(self.now_ns, command);
        self.load(number, channel_ns, is_loaded);
        if held != NONE {
            self.no_longer_held(held);
        }
    }

    /// Joins operations of the same kind to one that a die begins. Returns how many there are.
    fn join(&mut self, number: u16, first: u32) -> u32 {
        match self.operations[first].stage.op {
            Op::Read | Op::SpareRead => self.join_reads(number, first),
            Op::Program => self.join_programs(first),
            Op::Erase => 1,
        }
    }

    /// Joins reads in other planes to a read.
    fn join_reads(&mut self, number: u16, first: u32) -> u32 {
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
        count
    }

    /// Joins the next programs of a row to a program.
    fn join_programs(&mut self, first: u32) -> u32 {
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
        count
    }

    /// The operations of a command begin. Returns its time in the array, and the program that was
    /// held by the last of them, or [`NONE`].
    #[inline(always)]
    fn begin_operations(&mut self, number: u16, first: u32) -> (u64, u32) {
        let die = &mut self.dies[usize::from(number)];
        let (mut array_ns, mut sum_ns, mut held, mut own) = (0, 0, NONE, first);
        while own != NONE {
            let operation = &mut self.operations[own];
            assert!(operation.may_begin(), "an operation began too early: {operation:?}");
            operation.started_ns = self.now_ns;
            operation.collected_after_ns = die.usage.collecting_ns;
            array_ns = operation.stage.array_ns.max(array_ns);
            sum_ns += operation.stage.array_ns;
            if operation.stage.op == Op::Program {
                held = operation.next_of_lane;
                self.lanes[operation.stage.lane].program_begins(own, held);
            }
            own = operation.next_of_command;
        }
        die.usage.saved_ns += sum_ns - array_ns;
        (array_ns, held)
    }

    /// Brings the next page of a program to its die.
    pub(super) fn load_next(&mut self, number: u16) {
        let command = self.running(number);
        let own = command.next_transfer;
        command.transferred += 1;
        let is_last = command.transferred == command.count;
        let operation = &self.operations[own];
        let (next, channel_ns) = (operation.next_of_command, operation.stage.channel_ns);
        self.running(number).next_transfer = next;
        self.load(number, channel_ns, is_last);
    }

    /// Brings a page of a program to its die, or the command of another operation; after the last
    /// page the array begins.
    #[inline(always)]
    fn load(&mut self, number: u16, channel_ns: u64, is_last: bool) {
        let die = &mut self.dies[usize::from(number)];
        let (channel, generation) = (die.channel, die.generation);
        let loaded_ns = match channel_ns {
            0 => self.now_ns,
            channel_ns => self.transfer(channel, number, channel_ns),
        };
        if is_last {
            let end_ns = self.dies[usize::from(number)].array_begins(loaded_ns);
            self.events.add(end_ns, What::ArrayDone { die: number, generation });
        } else if loaded_ns == self.now_ns {
            self.load_next(number);
        } else {
            self.events.add(loaded_ns, What::Loaded { die: number, generation });
        }
    }

    /// Takes a channel for a time. Returns the end.
    #[inline(always)]
    fn transfer(&mut self, channel: u16, die: u16, duration_ns: u64) -> u64 {
        let until_ns = self.channels[usize::from(channel)].take(self.now_ns, duration_ns);
        let from_ns = until_ns - duration_ns;
        self.journal.add(|| Entry::Channel { channel, die, from_ns, until_ns });
        until_ns
    }

    /// The array of a die has done its work.
    #[inline(always)]
    pub(super) fn array_done(&mut self, number: u16) {
        let die = &mut self.dies[usize::from(number)];
        let command = die.running.as_ref().expect("the die has a command");
        let done_ns = command.progress_ns + (self.now_ns - command.resumed_ns);
        let Command { work, array_ns, first, started_ns, .. } = *command;
        assert_eq!(done_ns, array_ns, "the array of a die worked too long or too short");
        match work {
            Work::Suspension => die.usage.suspending_ns += array_ns,
            Work::Flash(_) => die.usage.array_ns += done_ns,
        }
        if let Work::Flash(Op::Read | Op::SpareRead) = work {
            return self.unload(number, first);
        }
        self.vacate(number);
        match work {
            Work::Flash(Op::Erase) => self.part_ended(first, number, started_ns),
            _ => self.programs_ended(first),
        }
        self.start(number);
    }

    /// The programs of a command have ended.
    #[inline(always)]
    fn programs_ended(&mut self, first: u32) {
        let mut own = first;
        while own != NONE {
            let next = self.operations[own].next_of_command;
            self.ended(own);
            own = next;
        }
    }

    /// Sends the pages that a die has read over its channel.
    fn unload(&mut self, number: u16, first: u32) {
        let holds = self.profile.hold;
        let die = &mut self.dies[usize::from(number)];
        let channel = die.channel;
        let command = die.running.as_mut().expect("the die has a command");
        command.phase = Phase::Unloading;
        command.transferred = 0;
        if !holds {
            self.vacate(number);
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
    #[inline(always)]
    pub(super) fn unloaded(&mut self, own: u32) {
        if !self.profile.hold {
            return self.read_ended(own);
        }
        let number = self.operations[own].stage.at.die;
        let command = self.running(number);
        command.transferred += 1;
        let is_last = command.transferred == command.count;
        if is_last {
            self.vacate(number);
        }
        self.read_ended(own);
        if is_last {
            self.start(number);
        }
    }

    pub(super) fn running(&mut self, number: u16) -> &mut Command {
        self.dies[usize::from(number)].running.as_mut().expect("the die has a command")
    }

    /// Takes the command from a die.
    #[inline(always)]
    pub(super) fn vacate(&mut self, number: u16) {
        let die = &mut self.dies[usize::from(number)];
        if self.journal.is_kept() {
            let command = die.running.as_ref().expect("only an occupied die is vacated");
            let work = work_done(number, command, die.changed_ns, self.now_ns);
            self.journal.add(|| Entry::Die(work));
        }
        die.vacate(self.now_ns);
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
