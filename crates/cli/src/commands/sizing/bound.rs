//! `ftlab bound`: what placement could achieve on a trace, and how far schemes are from it.

use serde::Serialize;
use sim::config::experiment::ExperimentOption;
use sim::sizing::bound::{Bound, oracle};
use sim::{Experiment, RunResult, Setup};

use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::{made_by, write_text};
use crate::parallel_args::{ParallelArgs, SharedInput};
use crate::progress::ComparisonMonitor;
use crate::result_outputs::{JsonArg, write_answer};
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
        let left_out = ["load", "shared", "until", "interval", "each_volume", "volumes"];
        !option.is_of_layer() && !left_out.contains(&option.name)
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
    let report = files.optional_page("--report", &args.report)?;
    let json = args.json.open(experiments[0].trace.as_deref(), &mut files)?;
    let results = results(args, &setups, limit_bytes)?;
    let bound = Bound::of(&setups, &results, open.len())?;
    if let Some(report) = report {
        let page = report::pages::bound::page(&bound, made_by("bound"));
        report.write(|out| write_text(out, &page.html()))?;
    }
    let answer = Answer { schema: SCHEMA, bound: &bound };
    write_answer(json.as_ref(), &answer, args.quiet, || texts::text(&bound))
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
    let shared = SharedInput::open(&setups[0], &args.parallel, limit_bytes, monitor)?;
    let ftls: Vec<String> = setups.iter().map(|setup| setup.experiment.ftl.clone()).collect();
    shared.each(&ftls, |index, options| {
        let of_all = format!("FTL {} of {}: {}", index + 1, ftls.len(), ftls[index]);
        let result = sim::run(&setups[index], options);
        result.map_err(|error| Failure::from(error).in_part(&of_all))
    })
}
