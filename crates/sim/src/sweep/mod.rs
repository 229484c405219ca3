//! A sweep: the runs of a plan on all cores, one single-threaded simulation per core.
//!
//! ```text
//! Plan ── rows not yet in the journal ─► workers ─► rows as they are done ─► journal
//!                                                                              │ in plan order
//!                                               claims ◄── rows.csv | .jsonl ◄─┘
//! ```
//! Workers take rows in the order of the plan, but volumes of a trace with more requests first, so
//! that no long row is begun last. The journal keeps rows in the order in which they are done. The
//! output is in the order of the plan again. So it is the same, byte for byte, for any number of
//! workers, whether or not the sweep was killed and continued.
//!
//! Several machines can share a sweep: each runs a shard of the rows and keeps them in a journal of
//! its own beside the output. A sweep over all rows takes over what shards have done.
//!
//! * [`shard`]         the rows that one of several machines runs
//! * [`key`]           what a run, or a journal, depends on, as one hash
//! * [`trace_digests`] digests of trace files, each read once
//! * [`journal`]       finished rows on disk
//! * [`journals`]      those of a whole sweep and of its shards
//! * [`row`]           a row as JSON and as csv
//! * [`row_origin`]    whether a row that is read is of this plan
//! * [`runner`]        single runs, for processes that are sent one at a time
//! * [`failed_row`]    why a row has no figures
//! * [`fleet`]         plans with a row for each volume of a trace
//! * [`findings`]      what claims and drawings need of all rows
//! * [`shared_inputs`] traces that several rows read

use core::cmp::Reverse;
use core::num::NonZeroUsize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use ftl::contract::page_policy::PolicySource;

use crate::config::setup::Setup;
use crate::error::{Error, NoTrace, Result};
use crate::memory::MemoryBudget;
use crate::plan::{Plan, Row};
use crate::progress::{NoProgress, Progress, Stage};
use crate::run::{RunOptions, run};
use crate::sweep::failed_row::{RowFailure, attempt};

pub mod failed_row;
pub mod findings;
pub mod fleet;
pub mod journal;
pub mod journals;
pub mod key;
pub mod row;
pub mod row_origin;
pub mod runner;
pub mod shard;
pub mod shared_inputs;
pub mod trace_digests;

pub use findings::Findings;
pub use journal::Journal;
pub use journals::Journals;
pub use row::{RowFormat, RowState, RowWriter};
pub use runner::RowRunner;
pub use shard::Shard;
pub use shared_inputs::{SharedInputs, needed_cache_bytes};
pub use trace_digests::TraceDigests;

/// Receives the progress of a sweep from several threads, and may stop the sweep.
pub trait SweepProgress: Sync {
    /// Called every few requests of every run.
    ///
    /// # Errors
    /// [`Error::Interrupted`] stops the sweep.
    fn report(&self, row: usize, stage: Stage, done: u64, total: Option<u64>) -> Result<()>;
    /// Called when a row is done and kept in the journal.
    fn kept(&self, row: usize);
    /// Called by each thread, to run its rows. Who has to prepare a thread does so around them.
    fn in_thread(&self, rows: &mut (dyn FnMut() + Send)) {
        rows();
    }
}

impl SweepProgress for NoProgress {
    fn report(&self, _: usize, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
        Ok(())
    }

    fn kept(&self, _: usize) {}
}

/// How rows are run.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The rows to run: all of the plan, or those of a shard.
    pub shard: Shard,
    /// The digests of the traces.
    pub digests: &'a TraceDigests,
    /// The traces, some of which may be open already.
    pub inputs: &'a SharedInputs,
    /// The number of runs at a time.
    pub jobs: NonZeroUsize,
    /// Memory for everything, if it is limited.
    pub limit_bytes: Option<u64>,
    /// The policies that rows name.
    pub policies: &'a Policies,
}

/// Policies by the names that plans give them.
pub type Policies = BTreeMap<String, Arc<dyn PolicySource>>;

/// What a sweep has whose plan names no policy.
pub static NO_POLICIES: Policies = Policies::new();

impl Sweep<'_> {
    /// Runs the rows of the shard that are not done. A row whose run fails is kept with its error
    /// message; the sweep goes on.
    ///
    /// # Errors
    /// The sweep was stopped, a policy is missing, or the journal cannot be written.
    pub fn run(&self, journal: &mut Journal, progress: &dyn SweepProgress) -> Result<()> {
        refuse_missing_policies(self.plan, self.policies)?;
        let mut left = self.shard.rows(self.plan);
        left.retain(|&row| !journal.is_done(row));
        let experiment = |row: usize| &self.plan.rows[row].experiment;
        self.inputs.expect(left.iter().map(|&row| experiment(row)));
        left = largest_first(self.plan, left, self.inputs);
        let work = Work {
            plan: self.plan,
            inputs: self.inputs,
            policies: self.policies,
            digests: self.digests,
            memory: self.inputs.memory(self.limit_bytes),
            left: &left,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            progress,
        };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.jobs.get()).build();
        let threads = threads.map_err(|error| Error::Threads(error.to_string()))?;
        let (sender, done) = mpsc::sync_channel::<RowToKeep>(self.jobs.get());
        threads.in_place_scope(|scope| -> Result<()> {
            for _ in 0..self.jobs.get() {
                let (work, sender) = (&work, sender.clone());
                scope.spawn(move |_| progress.in_thread(&mut || work.run(&sender)));
            }
            drop(sender);
            for (row, json, state) in done {
                journal.keep(row, &json, state).inspect_err(|_| work.stop())?;
                progress.kept(row);
            }
            Ok(())
        })?;
        match work.stopped.into_inner() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// Refuses a plan that names other policies. Callers ask before they create a journal, too.
///
/// # Errors
/// A policy is missing.
pub fn refuse_missing_policies(plan: &Plan, policies: &Policies) -> Result<()> {
    let mut named = plan.rows.iter().filter_map(|row| row.experiment.policy.as_ref());
    let missing = named.find(|&name| !policies.contains_key(name));
    let Some(name) = missing else { return Ok(()) };
    if policies.is_empty() {
        return Err(Error::no_policy(name));
    }
    let known: Vec<&str> = policies.keys().map(String::as_str).collect();
    let hint = match spec::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? `policies`"),
        None => "`policies`".to_owned(),
    };
    let has = known.join(", ");
    Err(Error::Impossible(format!("no policy is called `{name}`; {hint} has {has}")))
}

/// Refuses a plan of which no row can run, because each one's trace is missing: most often their
/// folder is named wrongly, and rows that were kept would be replaced by nothing but failures.
///
/// # Errors
/// No row can run.
pub fn refuse_missing_traces(plan: &Plan) -> Result<()> {
    fn missing(row: &Row) -> Option<(&str, NoTrace)> {
        let mut files = row.experiment.trace_files().into_iter();
        files.find_map(|name| Some((name, NoTrace::of(name)?)))
    }
    let rows: Option<Vec<(&str, NoTrace)>> = plan.rows.iter().map(missing).collect();
    match rows.as_deref() {
        Some([(name, why), ..]) => Err(Error::NoTraces { name: (*name).to_owned(), why: *why }),
        _ => Ok(()),
    }
}

/// These rows in the order in which they are begun: that of the plan, but volumes of a trace that
/// was split by their requests, so that no long row is begun last.
pub fn largest_first(plan: &Plan, mut rows: Vec<usize>, inputs: &SharedInputs) -> Vec<usize> {
    rows.sort_by_cached_key(|&row| Reverse(inputs.requests(&plan.rows[row].experiment)));
    rows
}

/// A row on its way to the journal: its number and its JSON.
type RowToKeep = (usize, String, RowState);

/// State that the workers share.
struct Work<'a> {
    plan: &'a Plan,
    inputs: &'a SharedInputs,
    digests: &'a TraceDigests,
    policies: &'a Policies,
    memory: MemoryBudget,
    left: &'a [usize],
    next: AtomicUsize,
    stopped: AtomicBool,
    progress: &'a dyn SweepProgress,
}

impl Work<'_> {
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Takes row after row, until there are no more or the sweep is stopped.
    fn run(&self, done: &mpsc::SyncSender<RowToKeep>) {
        while !self.stopped.load(Ordering::Relaxed) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = self.left.get(next) else { return };
            let row = &self.plan.rows[index];
            let ran = self.row(index, row);
            if ran.as_ref().is_err_and(RowFailure::is_interruption) {
                return self.stop();
            }
            self.inputs.done(&row.experiment);
            if done.send((index, row::json(index, row, &ran), RowState::of(&ran))).is_err() {
                return;
            }
        }
    }

    fn row(&self, index: usize, row: &Row) -> core::result::Result<crate::RunResult, RowFailure> {
        let progress = RowProgress { work: self, row: index };
        attempt(|| {
            let setup = Setup::new(&row.experiment)?;
            let input = self.inputs.of(&setup, self.digests, &progress)?;
            let options = RunOptions {
                input: Some(&input),
                progress: &progress,
                memory: &self.memory,
                policy: row
                    .experiment
                    .policy
                    .as_ref()
                    .and_then(|name| self.policies.get(name).cloned()),
                ..RunOptions::default()
            };
            Ok(run(&setup, options)?)
        })
    }
}

/// Passes the progress of a run on to the receiver of the sweep's progress.
struct RowProgress<'a> {
    work: &'a Work<'a>,
    row: usize,
}

impl Progress for RowProgress<'_> {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> Result<()> {
        if self.work.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.work.progress.report(self.row, stage, done, total)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Mutex;

    use super::*;
    use serde_json::json;

    use crate::plan::Scale;
    use crate::sweep::key::JournalKey;

    const PLAN: &str = "[base]\ncapacity = \"1MiB\"\ntrace.writes = \"2K\"\n\
                        [[grid]]\nseed = [1, 2, 3, 4]";

    /// Calls a function at the reports of one row.
    struct At(usize, fn() -> Result<()>);

    impl SweepProgress for At {
        fn report(&self, row: usize, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
            if row == self.0 { self.1() } else { Ok(()) }
        }
        fn kept(&self, _: usize) {}
    }

    /// Runs a sweep with one worker. Returns its journal and its result.
    fn swept(progress: &At) -> (Journal, Result<()>) {
        let directory = tempfile::tempdir().unwrap();
        let mut journal =
            Journal::open(&directory.path().join("journal"), &JournalKey::default(), 4).unwrap();
        let ended = sweep_into(&mut journal, progress);
        (journal, ended)
    }

    fn sweep_into(journal: &mut Journal, progress: &dyn SweepProgress) -> Result<()> {
        let plan = Plan::parse("p", PLAN, Scale::Full).unwrap();
        swept_plan(&plan, journal, progress)
    }

    fn swept_plan(plan: &Plan, journal: &mut Journal, progress: &dyn SweepProgress) -> Result<()> {
        let sweep = Sweep {
            plan,
            shard: Shard::WHOLE,
            digests: &TraceDigests::default(),
            inputs: &SharedInputs::new(plan, 0, None),
            jobs: NonZeroUsize::MIN,
            limit_bytes: None,
            policies: &NO_POLICIES,
        };
        sweep.run(journal, progress)
    }

    /// Looks into the journal whenever a row is said to be kept, and notes the row.
    struct InJournal<'a>(&'a Path, Mutex<Vec<usize>>);

    impl SweepProgress for InJournal<'_> {
        fn report(&self, _: usize, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
            Ok(())
        }

        fn kept(&self, row: usize) {
            let text = std::fs::read_to_string(self.0).unwrap();
            let last = text.lines().last().unwrap().split(' ').nth(1).unwrap();
            assert_eq!(last, row.to_string(), "it is not in the journal yet");
            self.1.lock().unwrap().push(row);
        }
    }

    #[test]
    fn a_continued_sweep_runs_only_the_rows_that_are_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &JournalKey::default(), 4).unwrap();
        [2, 0].iter().for_each(|&row| journal.keep(row, "{}", RowState::Done).unwrap());
        let progress = InJournal(&path, Mutex::default());
        sweep_into(&mut journal, &progress).unwrap();
        assert_eq!(progress.1.into_inner().unwrap(), [1, 3]);
        assert_eq!([0, 2].map(|row| journal.row(row).unwrap()), ["{}", "{}"]);
        for row in [1, 3] {
            let json: serde_json::Value = serde_json::from_str(&journal.row(row).unwrap()).unwrap();
            assert_eq!(
                (&json["sweep"]["row"], &json["run"]["seed"]),
                (&json!(row), &json!(row + 1))
            );
        }
    }

    #[test]
    fn a_plan_that_names_a_policy_needs_it_before_the_first_row() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal =
            Journal::open(&directory.path().join("journal"), &JournalKey::default(), 4).unwrap();
        let text = PLAN.replace("[base]", "[base]\npolicy = \"mine\"");
        let plan = Plan::parse("p", &text, Scale::Full).unwrap();
        let why = swept_plan(&plan, &mut journal, &NoProgress).unwrap_err();
        assert!(why.to_string().contains("no policy is called `mine`"), "{why}");
        assert_eq!((why.exit_code(), journal.count()), (2, 0));
    }

    #[test]
    fn cached_requests_get_what_the_files_of_a_plan_need() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [b'0'; 1000]).unwrap();
        let rows = "[[grid]]\nftl = [\"page\", \"block\"]\nseed = [1, 2]";
        let text = format!("[base]\ntrace = \"{}\"\n{rows}", file.path().display());
        let plan = Plan::parse("p", &text, Scale::Full).unwrap();
        let cached = |memory_bytes: u64, limit_bytes: Option<u64>| {
            let inputs = SharedInputs::new(&plan, memory_bytes, limit_bytes);
            inputs.memory(limit_bytes).cache_bytes()
        };
        assert_eq!(needed_cache_bytes(&plan), 2000, "all rows share the requests");
        assert_eq!([cached(1 << 30, None), cached(1 << 30, Some(1 << 20))], [2000; 2]);
        assert_eq!([cached(500, None), cached(1 << 30, Some(1000))], [500; 2]);
        let workloads = Plan::parse("p", PLAN, Scale::Full).unwrap();
        assert_eq!(needed_cache_bytes(&workloads), 0);
    }

    #[test]
    fn a_plan_of_which_no_trace_exists_is_refused() {
        let refused = |traces: &str| {
            let text = format!("[[grid]]\ntrace = [{traces}]");
            refuse_missing_traces(&Plan::parse("p", &text, Scale::Full).unwrap())
        };
        let absent = "\"no/a.csv\", \"no/b.csv\"";
        assert!(matches!(refused(absent), Err(Error::NoTraces { name, .. }) if name == "no/a.csv"));
        refused(&format!("{absent}, \"uniform\"")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let empty = refused(&format!("\"{}\"", folder.path().display())).unwrap_err().to_string();
        assert!(empty.starts_with("no file in the folder ") && empty.ends_with("can be read"));
        let denied = Error::NoTraces { name: "a.csv".into(), why: NoTrace::Denied }.to_string();
        assert!(denied.starts_with("the permission to read the trace `a.csv` is missing; and no"));
    }

    #[test]
    fn a_panic_fails_only_its_row() {
        let (journal, ended) = swept(&At(1, || panic!("two and two are five")));
        ended.unwrap();
        let row: serde_json::Value = serde_json::from_str(&journal.row(1).unwrap()).unwrap();
        let error = json!({
            "exit_code": 101, "message": "bug in ftlab: two and two are five"
        });
        assert_eq!(row["sweep"]["error"], error);
        assert_eq!(journal.count(), 4);
    }

    #[test]
    fn a_stopped_sweep_keeps_the_rows_that_are_done() {
        let (journal, ended) = swept(&At(2, || Err(Error::Interrupted)));
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!([0, 1, 2, 3].map(|row| journal.has(row)), [true, true, false, false]);
    }
}
