//! Lets the program run again in a process of its own, because guests run in it: what kills that
//! process ends with a sentence here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::stdio::dup2_stdout;

use crate::board::{Board, Call};
use crate::system::end_with_parent;

/// Where a process finds the board on which it writes.
const BOARD: &str = "FTLAB_GUEST_BOARD";
/// Seconds after which a call of a guest is taken for a hang.
const PATIENCE: &str = "FTLAB_GUEST_PATIENCE";
/// The same if the environment says nothing.
const PATIENCE_SECONDS: u64 = 60;
/// The same in a check, whose devices are tiny.
const PATIENCE_SECONDS_OF_CHECK: u64 = 10;
/// The time between two looks at the board.
const LOOK: Duration = Duration::from_millis(100);

/// The time after which a call of a guest is taken for a hang.
pub fn patience() -> Duration {
    patience_or(PATIENCE_SECONDS)
}

/// The same in a check.
pub fn patience_of_check() -> Duration {
    patience_or(PATIENCE_SECONDS_OF_CHECK)
}

fn patience_or(seconds: u64) -> Duration {
    let chosen = env::var(PATIENCE).ok().and_then(|text| text.parse().ok());
    Duration::from_secs(chosen.unwrap_or(seconds))
}

/// Whether another process watches this one. If so, it ends with that one.
///
/// # Errors
/// The board that it is told about does not exist.
pub fn is_watched() -> io::Result<bool> {
    if Board::of_process().is_some() {
        return Ok(true);
    }
    let Some(number) = env::var(BOARD).ok().and_then(|text| text.parse().ok()) else {
        return Ok(false);
    };
    Board::take(number)?;
    end_with_parent()?;
    Ok(true)
}

/// Whether a debugger holds this process. It would not follow a guest into another one, and a guest
/// that stands at a breakpoint does not hang.
pub fn is_debugged() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|pid| pid.trim() != "0")
}

/// From now on, what this process prints to standard output goes to standard error. Standard output
/// belongs to the command, and guests may print all the same.
///
/// # Errors
/// The kernel refuses.
pub fn print_to_stderr() -> io::Result<()> {
    Ok(dup2_stdout(io::stderr())?)
}

/// Notes that this process comes to its end by itself, if another one watches it.
pub fn note_end() {
    if let Some(board) = Board::of_process() {
        board.set_done();
    }
}

/// How a process ended before it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// The process crashed or ended, with a sentence.
    Crashed(String),
    /// A call did not return in time, with a sentence.
    Hung(String),
}

/// How a watched process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Done(u8),
    /// Because of a guest; with the note of what the process was about to do.
    OfGuest(Death, String),
}

/// A watched process.
pub struct Watched {
    child: Child,
    board: Board,
}

impl Watched {
    /// Starts a program in a process of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: OsString, arguments: &[OsString]) -> io::Result<Watched> {
        let board = Board::new()?;
        let child = Command::new(program)
            .args(arguments)
            .env(BOARD, board.number().to_string())
            .process_group(0)
            .spawn()?;
        Ok(Watched { child, board })
    }

    /// The number of the process, to which signals can be passed.
    pub fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Waits for the end. A call that takes longer than the patience ends the process.
    ///
    /// # Errors
    /// The process cannot be waited for.
    pub fn wait(mut self, patience: Duration) -> io::Result<End> {
        let mut last = (self.board.state(), Instant::now());
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(self.end_of(status));
            }
            let state = self.board.state();
            if state != last.0 || state.1 == Call::None {
                last = (state, Instant::now());
            }
            if last.1.elapsed() > patience {
                // It may have ended meanwhile.
                let _ = self.child.kill();
                self.child.wait()?;
                let seconds = patience.as_secs();
                let place = self.board.place();
                let sentence = format!("hangs {place}: it has not returned for {seconds} s");
                return Ok(End::OfGuest(Death::Hung(sentence), self.board.note()));
            }
            thread::sleep(LOOK.min(patience / 4));
        }
    }

    fn end_of(&self, status: ExitStatus) -> End {
        let place = self.board.place();
        let sentence = match (status.code(), status.signal()) {
            (Some(code), _) if self.board.is_done() => return End::Done(code as u8),
            (Some(code), _) => format!("ended its process with exit code {code} {place}"),
            (None, Some(signal)) => format!("crashed {place}: {}", signal_name(signal)),
            (None, None) => format!("ended its process {place}"),
        };
        End::OfGuest(Death::Crashed(sentence), self.board.note())
    }
}

/// Asks a watched process to end.
pub fn interrupt(pid: Pid) {
    // It may have ended.
    let _ = kill_process(pid, Signal::INT);
}

/// A signal as people know it.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "illegal instruction (SIGILL)",
        6 => "abort (SIGABRT)",
        7 => "bus error (SIGBUS)",
        8 => "arithmetic error (SIGFPE)",
        9 => "killed (SIGKILL)",
        11 => "segmentation fault (SIGSEGV)",
        31 => "bad system call (SIGSYS)",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
