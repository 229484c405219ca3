//! `ftlab life`: a load until the flash is worn out, for several FTLs.

use sim::Setup;
use sim::config::experiment::ExperimentOption;
use sim::run::life;

use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::Result;
use crate::output::command_files::CommandFiles;
use crate::output::write_text;
use crate::parallel_args::{ParallelArgs, SharedInput};
use crate::progress::ComparisonMonitor;
use crate::result_outputs::{JsonArg, write_answer};
use crate::texts::comparison::labels;
use crate::texts::life::Lives;

/// Options of `ftlab life`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<LivedOptions>,

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

/// The options of lives.
pub struct LivedOptions;

impl Selection for LivedOptions {
    const REPEATED: &'static [&'static str] = &["ftl"];

    fn takes(option: &ExperimentOption) -> bool {
        life::takes(option)
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let experiments = &args.experiments.experiments;
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_page("--report", &args.report)?;
    let json = args.json.open(experiments[0].trace.as_deref(), &mut files)?;
    let monitor = ComparisonMonitor::new(args.quiet);
    let shared = SharedInput::open(&setups[0], &args.parallel, limit_bytes, monitor)?;
    let labels = labels(experiments);
    let lives = shared.each(&labels, |index, options| Ok(life::life(&setups[index], options)?))?;
    let trace = shared.input.names();
    let lives = Lives::new(&trace, &lives);
    if let Some(report) = report {
        report.write(|out| write_text(out, &lives.page().html()))?;
    }
    write_answer(json.as_ref(), &lives, args.quiet, || lives.text())
}
