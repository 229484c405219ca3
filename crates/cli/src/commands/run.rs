//! `ftlab run`: one trace on one device; prints a table, JSON or csv.

use std::path::PathBuf;

use sim::config::values::Interval;
use sim::parallel_runs::{CACHE_BYTES, jobs};
use sim::{FilmOutput, MemoryBudget, RunOptions, Setup};

use crate::commands::each_volume::{self, Machine};
use crate::commands::image::lent::{self, LentImage};
use crate::experiment_args::{AllOptions, ExperimentArgs};
use crate::failure::Result;
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::output::film_files::FilmArgs;
use crate::output::write_text;
use crate::progress::RunMonitor;
use crate::result_outputs::OutputArgs;
use crate::texts::comparison::{Comparison, labels};
use crate::texts::result;
use crate::timeline_output::{self, TimelineArgs};

/// Options of `ftlab run`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiment: ExperimentArgs<AllOptions>,

    #[command(flatten)]
    output: OutputArgs,

    /// Write every flash operation of the measured pass to this file, which appears when it is
    /// complete; one line for each: request, operation, cause, page or block, owner
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    log_ops: Option<String>,

    /// Write a report: one HTML file that needs no network, with figures, their numbers and their
    /// data; it implies `--interval auto` unless another interval is given
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<String>,

    #[command(flatten)]
    timeline: TimelineArgs,

    #[command(flatten)]
    film: FilmArgs,

    /// Replay the trace onto this image, and leave it as the trace left it. The device is that of
    /// the image; nothing is filled and warmed up unless --precondition or --warmup say so
    #[arg(long, value_name = "FILE", help_heading = "Device")]
    image: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    if args.experiment.first().each_volume {
        return args.each_volume(limit_bytes);
    }
    let mut files = CommandFiles::new();
    let mut lent = args.lent_image(&mut files)?;
    let setup = match &lent {
        Some(lent) => lent.setup.clone(),
        None => Setup::new(args.experiment.first())?,
    };
    let setup = with_interval(setup, args.report.is_some() || args.output.figures.has_any());
    files.traces([&setup.experiment].into_iter())?;
    let report = files.optional_page("--report", &args.report)?;
    let outputs = args.output.open(setup.experiment.trace.as_deref(), &mut files)?;
    let log = args.log_ops.as_deref().map(|name| operation_logs::of_one(name, &mut files));
    let log = log.transpose()?;
    let timeline = args.timeline.open(&mut files)?;
    let (film, mut footage) = (args.film.open(1, &mut files)?, None);
    let monitor = RunMonitor::new(args.output.quiet);
    let memory = MemoryBudget::new(limit_bytes);
    let chip = lent.as_mut().map(|lent| &mut lent.chip);
    let filmed = film.is_some().then_some(FilmOutput { out: &mut footage, is_even: false });
    let options = RunOptions {
        progress: &monitor,
        memory: &memory,
        chip,
        film: filmed,
        ..RunOptions::default()
    };
    let done = timeline_output::run(&setup, options, timeline.as_ref(), log.as_ref());
    drop(monitor);
    let result = match lent {
        Some(lent) => lent.close(done)?,
        None => done?,
    };
    let results = std::slice::from_ref(&result);
    let labels = labels(std::slice::from_ref(&setup.experiment));
    let compared = Comparison::of(&labels, results, "run");
    if let Some(film) = film {
        let films = film::films(footage.into_iter().collect(), film::BYTES_MAX);
        film.write(&films, compared.command)?;
    }
    if let Some(report) = report {
        report.write(|out| write_text(out, &compared.page().html()))?;
    }
    outputs.write(&result, &compared, &mut files, || result::text(&result))
}

/// The same setup, with the interval that figures need.
fn with_interval(mut setup: Setup, has_figures: bool) -> Setup {
    let implied = has_figures.then_some(Interval::Auto);
    setup.experiment.interval = setup.experiment.interval.or(implied);
    setup
}

impl Args {
    /// Whether the trace is replayed onto an image.
    pub fn has_image(&self) -> bool {
        self.image.is_some()
    }

    /// Runs each volume of the trace.
    fn each_volume(&self, limit_bytes: Option<u64>) -> Result<()> {
        each_volume::refuse_files_of_a_run([
            ("--log-ops", self.log_ops.is_some()),
            ("--timeline", self.timeline.is_given()),
            ("--film", self.film.is_given()),
            ("--image", self.image.is_some()),
        ])?;
        let names = self.output.sweep_names(self.report.as_ref())?;
        let machine = Machine { jobs: jobs(None), memory_bytes: CACHE_BYTES, limit_bytes };
        each_volume::run(&self.experiment.experiments, names, machine, self.output.quiet)
    }

    fn lent_image(&self, files: &mut CommandFiles) -> Result<Option<LentImage>> {
        let Some(path) = &self.image else { return Ok(None) };
        files.input("the image", path)?;
        let experiment = &self.experiment;
        Ok(Some(lent::open(path, experiment.first(), &experiment.given)?))
    }
}
