//! `ftlab life`: a load until the flash is worn out, for several FTLs.

use serde::Serialize;
use sim::Setup;
use sim::config::experiment::ExperimentOption;
use sim::run::life::{Life, life};

use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::Result;
use crate::output::command_files::CommandFiles;
use crate::parallel_args::{ParallelArgs, SharedInput};
use crate::progress::ComparisonMonitor;
use crate::result_outputs::{JsonArg, write_answer};
use crate::texts::comparison::labels;
use crate::texts::life as texts;

/// Options of `ftlab life`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<LivedOptions>,

    #[command(flatten)]
    parallel: ParallelArgs,

    #[command(flatten)]
    json: JsonArg,

    /// Print neither a table nor progress
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// The options of lives.
pub struct LivedOptions;

impl Selection for LivedOptions {
    const REPEATED: &'static [&'static str] = &["ftl"];

    /// A life has one load and no time; everything in it counts.
    fn takes(option: &ExperimentOption) -> bool {
        const LEFT_OUT: [&str; 10] = [
            "load",
            "shared",
            "replay",
            "warmup",
            "measure_after",
            "until",
            "timing",
            "drive",
            "interval",
            "verify",
        ];
        !LEFT_OUT.contains(&option.name)
    }
}

/// The lives, as JSON.
#[derive(Serialize)]
struct Lives<'a> {
    schema: &'static str,
    trace: &'a str,
    lives: &'a [Life],
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let experiments = &args.experiments.experiments;
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let json = args.json.open(experiments[0].trace.as_deref(), &mut files)?;
    let monitor = ComparisonMonitor::new(args.quiet);
    let shared = SharedInput::open(&setups[0], &args.parallel, limit_bytes, monitor)?;
    let labels = labels(experiments);
    let lives = shared.each(&labels, |index, options| Ok(life(&setups[index], options)?))?;
    let trace = shared.input.loads()[0].name();
    let value = Lives { schema: "ftlab.lives/1", trace, lives: &lives };
    write_answer(json.as_ref(), &value, args.quiet, || texts::text(trace, &lives))
}
