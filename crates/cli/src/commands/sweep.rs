//! `ftlab sweep`: the runs of a plan on all cores; a row a run, and what the rows show.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use report::sweep_page;
use serde_json::Value;
use sim::input::trace_stats::TraceStatsCache;
use sim::plan::claim::{Claim, Outcome, Verdict};
use sim::plan::{Plan, Scale};
use sim::sweep::findings::{FailedRow, Findings};
use sim::sweep::{self, Form, Journal, MEMORY_BYTES, RowWriter, Sweep};

use crate::failure::{Failure, Result};
use crate::output::{self, Destination, write_text};
use crate::progress::SweepMonitor;
use crate::table::{Table, count, real};

/// Options of `ftlab sweep`.
#[derive(clap::Args)]
pub struct Args {
    /// The plan: a TOML file
    plan: PathBuf,

    /// Where the rows go: a file that ends in .csv or .jsonl, which appears whole when all rows are
    /// done; until then they are kept beside it in a journal, with which the same command goes on
    #[arg(long, value_name = "FILE")]
    out: String,

    /// Runs at a time; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// The plan at its size, or with what its `quick` part makes smaller
    #[arg(long, value_enum, default_value = "full")]
    scale: ScaleName,

    /// Where the plan's trace files are, unless their paths are absolute; the current directory if
    /// not given
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Memory for the requests of traces, 24 bytes each; what does not fit is read from its file
    /// every time
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = spec::parse_size,
        default_value_t = MEMORY_BYTES
    )]
    memory: u64,

    /// Write a report to look at: one HTML file that needs no network, with a figure for each claim
    /// and the published points drawn in
    #[arg(long, value_name = "FILE")]
    report: Option<String>,

    /// Print neither a summary nor progress
    #[arg(long)]
    quiet: bool,
}

/// The scales as users write them.
#[derive(Clone, Copy, ValueEnum)]
pub enum ScaleName {
    /// Smaller.
    Quick,
    /// As published.
    Full,
}

impl ScaleName {
    /// The word for it.
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
pub fn run(args: &Args) -> Result<()> {
    let plan = read(args)?;
    let (form, path, destination) = destination(&args.out)?;
    let report = args.report.as_deref().map(Destination::open).transpose()?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let journal_path = Journal::path_of(&path);
    let mut journal = Journal::open(&journal_path, &sweep::hash(&plan), plan.rows.len())?;
    let monitor = SweepMonitor::new(args.quiet, plan.rows.len(), journal.count())?;
    let ran = Sweep { plan: &plan, jobs, memory_bytes: args.memory }.run(&mut journal, &monitor);
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

fn read(args: &Args) -> Result<Plan> {
    let name = args.plan.to_string_lossy();
    let text = std::fs::read_to_string(&args.plan)
        .map_err(|error| Failure::failed(format!("cannot read plan {name}: {error}")))?;
    let beside = |other: &str| {
        let path = args.plan.with_file_name(other);
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    };
    let plan = Plan::parse_beside(&name, &text, args.scale.into(), &beside)?;
    Ok(match &args.traces {
        Some(directory) => plan.with_traces_in(directory),
        None => plan,
    })
}

/// A regular file whose name says its form.
fn destination(name: &str) -> Result<(Form, PathBuf, Destination)> {
    let Some(form) = Form::of(name) else {
        let what = format!("rows go to a file that ends in .csv or .jsonl, and `{name}` does not");
        return Err(Failure::usage(what));
    };
    let destination = Destination::open(name)?;
    match &destination {
        Destination::File(path) => Ok((form, path.clone(), destination)),
        _ => Err(Failure::usage(format!("rows go to a regular file, and `{name}` is none"))),
    }
}

/// What an interrupted sweep leaves behind.
fn stopped(error: sim::Error, journal: &Journal) -> Failure {
    let (done, path) = (count(journal.count() as u64), journal.path().display());
    Failure::from(error)
        .with(&format!("; {done} rows are kept in {path}, and the same command goes on from there"))
}

/// Writes the rows in the order of the plan, and looks at them on the way.
fn write<'a>(
    plan: &'a Plan,
    journal: &Journal,
    form: Form,
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

/// A row of a journal.
///
/// # Errors
/// It is none.
pub fn parsed(index: usize, row: &str) -> Result<Value> {
    let failed = |error| Failure::failed(format!("row {index} of the journal: {error}"));
    serde_json::from_str(row).map_err(failed)
}

/// Rows that failed, of which the summary shows the message.
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
    for (index, claim) in plan.claims.iter().enumerate() {
        text += &claim_text(claim, &found.verdicts(index), args.scale.into());
    }
    text
}

/// How the command ends. A row that failed is an answer like another, but not a sweep of which
/// nothing is left.
fn end(rows: usize, failed: &[FailedRow]) -> Result<()> {
    heard(failed)?;
    match failed.first() {
        Some(first) if failed.len() == rows => Err(failure(first, 1)),
        _ => Ok(()),
    }
}

/// What must not be overlooked, whatever becomes of the rest: a mistake of ours, a violation.
///
/// # Errors
/// There is one.
pub fn heard(failed: &[FailedRow]) -> Result<()> {
    let worst =
        [101, 3].into_iter().find_map(|code| failed.iter().find(|row| row.exit_code == code));
    worst.map_or(Ok(()), |row| Err(failure(row, row.exit_code as u8)))
}

fn failure(row: &FailedRow, code: u8) -> Failure {
    Failure::coded(code, format!("row {}: {}", row.row, row.message))
}

/// A claim, and what was found of it.
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
            verdict.wanted.to_string(),
            real(verdict.found, 3),
            off.map_or("–".into(), |off| format!("{off:+.2} %")),
            verdict.outcome.word().to_owned(),
        ]);
    }
    let cells = |outcome| verdicts.iter().filter(|cell| cell.outcome == outcome).count();
    let (holding, silent) = (cells(Outcome::Holds), cells(Outcome::Undecided));
    let silent_text = match silent {
        0 => String::new(),
        silent => format!("; {silent} have no such figure"),
    };
    let quick = match scale {
        Scale::Quick => "; quick, which settles nothing",
        Scale::Full => "",
    };
    format!(
        "\n{}{}  {}: {} ({holding} of {} within {:.3} %{silent_text}{quick})\n",
        table.text(),
        claim.id,
        claim.outcome(verdicts).word(),
        claim.says,
        verdicts.len() - silent,
        100.0 * claim.within
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a sweep of three rows ends, some of which failed with these codes.
    fn ended(codes: &[u64]) -> String {
        let failed = |(row, &exit_code)| FailedRow { row, exit_code, message: "why".to_owned() };
        let failed: Vec<FailedRow> = codes.iter().enumerate().map(failed).collect();
        format!("{:?}", end(3, &failed))
    }

    #[test]
    fn failed_rows_are_answers_but_violations_and_mistakes_are_heard() {
        assert_eq!([ended(&[]), ended(&[2, 1])], ["Ok(())", "Ok(())"]);
        let heard =
            |code: u8, row| format!("Err(Failure {{ code: {code}, message: \"row {row}: why\" }})");
        assert_eq!(ended(&[2, 3]), heard(3, 1));
        assert_eq!(ended(&[3, 101]), heard(101, 1));
        assert_eq!(ended(&[2, 2, 2]), heard(1, 0));
    }
}
