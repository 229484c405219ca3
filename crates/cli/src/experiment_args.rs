//! The options that `run` and `compare` share: a thin mapping onto [`Experiment`].

use clap::Args;
use sim::Experiment;
use sim::config::experiment::{
    Extra, Fit, FlushMode, Interval, Precondition, ReplayMode, Timing, Volume,
};

/// What is run, and on what.
#[derive(Args, Debug)]
pub struct Options {
    /// An existing file, a path into an archive such as `set.tar/*.csv`, `-` for standard input, or
    /// a workload spec such as `uniform:writes=4M`; the built-in OLTP workload if there is none
    pub trace: Option<String>,

    /// Format of the trace file as NAME[:key=value…]; told by its content if not given
    #[arg(long, value_name = "SPEC", help_heading = "Trace")]
    format: Option<String>,

    /// Count malformed lines instead of failing at the first
    #[arg(long, help_heading = "Trace")]
    skip_bad: bool,

    /// Put the requests in the order of their times
    #[arg(long, help_heading = "Trace")]
    sort: bool,

    /// Read at most so many requests
    #[arg(long, value_name = "N", value_parser = spec::parse_count, help_heading = "Trace")]
    limit: Option<u64>,

    /// Device of the trace, from 0, or `all`: laid end to end, each rounded up to a block
    #[arg(long, value_name = "N|all", default_value = "all", help_heading = "Trace")]
    volume: Volume,

    /// What becomes of addresses beyond the capacity: error, wrap, or compact, which lays the
    /// touched pages, in the order of their addresses, side by side
    #[arg(long, default_value = "error", help_heading = "Trace")]
    fit: Fit,

    /// closed: the next request comes when the one before is answered; open: at its own time
    #[arg(long, default_value = "closed", help_heading = "Trace")]
    replay: ReplayMode,

    /// Whether flushes reach the FTL, honour, or are only counted, ignore
    #[arg(long, default_value = "honour", help_heading = "Trace")]
    flush: FlushMode,

    /// Chip with its parameters; see `ftlab list chips`
    #[arg(long, value_name = "SPEC", default_value = "slc-fast2010", help_heading = "Device")]
    chip: String,

    /// Exported capacity such as 8GiB, rounded up to the block; what the trace needs if not given
    #[arg(long, value_name = "SIZE", value_parser = spec::parse_size, help_heading = "Device")]
    capacity: Option<u64>,

    /// Blocks beyond the capacity: a share such as 7% of the logical blocks, or a number such as
    /// 20blocks; 7% but at least 8 blocks if not given
    #[arg(long, value_name = "SHARE|Nblocks", help_heading = "Device")]
    extra: Option<Extra>,

    /// Write buffer above the FTL as SIZE[,key=value…] such as 8MiB,evict=run, or none; see `ftlab
    /// list layers`
    #[arg(long, value_name = "SIZE|none", default_value = "none", help_heading = "Device")]
    buffer: String,

    /// Sector log between buffer and FTL as SIZE[,from=added|extra] such as 512MiB, or none: writes
    /// of part of a page gather in it
    #[arg(long, value_name = "SIZE|none", default_value = "none", help_heading = "Device")]
    sector_log: String,
    /// One budget of DRAM for a write buffer and the map of dftl or fast
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = spec::parse_size,
        conflicts_with = "buffer",
        help_heading = "Device"
    )]
    dram: Option<u64>,

    /// The map's share of the budget: one that stays such as 30%, or adaptive[:key=value…], the
    /// default; see `ftlab list layers`
    #[arg(long, value_name = "SHARE|adaptive", requires = "dram", help_heading = "Device")]
    split: Option<String>,

    /// Time of putting a page into the DRAM of a layer, or of taking it out, such as 20ns
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0ns",
        value_parser = spec::parse_time_ns,
        help_heading = "Device"
    )]
    dram_access: u64,

    /// What the flash holds at first: none, or fill, every logical page written once
    #[arg(long, default_value = "fill", help_heading = "Measuring")]
    precondition: Precondition,

    /// How often the trace is replayed, uncounted, before it is measured
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Measuring")]
    warmup: u32,

    /// Serve so many requests of the measured pass before counting begins: for steady states
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = spec::parse_count,
        help_heading = "Measuring"
    )]
    measure_after: u64,

    /// How counts become time: serial, one operation after the other
    #[arg(
        long,
        default_value = "serial",
        value_parser = Timing::named,
        help_heading = "Measuring"
    )]
    timing: Timing,

    /// Take a sample of the series every N requests, or, with `auto`, 200 to 400 in all
    #[arg(long, value_name = "N|auto", help_heading = "Measuring")]
    pub interval: Option<Interval>,

    /// Compare every sector read with a shadow copy; a mismatch is fatal and names the page
    #[arg(long, help_heading = "Measuring")]
    verify: bool,

    /// Seed of everything drawn at random
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Measuring")]
    seed: u64,

    /// Write the result as JSON to this file, which appears whole; `-` is standard output, in
    /// place of the table
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    pub json: Option<String>,

    /// Print neither a table nor progress
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

impl Options {
    /// The experiment that they describe, with the default FTL.
    pub fn experiment(&self) -> Experiment {
        Experiment {
            trace: self.trace.clone(),
            format: self.format.clone(),
            skip_bad: self.skip_bad,
            sort: self.sort,
            limit: self.limit,
            volume: self.volume,
            chip: self.chip.clone(),
            capacity_bytes: self.capacity,
            extra: self.extra,
            buffer: self.buffer.clone(),
            sector_log: self.sector_log.clone(),
            dram_bytes: self.dram,
            split: self.split.clone(),
            dram_access_ns: self.dram_access,
            precondition: self.precondition,
            warmup: self.warmup,
            measure_after: self.measure_after,
            timing: self.timing,
            fit: self.fit,
            replay: self.replay,
            flush: self.flush,
            interval: self.interval,
            verify: self.verify,
            seed: self.seed,
            ..Experiment::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn without_options_it_is_the_default_experiment() {
        let command = Command::parse_from(["test"]);
        assert_eq!(command.options.experiment(), Experiment::default());
    }
}
