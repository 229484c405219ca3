//! A sweep: the runs of a plan on all cores, one simulation a core and never more inside one.
//!
//! ```text
//! Plan ── rows not yet in the journal ─► workers ─► rows as they are done ─► journal
//!                                                                              │ in plan order
//!                                               claims ◄── rows.csv | .jsonl ◄─┘
//! ```
//! Rows are taken in the order of the plan and kept in the order in which they are done; the output
//! is in the order of the plan. So it is the same, byte for byte, for any number of workers, and
//! whether or not the sweep was killed on the way.

use core::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::UNIX_EPOCH;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::named_trace::{DEFAULT_TRACE, NamedTrace};
use crate::config::setup::Setup;
use crate::error::{Error, Result};
use crate::plan::{Plan, Row};
use crate::progress::{NoProgress, Progress, Stage};
use crate::run::{RunOptions, run};
use crate::sweep::failed_row::Failed;
use crate::sweep::shared_inputs::Inputs;

pub mod failed_row;
pub mod findings;
pub mod journal;
pub mod row;
mod shared_inputs;

pub use findings::Findings;
pub use journal::Journal;
pub use row::{Form, RowWriter};

/// Memory for the requests of traces if nothing else is said: 44 million requests.
pub const MEMORY_BYTES: u64 = 1 << 30;

/// The code under which a mistake of this program is kept.
const MISTAKE: u8 = 101;
/// The code of a run that somebody stopped.
const INTERRUPTED: u8 = 130;

/// Somebody who watches a sweep, from several threads, and may stop it.
pub trait SweepProgress: Sync {
    /// Called every few requests of every run.
    ///
    /// # Errors
    /// [`Error::Interrupted`] ends the sweep.
    fn report(&self, row: usize, stage: Stage, done: u64, total: Option<u64>) -> Result<()>;
    /// A row is done and kept.
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
    /// Runs at a time.
    pub jobs: NonZeroUsize,
    /// Memory for the requests of traces; what does not fit is read from its file every time.
    pub memory_bytes: u64,
}

impl Sweep<'_> {
    /// Runs the rows that the journal does not have. A row that fails says why, and stops nothing.
    ///
    /// # Errors
    /// Somebody stopped it, or the journal cannot be written.
    pub fn run(&self, journal: &mut Journal, progress: &dyn SweepProgress) -> Result<()> {
        let left: Vec<usize> = (0..self.plan.rows.len()).filter(|&row| !journal.has(row)).collect();
        let rows = left.iter().map(|&row| &self.plan.rows[row]);
        let work = Work {
            plan: self.plan,
            inputs: Inputs::new(rows, self.memory_bytes),
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

/// What the workers share.
struct Work<'a> {
    plan: &'a Plan,
    inputs: Inputs,
    left: &'a [usize],
    next: AtomicUsize,
    stopped: AtomicBool,
    progress: &'a dyn SweepProgress,
}

impl Work<'_> {
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Takes row after row, until there are no more or somebody stops the sweep.
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

    /// One run. A panic in it is our mistake; it is said as such, and the others go on.
    fn row(&self, index: usize, row: &Row) -> core::result::Result<crate::RunResult, Failed> {
        let progress = RowProgress { work: self, row: index };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let setup = Setup::new(&row.experiment)?;
            let input = self.inputs.of(&setup, &progress)?;
            let options =
                RunOptions { input: Some(&input), progress: &progress, ..RunOptions::default() };
            Ok(run(&setup, options)?)
        }));
        ran.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let message = format!("a mistake in ftlab: {}", text.unwrap_or("a panic"));
            Err(Failed { exit_code: MISTAKE, message })
        })
    }
}

/// Hands what a run says on to who watches the sweep.
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

/// What rows depend on, as a hash: all experiments, this program's version, and the size and time
/// of change of every trace file. Titles and claims are not in it.
pub fn hash(plan: &Plan) -> String {
    let experiments: Vec<_> =
        plan.rows.iter().map(|row| json!([row.experiment.texts(), row.varied])).collect();
    let mut words: Vec<&str> = plan
        .rows
        .iter()
        .filter_map(|row| row.experiment.trace.as_deref())
        .filter(|word| NamedTrace::parse(word).is_ok_and(|trace| trace.is_file()))
        .collect();
    words.sort_unstable();
    words.dedup();
    let files: Vec<_> = words.into_iter().map(|word| json!([word, states(word)])).collect();
    let all = json!([env!("CARGO_PKG_VERSION"), DEFAULT_TRACE, experiments, files]);
    let digest = Sha256::digest(all.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Size and time of change of each file that a trace's word names; none if there are none.
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

    /// Does something at one row.
    struct At(usize, fn() -> Result<()>);

    impl SweepProgress for At {
        fn report(&self, row: usize, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
            if row == self.0 { self.1() } else { Ok(()) }
        }
        fn kept(&self, _: usize) {}
    }

    /// The journal of a sweep by one worker, and how the sweep ended.
    fn swept(progress: &At) -> (Journal, Result<()>) {
        let plan = Plan::parse("p", PLAN, Scale::Full).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut journal = Journal::open(&path, &hash(&plan), plan.rows.len()).unwrap();
        let sweep = Sweep { plan: &plan, jobs: NonZeroUsize::MIN, memory_bytes: 0 };
        let ended = sweep.run(&mut journal, progress);
        (journal, ended)
    }

    #[test]
    fn a_mistake_of_ours_stays_in_its_row() {
        let (journal, ended) = swept(&At(1, || panic!("two and two are five")));
        ended.unwrap();
        let row: serde_json::Value = serde_json::from_str(&journal.row(1).unwrap()).unwrap();
        let error = json!({
            "exit_code": 101, "message": "a mistake in ftlab: two and two are five"
        });
        assert_eq!(row["sweep"]["error"], error);
        assert_eq!(journal.count(), 4);
    }

    #[test]
    fn who_stops_a_sweep_keeps_what_is_done() {
        let (journal, ended) = swept(&At(2, || Err(Error::Interrupted)));
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!([0, 1, 2, 3].map(|row| journal.has(row)), [true, true, false, false]);
    }

    #[test]
    fn the_hash_knows_what_rows_depend_on_and_nothing_else() {
        let of = |text: &str| hash(&Plan::parse("p", text, Scale::Full).unwrap());
        assert_eq!(of(PLAN), of(&format!("title = \"x\"\n{PLAN}")));
        assert_ne!(of(PLAN), of(&PLAN.replace("2K", "3K")));
        assert_ne!(of(PLAN), of(&PLAN.replace(", 4]", "]")));
    }

    #[test]
    fn the_hash_knows_every_file_that_a_word_names() {
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
        assert_ne!(of("disk"), before[0], "a CPU more");
        assert_ne!(of("set.tar/x"), before[1], "another archive");
    }
}
