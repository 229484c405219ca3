//! `ftlab bound`: what placement could achieve on a trace, and how far schemes are from it.

use serde::Serialize;
use sim::bound::{Bound, oracle};
use sim::config::experiment::ExperimentOption;
use sim::{Experiment, Input, MemoryBudget, RunOptions, RunResult, Setup, parallel_runs};

use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, made_by, write_text};
use crate::parallel_args::ParallelArgs;
use crate::progress::ComparisonMonitor;
use crate::result_outputs::JsonArg;
use crate::texts::bound as texts;

/// Options of `ftlab bound`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<BoundedOptions>,

    /// The numbers of blocks that the oracle may have open at the same time
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_values = ["1", "2", "4", "8", "16", "32", "64", "128"],
        help_heading = "Bound"
    )]
    open: Vec<u32>,

    #[command(flatten)]
    parallel: ParallelArgs,

    #[command(flatten)]
    json: JsonArg,

    /// Write a report: one HTML file that needs no network, with figures and their numbers
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<String>,

    /// Print neither a table nor progress
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// The options of runs of which the future can be known.
pub struct BoundedOptions;

impl Selection for BoundedOptions {
    const REPEATED: &'static [&'static str] = &["ftl"];
    const FTLS: &'static [&'static str] = &["page", "sepgc", "dac", "sepbit"];

    fn takes(option: &ExperimentOption) -> bool {
        !option.is_of_layer() && !["load", "shared", "until", "interval"].contains(&option.name)
    }
}

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    #[serde(flatten)]
    bound: &'a Bound,
}

const SCHEMA: &str = "ftlab.bound/1";

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let open = open_blocks(args);
    let experiments = experiments(args, &open);
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_output("--report", &args.report)?;
    let json = args.json.open(experiments[0].trace.as_deref(), &mut files)?;
    let results = results(args, &setups, limit_bytes)?;
    let bound = Bound::of(&setups, &results, open.len())?;
    if let Some(report) = report {
        let page = report::bound::page(&bound, made_by("bound"));
        report.write(|out| write_text(out, &page.html()))?;
    }
    if let Some(json) = &json {
        let answer = Answer { schema: SCHEMA, bound: &bound };
        json.write(|out| write_text(out, &output::json(&answer)))?;
    }
    match args.quiet || matches!(json, Some(Destination::Stdout)) {
        true => Ok(()),
        false => output::print(&texts::text(&bound)),
    }
}

/// The numbers of open blocks of the oracle, in ascending order.
fn open_blocks(args: &Args) -> Vec<u32> {
    let mut open = args.open.clone();
    open.sort_unstable();
    open.dedup();
    open
}

/// The oracle with each number of open blocks, then the other schemes.
fn experiments(args: &Args, open: &[u32]) -> Vec<Experiment> {
    let first = args.experiments.first();
    let bounds = open.iter().map(|&open| Experiment { ftl: oracle(open), ..first.clone() });
    bounds.chain(args.experiments.experiments.iter().cloned()).collect()
}

/// The results of the runs, in their order. The trace is read once for all of them.
fn results(args: &Args, setups: &[Setup], limit_bytes: Option<u64>) -> Result<Vec<RunResult>> {
    let monitor = ComparisonMonitor::new(args.quiet);
    let reads_file = !setups[0].experiment.trace_files().is_empty();
    let (memory, cache_bytes) =
        MemoryBudget::beside_cache(limit_bytes, args.parallel.memory, reads_file);
    let input = Input::open_cached(&setups[0], cache_bytes, &monitor.run("trace"))?;
    parallel_runs::in_order(setups.len(), args.parallel.jobs(), |index, turn| {
        let ftl = &setups[index].experiment.ftl;
        let bar = monitor.run(ftl);
        let options = RunOptions {
            input: Some(&input),
            progress: &turn.watched(&bar),
            memory: &memory,
            ..RunOptions::default()
        };
        let result = sim::run(&setups[index], options);
        let of_all = format!("FTL {} of {}: {ftl}", index + 1, setups.len());
        result.map_err(|error| Failure::from(error).in_part(&of_all))
    })
}
