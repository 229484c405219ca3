//! `ftlab compare`: the same trace and device for several FTLs, side by side.

use report::captions::as_paragraphs;
use report::figure::DataTable;
use report::html_page::{HtmlPage, Section};
use report::runs::{LabelledResult, figures, provenance};
use serde_json::Value;
use sim::clock::SERIAL_CAVEAT;
use sim::config::experiment::Experiment;
use sim::config::values::Interval;
use sim::result::notes::SharedNotes;
use sim::{Input, RunOptions, RunResult, Setup};

use crate::experiment_args::{ComparedOptions, ExperimentArgs, OutputArgs};
use crate::failure::Result;
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::progress::RunMonitor;
use crate::table::{Table, bytes, count, real, seconds};

/// Options of `ftlab compare`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<ComparedOptions>,

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
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let experiments = experiments(args);
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_output("--report", &args.report)?;
    let json = files.optional_output("--json", &args.output.json)?;
    let logs = args.log_ops.as_deref();
    let logs =
        logs.map(|name| operation_logs::of_each(name, &experiments, &mut files)).transpose()?;
    let monitor = RunMonitor::new(args.output.quiet);
    // The trace is opened and surveyed once.
    let input = Input::open(&setups[0], &monitor)?;
    let mut results = Vec::with_capacity(setups.len());
    for (index, setup) in setups.iter().enumerate() {
        let options =
            RunOptions { input: Some(&input), progress: &monitor, ..RunOptions::default() };
        let log = logs.as_ref().map(|logs| &logs[index]);
        results.push(operation_logs::run(setup, options, log)?);
    }
    drop(monitor);
    if let Some(report) = report {
        report.write(|out| write_text(out, &page(args, &results).html()))?;
    }
    let to_stdout = matches!(json, Some(Destination::Stdout));
    if let Some(json) = json {
        json.write(|out| write_text(out, &output::json(&results)))?;
    }
    match args.output.quiet || to_stdout {
        true => Ok(()),
        false => output::print(&text(args, &results)),
    }
}

/// Every FTL at every durability. A report has figures along the trace, so it needs an interval.
fn experiments(args: &Args) -> Vec<Experiment> {
    let implied = args.report.as_ref().map(|_| Interval::Auto);
    let with_interval = |experiment: &Experiment| Experiment {
        interval: experiment.interval.or(implied),
        ..experiment.clone()
    };
    args.experiments.experiments.iter().map(with_interval).collect()
}

/// The names of the runs.
fn labels(args: &Args) -> Vec<String> {
    let experiments = &args.experiments.experiments;
    let has_both = experiments.iter().any(|it| it.durability != experiments[0].durability);
    let label = |experiment: &Experiment| match has_both {
        false => experiment.ftl.clone(),
        true => format!("{} ({})", experiment.ftl, experiment.durability),
    };
    experiments.iter().map(label).collect()
}

/// The table: one column per FTL, one row per quantity; the first row is the head.
fn cells(args: &Args, results: &[RunResult]) -> Vec<Vec<String>> {
    let head = std::iter::once(String::new()).chain(labels(args)).collect();
    let row = |(name, figure): &(&str, CellText)| {
        std::iter::once((*name).to_owned()).chain(results.iter().map(figure)).collect()
    };
    std::iter::once(head).chain(ROWS.iter().map(row)).collect()
}

fn text(args: &Args, results: &[RunResult]) -> String {
    let mut table = Table::default();
    cells(args, results).iter().for_each(|row| table.row(row));
    let notes: String = notes(args, results).iter().map(|note| format!("note: {note}\n")).collect();
    format!("{}{notes}{SERIAL_CAVEAT}\n", table.text())
}

/// The notes of the results; those that not all share name the runs.
fn notes(args: &Args, results: &[RunResult]) -> Vec<String> {
    let mut notes = SharedNotes::default();
    results.iter().for_each(|result| notes.add(result.notes.iter().map(String::as_str)));
    let labels = labels(args);
    notes.sentences(|some| some.iter().map(|&at| &*labels[at]).collect::<Vec<_>>().join(", "))
}

/// The report: the same table, and figures.
fn page(args: &Args, results: &[RunResult]) -> HtmlPage {
    let labels = labels(args);
    let values: Vec<Value> = results.iter().map(output::value).collect();
    let runs = labels.iter().zip(&values).map(|(label, result)| LabelledResult { label, result });
    let runs: Vec<LabelledResult> = runs.collect();
    let mut lead = vec![provenance(&runs)];
    lead.extend(as_paragraphs(notes(args, results)));
    lead.push(SERIAL_CAVEAT.to_owned());
    let mut rows = cells(args, results).into_iter();
    let table = DataTable::new(rows.next().unwrap_or_default(), rows.collect());
    HtmlPage {
        title: format!("{} on one device", labels.join(", ")),
        lead,
        sections: vec![
            Section { title: "Numbers".into(), table: Some(table), ..Section::default() },
            Section { title: "Figures".into(), figures: figures(&runs), ..Section::default() },
        ],
        made_by: output::made_by("compare"),
        ..HtmlPage::default()
    }
}

/// Prints a quantity of a result.
type CellText = fn(&RunResult) -> String;

/// The rows of the table.
const ROWS: &[(&str, CellText)] = &[
    ("requests", |result| count(result.trace.requests)),
    ("host pages written", |result| count(result.host_pages.written)),
    ("reads", |result| count(result.reads.total)),
    ("spare reads", |result| count(result.spare_reads.total)),
    ("programs", |result| count(result.programs.total)),
    ("erases", |result| count(result.erases.total)),
    ("copies", |result| count(result.copies.total)),
    ("write amplification", |result| real(result.write_amplification, 4)),
    ("bytes per host byte", |result| real(result.write_amplification_bytes, 4)),
    ("time, s", |result| seconds(result.time_us.total)),
    ("of it gc, s", |result| seconds(result.time_us.gc)),
    ("of it merge, s", |result| seconds(result.time_us.merge)),
    ("of it map, s", |result| seconds(result.time_us.map)),
    ("of it meta, s", |result| seconds(result.time_us.meta)),
    ("read mean, µs", |result| real(result.service_us.read.mean, 1)),
    ("read p99, µs", |result| real(result.service_us.read.p99, 1)),
    ("write mean, µs", |result| real(result.service_us.write.mean, 1)),
    ("write stddev, µs", |result| real(result.service_us.write.stddev, 1)),
    ("write p99, µs", |result| real(result.service_us.write.p99, 1)),
    ("write max, µs", |result| real(result.service_us.write.max, 1)),
    ("wear mean", |result| real(Some(result.wear.mean), 2)),
    ("wear stddev", |result| real(Some(result.wear.stddev), 2)),
    ("drive writes", |result| real(result.endurance.drive_writes, 0)),
    ("RAM", |result| bytes(result.ram_bytes.total)),
];
