//! `ftlab compare`: the same trace and device for several FTLs, side by side.

use report::figure::DataTable;
use report::html_page::{HtmlPage, Section};
use report::runs::{self, LabelledResult, capitalised, provenance};
use serde_json::Value;
use sim::clock::{DRIVE_CAVEAT, SERIAL_CAVEAT};
use sim::config::experiment::Experiment;
use sim::config::values::Interval;
use sim::result::notes::SharedNotes;
use sim::{Input, MemoryBudget, RunOptions, RunResult, Setup};

use crate::comparison::{self, LEGEND};
use crate::experiment_args::{ComparedOptions, ExperimentArgs};
use crate::failure::Result;
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::parallel_runs::{self, ParallelArgs};
use crate::progress::ComparisonMonitor;
use crate::result_outputs::OutputArgs;
use crate::table::Table;

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
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let experiments = experiments(args);
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_output("--report", &args.report)?;
    let outputs = args.output.open(experiments[0].trace.as_deref(), &mut files)?;
    let logs = args.log_ops.as_deref();
    let logs =
        logs.map(|name| operation_logs::of_each(name, &experiments, &mut files)).transpose()?;
    let results = results(args, &setups, logs.as_deref(), limit_bytes)?;
    if let Some(report) = report {
        report.write(|out| write_text(out, &page(args, &results).html()))?;
    }
    outputs.write(&results, &results, || text(args, &results))
}

/// The results of the runs, in their order.
fn results(
    args: &Args,
    setups: &[Setup],
    logs: Option<&[Destination]>,
    limit_bytes: Option<u64>,
) -> Result<Vec<RunResult>> {
    let monitor = ComparisonMonitor::new(args.output.quiet);
    let reads_file = !setups[0].experiment.trace_files().is_empty();
    let (memory, cache_bytes) =
        MemoryBudget::beside_cache(limit_bytes, args.parallel.memory, reads_file);
    // The trace is opened, surveyed and cached once for all runs.
    let input = Input::open_cached(&setups[0], cache_bytes, &monitor.run("trace"))?;
    let labels = labels(args);
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    parallel_runs::in_order(setups.len(), args.parallel.jobs(), |index, turn| {
        let bar = monitor.run(&format!("{:<width$}", labels[index]));
        let options = RunOptions {
            input: Some(&input),
            progress: &turn.watched(&bar),
            memory: &memory,
            ..RunOptions::default()
        };
        operation_logs::run(&setups[index], options, logs.map(|logs| &logs[index]))
    })
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

/// The results as the figures and the line above a table take them.
fn labelled<'a>(labels: &'a [String], values: &'a [Value]) -> Vec<LabelledResult<'a>> {
    let runs = labels.iter().zip(values);
    runs.map(|(label, result)| LabelledResult { label, result }).collect()
}

/// What was run in one line, then a column for each run.
fn text(args: &Args, results: &[RunResult]) -> String {
    let (labels, values) = (labels(args), values(results));
    let mut table = Table::default();
    table.row(&head(&labels));
    for group in comparison::groups(results) {
        table.row(&[""]);
        table.row(&[&group.title]);
        group.rows.iter().for_each(|row| table.row(&indented(row)));
    }
    let provenance = provenance(&labelled(&labels, &values));
    let notes: String = notes(args, results).iter().map(|note| format!("note: {note}\n")).collect();
    format!("{provenance}\n\n{}\n{notes}{LEGEND}\n{}\n", table.text(), caveat(results))
}

/// The limit of the clock that all results share.
fn caveat(results: &[RunResult]) -> &'static str {
    match results.iter().any(|result| result.drive.is_some()) {
        true => DRIVE_CAVEAT,
        false => SERIAL_CAVEAT,
    }
}

/// The notes of the results. A note that not all results share names its runs.
fn notes(args: &Args, results: &[RunResult]) -> Vec<String> {
    let mut notes = SharedNotes::default();
    results.iter().for_each(|result| notes.add(result.notes.iter().map(String::as_str)));
    let labels = labels(args);
    notes.sentences(|some| some.iter().map(|&at| &*labels[at]).collect::<Vec<_>>().join(", "))
}

fn indented(row: &[String]) -> Vec<String> {
    let (name, cells) = row.split_first().expect("a row has a name");
    std::iter::once(format!("  {name}")).chain(cells.iter().cloned()).collect()
}

fn head(labels: &[String]) -> Vec<String> {
    std::iter::once(String::new()).chain(labels.iter().cloned()).collect()
}

fn values(results: &[RunResult]) -> Vec<Value> {
    results.iter().map(output::value).collect()
}

/// The report: the same groups, and figures.
fn page(args: &Args, results: &[RunResult]) -> HtmlPage {
    let (labels, values) = (labels(args), values(results));
    let runs = labelled(&labels, &values);
    let numbers = comparison::groups(results).into_iter().map(|group| Section {
        title: capitalised(&group.title),
        table: Some(DataTable::new(head(&labels), group.rows)),
        ..Section::default()
    });
    HtmlPage {
        title: runs::title(&runs),
        lead: vec![provenance(&runs), caveat(results).to_owned(), LEGEND.to_owned()],
        notes: notes(args, results),
        sections: numbers.chain(runs::sections(&runs)).collect(),
        made_by: output::made_by("compare"),
        ..HtmlPage::default()
    }
}
