//! Arguments of several runs at a time.

use std::num::NonZeroUsize;

use sim::parallel_runs::{self, CACHE_BYTES};

/// Arguments that say how several runs share the machine.
#[derive(clap::Args)]
pub struct ParallelArgs {
    /// Number of runs at a time; by default the number of cores
    #[arg(long, value_name = "N")]
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
