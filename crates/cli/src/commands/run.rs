//! `ftlab run`: one trace on one device; prints a table or JSON.

use sim::clock::SERIAL_CAVEAT;
use sim::result::latencies::Summary;
use sim::{RunOptions, RunResult, Setup};

use crate::experiment_args::{AllOptions, ExperimentArgs, OutputArgs};
use crate::failure::Result;
use crate::operation_logs;
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::progress::RunMonitor;
use crate::table::{Table, bytes, count, real, seconds};

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
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let setup = Setup::new(args.experiment.first())?;
    let mut files = CommandFiles::new();
    files.trace(setup.experiment.trace_name())?;
    let json = files.optional_output("--json", &args.output.json)?;
    let log = args.log_ops.as_deref().map(|name| operation_logs::of_one(name, &mut files));
    let log = log.transpose()?;
    let monitor = RunMonitor::new(args.output.quiet);
    let options = RunOptions { progress: &monitor, ..RunOptions::default() };
    let result = operation_logs::run(&setup, options, log.as_ref())?;
    drop(monitor);
    let to_stdout = matches!(json, Some(Destination::Stdout));
    if let Some(json) = json {
        json.write(|out| write_text(out, &output::json(&result)))?;
    }
    match args.output.quiet || to_stdout {
        true => Ok(()),
        false => output::print(&text(&result)),
    }
}

fn text(result: &RunResult) -> String {
    let parts = [head(result), counts(result), amplification(result), times(result), ends(result)];
    parts.join("\n")
}

/// The FTL, the device and the trace.
fn head(result: &RunResult) -> String {
    let (device, trace) = (&result.device, &result.trace);
    let params: Vec<String> = result
        .ftl
        .params
        .iter()
        .map(|(name, value)| {
            format!("{name}={}", value.as_str().map_or(value.to_string(), str::to_owned))
        })
        .collect();
    let skipped: u64 = trace.skipped.values().filter_map(serde_json::Value::as_u64).sum();
    let block_bytes = u64::from(device.page_bytes) * u64::from(device.pages_per_block);
    let head = format!(
        "ftl      {} {}\n\
         device   {}: {} logical + {} extra + {} system blocks of {} pages of {}; capacity {}\n\
         trace    {} ({}): {} requests = {} reads + {} writes + {} trims + {} flushes + \
                  {} skipped\n\
         host     read {}, wrote {}; {} pages read, {} written, {} trimmed; {} distinct\n",
        result.ftl.name,
        params.join(" "),
        device.chip,
        count(device.logical_blocks.into()),
        count(device.extra_blocks.into()),
        count(device.system_blocks.into()),
        device.pages_per_block,
        bytes(device.page_bytes.into()),
        bytes(u64::from(device.logical_blocks) * block_bytes),
        trace.name,
        trace.format,
        count(trace.requests),
        count(trace.reads),
        count(trace.writes),
        count(trace.trims),
        count(trace.flushes),
        count(skipped),
        bytes(trace.read_bytes),
        bytes(trace.written_bytes),
        count(result.host_pages.read),
        count(result.host_pages.written),
        count(result.host_pages.trimmed),
        count(trace.footprint_pages),
    );
    let notes = result.notes.iter().map(|note| format!("note     {note}\n"));
    notes.fold(head, |head, note| head + &note)
}

/// Operations by cause. Causes without operations are left out.
fn counts(result: &RunResult) -> String {
    let mut table =
        Table::new(&["cause", "reads", "programs", "erases", "copies", "spare reads", "time s"]);
    let kinds = [result.reads, result.programs, result.erases, result.copies, result.spare_reads];
    for cause in nand::Cause::ALL {
        let counted = kinds.map(|kind| kind.get(cause));
        if counted.iter().any(|&n| n > 0) {
            table.row(&row(cause.name(), counted, result.time_us.get(cause)));
        }
    }
    table.row(&row("total", kinds.map(|kind| kind.total), result.time_us.total));
    table.text()
}

fn row(name: &str, counted: [u64; 5], time_us: f64) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    cells.extend(counted.map(count));
    cells.push(seconds(time_us));
    cells
}

fn amplification(result: &RunResult) -> String {
    let mut text = format!(
        "write amplification  {} pages programmed per host page, {} bytes per host byte\n",
        real(result.write_amplification, 4),
        real(result.write_amplification_bytes, 4),
    );
    if let Some(merges) = &result.merges {
        text += &format!(
            "merges               {} switch, {} partial, {} full, {} dead\n",
            count(merges.switch),
            count(merges.partial),
            count(merges.full),
            count(merges.dead)
        );
    }
    for (name, figure) in result.scheme.iter().filter(|(_, figure)| !figure.is_array()) {
        text += &format!("{name:20} {figure}\n");
    }
    text + &layers(result)
}

/// Parameters and metrics of the layers, each after the name of its layer.
fn layers(result: &RunResult) -> String {
    let lines = result.layers.iter().flat_map(|(layer, metrics)| {
        metrics.iter().map(move |(name, value)| (format!("{layer} {name}"), value))
    });
    lines.map(|(name, value)| format!("{name:31} {value}\n")).collect()
}

/// Service times, and response times if there are any.
fn times(result: &RunResult) -> String {
    let mut table =
        Table::new(&["time in µs", "count", "mean", "stddev", "p50", "p90", "p99", "p99.9", "max"]);
    let kinds = [(Some(&result.service_us), ""), (result.response_us.as_ref(), " response")];
    for (times, what) in kinds {
        let Some(times) = times else { continue };
        let ops = [
            ("read", &times.read),
            ("write", &times.write),
            ("flush", &times.flush),
            ("trim", &times.trim),
        ];
        for (op, summary) in ops.into_iter().filter(|(_, summary)| summary.count > 0) {
            table.row(&latencies(&format!("{op}{what}"), summary));
        }
    }
    format!("{}{SERIAL_CAVEAT}\n", table.text())
}

fn latencies(name: &str, summary: &Summary) -> Vec<String> {
    let Summary { count: n, mean, stddev, p50, p90, p99, p999, max } = *summary;
    let figures = [mean, stddev, p50, p90, p99, p999, max].map(|us| real(us, 1));
    [name.to_owned(), count(n)].into_iter().chain(figures).collect()
}

fn ends(result: &RunResult) -> String {
    let (wear, ram, wall) = (&result.wear, &result.ram_bytes, &result.wall);
    let lifetime = match result.endurance.host_bytes_until_worn {
        Some(host_bytes) => format!(
            "{} host bytes or {} drive writes until all blocks reach {} cycles",
            bytes(host_bytes),
            real(result.endurance.drive_writes, 0),
            count(result.endurance.cycles.into())
        ),
        None => "nothing was written".into(),
    };
    format!(
        "wear       {} to {} erases per block, mean {:.2}, standard deviation {:.2}\n\
         endurance  {lifetime}\n\
         RAM        {}: map {}, cache {}, buffer {}, other {}\n\
         wall       {:.2} s; {} requests/s in the measured pass; at most {} of memory\n",
        wear.min,
        wear.max,
        wear.mean,
        wear.stddev,
        bytes(ram.total),
        bytes(ram.map),
        bytes(ram.cache),
        bytes(ram.buffer),
        bytes(ram.other + ram.sector_map),
        wall.seconds,
        count(wall.requests_per_second as u64),
        wall.peak_rss_bytes.map_or("an unknown amount".into(), bytes),
    )
}
