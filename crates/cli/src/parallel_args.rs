//! Several runs at a time, and the arguments about them.

use std::num::NonZeroUsize;
use std::str::FromStr;

use sim::input::request_cache::needed_bytes;
use sim::parallel_runs::{self, CACHE_BYTES};
use sim::{Input, MemoryBudget, RunOptions, Setup};

use crate::failure::Result;
use crate::progress::ComparisonMonitor;

/// Reads a number of at least 1.
///
/// # Errors
/// A sentence for a text that is none.
pub fn at_least_one<N: FromStr>(text: &str) -> core::result::Result<N, &'static str> {
    text.parse().map_err(|_| "a whole number of at least 1 is wanted")
}

/// Arguments that say how several runs share the machine.
#[derive(clap::Args)]
pub struct ParallelArgs {
    /// Number of runs at a time; by default the number of cores
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,

    /// Memory for the requests of traces that several runs share, 24 bytes per request; what does
    /// not fit is kept in a temporary file
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = spec::parse_size,
        default_value = spec::print_size(CACHE_BYTES)
    )]
    pub memory: u64,
}

impl ParallelArgs {
    /// The number of runs at a time, if the user gave one.
    pub fn given_jobs(&self) -> Option<NonZeroUsize> {
        self.jobs
    }

    /// The number of runs at a time.
    pub fn jobs(&self) -> NonZeroUsize {
        parallel_runs::jobs(self.jobs)
    }
}

/// The number of runs at a time, for a command that keeps its requests in memory anyway.
#[derive(clap::Args)]
pub struct JobsArg {
    /// Number of runs at a time; by default the number of cores
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
}

impl JobsArg {
    /// The number of runs at a time.
    pub fn jobs(&self) -> NonZeroUsize {
        parallel_runs::jobs(self.jobs)
    }
}

/// An input that is read once for several runs, which share the machine.
pub struct SharedInput {
    /// The input.
    pub input: Input,
    memory: MemoryBudget,
    monitor: ComparisonMonitor,
    jobs: NonZeroUsize,
}

impl SharedInput {
    /// Opens the traces of `first`, which all runs replay.
    ///
    /// # Errors
    /// A trace cannot be read, or the user interrupts.
    pub fn open(
        first: &Setup,
        parallel: &ParallelArgs,
        limit_bytes: Option<u64>,
        monitor: ComparisonMonitor,
    ) -> Result<SharedInput> {
        let needed_bytes = needed_bytes(first.experiment.trace_files());
        let memory = MemoryBudget::beside_cache(limit_bytes, parallel.memory.min(needed_bytes));
        let input = Input::open_cached(first, memory.cache_bytes(), &monitor.run("trace"))?;
        Ok(SharedInput { input, memory, monitor, jobs: parallel.jobs() })
    }

    /// The results of `run`, which is called with the index of each label and the options of its
    /// run.
    ///
    /// # Errors
    /// That of the first run that fails.
    pub fn each<T: Send>(
        &self,
        labels: &[String],
        run: impl Fn(usize, RunOptions) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        parallel_runs::in_order(labels.len(), self.jobs, |index, turn| {
            let bar = self.monitor.run(&labels[index]);
            let options = RunOptions {
                input: Some(&self.input),
                progress: &turn.watched(&bar),
                memory: &self.memory,
                ..RunOptions::default()
            };
            run(index, options)
        })
    }
}
