//! Runs of one advice: several at a time, within one memory budget.

use std::num::NonZeroUsize;

use crate::config::setup::Setup;
use crate::error::Result;
use crate::input::Input;
use crate::memory::MemoryBudget;
use crate::parallel_runs;
use crate::progress::Progress;
use crate::result::run_result::RunResult;
use crate::run::{RunOptions, run};

/// How the runs share the machine.
pub struct Bench<'a> {
    /// Runs at a time.
    pub jobs: NonZeroUsize,
    /// The memory that they may take.
    pub memory: &'a MemoryBudget,
    /// Makes the receiver of the progress of a run with this label.
    pub monitor: &'a (dyn Fn(&str) -> Box<dyn Progress + 'a> + Sync),
}

impl Bench<'_> {
    /// The results of `work`, which is called with the number of each of `count` runs on an input
    /// and the options of the run.
    ///
    /// # Errors
    /// That of the first run that fails.
    pub fn each<T: Send>(
        &self,
        input: &Input,
        what: &str,
        count: usize,
        work: impl Fn(usize, RunOptions) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        parallel_runs::in_order(count, self.jobs, |index, turn| {
            let bar = (self.monitor)(&format!("{what} {} of {count}", index + 1));
            let progress = &turn.watched(&*bar);
            let memory = self.memory;
            work(index, RunOptions { input: Some(input), progress, memory, ..Default::default() })
        })
    }

    /// The results of runs on one input.
    ///
    /// # Errors
    /// That of the first run that fails.
    pub fn results(&self, input: &Input, what: &str, setups: &[Setup]) -> Result<Vec<RunResult>> {
        self.each(input, what, setups.len(), |index, options| run(&setups[index], options))
    }
}
