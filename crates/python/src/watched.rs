//! Work without the interpreter. A thread works; the calling thread looks for Ctrl-C and shows
//! progress, ten times a second.
//!
//! ```text
//! calling thread   detach ── wait 100 ms ── attach: signals, progress ── wait … ── join ── attach
//! working thread            run ─ report ─ report ─ report … ─ result
//!                                 └ the shared state: stage, done, total, stop
//! ```
//! Signals reach only the main thread of Python. So work that is called from another thread is not
//! stopped by Ctrl-C, as usual in Python. A policy of the user runs in the working thread: if it is
//! in one of its methods when the work must stop, `KeyboardInterrupt` is raised there.

use std::ffi::c_long;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::ffi::{PyExc_KeyboardInterrupt, PyThreadState_SetAsyncExc};
use pyo3::prelude::*;
use sim::sweep::SweepProgress;
use sim::{Error, Progress, Stage};

use crate::failure;

/// The time between two looks at signals and progress.
const INTERVAL: Duration = Duration::from_millis(100);

/// What the working threads report, and whether they must stop.
pub struct Watch {
    stop: AtomicBool,
    runs: Vec<RunState>,
    /// The working threads, as Python numbers them.
    threads: Mutex<Vec<c_long>>,
}

/// How far a run is.
#[derive(Default)]
struct RunState {
    stage: AtomicU32,
    done: AtomicU64,
    /// 0 if it is unknown.
    total: AtomicU64,
}

impl Watch {
    fn new(runs: usize) -> Watch {
        let runs = (0..runs).map(|_| RunState::default()).collect();
        Watch { stop: AtomicBool::new(false), runs, threads: Mutex::default() }
    }

    /// Does `work` in this thread, while the interpreter keeps its state of it. A policy in Python
    /// would otherwise pay for a new state at each of its calls.
    pub fn in_python<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        Python::attach(|py| {
            let number = py.import("threading").and_then(|it| it.call_method0("get_ident"));
            // Without a number it cannot be interrupted, and works all the same.
            let number = number.and_then(|it| it.extract::<c_long>()).ok();
            self.threads().extend(number);
            let done = py.detach(work);
            self.threads().retain(|&other| Some(other) != number);
            done
        })
    }

    fn threads(&self) -> MutexGuard<'_, Vec<c_long>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the work stop, and interrupts the methods of the user that are under way.
    #[expect(unsafe_code, reason = "Python has this function in C only")]
    fn stop(&self, _py: Python<'_>) {
        self.stop.store(true, Ordering::Relaxed);
        for &number in self.threads().iter() {
            // SAFETY: this thread is attached; a thread that has ended is ignored.
            unsafe { PyThreadState_SetAsyncExc(number, PyExc_KeyboardInterrupt) };
        }
    }

    /// The progress of a run.
    pub fn run(&self, index: usize) -> WatchedRun<'_> {
        WatchedRun { watch: self, index }
    }

    /// Whether the work must stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn report(&self, run: usize, stage: Stage, done: u64, total: Option<u64>) -> sim::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let state = &self.runs[run];
        state.stage.store(number(stage), Ordering::Relaxed);
        state.done.store(done, Ordering::Relaxed);
        state.total.store(total.unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }

    /// Looks for signals, and tells `show` how far each run is that has begun.
    fn look(&self, py: Python<'_>, show: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let Some(show) = show else { return Ok(()) };
        for (index, run) in self.runs.iter().enumerate() {
            if let Some(stage) = name(run.stage.load(Ordering::Relaxed)) {
                let done = run.done.load(Ordering::Relaxed);
                let total = Some(run.total.load(Ordering::Relaxed)).filter(|&total| total > 0);
                show.call1(py, (index, stage, done, total))?;
            }
        }
        Ok(())
    }
}

/// Numbers from here on are those of rounds.
const ROUNDS: u32 = 1 << 31;

/// The number of a stage; 0 is left for a run that has not begun.
fn number(stage: Stage) -> u32 {
    match stage {
        Stage::Survey => 1,
        Stage::Fill => 2,
        Stage::Measure => 3,
        Stage::ReadBack => 4,
        Stage::WarmUp(pass) => 4 + pass,
        Stage::Round(round) => ROUNDS + round,
    }
}

/// The name of a stage.
fn name(number: u32) -> Option<String> {
    Some(match number {
        0 => return None,
        1 => "survey".into(),
        2 => "fill".into(),
        3 => "measure".into(),
        4 => "read back".into(),
        round @ ROUNDS.. => format!("round {}", round - ROUNDS),
        pass => format!("warm-up {}", pass - 4),
    })
}

/// The progress of one of the runs.
#[derive(Clone, Copy)]
pub struct WatchedRun<'a> {
    watch: &'a Watch,
    index: usize,
}

impl Progress for WatchedRun<'_> {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> sim::Result<()> {
        self.watch.report(self.index, stage, done, total)
    }
}

impl SweepProgress for Watch {
    fn report(&self, row: usize, stage: Stage, done: u64, total: Option<u64>) -> sim::Result<()> {
        Watch::report(self, row, stage, done, total)
    }

    fn kept(&self, row: usize) {
        // A row that was stopped is not kept, so this cannot fail.
        let _ = Watch::report(self, row, Stage::Measure, 1, Some(1));
    }

    fn in_thread(&self, rows: &mut (dyn FnMut() + Send)) {
        self.in_python(rows);
    }
}

/// Does `work` in a thread, detached from the interpreter. `show` is called with the index of each
/// of `runs` runs, the name of its stage, what is done and what is to be done in all.
///
/// # Errors
/// `KeyboardInterrupt` or whatever else a handler of signals or `show` raises; `BugError` if the
/// work panics.
pub fn watched<T: Send>(
    py: Python<'_>,
    runs: usize,
    show: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::new(runs);
    let (done, raised) = py.detach(|| work_and_look(&watch, show, work));
    match (raised, done) {
        (Some(raised), _) => Err(raised),
        (None, Ok(done)) => Ok(done),
        (None, Err(panic)) => Err(failure::bug(&*panic)),
    }
}

/// The result of the work, and what was raised while it went on.
fn work_and_look<T: Send>(
    watch: &Watch,
    show: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> (thread::Result<T>, Option<PyErr>) {
    thread::scope(|scope| {
        let (working, ended) = channel::<()>();
        let worker = scope.spawn(move || {
            // Dropping the sender tells the other thread that the work has ended.
            let _working = working;
            watch.in_python(|| catch_unwind(AssertUnwindSafe(|| work(watch))))
        });
        let mut raised = None;
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if raised.is_none() {
                raised =
                    Python::attach(|py| watch.look(py, show).inspect_err(|_| watch.stop(py)).err());
            }
        }
        (worker.join().and_then(|done| done), raised)
    })
}
