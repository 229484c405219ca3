//! `--log-ops`: operation logs, one file per run.
//!
//! `run` writes the named file. `compare` writes a file for each run; the number of the run and its
//! FTL are inserted before the extension, in the order of the columns:
//!
//! ```text
//! --log-ops ops.log --ftl page --ftl page:victim=fifo      ops.1-page.log   ops.2-page.log
//! ```

use std::path::Path;

use sim::{Experiment, RunOptions, RunResult, Setup};

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;

/// The destination of the log of a single run.
///
/// # Errors
/// It cannot be written, is standard output, or is another file of the command.
pub fn of_one(name: &str, files: &mut CommandFiles) -> Result<Destination> {
    // It may be a file, or a pipe that another program reads. Standard output is for the result.
    match Destination::is_stdout(name) {
        true => Err(Failure::usage(
            "`--log-ops` needs a file: standard output is for the result".into(),
        )),
        false => files.output("--log-ops", name),
    }
}

/// The destinations of the logs of several runs.
///
/// # Errors
/// As for a single run; or the name is that of a pipe or device, which cannot take several logs.
pub fn of_each(
    name: &str,
    experiments: &[Experiment],
    files: &mut CommandFiles,
) -> Result<Vec<Destination>> {
    if std::fs::metadata(name).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let why = format!("`--log-ops` writes a file for each FTL; {name} is a pipe or device");
        return Err(Failure::usage(why));
    }
    let runs = experiments.iter().enumerate();
    runs.map(|(index, run)| of_one(&numbered(name, index + 1, &run.ftl), files)).collect()
}

/// The name of the log of a run.
fn numbered(name: &str, number: usize, ftl: &str) -> String {
    let scheme = ftl.split(':').next().unwrap_or(ftl);
    let path = Path::new(name);
    let extension = path.extension().map(|it| format!(".{}", it.to_string_lossy()));
    let extension = extension.unwrap_or_default();
    let stem = &name[..name.len() - extension.len()];
    format!("{stem}.{number}-{scheme}{extension}")
}

/// Runs a setup, and writes its operation log if there is a destination for it.
///
/// # Errors
/// The run fails, or the log cannot be written.
pub fn run(setup: &Setup, options: RunOptions, log: Option<&Destination>) -> Result<RunResult> {
    let Some(log) = log else { return Ok(sim::run(setup, options)?) };
    let mut result = None;
    log.write(|out| {
        let options = RunOptions { operation_log: Some(out), ..options.shortened() };
        result = Some(sim::run(setup, options)?);
        Ok(())
    })?;
    Ok(result.expect("the log is written by the run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_inserted_before_the_extension() {
        let cases = [
            ("ops.log", "ops.2-page.log"),
            ("ops", "ops.2-page"),
            ("d.x/ops", "d.x/ops.2-page"),
            ("d/.ops", "d/.ops.2-page"),
        ];
        for (name, expected) in cases {
            assert_eq!(numbered(name, 2, "page:victim=fifo"), expected);
        }
    }
}
