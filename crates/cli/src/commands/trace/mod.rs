//! `ftlab trace`: describes, converts and generates traces.

mod format_name;
mod from;
mod locality;

use std::io::Write;

use clap::Subcommand;
use report::captions::short_name;
use report::figure::DataTable;
use report::headline;
use report::html_page::{HtmlPage, Section};
use report::number_format::{bytes, count, decimals};
use report::traces::{self, LabelledTrace};
use sim::config::named_trace::{DEFAULT_TRACE, NamedTrace};
use sim::input::source::RequestSource;
use sim::input::trace_stats::TraceStats;
use sim::{Progress, Setup, Stage};
use spec::Spec;
use trace::analysis::locality::TraceLocality;
use trace::analysis::survey::RequestSizes;
use trace::analysis::survey::Survey;
use trace::writer::{CSV_SPEC, CSV_STREAMS_SPEC, OutputFormat, WrittenTrace, write_trace};
use trace::{ReadOptions, Trace};

use crate::commands::trace::format_name::FormatName;
use crate::experiment_args::{ExperimentArgs, TraceFileOptions, TraceOptions, WorkloadOptions};
use crate::failure::{Failure, Result};
use crate::known_names::{NameOr, workloads};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::progress::RunMonitor;
use crate::result_outputs::{JsonArg, write_answer};
use crate::texts::description::{self, setup};
use crate::texts::table::labelled;
use crate::texts::volumes::Volumes;

/// Options of `ftlab trace`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Subcommand)]
enum TraceCommand {
    /// Describe a trace
    Info(InfoArgs),
    /// Write a trace in another format
    Convert(ConvertArgs),
    /// Write a workload as a trace file
    Generate(GenerateArgs),
    /// Make a block trace of a trace of another kind
    From(from::FromArgs),
}

#[derive(clap::Args)]
struct InfoArgs {
    /// Trace to describe: a file, a path into an archive, `-` for standard input, or a workload
    #[arg(value_parser = NameOr(workloads), hide_possible_values = true)]
    trace: Option<String>,
    #[command(flatten)]
    read: ExperimentArgs<TraceOptions>,
    /// Page size of the statistics; a workload is generated for it, too. By default 4 KiB for a
    /// file, and for a workload the page of the chip
    #[arg(long, value_name = "SIZE", value_parser = description::parse_page)]
    page: Option<u32>,
    #[command(flatten)]
    json: JsonArg,
    /// Print no text: only check that the trace can be read, or write a report or JSON
    #[arg(long)]
    quiet: bool,
    /// Leave out the locality of writes, which needs a second pass over the trace
    #[arg(long)]
    brief: bool,
    /// Also write a report: one HTML file that needs no network, with the figures that papers show
    /// of traces
    #[arg(long, value_name = "FILE", conflicts_with = "brief")]
    report: Option<String>,
}

#[derive(clap::Args)]
struct ConvertArgs {
    /// Trace to convert: a file, a path into an archive, or `-` for standard input
    trace: String,
    /// File to write, which appears when it is complete; `-` is standard output
    #[arg(long, value_name = "FILE|-")]
    out: String,
    /// Format: fio (iolog version 3), blkparse (compact) or csv (complete) [default: csv for a name
    /// that ends in .csv, else fio]
    #[arg(long, value_enum)]
    to: Option<FormatName>,
    #[command(flatten)]
    read: ExperimentArgs<TraceFileOptions>,
}

#[derive(clap::Args)]
struct GenerateArgs {
    /// Workload such as `skew:writes=4M,hot=70/30`
    #[arg(value_parser = NameOr(workloads), hide_possible_values = true)]
    spec: String,
    /// File to write, which appears when it is complete; `-` is standard output
    #[arg(long, value_name = "FILE|-")]
    out: String,
    /// Format: fio (iolog version 3), blkparse (compact) or csv (complete) [default: csv for a name
    /// that ends in .csv, else fio]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    #[command(flatten)]
    device: ExperimentArgs<WorkloadOptions>,
    /// Page size of the device, in place of that of the chip
    #[arg(long, value_name = "SIZE", value_parser = description::parse_page)]
    page: Option<u32>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        TraceCommand::Info(args) => info(args),
        TraceCommand::Convert(args) => convert(args),
        TraceCommand::Generate(args) => generate(args),
        TraceCommand::From(args) => from::run(args),
    }
}

// ---- generate --------------------------------------------------------------------------------

fn generate(args: &GenerateArgs) -> Result<()> {
    let setup = setup(&args.spec, args.device.first(), args.page)?;
    if let NamedTrace::File(path) = &setup.traces[0].trace {
        let what = format!("`{path}` is a file, not a workload; `ftlab trace convert` converts it");
        return Err(Failure::usage(what));
    }
    let source = RequestSource::open(&setup)?;
    let destination = CommandFiles::new().output("--out", &args.out)?;
    let form = FormatName::of_output(args.format, &args.out);
    let notes = written(source.trace(), form.into(), destination)?;
    // If standard error is closed, nobody reads this.
    let _ = std::io::stderr().lock().write_all(notes.as_bytes());
    Ok(())
}

/// Writes a trace. Returns what is to be said about it, a line each.
fn written(trace: &Trace, form: OutputFormat, destination: Destination) -> Result<String> {
    let monitor = RunMonitor::new(matches!(destination, Destination::Stdout));
    let mut notes = Vec::new();
    destination.write(|out| {
        let written = write(trace, form, out, &monitor)?;
        notes = written.read.notes;
        notes.extend(written.changes);
        Ok(())
    })?;
    Ok(notes.iter().map(|note| format!("note: {note}\n")).collect())
}

// ---- convert ---------------------------------------------------------------------------------

fn convert(args: &ConvertArgs) -> Result<()> {
    let mut files = CommandFiles::new();
    files.trace(&args.trace)?;
    let destination = files.output("--out", &args.out)?;
    let trace = open(&args.trace, &args.read)?;
    let form = FormatName::of_output(args.to, &args.out).into();
    let notes = written(&trace, form, destination)?;
    let text = notes + &csv_spec(form, trace.has_streams()?);
    // If standard error is closed, nobody reads this.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    Ok(())
}

/// For csv, a line with the columns as `--format` takes them: for other programs, and for files
/// whose heading was changed.
fn csv_spec(form: OutputFormat, has_streams: bool) -> String {
    let spec = match (form, has_streams) {
        (OutputFormat::Csv, true) => CSV_STREAMS_SPEC,
        (OutputFormat::Csv, false) => CSV_SPEC,
        _ => return String::new(),
    };
    format!("Its heading tells how to read it, or this: --format {spec}\n")
}

fn write(
    trace: &Trace,
    form: OutputFormat,
    out: &mut dyn Write,
    monitor: &RunMonitor,
) -> Result<WrittenTrace> {
    let length = trace.size_hint_bytes();
    write_trace(trace, out, form, |position| Ok(monitor.report(Stage::Survey, position, length)?))
}

// ---- info ------------------------------------------------------------------------------------

fn info(args: &InfoArgs) -> Result<()> {
    let name = args.trace.as_deref().unwrap_or(DEFAULT_TRACE);
    let mut files = CommandFiles::new();
    files.trace(name)?;
    let report = files.optional_page("--report", &args.report)?;
    let json = args.json.open(args.trace.as_deref(), &mut files)?;
    let is_file = matches!(NamedTrace::parse(name)?, NamedTrace::File(_));
    let setup = setup(name, args.read.first(), args.page.filter(|_| !is_file))?;
    if setup.experiment.each_volume {
        return each_volume(args, &setup, json.as_ref());
    }
    let page_bytes = description::page_bytes(&setup, args.page);
    let source = RequestSource::open(&setup)?;
    let trace = source.trace();
    let monitor = RunMonitor::new(args.quiet);
    let Some(report) = report else {
        let (survey, locality) = description::statistics(trace, page_bytes, args.brief, &monitor)?;
        drop(monitor);
        return print_description(args, json.as_ref(), trace, &survey, locality.as_ref());
    };
    let found = TraceStats::of_trace(trace, page_bytes, &monitor)?;
    drop(monitor);
    let page = page(trace, &found)?;
    report.write(|out| write_text(out, &page.html()))?;
    print_description(args, json.as_ref(), trace, &found.survey, Some(&found.locality))
}

/// Describes each volume by its figures.
fn each_volume(args: &InfoArgs, setup: &Setup, json: Option<&Destination>) -> Result<()> {
    if args.report.is_some() {
        let what = "`--report` draws a whole trace; with `--each-volume`, `ftlab compare` draws \
                    the volumes, and `--volume NAME` selects one";
        return Err(Failure::usage(what.to_owned()));
    }
    let volumes = Volumes::read(setup, &RunMonitor::new(args.quiet))?;
    write_answer(json, &volumes.json(), args.quiet, || volumes.text())
}

fn print_description(
    args: &InfoArgs,
    json: Option<&Destination>,
    trace: &Trace,
    survey: &Survey,
    locality: Option<&TraceLocality>,
) -> Result<()> {
    if let Some(destination) = json {
        let text = description::json(trace, survey, locality)?;
        destination.write(|out| write_text(out, &text))?;
        if matches!(destination, Destination::Stdout) {
            return Ok(());
        }
    }
    if args.quiet {
        return Ok(());
    }
    let mut text = format!("{} ({})\n", trace.name(), trace.format());
    for note in &survey.notes {
        text += &line("note", note);
    }
    for (name, value) in lines(trace, survey, locality)? {
        text += &line(&name, &broken(&value).join(NEXT_LINE));
    }
    output::show(&text)
}

fn line(name: &str, value: &str) -> String {
    labelled(name, 16, value)
}

/// Columns of a terminal that are left for a value.
const VALUE_COLUMNS: usize = 81 - NEXT_LINE.len();

/// What is before the second line of a value: a line end, and blanks below the name.
const NEXT_LINE: &str = "\n                 ";

/// The lines of a value. They end behind a comma or semicolon, so that they fit into a terminal.
fn broken(value: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in value.split_inclusive(", ").flat_map(|part| part.split_inclusive("; ")) {
        let line = lines.last_mut().expect("there is always a line");
        let columns = line.chars().count() + part.trim_end().chars().count();
        match columns <= VALUE_COLUMNS || line.is_empty() {
            true => line.push_str(part),
            false => lines.push(part.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The report: the most important numbers, all figures, and the lines as a table.
fn page(trace: &Trace, found: &TraceStats) -> Result<HtmlPage> {
    let lines = lines(trace, &found.survey, Some(&found.locality))?;
    let rows = lines.into_iter().map(|(name, value)| vec![name.trim().to_owned(), value]);
    let head = ["what", "counted"];
    let label = short_name(trace.name());
    let traced = LabelledTrace { label, found };
    let table = DataTable { text_columns: 2, ..DataTable::new(head, rows) };
    let notes = found.survey.notes.clone();
    let counts = Section { notes, ..Section::of_table("All counts", table) };
    let pages = bytes(found.survey.page_bytes);
    Ok(HtmlPage {
        title: label.to_owned(),
        headline: headline::traces::of(found),
        lead: vec![format!(
            "Trace {}, format {}. Pages have {pages}.",
            trace.name(),
            trace.format()
        )],
        tiles: traces::tiles(&traced),
        sections: [traces::sections(&[traced]), vec![counts]].concat(),
        made_by: output::made_by("trace info"),
        ..HtmlPage::default()
    })
}

fn open(path: &str, args: &ExperimentArgs<TraceFileOptions>) -> Result<Trace> {
    let experiment = args.first();
    let format = experiment.format.as_deref().map(Spec::parse).transpose()?;
    let options = ReadOptions { format, skip_bad: experiment.skip_bad, limit: experiment.limit };
    let trace = Trace::open(path, &options)?.sorted(experiment.sort);
    Ok(trace.with_volume(experiment.volume.name()))
}

/// Lines that consist of a name and a value.
fn lines(
    trace: &Trace,
    survey: &Survey,
    locality: Option<&TraceLocality>,
) -> Result<Vec<(String, String)>> {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
    if let Some(sha256) = trace.sha256()? {
        line("sha256", sha256);
    }
    line("requests", requests_text(survey));
    line("flags", flags_text(survey));
    line("bytes", bytes_text(survey));
    line(
        "addresses",
        format!(
            "end at {} ({} sectors)",
            bytes(survey.end_bytes()),
            count(survey.end_bytes() / 512)
        ),
    );
    line(&format!("{} pages", bytes(survey.page_bytes)), pages_text(survey));
    line("alignment", alignment_text(survey));
    let sizes = survey.data_sizes();
    let (mean, median) = (sizes.mean_sectors(), sizes.median_sectors());
    line(
        "size in sectors",
        format!("mean {}, median {} of reads and writes", decimals(mean, 2), decimals(median, 1)),
    );
    for (name, sizes) in
        [("  reads", &survey.reads), ("  writes", &survey.writes), ("  trims", &survey.trims)]
    {
        if sizes.requests() > 0 {
            line(name, buckets_text(sizes));
        }
    }
    for (name, value) in locality.into_iter().flat_map(locality::lines) {
        line(name, value);
    }
    let (span, backwards) = (survey.span_ns as f64 / 1e9, survey.skipped.backward_times);
    line("span", format!("{} s, {} times went backwards", decimals(span, 3), count(backwards)));
    line("skipped", skipped_text(survey));
    for device in &survey.devices {
        let (requests, end) = (count(device.requests), bytes(device.end_bytes));
        let name = format!("device {}", device.name);
        line(
            &name,
            format!("{requests} requests, end at {end}, {} pages", count(device.touched.len())),
        );
    }
    Ok(lines)
}

fn requests_text(survey: &Survey) -> String {
    format!(
        "{} = {} reads + {} writes + {} trims + {} flushes; reads and writes {}",
        count(survey.requests()),
        count(survey.reads.requests()),
        count(survey.writes.requests()),
        count(survey.trims.requests()),
        count(survey.flushes),
        count(survey.data_requests())
    )
}

fn flags_text(survey: &Survey) -> String {
    let flags = &survey.flags;
    format!(
        "preflush {} (empty flushes included), FUA {}, sync {}, metadata {}, readahead {}",
        count(flags.preflush),
        count(flags.fua),
        count(flags.sync),
        count(flags.meta),
        count(flags.readahead)
    )
}

fn bytes_text(survey: &Survey) -> String {
    let total = |sizes: &RequestSizes| u64::try_from(sizes.bytes()).unwrap_or(u64::MAX);
    let [read, written, trimmed] = [&survey.reads, &survey.writes, &survey.trims].map(total);
    format!(
        "read {} ({}), written {} ({}), trimmed {} ({})",
        count(read),
        bytes(read),
        count(written),
        bytes(written),
        count(trimmed),
        bytes(trimmed)
    )
}

fn pages_text(survey: &Survey) -> String {
    let pages = &survey.pages;
    format!(
        "written {}, read {}, either {}, trimmed whole {}; page writes to pages written before {}",
        count(pages.written),
        count(pages.read),
        count(pages.touched),
        count(pages.trimmed),
        count(survey.pages.rewritten)
    )
}

fn alignment_text(survey: &Survey) -> String {
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    format!(
        "on whole pages {:.1} % of reads and writes, {:.1} % of writes; unaligned {}; writes below \
         4 sectors {}, below 8 {}",
        share(survey.aligned.all, survey.data_requests()),
        share(survey.aligned.writes, survey.writes.requests()),
        count(survey.unaligned()),
        count(survey.writes.below_sectors(4)),
        count(survey.writes.below_sectors(8))
    )
}

fn buckets_text(sizes: &RequestSizes) -> String {
    let buckets = sizes.buckets();
    let texts: Vec<String> = buckets
        .iter()
        .map(|bucket| format!("{} ({})", bucket.label(), count(bucket.requests)))
        .collect();
    texts.join(", ")
}

fn skipped_text(survey: &Survey) -> String {
    let reasons: Vec<String> =
        survey.skipped.iter().map(|(why, n)| format!("{} {why}", count(n))).collect();
    let reasons = if reasons.is_empty() { "nothing".to_owned() } else { reasons.join(", ") };
    format!("{reasons}; lines without a request {}", count(survey.skipped.other_lines))
}
