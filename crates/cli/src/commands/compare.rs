//! `ftlab compare`: the same trace and device for several FTLs, side by side.

use film::Footage;
use sim::config::experiment::Experiment;
use sim::config::values::Interval;
use sim::{FilmOutput, RunOptions, RunResult, Setup};

use crate::commands::each_volume::{self, Machine};
use crate::experiment_args::{ComparedOptions, ExperimentArgs};
use crate::failure::Result;
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::film_files::FilmArgs;
use crate::output::write_text;
use crate::parallel_args::{ParallelArgs, SharedInput};
use crate::progress::ComparisonMonitor;
use crate::result_outputs::OutputArgs;
use crate::texts::comparison::{Comparison, labels};

/// Options of `ftlab compare`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<ComparedOptions>,

    #[command(flatten)]
    parallel: ParallelArgs,

    #[command(flatten)]
    output: OutputArgs,

    /// Write every flash operation of the measured pass to a file for each run, which appears when
    /// it is complete: with `ops.log`, the second run under bast writes `ops.2-bast.log`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    log_ops: Option<String>,

    /// Write a report: one HTML file that needs no network, with figures, their numbers and their
    /// data; it implies `--interval auto` unless another interval is given
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<String>,

    #[command(flatten)]
    film: FilmArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    if args.experiments.first().each_volume {
        return each_volume(args, limit_bytes);
    }
    let experiments = experiments(args);
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_page("--report", &args.report)?;
    let outputs = args.output.open(experiments[0].trace.as_deref(), &mut files)?;
    let logs = args.log_ops.as_deref();
    let logs =
        logs.map(|name| operation_logs::of_each(name, &experiments, &mut files)).transpose()?;
    let film = args.film.open(setups.len(), &mut files)?;
    let outcomes = outcomes(args, &setups, logs.as_deref(), film.is_some(), limit_bytes)?;
    let (results, footage): (Vec<RunResult>, Vec<Option<Footage>>) = outcomes.into_iter().unzip();
    let labels = labels(&args.experiments.experiments);
    let compared = Comparison::of(&labels, &results, "compare");
    if let Some(film) = film {
        let films = film::films(footage.into_iter().flatten().collect(), film::BYTES_MAX);
        film.write(&films, compared.command)?;
    }
    if let Some(report) = report {
        report.write(|out| write_text(out, &compared.page().html()))?;
    }
    outputs.write(&results, &compared, &mut files, || compared.text())
}

/// Compares the FTLs on each volume of the trace.
fn each_volume(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let of_a_run = [("--log-ops", args.log_ops.is_some()), ("--film", args.film.is_given())];
    each_volume::refuse_files_of_a_run(of_a_run)?;
    let names = args.output.sweep_names(args.report.as_ref())?;
    let (jobs, memory_bytes) = (args.parallel.jobs(), args.parallel.memory);
    let machine = Machine { jobs, memory_bytes, limit_bytes };
    each_volume::run(&args.experiments.experiments, names, machine, args.output.quiet)
}

/// The results of the runs, in their order, with what was filmed of each.
fn outcomes(
    args: &Args,
    setups: &[Setup],
    logs: Option<&[Destination]>,
    is_filmed: bool,
    limit_bytes: Option<u64>,
) -> Result<Vec<(RunResult, Option<Footage>)>> {
    let monitor = ComparisonMonitor::new(args.output.quiet);
    let shared = SharedInput::open(&setups[0], &args.parallel, limit_bytes, monitor)?;
    let labels = labels(&args.experiments.experiments);
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let aligned: Vec<String> = labels.iter().map(|label| format!("{label:<width$}")).collect();
    shared.each(&aligned, |index, options| {
        let mut footage = None;
        let film = is_filmed.then_some(FilmOutput { out: &mut footage, is_even: true });
        let options = RunOptions { film, ..options.shortened() };
        let result = operation_logs::run(&setups[index], options, logs.map(|logs| &logs[index]));
        let of_all = format!("FTL {} of {}", index + 1, setups.len());
        let outcome = result.map(|result| (result, footage));
        outcome.map_err(|failure| failure.in_part(&format!("{of_all}: {}", labels[index])))
    })
}

/// Every FTL at every durability and treatment of trims. A report has figures along the trace, so
/// it needs an interval.
fn experiments(args: &Args) -> Vec<Experiment> {
    let has_figures = args.report.is_some() || args.output.figures.has_any();
    let implied = has_figures.then_some(Interval::Auto);
    let with_interval = |experiment: &Experiment| Experiment {
        interval: experiment.interval.or(implied),
        ..experiment.clone()
    };
    args.experiments.experiments.iter().map(with_interval).collect()
}
