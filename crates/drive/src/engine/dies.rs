//! Dies and channels at work.

use nand::Op;

use crate::command::{Command, Phase, Work};
use crate::engine::Drive;
use crate::events::What;
use crate::flash_operation::{Copy, FlashOperation};
use crate::journal::{DieWork, Entry};
use crate::pool::NONE;

/// How many waiting reads a die looks at for one that it can do together with another.
const LOOK_AHEAD: usize = 16;

impl Drive {
    /// Gives a die its next command, if it is free and has one, or may be suspended for a read.
    pub(super) fn start(&mut self, number: u16) {
        let die = &mut self.dies[number as usize];
        if die.running.is_some() {
            return self.suspend_for_read(number);
        }
        match die.take_next(self.profile.reads_first) {
            Some(first) => self.begin(number, first),
            None => self.resume(number),
        }
    }

    /// Gives a free die a command with an operation and those that it can do together with it.
    fn begin(&mut self, number: u16, first: u32) {
        let operation = &self.operations[first];
        let (op, cause) = (operation.op, operation.cause);
        let count = match op {
            Op::Read | Op::SpareRead => self.join_reads(number, first),
            Op::Program => self.join_programs(first),
            Op::Erase => 1,
        };
        let array_ns = self.begin_operations(number, first);
        self.dies[number as usize].occupy(
            self.now_ns,
            Command {
                work: Work::Flash(op),
                cause,
                first,
                count,
                transferred: 0,
                next_transfer: first,
                phase: Phase::Loading,
                array_ns,
                progress_ns: 0,
                resumed_ns: self.now_ns,
            },
        );
        self.load_next(number);
    }

    /// Joins reads in other planes to a read. Returns how many there are together.
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
            let Some(own) = self.dies[number as usize].take_read(LOOK_AHEAD, joins) else { break };
            self.operations[last].next_of_command = own;
            last = own;
            count += 1;
        }
        count
    }

    /// Joins the next programs of a row to a program. Returns how many there are together.
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

    /// The operations of a command begin. Returns its time in the array.
    fn begin_operations(&mut self, number: u16, first: u32) -> u64 {
        let die = &mut self.dies[number as usize];
        let collecting_ns = die.collecting_ns(self.now_ns);
        let (mut array_ns, mut sum_ns) = (0, 0);
        let (mut own, mut last) = (first, first);
        while own != NONE {
            let operation = &mut self.operations[own];
            assert!(operation.may_begin(), "an operation began too early: {operation:?}");
            let was_read = !matches!(operation.copy, Copy::Target { was_read: false, .. });
            assert!(was_read, "a copy was programmed before it was read: {operation:?}");
            operation.started_ns = self.now_ns;
            operation.collecting_ns = collecting_ns - operation.collecting_ns;
            array_ns = array_ns.max(operation.array_ns);
            sum_ns += operation.array_ns;
            let (next, is_read) = (operation.next_of_command, operation.is_read());
            match is_read {
                true => self.read_begins(own),
                false => self.write_begins(own),
            }
            last = core::mem::replace(&mut own, next);
        }
        self.dies[number as usize].usage.saved_ns += sum_ns - array_ns;
        let write_after = self.operations[last].next_of_lane;
        if write_after != NONE {
            self.no_longer_held(write_after);
        }
        array_ns
    }

    /// Brings the next page of a program to its die, or the command of another operation; then the
    /// array begins.
    pub(super) fn load_next(&mut self, number: u16) {
        let command_ns = self.profile.command_ns;
        let command = self.running(number);
        let own = command.next_transfer;
        command.transferred += 1;
        let is_program = command.work == Work::Flash(Op::Program);
        let is_last = !is_program || command.transferred == command.count;
        let (channel_ns, next) = match is_program {
            true => (self.operations[own].channel_ns, self.operations[own].next_of_command),
            false => (command_ns * u64::from(command.count), NONE),
        };
        let loaded_ns = self.transfer(number, own, channel_ns);
        let now_ns = self.now_ns;
        let command = self.running(number);
        command.next_transfer = next;
        if !is_last {
            let generation = self.dies[number as usize].generation;
            return match loaded_ns == now_ns {
                true => self.load_next(number),
                false => self.events.add(loaded_ns, What::Loaded { die: number, generation }),
            };
        }
        command.phase = Phase::Array;
        command.resumed_ns = loaded_ns;
        let end_ns = command.array_end_ns();
        let die = &mut self.dies[number as usize];
        die.usage.moving_ns += loaded_ns - die.changed_ns;
        self.await_array(number, end_ns);
    }

    pub(super) fn await_array(&mut self, number: u16, end_ns: u64) {
        let generation = self.dies[number as usize].generation;
        self.events.add(end_ns, What::ArrayDone { die: number, generation });
    }

    /// Takes the channel of a die for a time, for an operation. Returns the end.
    fn transfer(&mut self, number: u16, own: u32, duration_ns: u64) -> u64 {
        if duration_ns == 0 {
            return self.now_ns;
        }
        let channel = self.places.channel(number);
        let free_ns = self.channels[channel].free_ns();
        let until_ns = self.channels[channel].take(self.now_ns, duration_ns);
        let from_ns = until_ns - duration_ns;
        assert!(from_ns >= free_ns.max(self.now_ns), "a channel was taken while it was busy");
        self.usage.channels[channel].busy_ns += until_ns - from_ns;
        let channel = channel as u16;
        self.journal.add(|| {
            let FlashOperation { op, cause, .. } = self.operations[own];
            Entry::Channel { channel, die: number, op, cause, from_ns, until_ns }
        });
        until_ns
    }

    /// The array of a die has done its work.
    pub(super) fn array_done(&mut self, number: u16) {
        let now_ns = self.now_ns;
        let command = self.running(number);
        let done_ns = command.progress_ns + (now_ns - command.resumed_ns);
        let (work, array_ns) = (command.work, command.array_ns);
        assert_eq!(done_ns, array_ns, "the array of a die worked too long or too short");
        let Work::Flash(op) = work else {
            self.vacate(number);
            self.dies[number as usize].usage.suspending_ns += array_ns;
            return self.start(number);
        };
        self.dies[number as usize].usage.array_ns += done_ns;
        match op {
            Op::Read | Op::SpareRead => self.unload(number),
            Op::Program | Op::Erase => {
                let mut own = self.vacate(number).first;
                while own != NONE {
                    let next = self.operations[own].next_of_command;
                    self.ended(own);
                    own = next;
                }
                self.start(number);
            }
        }
    }

    /// Sends the pages that a die has read over its channel.
    fn unload(&mut self, number: u16) {
        let holds = self.profile.hold;
        let command = self.running(number);
        command.phase = Phase::Unloading;
        command.transferred = 0;
        let mut own = command.first;
        if !holds {
            self.vacate(number);
        }
        while own != NONE {
            let operation = &self.operations[own];
            let next = operation.next_of_command;
            match operation.channel_ns - self.profile.command_ns {
                0 => self.unloaded(own),
                transfer_ns => {
                    let end_ns = self.transfer(number, own, transfer_ns);
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
            return self.ended(own);
        }
        let number = self.operations[own].at.die;
        let command = self.running(number);
        command.transferred += 1;
        let is_last = command.transferred == command.count;
        if is_last {
            self.vacate(number);
        }
        self.ended(own);
        if is_last {
            self.start(number);
        }
    }

    pub(super) fn running(&mut self, number: u16) -> &mut Command {
        self.dies[number as usize].running.as_mut().expect("the die has a command")
    }

    /// Takes the command from a die.
    pub(super) fn vacate(&mut self, number: u16) -> Command {
        let die = &mut self.dies[number as usize];
        let (from_ns, until_ns) = (die.changed_ns, self.now_ns);
        let command = die.vacate(until_ns);
        self.journal.add(|| {
            let Command { work, cause, count, phase, .. } = command;
            let op = match work {
                Work::Flash(op) => Some(op),
                Work::Suspension => None,
            };
            let is_done = phase == Phase::Unloading || command.array_end_ns() <= until_ns;
            let is_suspended = op.is_some() && !is_done;
            let operations = count;
            let die = number;
            Entry::Die(DieWork { die, op, cause, operations, is_suspended, from_ns, until_ns })
        });
        command
    }
}
