//! Programs and erases that let reads pass.

use nand::{Cause, Op};

use crate::engine::Drive;
use crate::engine::state::command::{Command, Phase, Work};
use crate::engine::state::events::What;
use crate::engine::state::pool::NONE;

impl Drive {
    /// Suspends the running program or erase if a read waits for it, or asks again later.
    pub(super) fn suspend_for_read(&mut self, number: u16) {
        let die = &self.dies[number as usize];
        let Some(command) = &die.running else { return };
        let may_suspend = match command.work {
            Work::Flash(Op::Program) => self.profile.suspend.programs,
            Work::Flash(Op::Erase) => self.profile.suspend.erases,
            _ => false,
        };
        let is_in_array = command.phase == Phase::Array && die.suspended.is_none();
        if !may_suspend || !is_in_array || die.will_ask || !die.has_read() {
            return;
        }
        let (least_ns, step_ns) = (self.profile.suspend_progress_ns, self.profile.suspend_step_ns);
        let from_ns = command.may_be_suspended_ns(self.now_ns, least_ns, step_ns);
        let end_ns = command.array_end_ns();
        if from_ns > self.now_ns && from_ns < end_ns {
            self.dies[number as usize].will_ask = true;
            self.events.add(from_ns, What::MaySuspend { die: number });
        } else if from_ns <= self.now_ns && self.now_ns < end_ns {
            self.suspend(number);
        }
    }

    /// The running command has made the progress that it was asked to make first.
    pub(super) fn may_suspend(&mut self, number: u16) {
        let will_ask = core::mem::take(&mut self.dies[number as usize].will_ask);
        assert!(will_ask, "a command that is over was to be suspended");
        self.suspend_for_read(number);
    }

    fn suspend(&mut self, number: u16) {
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        let mut command = die.running.expect("the die has a command");
        die.vacate(number, now_ns, &mut self.journal);
        command.progress_ns += now_ns - command.resumed_ns;
        die.suspended = Some(command);
        die.reads_between = 0;
        die.usage.suspensions += 1;
        let array_ns = self.profile.suspend_cost_ns;
        let suspension = Command {
            work: Work::Suspension,
            cause: Cause::Host,
            collects: false,
            first: NONE,
            count: 0,
            transferred: 0,
            next_transfer: NONE,
            phase: Phase::Array,
            array_ns,
            progress_ns: 0,
            started_ns: now_ns,
            resumed_ns: now_ns,
        };
        let generation = die.occupy(now_ns, suspension);
        self.events.add(now_ns + array_ns, What::ArrayDone { die: number, generation });
    }

    /// Goes on with a suspended command, if there is one.
    pub(super) fn resume(&mut self, number: u16) {
        let now_ns = self.now_ns;
        let die = &mut self.dies[number as usize];
        if let Some(mut command) = die.suspended.take() {
            command.resumed_ns = now_ns;
            let end_ns = command.array_end_ns();
            let generation = die.occupy(now_ns, command);
            self.events.add(end_ns, What::ArrayDone { die: number, generation });
            // Reads still wait if a suspension serves only some.
            self.suspend_for_read(number);
        }
    }
}
