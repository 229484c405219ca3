//! Dies and channels at work.

use nand::Op;

use crate::engine::Drive;
use crate::engine::state::command::{Command, Phase, Work};
use crate::engine::state::events::What;
use crate::engine::state::flash_operation::Stage;
use crate::engine::state::pool::NONE;

/// How many waiting reads a die looks at for one that it can do together with another.
const LOOK_AHEAD: usize = 16;

impl Drive {
    /// Lets an operation wait for a die. An idle die takes it at once.
    #[inline(always)]
    pub(super) fn queue(&mut self, own: u32, number: u16, is_read: bool) {
        let die = &mut self.dies[usize::from(number)];
        if die.is_idle() {
            return self.begin_on_idle(number, own);
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
        if die.suspended.is_some()
            && self.profile.suspend_reads.is_some_and(|most| die.reads_between >= most)
        {
            return self.resume(number);
        }
        match die.take_next(self.profile.reads_first) {
            Some(first) => self.begin(number, first),
            None if die.suspended.is_some() => self.resume(number),
            None => {}
        }
    }

    /// Gives a free die a command with an operation, and with those that it can do together with
    /// it.
    #[inline(always)]
    fn begin(&mut self, number: u16, first: u32) {
        if self.joins && self.join(number, first) {
            return self.begin_joined(number, first);
        }
        let now_ns = self.now_ns;
        let die = &mut self.dies[usize::from(number)];
        let operation = &mut self.operations[first];
        operation.begin(now_ns, die.usage.collecting_ns);
        let Stage { op, lane, array_ns, channel_ns, .. } = operation.stage;
        let (mut transfer_ns, mut held) = (self.durations.command_ns, NONE);
        if op == Op::Program {
            (transfer_ns, held) = (channel_ns, operation.next_of_lane);
            self.lanes[lane].program_begins(first, held);
        }
        let (at, time, journal) = ([die.channel, number], [now_ns, transfer_ns], &mut self.journal);
        let loaded_ns = self.channels.transfer(operation, at, time, journal);
        let mut command = Command::new(operation, first, now_ns);
        command.begin_array(loaded_ns);
        let generation = die.occupy(now_ns, command);
        die.usage.moving_ns += loaded_ns - now_ns;
        self.events.add_array_done(op, loaded_ns + array_ns, number, generation);
        if held != NONE && self.operations[held].no_longer_held() {
            die.wait(held, false);
        }
        if self.suspends {
            self.count_or_suspend(number, op);
        }
    }

    /// Counts a read command that a die has begun during a suspension. A program or erase that it
    /// has begun may have to let waiting reads pass.
    fn count_or_suspend(&mut self, number: u16, op: Op) {
        let die = &mut self.dies[usize::from(number)];
        match op {
            Op::Read | Op::SpareRead => die.reads_between += u32::from(die.suspended.is_some()),
            Op::Program | Op::Erase => self.suspend_for_read(number),
        }
    }

    /// The same for an idle die. Not inlined, because operations become ready in many places.
    fn begin_on_idle(&mut self, number: u16, own: u32) {
        self.begin(number, own);
    }

    /// Gives a free die a command with several operations. Those of programs are loaded one after
    /// the other.
    fn begin_joined(&mut self, number: u16, first: u32) {
        let now_ns = self.now_ns;
        let die = &mut self.dies[usize::from(number)];
        let mut command = Command::new(&self.operations[first], first, now_ns);
        let (mut own, mut held, mut sum_ns) = (first, NONE, 0);
        command.count = 0;
        while own != NONE {
            let operation = &mut self.operations[own];
            operation.begin(now_ns, die.usage.collecting_ns);
            let Stage { op, lane, array_ns, .. } = operation.stage;
            if op == Op::Program {
                held = operation.next_of_lane;
                self.lanes[lane].program_begins(own, held);
            }
            command.count += 1;
            command.array_ns = command.array_ns.max(array_ns);
            sum_ns += array_ns;
            own = operation.next_of_command;
        }
        die.usage.saved_ns += sum_ns - command.array_ns;
        let operation = &self.operations[first];
        let Stage { op, channel_ns, .. } = operation.stage;
        let transfer_ns = match op {
            Op::Program => channel_ns,
            _ => self.durations.command_ns * u64::from(command.count),
        };
        let (at, time, journal) = ([die.channel, number], [now_ns, transfer_ns], &mut self.journal);
        let loaded_ns = self.channels.transfer(operation, at, time, journal);
        let generation = die.occupy(now_ns, command);
        match op {
            Op::Program => self.events.add(loaded_ns, What::Loaded { die: number }),
            _ => {
                let end_ns = die.array_begins(loaded_ns);
                self.events.add_array_done(op, end_ns, number, generation);
            }
        }
        if held != NONE && self.operations[held].no_longer_held() {
            die.wait(held, false);
        }
        if self.suspends {
            self.count_or_suspend(number, op);
        }
    }

    /// Joins operations of the same kind to one that a die begins. Returns whether there are any.
    fn join(&mut self, number: u16, first: u32) -> bool {
        match self.operations[first].stage.op {
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

    /// Brings the next page of a program to its die; after the last one the array begins.
    pub(super) fn load_next(&mut self, number: u16) {
        let die = &mut self.dies[usize::from(number)];
        let (channel, generation) = (die.channel, die.generation);
        let command = die.running.as_mut().expect("the die has a command");
        let operation = &self.operations[command.next_transfer];
        command.next_transfer = operation.next_of_command;
        command.transferred += 1;
        let is_last = command.transferred == command.count;
        let (now_ns, transfer_ns) = (self.now_ns, operation.stage.channel_ns);
        let (at, time, journal) = ([channel, number], [now_ns, transfer_ns], &mut self.journal);
        let loaded_ns = self.channels.transfer(operation, at, time, journal);
        if is_last {
            let end_ns = die.array_begins(loaded_ns);
            self.events.add_array_done(Op::Program, end_ns, number, generation);
            // A read may have come while data was loaded.
            if self.suspends {
                self.suspend_for_read(number);
            }
        } else {
            self.events.add(loaded_ns, What::Loaded { die: number });
        }
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
                    let (at, time) = ([channel, number], [self.now_ns, transfer_ns]);
                    let end_ns = self.channels.transfer(operation, at, time, &mut self.journal);
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
