//! `ftlab sweep`: the runs of a plan on all cores, one row per run, and the judgement of its
//! claims.

use std::cell::RefCell;
use std::path::PathBuf;

use clap::ValueEnum;
use report::number_format::{count, number};
use report::sweep_page::{self, wanted};
use serde_json::Value;
use sim::input::trace_stats::TraceStatsCache;
use sim::plan::claim::{Claim, Judgement, Verdict};
use sim::plan::{Plan, Scale};
use sim::sweep::findings::{FailedRow, Findings};
use sim::sweep::{self, Journal, RowFormat, RowWriter, Sweep};

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::parallel_args::ParallelArgs;
use crate::progress::SweepMonitor;
use crate::texts::table::Table;

/// Options of `ftlab sweep`.
#[derive(clap::Args)]
pub struct Args {
    /// The plan: a TOML file
    plan: PathBuf,

    /// File for the rows, ending in .csv or .jsonl. It is written when all rows are done. Until
    /// then a journal beside it keeps the finished rows; if the sweep is interrupted, the same
    /// command continues with the next row
    #[arg(long, value_name = "FILE")]
    out: String,

    #[command(flatten)]
    parallel: ParallelArgs,

    /// Size of the runs
    #[arg(long, value_enum, default_value = "full")]
    scale: ScaleName,

    /// Directory of the trace files, except those with absolute paths; by default the current
    /// directory
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Write a report: one HTML file that needs no network, with a figure for each claim; the
    /// figures include the published values
    #[arg(long, value_name = "FILE")]
    report: Option<String>,

    /// Print neither a summary nor progress
    #[arg(long)]
    quiet: bool,
}

/// The scales, as users write them.
#[derive(Clone, Copy, ValueEnum)]
pub enum ScaleName {
    /// Reduced sizes, given in the `quick` part of each plan.
    Quick,
    /// The sizes of each plan as it is written.
    Full,
}

impl ScaleName {
    /// The name that users write.
    pub fn word(self) -> &'static str {
        match self {
            ScaleName::Quick => "quick",
            ScaleName::Full => "full",
        }
    }
}

impl From<ScaleName> for Scale {
    fn from(name: ScaleName) -> Scale {
        match name {
            ScaleName::Quick => Scale::Quick,
            ScaleName::Full => Scale::Full,
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let mut files = CommandFiles::new();
    let plan = read(args, &mut files)?;
    files.traces(plan.experiments())?;
    let (form, path, destination) = destination(&args.out, &mut files)?;
    let report = files.optional_output("--report", &args.report)?;
    let jobs = args.parallel.jobs();
    let journal_path = Journal::path_of(&path);
    files.own_output("the journal", &journal_path)?;
    let mut journal = Journal::open(&journal_path, &sweep::hash(&plan), plan.rows.len())?;
    let monitor = SweepMonitor::new(args.quiet, plan.rows.len(), journal.count());
    let ran = Sweep { plan: &plan, jobs, memory_bytes: args.parallel.memory, limit_bytes }
        .run(&mut journal, &monitor);
    drop(monitor);
    ran.map_err(|error| stopped(error, &journal))?;
    let mut found = write(&plan, &journal, form, &destination)?;
    if let Some(report) = report {
        found.survey(&mut TraceStatsCache::default());
        let page = sweep_page::page(&found, args.scale.into(), output::made_by("sweep"));
        report.write(|out| write_text(out, &page.html()))?;
    }
    journal.delete()?;
    if !args.quiet {
        output::print(&summary(&found, args))?;
    }
    end(plan.rows.len(), &found.failed)
}

fn read(args: &Args, files: &mut CommandFiles) -> Result<Plan> {
    let name = args.plan.to_string_lossy();
    let text = std::fs::read_to_string(&args.plan)
        .map_err(|error| Failure::failed(format!("cannot read plan {name}: {error}")))?;
    let others = RefCell::new(Vec::new());
    let beside = |other: &str| {
        let path = args.plan.with_file_name(other);
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        others.borrow_mut().push(path);
        text
    };
    let plan = Plan::parse_beside(&name, &text, args.scale.into(), &beside)?;
    files.input("the plan", &args.plan)?;
    others.into_inner().iter().try_for_each(|path| files.input("the plan", path))?;
    Ok(match &args.traces {
        Some(directory) => plan.with_traces_in(directory),
        None => plan,
    })
}

/// The format and destination of the rows: a regular file whose name tells the format.
fn destination(name: &str, files: &mut CommandFiles) -> Result<(RowFormat, PathBuf, Destination)> {
    let Some(form) = RowFormat::of(name) else {
        let what = format!("rows need a file that ends in .csv or .jsonl; `{name}` does not");
        return Err(Failure::usage(what));
    };
    let destination = files.output("--out", name)?;
    match &destination {
        Destination::File(file) => Ok((form, file.path().to_owned(), destination)),
        _ => Err(Failure::usage(format!("rows need a regular file; `{name}` is not one"))),
    }
}

/// The failure of a sweep that was stopped; it names the journal.
fn stopped(error: sim::Error, journal: &Journal) -> Failure {
    let (done, path) = (count(journal.count() as u64), journal.path().display());
    Failure::from(error).with(&format!(
        "; {done} rows are kept in {path}, and the same command continues from there"
    ))
}

/// Writes the rows in the order of the plan and collects their findings.
fn write<'a>(
    plan: &'a Plan,
    journal: &Journal,
    form: RowFormat,
    destination: &Destination,
) -> Result<Findings<'a>> {
    let mut found = Findings::of(plan);
    destination.write(|out| {
        let failed = |error| Failure::failed(format!("cannot write the rows: {error}"));
        let mut writer = RowWriter::new(out, form).map_err(failed)?;
        for index in 0..plan.rows.len() {
            let row = journal.row(index)?;
            writer.write(&row).map_err(failed)?;
            found.see(index, &parsed(index, &row)?);
        }
        writer.finish().map_err(failed)
    })?;
    Ok(found)
}

/// A row of a journal as JSON.
///
/// # Errors
/// It is not valid JSON.
pub fn parsed(index: usize, row: &str) -> Result<Value> {
    let failed = |error| Failure::failed(format!("row {index} of the journal: {error}"));
    serde_json::from_str(row).map_err(failed)
}

/// The number of failed rows whose message the summary shows.
const FAILURES_SHOWN: usize = 5;

fn summary(found: &Findings, args: &Args) -> String {
    let plan = found.plan();
    let failed = match found.failed.len() {
        0 => String::new(),
        failed => format!(", of which {} failed", count(failed as u64)),
    };
    let rows = count(plan.rows.len() as u64);
    let title = if plan.title.is_empty() { "sweep" } else { &plan.title };
    let mut text = format!("{title}: {rows} rows in {}{failed}\n", args.out);
    for FailedRow { row, message, .. } in found.failed.iter().take(FAILURES_SHOWN) {
        text += &format!("row {row}: {message}\n");
    }
    for note in found.notes.counted_sentences() {
        text += &format!("note: {note}\n");
    }
    for (index, claim) in plan.claims.iter().enumerate() {
        text += &claim_text(claim, &found.verdicts(index), args.scale.into());
    }
    text
}

/// The result of the command. Failed rows are acceptable, unless all rows failed.
fn end(rows: usize, failed: &[FailedRow]) -> Result<()> {
    refuse_grave(failed)?;
    match failed.first() {
        Some(first) if failed.len() == rows => Err(failure(first, 1)),
        _ => Ok(()),
    }
}

/// Refuses to ignore rows that failed because of a bug of this program or a violation.
///
/// # Errors
/// There is such a row.
pub fn refuse_grave(failed: &[FailedRow]) -> Result<()> {
    let worst =
        [101, 3].into_iter().find_map(|code| failed.iter().find(|row| row.exit_code == code));
    worst.map_or(Ok(()), |row| Err(failure(row, row.exit_code as u8)))
}

fn failure(row: &FailedRow, code: u8) -> Failure {
    Failure::coded(code, format!("row {}: {}", row.row, row.message))
}

/// A claim and its judged cells.
fn claim_text(claim: &Claim, verdicts: &[Verdict], scale: Scale) -> String {
    let common = match claim.common.as_str() {
        "" => String::new(),
        common => format!(", {common}"),
    };
    let mut table = Table::new(&[
        &format!("{}  {}{common}", claim.id, claim.figure),
        "expected",
        "found",
        "off by",
        "",
    ]);
    for verdict in verdicts {
        let off = verdict.deviation().map(|deviation| 100.0 * deviation);
        table.row(&[
            format!("  {}", verdict.label),
            wanted(verdict.wanted, 1.0),
            verdict.found.map_or("–".into(), number),
            off.map_or("–".into(), |off| format!("{off:+.2} %")),
            verdict.judgement.word().to_owned(),
        ]);
    }
    let cells = |judgement| verdicts.iter().filter(|cell| cell.judgement == judgement).count();
    let (holding, silent) = (cells(Judgement::Holds), cells(Judgement::Undecided));
    let silent_text = match silent {
        0 => String::new(),
        silent => format!("; {silent} have no such value"),
    };
    let quick = match scale {
        Scale::Quick => "; quick scale, which settles nothing",
        Scale::Full => "",
    };
    format!(
        "\n{}{}  {}: {} ({holding} of {} within {:.3} %{silent_text}{quick})\n",
        table.text(),
        claim.id,
        claim.judgement(verdicts).word(),
        claim.says,
        verdicts.len() - silent,
        100.0 * claim.within
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a sweep of three rows, some of which failed with these codes.
    fn ended(codes: &[u64]) -> String {
        let failed = |(row, &exit_code)| FailedRow { row, exit_code, message: "why".to_owned() };
        let failed: Vec<FailedRow> = codes.iter().enumerate().map(failed).collect();
        format!("{:?}", end(3, &failed))
    }

    #[test]
    fn failed_rows_are_acceptable_but_violations_and_bugs_are_not() {
        assert_eq!([ended(&[]), ended(&[2, 1])], ["Ok(())", "Ok(())"]);
        let heard =
            |code: u8, row| format!("Err(Failure {{ code: {code}, message: \"row {row}: why\" }})");
        assert_eq!(ended(&[2, 3]), heard(3, 1));
        assert_eq!(ended(&[3, 101]), heard(101, 1));
        assert_eq!(ended(&[2, 2, 2]), heard(1, 0));
    }
}
