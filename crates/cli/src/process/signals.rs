//! Signals that end the command: interrupt (SIGINT), termination (SIGTERM), hang-up (SIGHUP).
//!
//! While a monitor lives, the first signal only sets a flag. The run looks at it with every report
//! of progress and stops cleanly. The process ends at once in three cases: the run does not stop
//! within [`PATIENCE`], a second signal arrives later, or there is no monitor. In all cases no
//! unfinished file is left behind, and the exit code is 128 plus the number of the signal.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The longest time that a run may take to notice a signal.
const PATIENCE: Duration = Duration::from_secs(5);
/// Signals that come so close together were sent once: `timeout` signals the process and its group.
const ONE_SIGNAL: Duration = Duration::from_millis(50);

/// The first signal; 0 if there was none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// When it came.
static RECEIVED_AT: OnceLock<Instant> = OnceLock::new();
/// The number of monitors that look at the flag.
static MONITORS: AtomicUsize = AtomicUsize::new(0);
/// The unfinished files. Whoever ends the process keeps the lock, so that no file is added.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Stops a command that ends by itself after a signal.
type Stop = Box<dyn Fn() + Send>;

/// What stops the command, if it ends by itself.
static STOP: Mutex<Option<Stop>> = Mutex::new(None);

/// Begins to handle signals.
///
/// # Errors
/// The handlers cannot be installed.
pub fn handle() -> io::Result<()> {
    let mut handled = vec![SIGINT, SIGTERM];
    // `nohup` starts a command with hang-ups ignored, and they must stay ignored.
    if !is_ignored(SIGHUP) {
        handled.push(SIGHUP);
    }
    let mut signals = Signals::new(handled)?;
    let receive = move || signals.forever().for_each(received);
    std::thread::Builder::new().name("signals".into()).spawn(receive)?;
    Ok(())
}

/// Whether a signal was ignored when the process started, as far as the system tells.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// From now on the first signal calls `stop`, and the command ends by itself, however long that
/// takes. A second signal ends the process at once.
pub fn stop_by(stop: impl Fn() + Send + 'static) {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
}

fn received(signal: i32) {
    let first = RECEIVED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    let received_at = *RECEIVED_AT.get_or_init(Instant::now);
    if !first && received_at.elapsed() < ONE_SIGNAL {
        return;
    }
    if first && let Some(stop) = &*STOP.lock().unwrap_or_else(PoisonError::into_inner) {
        return stop();
    }
    if !first || MONITORS.load(Ordering::SeqCst) == 0 {
        end_interrupted();
    }
    let late = || {
        std::thread::sleep(PATIENCE);
        end_interrupted()
    };
    if std::thread::Builder::new().spawn(late).is_err() {
        end_interrupted();
    }
}

fn end_interrupted() -> ! {
    end(exit_code(), "interrupted")
}

/// Ends the process at once with a message, and deletes unfinished files.
pub fn end(code: u8, message: &str) -> ! {
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // Ignore an error: the file may just have been renamed to the output.
        let _ = std::fs::remove_file(path);
    }
    let mut stderr = io::stderr().lock();
    let line_end = if stderr.is_terminal() { "\n" } else { "" };
    // If standard error is closed, nobody reads this.
    let _ = writeln!(stderr, "{line_end}ftlab: {message}");
    guest::supervisor::note_end();
    std::process::exit(code.into())
}

/// Whether a signal asks the command to end.
pub fn is_interrupted() -> bool {
    RECEIVED.load(Ordering::Relaxed) != 0
}

/// The exit code of the command after a signal.
pub fn exit_code() -> u8 {
    128 + RECEIVED.load(Ordering::SeqCst) as u8
}

/// While one of these exists, the first signal only sets the flag, and the run checks the flag at
/// every report of progress.
pub struct Watch(());

impl Watch {
    /// Begins to watch.
    pub fn new() -> Watch {
        MONITORS.fetch_add(1, Ordering::SeqCst);
        Watch(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        MONITORS.fetch_sub(1, Ordering::SeqCst);
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a file that is deleted if a signal ends the process.
///
/// # Errors
/// Those of `create`.
pub fn created<F: AsRef<Path>>(create: impl FnOnce() -> io::Result<F>) -> io::Result<F> {
    let mut unfinished = unfinished();
    let created = create()?;
    unfinished.push(created.as_ref().to_owned());
    Ok(created)
}

/// Forgets a file that is complete or deleted.
pub fn finished(path: &Path) {
    unfinished().retain(|known| known != path);
}
