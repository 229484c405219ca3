//! `ftlab run`: one trace on one device; prints a table, JSON or csv.

use std::path::PathBuf;

use sim::{MemoryBudget, RunOptions, Setup};

use crate::commands::image::lent::{self, LentImage};
use crate::experiment_args::{AllOptions, ExperimentArgs};
use crate::failure::Result;
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::progress::RunMonitor;
use crate::result_outputs::OutputArgs;
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

    #[command(flatten)]
    timeline: TimelineArgs,

    /// Replay the trace onto this image, and leave it as the trace left it. The device is that of
    /// the image; nothing is filled and warmed up unless --precondition or --warmup say so
    #[arg(long, value_name = "FILE", help_heading = "Device")]
    image: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let mut files = CommandFiles::new();
    let mut lent = args.lent_image(&mut files)?;
    let setup = match &lent {
        Some(lent) => lent.setup.clone(),
        None => Setup::new(args.experiment.first())?,
    };
    files.traces([&setup.experiment].into_iter())?;
    let outputs = args.output.open(setup.experiment.trace.as_deref(), &mut files)?;
    let log = args.log_ops.as_deref().map(|name| operation_logs::of_one(name, &mut files));
    let log = log.transpose()?;
    let timeline = args.timeline.open(&mut files)?;
    let monitor = RunMonitor::new(args.output.quiet);
    let memory = MemoryBudget::new(limit_bytes);
    let chip = lent.as_mut().map(|lent| &mut lent.chip);
    let options = RunOptions { progress: &monitor, memory: &memory, chip, ..RunOptions::default() };
    let done = timeline_output::run(&setup, options, timeline.as_ref(), log.as_ref());
    drop(monitor);
    let result = match lent {
        Some(lent) => lent.close(done)?,
        None => done?,
    };
    outputs.write(&result, std::slice::from_ref(&result), || result::text(&result))
}

impl Args {
    fn lent_image(&self, files: &mut CommandFiles) -> Result<Option<LentImage>> {
        let Some(path) = &self.image else { return Ok(None) };
        files.input("the image", path)?;
        let experiment = &self.experiment;
        Ok(Some(lent::open(path, experiment.first(), &experiment.given)?))
    }
}
