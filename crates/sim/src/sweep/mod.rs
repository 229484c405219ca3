//! A sweep: the runs of a plan on all cores, one single-threaded simulation per core.
//!
//! ```text
//! Plan ── rows not yet in the journal ─► workers ─► rows as they are done ─► journal
//!                                                                              │ in plan order
//!                                               claims ◄── rows.csv | .jsonl ◄─┘
//! ```
//! Workers take rows in the order of the plan, and the journal keeps them in the order in which
//! they are done. The output is in the order of the plan again. So it is the same, byte for byte,
//! for any number of workers, whether or not the sweep was killed and continued.

use core::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::UNIX_EPOCH;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::named_trace::DEFAULT_TRACE;
use crate::config::setup::Setup;
use crate::error::{Error, Result};
use crate::memory::MemoryBudget;
use crate::plan::{Plan, Row};
use crate::progress::{NoProgress, Progress, Stage};
use crate::run::{RunOptions, run};
use crate::sweep::failed_row::RowFailure;
use crate::sweep::shared_inputs::SharedInputs;

pub mod failed_row;
pub mod findings;
pub mod journal;
pub mod row;
mod shared_inputs;

pub use findings::Findings;
pub use journal::Journal;
pub use row::{RowFormat, RowWriter};

/// The exit code of a row in which this program panicked.
const BUG: u8 = 101;
/// The exit code of a run that was stopped.
const INTERRUPTED: u8 = 130;

/// Receives the progress of a sweep from several threads, and may stop the sweep.
pub trait SweepProgress: Sync {
    /// Called every few requests of every run.
    ///
    /// # Errors
    /// [`Error::Interrupted`] stops the sweep.
    fn report(&self, row: usize, stage: Stage, done: u64, total: Option<u64>) -> Result<()>;
    /// Called when a row is done and kept in the journal.
    fn kept(&self, row: usize);
}

impl SweepProgress for NoProgress {
    fn report(&self, _: usize, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
        Ok(())
    }

    fn kept(&self, _: usize) {}
}

/// How rows are run.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The number of runs at a time.
    pub jobs: NonZeroUsize,
    /// Memory for cached requests. A trace that does not fit is read from its file every time.
    pub memory_bytes: u64,
    /// Memory for everything, if it is limited. Cached requests take at most half of it.
    pub limit_bytes: Option<u64>,
}

impl Sweep<'_> {
    /// Runs the rows that the journal does not have. A row whose run fails is kept with its error
    /// message; the sweep goes on.
    ///
    /// # Errors
    /// The sweep was stopped, or the journal cannot be written.
    pub fn run(&self, journal: &mut Journal, progress: &dyn SweepProgress) -> Result<()> {
        let left: Vec<usize> = (0..self.plan.rows.len()).filter(|&row| !journal.has(row)).collect();
        let rows = left.iter().map(|&row| &self.plan.rows[row]);
        let reads_files = rows.clone().any(|row| !row.experiment.trace_files().is_empty());
        let (memory, cache_bytes) =
            MemoryBudget::beside_cache(self.limit_bytes, self.memory_bytes, reads_files);
        let work = Work {
            plan: self.plan,
            inputs: SharedInputs::new(rows, cache_bytes),
            memory,
            left: &left,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            progress,
        };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.jobs.get()).build();
        let threads = threads.map_err(|error| Error::Threads(error.to_string()))?;
        let (sender, done) = mpsc::sync_channel::<(usize, String)>(self.jobs.get());
        threads.in_place_scope(|scope| -> Result<()> {
            for _ in 0..self.jobs.get() {
                let (work, sender) = (&work, sender.clone());
                scope.spawn(move |_| work.run(&sender));
            }
            drop(sender);
            for (row, json) in done {
                journal.keep(row, &json).inspect_err(|_| work.stop())?;
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

/// State that the workers share.
struct Work<'a> {
    plan: &'a Plan,
    inputs: SharedInputs,
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
    fn run(&self, done: &mpsc::SyncSender<(usize, String)>) {
        while !self.stopped.load(Ordering::Relaxed) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = self.left.get(next) else { return };
            let row = &self.plan.rows[index];
            let ran = self.row(index, row);
            if ran.as_ref().is_err_and(|why| why.exit_code == INTERRUPTED) {
                return self.stop();
            }
            self.inputs.done(&row.experiment);
            if done.send((index, row::json(index, row, &ran))).is_err() {
                return;
            }
        }
    }

    /// Runs a row. A panic is a bug of this program: the row reports it, and the sweep goes on.
    fn row(&self, index: usize, row: &Row) -> core::result::Result<crate::RunResult, RowFailure> {
        let progress = RowProgress { work: self, row: index };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let setup = Setup::new(&row.experiment)?;
            let input = self.inputs.of(&setup, &progress)?;
            let options = RunOptions {
                input: Some(&input),
                progress: &progress,
                memory: &self.memory,
                ..RunOptions::default()
            };
            Ok(run(&setup, options)?)
        }));
        ran.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let message = format!("bug in ftlab: {}", text.unwrap_or("a panic"));
            Err(RowFailure { exit_code: BUG, message })
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

/// A hash of everything on which the rows depend: all experiments, the version of this program, and
/// the size and modification time of every trace file. Titles and claims are not part of it.
pub fn hash(plan: &Plan) -> String {
    let experiments: Vec<_> =
        plan.rows.iter().map(|row| json!([row.experiment.texts(), row.varied])).collect();
    let mut words: Vec<&str> =
        plan.rows.iter().flat_map(|row| row.experiment.trace_files()).collect();
    words.sort_unstable();
    words.dedup();
    let files: Vec<_> = words.into_iter().map(|word| json!([word, states(word)])).collect();
    let all = json!([env!("CARGO_PKG_VERSION"), DEFAULT_TRACE, experiments, files]);
    let digest = Sha256::digest(all.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Size and modification time of each file that a trace's name stands for.
fn states(word: &str) -> Vec<Option<(u64, u64, u32)>> {
    trace::stored_files(word).iter().map(|path| state(path)).collect()
}

fn state(path: &Path) -> Option<(u64, u64, u32)> {
    let metadata = std::fs::metadata(path).ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((metadata.len(), changed.as_secs(), changed.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Scale;

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
        let plan = Plan::parse("p", PLAN, Scale::Full).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &hash(&plan), plan.rows.len()).unwrap();
        let sweep =
            Sweep { plan: &plan, jobs: NonZeroUsize::MIN, memory_bytes: 0, limit_bytes: None };
        let ended = sweep.run(&mut journal, progress);
        (journal, ended)
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

    #[test]
    fn the_hash_depends_on_the_rows_only() {
        let of = |text: &str| hash(&Plan::parse("p", text, Scale::Full).unwrap());
        assert_eq!(of(PLAN), of(&format!("title = \"x\"\n{PLAN}")));
        assert_ne!(of(PLAN), of(&PLAN.replace("2K", "3K")));
        assert_ne!(of(PLAN), of(&PLAN.replace(", 4]", "]")));
    }

    #[test]
    fn the_hash_depends_on_every_file_of_a_trace() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let of = |word: &str| {
            let text = format!("[base]\ntrace = \"{}\"", at(word));
            hash(&Plan::parse("p", &text, Scale::Full).unwrap())
        };
        std::fs::write(at("disk.blktrace.0"), "a").unwrap();
        std::fs::write(at("set.tar"), "a").unwrap();
        let before = [of("disk"), of("set.tar/x")];
        std::fs::write(at("disk.blktrace.1"), "a").unwrap();
        std::fs::write(at("set.tar"), "ab").unwrap();
        assert_ne!(of("disk"), before[0], "a file for another CPU");
        assert_ne!(of("set.tar/x"), before[1], "another archive");
    }
}
