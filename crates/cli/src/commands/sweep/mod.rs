//! `ftlab sweep`: the runs of a plan on all cores, one row per run, and the judgement of its
//! claims.
//!
//! A plan can be shared by several machines: each runs a shard, and a last command merges them.
//!
//! * [`args`]         the options
//! * [`slurm_script`] the script that runs the shards as an array of jobs

pub mod args;
mod slurm_script;

pub use crate::commands::sweep::args::Args;

use std::path::Path;

use report::number_format::count;
use sim::memory::limit::MemoryLimit;
use sim::plan::Plan;
use sim::sweep::findings::{FailedRow, Findings};
use sim::sweep::{
    Journal, Journals, NO_POLICIES, Shard, SharedInputs, Sweep, TraceDigests,
    refuse_missing_policies, refuse_missing_traces,
};

use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::{RunMonitor, SweepMonitor};
use crate::sweeps::{PlanSource, SweepOutputs, parsed};
use crate::texts::sweep as texts;

/// Runs the subcommand. `memory_limit` is the limit as the user gave it, if at all.
pub fn run(args: &Args, limit_bytes: Option<u64>, memory_limit: Option<MemoryLimit>) -> Result<()> {
    let source = PlanSource::read(&args.plan, args.scale.into(), args.traces.as_deref())?;
    if !args.merge {
        refuse_missing_policies(&source.plan, &NO_POLICIES)?;
    }
    let runs_here = !args.merge && args.slurm.is_none();
    if runs_here {
        refuse_missing_traces(&source.plan)?;
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let outputs = SweepOutputs::check(&source, shard, &args.names())?;
    let inputs = match runs_here {
        true => SharedInputs::new(&source.plan, args.parallel.memory, limit_bytes),
        false => SharedInputs::uncached(&source.plan),
    };
    let digests = &TraceDigests::default();
    let source = source.with_each_volume(&inputs, digests, &RunMonitor::new(args.quiet))?;
    let plan = &source.plan;
    if let Some(shards) = args.slurm {
        return slurm_script::print(args, plan, shards, memory_limit);
    }
    let mut journal = journal(args, plan, outputs.rows_path(), digests)?;
    if runs_here {
        let (jobs, inputs) = (args.parallel.jobs(), &inputs);
        let sweep =
            Sweep { plan, shard, digests, inputs, jobs, limit_bytes, policies: &NO_POLICIES };
        let ran = run_rows(sweep, &mut journal, args.quiet);
        ran.map_err(|error| stopped(error, &journal))?;
    }
    if let Some(shard) = args.shard {
        return end_shard(args, plan, shard, &journal);
    }
    let written = outputs.write(plan, args.scale.into(), &journal);
    let found = written.map_err(|failure| keeping(failure, &journal))?;
    let refused = texts::of_refused(&journal);
    journal.finish()?;
    if !args.quiet {
        let text = texts::of_sweep(&found, Some(&args.out), args.scale.into());
        output::show(&(text + &refused))?;
    }
    end(plan.rows.len(), &found.failed)
}

/// The journal of the shard, or that of all rows, which takes over those of the shards.
fn journal(args: &Args, plan: &Plan, output: &Path, digests: &TraceDigests) -> Result<Journal> {
    let progress = &RunMonitor::new(args.quiet);
    let journals = Journals { output, plan, digests, progress };
    let journal = match (args.merge, args.shard) {
        (true, _) => journals.gather_complete(),
        (false, None | Some(Shard::WHOLE)) => journals.gather(),
        (false, Some(shard)) => journals.open(shard),
    }?;
    warn_of(&journal);
    Ok(journal)
}

/// Says what the user should know of a journal.
pub fn warn_of(journal: &Journal) {
    journal.warnings().iter().for_each(|warning| eprintln!("ftlab: {warning}"));
}

/// Runs the rows that are not done.
///
/// # Errors
/// The sweep was stopped, or the journal cannot be written.
pub fn run_rows(sweep: Sweep, journal: &mut Journal, quiet: bool) -> sim::Result<()> {
    let (all, own) = (sweep.plan.rows.len(), sweep.shard.rows(sweep.plan).len());
    let monitor = SweepMonitor::of_shard(quiet, all, own, journal.count());
    sweep.run(journal, &monitor)
}

/// Ends the command of a shard. Rows that failed are judged when all shards are merged.
fn end_shard(args: &Args, plan: &Plan, shard: Shard, journal: &Journal) -> Result<()> {
    if args.quiet {
        return Ok(());
    }
    let mut found = Findings::of(plan);
    for row in shard.rows(plan) {
        found.see(row, &parsed(row, &journal.row(row)?)?);
    }
    let merge = slurm_script::merge_command(args);
    output::show(&texts::of_shard(&found, shard, journal.path(), &merge))
}

/// The failure of a sweep that was stopped; it names the journal, unless that is what was lost.
pub fn stopped(error: sim::Error, journal: &Journal) -> Failure {
    if matches!(error, sim::Error::JournalLost { .. }) {
        return error.into();
    }
    keeping(error.into(), journal)
}

/// A failure that leaves the rows in the journal.
fn keeping(failure: Failure, journal: &Journal) -> Failure {
    let path = journal.path().display();
    let kept = match journal.count() {
        1 => "1 row is kept".to_owned(),
        rows => format!("{} rows are kept", count(rows as u64)),
    };
    failure.with(&format!("; {kept} in {path}, and the same command continues from there"))
}

/// The result of the command. Failed rows are acceptable, unless all rows failed.
///
/// # Errors
/// All rows failed, or one met a bug or a violation.
pub fn end(rows: usize, failed: &[FailedRow]) -> Result<()> {
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
        let heard = |code, row| {
            let failure = Failure::coded(code, format!("row {row}: why"));
            format!("{:?}", Err::<(), Failure>(failure))
        };
        assert_eq!(ended(&[2, 3]), heard(3, 1));
        assert_eq!(ended(&[3, 101]), heard(101, 1));
        assert_eq!(ended(&[2, 2, 2]), heard(1, 0));
    }

    #[test]
    fn rows_of_a_journal_that_was_lost_are_not_said_to_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv.journal");
        let key = sim::sweep::key::JournalKey { plan: "p".into(), traces: "t".into() };
        let journal = Journal::open(&path, &key, 3).unwrap();
        let said = |error| stopped(error, &journal).message().to_owned();
        let kept = format!("; 0 rows are kept in {}", path.display());
        assert!(said(sim::Error::Interrupted).contains(&kept));
        let lost = said(sim::Error::JournalLost { path: path.clone() });
        assert!(!lost.contains("kept") && lost.ends_with("start the sweep again"), "{lost}");
    }
}
