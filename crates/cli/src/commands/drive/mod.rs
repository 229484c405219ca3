//! `ftlab drive`: drives and measurements.

mod fio;

use std::path::Path;

use clap::Subcommand;
use drive::Profile;
use drive::fit::{self, Job, Measured};
use report::number_format::{bytes, count, decimals};
use serde::Serialize;
use spec::Spec;

use crate::commands::drive::fio::FioJob;
use crate::failure::{Failure, Result};
use crate::known_names::{NameOr, drives};
use crate::output::command_files::CommandFiles;
use crate::result_outputs::{JsonArg, write_answer};
use crate::texts::table::{Table, labelled};

/// Options of `ftlab drive`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: DriveCommand,
}

#[derive(Subcommand)]
enum DriveCommand {
    /// Fit a drive to what fio measured, and compare both
    #[command(after_help = FIO)]
    Fit(FitArgs),
}

/// How to measure.
const FIO: &str = concat!(
    "Measure a drive that was written once, at several depths, one after the other, such as:\n  \
     fio --filename=/dev/DEVICE --readonly --direct=1 --ioengine=io_uring --rw=randread --bs=4k \
     --runtime=60 --time_based --iodepth=1 --name=qd1 --output-format=json --output=qd1.json\n",
    crate::page!("drives", "says more."),
);

#[derive(clap::Args)]
struct FitArgs {
    /// Results of fio with --output-format=json, or `-` for standard input; jobs of random reads
    /// at several depths, and random writes if the program time is to be fitted, too
    #[arg(value_name = "FIO.json", required = true)]
    files: Vec<String>,
    /// Drive that gives everything that is not fitted: numbers of channels and dies, rates, buffer
    #[arg(
        long,
        value_name = "SPEC",
        default_value = "zoned-nvme",
        value_parser = NameOr(drives),
        hide_possible_values = true
    )]
    drive: String,
    #[command(flatten)]
    json: JsonArg,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        DriveCommand::Fit(args) => fit_to_files(args),
    }
}

/// A fitted drive.
#[derive(Serialize)]
struct Fitted {
    schema: &'static str,
    /// For `--drive`.
    drive: String,
    /// Page size for `--chip`.
    page_bytes: u32,
    jobs: Vec<Residual>,
    notes: Vec<String>,
}

/// A job beside the model.
#[derive(Serialize)]
struct Residual {
    job: String,
    op: &'static str,
    depth: u32,
    bytes: u64,
    measured: Figures,
    model: Figures,
}

#[derive(Serialize)]
struct Figures {
    iops: f64,
    mean_us: f64,
    /// Null if it was not measured.
    p99_us: Option<f64>,
}

impl Figures {
    fn of(measured: &Measured) -> Figures {
        let us = |time_ns: f64| time_ns / 1e3;
        Figures {
            iops: measured.iops,
            mean_us: us(measured.mean_ns),
            p99_us: measured.p99_ns.map(us),
        }
    }
}

fn fit_to_files(args: &FitArgs) -> Result<()> {
    let mut files = CommandFiles::new();
    for name in args.files.iter().filter(|name| *name != "-") {
        files.input("the result of fio", Path::new(name))?;
    }
    let json = args.json.open(args.files.first().map(String::as_str), &mut files)?;
    let base = Spec::parse(&args.drive)?;
    let profile = Profile::from_spec(&base)?;
    let (mut jobs, mut notes) = (Vec::new(), Vec::new());
    for name in &args.files {
        let file = fio::read(name)?;
        jobs.extend(file.jobs);
        notes.extend(file.notes);
    }
    notes.extend(doubts(&jobs)?);
    let pages = fit::page_bytes(jobs.iter().map(|it| it.job.load));
    let fitted = fitted((&base, &profile), &profile.for_pages(pages)?, &jobs, notes);
    write_answer(json.as_ref(), &fitted, false, || text(&fitted))
}

/// What the measurements cannot tell.
fn doubts(jobs: &[FioJob]) -> Result<Vec<String>> {
    let mut depths: Vec<u32> =
        jobs.iter().filter(|it| !it.job.load.writes).map(|it| it.job.load.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    match depths.len() {
        0 => Err(Failure::usage(
            "there is no job of random reads; add some with `rw=randread` at several depths".into(),
        )),
        1 | 2 => Ok(vec![
            "reads at fewer than three depths do not tell dispatcher, firmware and array apart; \
             measure more, such as 1, 4, 16, 64"
                .into(),
        ]),
        _ => Ok(Vec::new()),
    }
}

/// The drive that was fitted, which began as `profile`: that of the base with pages of fio's size.
fn fitted(
    base: (&Spec, &Profile),
    profile: &Profile,
    jobs: &[FioJob],
    mut notes: Vec<String>,
) -> Fitted {
    let plain: Vec<Job> = jobs.iter().map(|it| it.job).collect();
    let page_bytes = fit::page_bytes(plain.iter().map(|job| job.load));
    let found = fit::fit(profile, &plain);
    let residual = |it: &FioJob| Residual {
        job: it.name.clone(),
        op: if it.job.load.writes { "write" } else { "read" },
        depth: it.job.load.depth,
        bytes: it.job.load.bytes,
        measured: Figures::of(&it.job.measured),
        model: Figures::of(&fit::measure(&found, page_bytes, it.job.load, REQUESTS)),
    };
    let jobs: Vec<Residual> = jobs.iter().map(residual).collect();
    notes.extend(far_off(&jobs));
    let drive = spec_of(base, &found);
    Fitted { schema: "ftlab.drive-fit/1", drive, page_bytes, jobs, notes }
}

/// A note if the model stays far from what was measured.
fn far_off(jobs: &[Residual]) -> Option<String> {
    const FAR: f64 = 0.15;
    let error = |job: &&Residual| (job.model.iops / job.measured.iops - 1.0).abs();
    let worst = jobs.iter().max_by(|a, b| error(a).total_cmp(&error(b)))?;
    (error(&worst) > FAR).then(|| {
        format!(
            "job `{}` is {:.0} % off: the drive has perhaps other numbers of channels and dies or \
             other rates than `--drive`, which are not fitted",
            worst.job,
            100.0 * error(&worst)
        )
    })
}

/// Requests of each job in the comparison.
const REQUESTS: u64 = 40_000;

/// The base with the figures that differ.
fn spec_of((base, profile): (&Spec, &Profile), found: &Profile) -> String {
    let before = profile.figures();
    let figures = found.figures().into_iter().zip(before);
    let changed = figures.filter(|(figure, before)| figure != before).map(|(figure, _)| figure);
    let mut spec = base.clone();
    for (key, value) in changed {
        spec.pairs.retain(|(given, _)| given != key);
        spec.pairs.push((key.to_owned(), value));
    }
    spec.to_string()
}

fn text(fitted: &Fitted) -> String {
    let page = bytes(fitted.page_bytes.into());
    let notes = fitted.notes.iter().map(|note| labelled("note", 8, note));
    format!(
        "drive    {}\npage     {page}; take a chip with pages of this size\n{}\n{}",
        fitted.drive,
        notes.collect::<String>(),
        table(&fitted.jobs)
    )
}

/// Measured figures, those of the model, and the deviation of the model in percent.
fn table(jobs: &[Residual]) -> String {
    let mut table = Table::new(&[
        "job", "op", "depth", "size", "IOPS", "model", "%", "mean µs", "model", "%", "p99 µs",
        "model", "%",
    ]);
    for job in jobs {
        let mut cells =
            vec![job.job.clone(), job.op.to_owned(), count(job.depth.into()), bytes(job.bytes)];
        let (measured, model) = (&job.measured, &job.model);
        cells.extend(compared(Some(measured.iops), Some(model.iops), 0));
        cells.extend(compared(Some(measured.mean_us), Some(model.mean_us), 1));
        cells.extend(compared(measured.p99_us, model.p99_us, 1));
        table.row(&cells);
    }
    table.text()
}

fn compared(measured: Option<f64>, model: Option<f64>, places: usize) -> [String; 3] {
    let real = |value| crate::texts::table::real(value, places);
    let deviation = measured.zip(model).map(|(measured, model)| 100.0 * (model / measured - 1.0));
    let sign = if deviation.is_some_and(|percent| percent >= 0.05) { "+" } else { "" };
    let deviation = deviation.map_or("–".into(), |it| format!("{sign}{}", decimals(it, 1)));
    [real(measured), real(model), deviation]
}
