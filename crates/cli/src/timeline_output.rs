//! `--timeline`: what happened when in a drive, as a file that appears when it is complete.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use sim::{Extent, RunOptions, RunResult, Setup, TimelineOutput};

use crate::failure::{Failure, Result};
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;

/// The options of a timeline.
#[derive(clap::Args, Debug)]
pub struct TimelineArgs {
    /// With `--timing drive`, write what happened when in the drive to this file, which appears
    /// when it is complete: requests, dies, channels and counters in Chrome's trace-event JSON,
    /// which Perfetto's viewer opens (ui.perfetto.dev). A name that ends in `.gz` is compressed
    #[arg(long, value_name = "FILE.json[.gz]", help_heading = "Output")]
    timeline: Option<String>,

    /// Show the first N operations in the timeline; viewers become slow with many more than the
    /// default
    #[arg(
        long,
        value_name = "N",
        requires = "timeline",
        conflicts_with = "around_slowest",
        value_parser = count,
        default_value = "200K",
        help_heading = "Output"
    )]
    timeline_operations: u64,

    /// Show the N slowest requests in the timeline, with 5 ms before and after each, and not the
    /// first operations
    #[arg(
        long,
        value_name = "N",
        requires = "timeline",
        value_parser = clap::value_parser!(u16).range(1..=1000),
        help_heading = "Output"
    )]
    around_slowest: Option<u16>,
}

impl TimelineArgs {
    /// Whether a timeline is to be written.
    pub fn is_given(&self) -> bool {
        self.timeline.is_some()
    }
}

fn count(text: &str) -> core::result::Result<u64, String> {
    match spec::parse_count(text) {
        Ok(0) => Err("a timeline of 0 operations shows nothing".into()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// A timeline that will be written.
#[derive(Debug)]
pub struct TimelineFile {
    destination: Destination,
    is_compressed: bool,
    extent: Extent,
}

impl TimelineArgs {
    /// The timeline, if one is asked for.
    ///
    /// # Errors
    /// Its file cannot be written, is standard output, or is another file of the command.
    pub fn open(&self, files: &mut CommandFiles) -> Result<Option<TimelineFile>> {
        let Some(name) = &self.timeline else { return Ok(None) };
        if Destination::is_stdout(name) {
            return Err(Failure::usage(
                "`--timeline` needs a file: standard output is for the result".into(),
            ));
        }
        let extent = match self.around_slowest {
            Some(count) => Extent::AroundSlowest(count.into()),
            None => Extent::FirstOperations(self.timeline_operations),
        };
        let destination = files.output("--timeline", name)?;
        Ok(Some(TimelineFile { destination, is_compressed: name.ends_with(".gz"), extent }))
    }
}

/// Runs a setup, and writes its timeline and operation log if there are destinations for them.
///
/// # Errors
/// The run fails, or one of the files cannot be written.
pub fn run(
    setup: &Setup,
    options: RunOptions,
    timeline: Option<&TimelineFile>,
    log: Option<&Destination>,
) -> Result<RunResult> {
    let Some(file) = timeline else { return operation_logs::run(setup, options, log) };
    let mut result = None;
    file.write(|out| {
        let timeline = Some(TimelineOutput { out, extent: file.extent });
        let options = RunOptions { timeline, ..options.shortened() };
        result = Some(operation_logs::run(setup, options, log)?);
        Ok(())
    })?;
    Ok(result.expect("the timeline is written by the run"))
}

impl TimelineFile {
    /// Writes the output of `produce`, compressed if the name says so.
    fn write(&self, produce: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        self.destination.write(|out| {
            if !self.is_compressed {
                return produce(out);
            }
            let mut encoder = GzEncoder::new(out, Compression::fast());
            produce(&mut encoder)?;
            encoder.finish().map(drop).map_err(|error| Failure::failed(error.to_string()))
        })
    }
}
