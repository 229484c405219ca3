//! The outputs of a result: `--json`, `--csv`, `--latex`, `--svg`, `--pdf`, or a table on standard
//! output.

use serde::Serialize;
use sim::config::named_trace::NamedTrace;
use sim::sweep::{RowFormat, RowWriter};

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::figure_folder::{FigureArgs, FigureFolder};
use crate::output::{self, write_text};
use crate::sweeps::SweepNames;
use crate::texts::comparison::Comparison;

/// The option `--json`, the same for every command that has it.
#[derive(clap::Args, Debug)]
pub struct JsonArg {
    /// Write the result as JSON to this file, which appears when it is complete; `-`, or no value,
    /// writes it to standard output in place of the table
    #[arg(
        long,
        value_name = "FILE|-",
        num_args = 0..=1,
        default_missing_value = "-",
        help_heading = "Output"
    )]
    pub json: Option<String>,
}

/// Arguments that say where the results of runs go.
#[derive(clap::Args, Debug)]
pub struct OutputArgs {
    #[command(flatten)]
    json: JsonArg,

    /// Write a row per run to this csv file, with the columns of a sweep's rows; `-` writes to
    /// standard output in place of the table. With `--each-volume` the name may end in .jsonl, and
    /// a journal beside it keeps finished rows: the same command continues there
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    csv: Option<String>,

    /// Write the table of the comparison as LaTeX with booktabs to this file, for a paper; the
    /// caption says what was run. `-` writes to standard output in place of the table
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    latex: Option<String>,

    #[command(flatten, next_help_heading = "Output")]
    pub figures: FigureArgs,

    /// Print neither a table nor progress
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

impl JsonArg {
    /// The destination, if the option is given. `trace` is the trace, if one is given.
    ///
    /// # Errors
    /// The destination cannot be written, or the value is probably meant as the trace.
    pub fn open(
        &self,
        trace: Option<&str>,
        files: &mut CommandFiles,
    ) -> Result<Option<Destination>> {
        match &self.json {
            // `--json o.log`, where `o.log --json` is meant, would overwrite the trace.
            Some(name) if trace.is_none() && is_trace(name) => Err(Failure::usage(format!(
                "`--json {name}` would overwrite {name}, which is a trace, and no TRACE is given; \
                 write `{name} --json -` to read it, or name another file"
            ))),
            Some(name) if trace.is_none() && is_workload(name) => Err(Failure::usage(format!(
                "`--json {name}` would write a file of this name, which is that of a workload, and \
                 no TRACE is given; write `{name} --json -` to run it, or name another file"
            ))),
            json => files.optional_output("--json", json),
        }
    }
}

/// Writes an answer as JSON, and as a text unless `is_quiet` or standard output has the JSON.
///
/// # Errors
/// The output cannot be written.
pub fn write_answer(
    json: Option<&Destination>,
    answer: &impl Serialize,
    is_quiet: bool,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if let Some(json) = json {
        json.write(|out| write_text(out, &output::json(answer)))?;
    }
    match is_quiet || matches!(json, Some(Destination::Stdout)) {
        true => Ok(()),
        false => output::show(&text()),
    }
}

/// Whether there is a file with a trace in a format that is recognised.
fn is_trace(name: &str) -> bool {
    std::fs::metadata(name).is_ok_and(|found| found.is_file())
        && trace::Trace::open(name, &trace::ReadOptions::default()).is_ok()
}

/// Whether a workload is named, perhaps with parameters.
fn is_workload(name: &str) -> bool {
    NamedTrace::parse(name).is_ok_and(|named| named.is_workload())
}

/// The destinations of the results of runs.
pub struct ResultOutputs {
    json: Option<Destination>,
    csv: Option<Destination>,
    latex: Option<Destination>,
    figures: Vec<FigureFolder>,
    quiet: bool,
}

impl OutputArgs {
    /// The destinations. `trace` is the trace, if one is given.
    ///
    /// # Errors
    /// As for [`JsonArg::open`].
    pub fn open(&self, trace: Option<&str>, files: &mut CommandFiles) -> Result<ResultOutputs> {
        let json = self.json.open(trace, files)?;
        let csv = files.optional_output("--csv", &self.csv)?;
        let latex = files.optional_output("--latex", &self.latex)?;
        let figures = self.figures.open()?;
        Ok(ResultOutputs { json, csv, latex, figures, quiet: self.quiet })
    }
}

impl OutputArgs {
    /// The files of a command that makes a row for each volume.
    ///
    /// # Errors
    /// `--json` is given, which a sweep does not write.
    pub fn sweep_names(&self, report: Option<&String>) -> Result<SweepNames> {
        match &self.json.json {
            Some(_) => Err(Failure::usage(
                "`--each-volume` writes rows, not one `--json`: give `--csv rows.jsonl` for a \
                 JSON value per row, or `--csv rows.csv`"
                    .to_owned(),
            )),
            None => Ok(SweepNames {
                rows: self.csv.clone().unwrap_or_default(),
                report: report.cloned(),
                latex: self.latex.clone(),
                figures: self.figures.clone(),
            }),
        }
    }
}

impl ResultOutputs {
    /// Writes `value` as JSON, a row for each result, and a table and figures for a paper. Prints a
    /// table, unless something else is to go to standard output.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn write(
        &self,
        value: &impl Serialize,
        compared: &Comparison,
        files: &mut CommandFiles,
        table: impl FnOnce() -> String,
    ) -> Result<()> {
        if let Some(out) = &self.latex {
            out.write(|out| write_text(out, &compared.latex()))?;
        }
        for folder in &self.figures {
            folder.write(&compared.page(), files)?;
        }
        if let Some(json) = &self.json {
            json.write(|out| write_text(out, &output::json(value)))?;
        }
        if let Some(csv) = &self.csv {
            csv.write(|out| {
                let failed = |error| Failure::failed(format!("cannot write the rows: {error}"));
                let mut rows = RowWriter::new(out, RowFormat::Csv).map_err(failed)?;
                for result in &compared.values {
                    rows.write(&result.to_string()).map_err(failed)?;
                }
                rows.finish().map_err(failed)
            })?;
        }
        let mut written = [&self.json, &self.csv, &self.latex].into_iter().flatten();
        match self.quiet || written.any(|one| matches!(one, Destination::Stdout)) {
            true => Ok(()),
            false => output::show(&table()),
        }
    }
}
