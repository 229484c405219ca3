//! `--each-volume` of `run` and `compare`: a sweep with a row for each FTL and volume of a trace.
//!
//! The rows are those of a plan with `each_volume = true`, and so are journal, page and table.

use std::num::NonZeroUsize;

use serde_json::{Map, Value};
use sim::config::experiment::options;
use sim::plan::{Plan, Row, Scale};
use sim::sweep::{Journals, NO_POLICIES, Shard, SharedInputs, Sweep, TraceDigests};
use sim::{Experiment, Setup};

use crate::commands::sweep::{end, run_rows, stopped, warn_of};
use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::RunMonitor;
use crate::sweeps::{PlanSource, SweepNames, SweepOutputs};
use crate::texts::sweep as texts;

/// How the rows share the machine.
#[derive(Clone, Copy)]
pub struct Machine {
    /// Runs at a time.
    pub jobs: NonZeroUsize,
    /// Memory for cached requests.
    pub memory_bytes: u64,
    /// Memory for everything, if it is limited.
    pub limit_bytes: Option<u64>,
}

/// Refuses options that name a file of a single run.
///
/// # Errors
/// One of them is given.
pub fn refuse_files_of_a_run<const N: usize>(given: [(&str, bool); N]) -> Result<()> {
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!(
            "`{option}` is a file of one run, and `--each-volume` makes many; select one volume \
             with `--volume NAME`"
        ))),
    }
}

/// Runs the experiments on each volume of their trace. Without a file for the rows they are kept
/// in a temporary folder, and nothing is left of a command that is interrupted.
///
/// # Errors
/// An option is wrong, the trace cannot be read, a file cannot be written, or all rows failed.
pub fn run(
    experiments: &[Experiment],
    mut names: SweepNames,
    machine: Machine,
    quiet: bool,
) -> Result<()> {
    let Machine { jobs, memory_bytes, limit_bytes } = machine;
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::failed(format!("cannot create a temporary folder: {error}")))?;
    let out = Some(names.rows.clone()).filter(|rows| !rows.is_empty());
    if out.is_none() {
        names.rows = folder.path().join("rows.jsonl").to_string_lossy().into_owned();
    }
    let source = PlanSource::of(plan(experiments)?);
    let (shard, digests, monitor) =
        (Shard::WHOLE, &TraceDigests::default(), RunMonitor::new(quiet));
    let outputs = SweepOutputs::check(&source, shard, &names)?;
    let inputs = &SharedInputs::new(&source.plan, memory_bytes, limit_bytes);
    let PlanSource { plan, .. } = &source.with_each_volume(inputs, digests, &monitor)?;
    let output = outputs.rows_path();
    let mut journal = Journals { output, plan, digests, progress: &monitor }.gather()?;
    drop(monitor);
    warn_of(&journal);
    let sweep = Sweep { plan, shard, digests, inputs, jobs, limit_bytes, policies: &NO_POLICIES };
    let ran = run_rows(sweep, &mut journal, quiet);
    ran.map_err(|error| match out {
        Some(_) => stopped(error, &journal),
        None => error.into(),
    })?;
    let found = outputs.write(plan, Scale::Full, &journal)?;
    let refused = out.as_ref().map_or(String::new(), |_| texts::of_refused(&journal));
    journal.finish()?;
    if !quiet {
        output::show(&(texts::of_sweep(&found, out.as_deref(), Scale::Full) + &refused))?;
    }
    end(plan.rows.len(), &found.failed)
}

/// The experiments as a plan, with the options in which they differ.
fn plan(experiments: &[Experiment]) -> Result<Plan> {
    experiments.iter().try_for_each(|it| Setup::new(it).map(drop))?;
    let first = &experiments[0];
    let differs = |option: &&sim::config::experiment::ExperimentOption| {
        experiments.iter().any(|it| option.text(it) != option.text(first))
    };
    let options: Vec<_> = options().iter().filter(differs).collect();
    let row = |experiment: &Experiment| {
        let value = |text: Option<String>| text.map_or(Value::Null, Value::from);
        let varied = options.iter().map(|it| (it.name.to_owned(), value(it.text(experiment))));
        Row { experiment: experiment.clone(), varied: varied.collect::<Map<_, _>>() }
    };
    let trace = first.trace.as_deref().unwrap_or_default();
    Ok(Plan {
        title: format!("The volumes of {}", report::captions::short_name(trace)),
        rows: experiments.iter().map(row).collect(),
        ..Plan::default()
    })
}
