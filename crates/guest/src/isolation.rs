//! Work in a process of its own, which has a copy of the memory of this one. What a guest does
//! there ends with that process: crashes, hangs, exits, and memory that it leaves.
//!
//! ```text
//! begin ──▶ fork ─┬─ this process goes on
//!                 └─ the work ─▶ bytes of its result ─▶ pipe ─▶ Isolated::end
//! ```

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::board::{Board, Call};
use crate::library::prepare_copies;
use crate::supervisor::{Death, signal_name};
use crate::system::end_with_parent;

/// The longest time between two looks at the board.
const LOOK: Duration = Duration::from_millis(50);

/// Work that was begun.
pub struct Isolated {
    child: Pid,
    result: PipeReader,
    board: Board,
    /// How the process ended, if that is known.
    status: Option<ExitStatus>,
}

impl Isolated {
    /// Begins work in a process of its own. Only the calling thread exists there.
    ///
    /// # Errors
    /// There can be no further process.
    pub fn begin(work: impl FnOnce() -> Vec<u8>) -> io::Result<Isolated> {
        Isolated::begin_writing(|out| {
            // If nobody reads the result, nobody needs it.
            let _ = out.write_all(&work());
        })
    }

    /// The same for work that writes its result bit by bit.
    ///
    /// # Errors
    /// There can be no further process.
    pub fn begin_writing(work: impl FnOnce(&mut dyn Write)) -> io::Result<Isolated> {
        prepare_copies();
        let board = Board::new()?;
        let of_child = board.try_clone()?;
        let (result, mut out) = io::pipe()?;
        // SAFETY: the child uses memory that this thread owns, and locks that nobody else holds.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // A guest that hangs must not outlive whoever waits for it.
                let _ = end_with_parent();
                of_child.become_own();
                work(&mut out);
                Board::of_process().into_iter().for_each(Board::set_done);
                drop(out);
                // SAFETY: nothing of this process is cleaned up, because it is a copy.
                unsafe { libc::_exit(0) }
            }
            child => {
                let child = Pid::from_raw(child).expect("a child has a positive number");
                Ok(Isolated { child, result, board, status: None })
            }
        }
    }

    /// Waits for the result, or the death of the process, and returns with it the last note on its
    /// board. A call of a guest that takes longer than `patience` ends the work.
    pub fn end(mut self, patience: Duration) -> (Result<Vec<u8>, Death>, String) {
        let mut bytes = Vec::new();
        let ended = self.wait(patience, &mut bytes);
        (ended.map(|()| bytes), self.board.note())
    }

    /// Waits in the same way. Returns what was written before the end, whatever the end was.
    pub fn written(mut self, patience: Duration) -> Vec<u8> {
        let mut bytes = Vec::new();
        // How it ended is known already to whoever asks only for this.
        let _ = self.wait(patience, &mut bytes);
        bytes
    }

    fn wait(&mut self, patience: Duration, bytes: &mut Vec<u8>) -> Result<(), Death> {
        let mut last = (self.board.state(), Instant::now());
        loop {
            let has_ended = self.has_ended();
            match self.read_some(bytes) {
                Ok(Progress::End) => break,
                Ok(Progress::More) => continue,
                // A process that was begun at the same time may hold the pipe open.
                Ok(Progress::Nothing) if has_ended => break,
                Ok(Progress::Nothing) => {}
                Err(error) => {
                    self.kill();
                    return Err(Death::Crashed(format!("cannot be read: {error}")));
                }
            }
            let state = self.board.state();
            if state != last.0 || state.1 == Call::None {
                last = (state, Instant::now());
            }
            if last.1.elapsed() > patience {
                self.kill();
                let (place, seconds) = (self.board.place(), patience.as_secs_f64());
                let sentence = format!("hangs {place}: it has not returned for {seconds} s");
                return Err(Death::Hung(sentence));
            }
        }
        self.reaped()
    }

    fn read_some(&mut self, bytes: &mut Vec<u8>) -> io::Result<Progress> {
        let mut ready = [PollFd::from_borrowed_fd(self.result.as_fd(), PollFlags::IN)];
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        if poll(&mut ready, Some(&look))? == 0 {
            return Ok(Progress::Nothing);
        }
        let mut buffer = [0; 4096];
        match self.result.read(&mut buffer)? {
            0 => Ok(Progress::End),
            read => {
                bytes.extend_from_slice(&buffer[..read]);
                Ok(Progress::More)
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.reap(WaitOptions::NOHANG);
        }
        self.status.is_some()
    }

    fn reap(&mut self, how: WaitOptions) {
        let ended = waitpid(Some(self.child), how).ok().flatten();
        self.status = ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
    }

    /// The result of a process that has ended, or whose pipe is closed. A guest may have closed it.
    fn reaped(&mut self) -> Result<(), Death> {
        if self.status.is_none() {
            if !self.board.is_done() && self.board.state().1 != Call::None {
                // A guest that closed its files may go on for ever.
                self.kill_if_alive();
            }
            self.reap(WaitOptions::empty());
        }
        let place = self.board.place();
        match self.status.map(|status| (status.code(), status.signal())) {
            Some((Some(0), _)) if self.board.is_done() => Ok(()),
            Some((Some(code), _)) => {
                Err(Death::Crashed(format!("ended its process with exit code {code} {place}")))
            }
            Some((None, Some(signal))) => {
                Err(Death::Crashed(format!("crashed {place}: {}", signal_name(signal))))
            }
            _ => Err(Death::Crashed(format!("ended its process {place}"))),
        }
    }

    fn kill_if_alive(&self) {
        std::thread::sleep(LOOK);
        // It may have ended.
        let _ = kill_process(self.child, Signal::KILL);
    }

    fn kill(&self) {
        if self.status.is_some() {
            return;
        }
        // It may have ended.
        let _ = kill_process(self.child, Signal::KILL);
        let _ = waitpid(Some(self.child), WaitOptions::empty());
    }
}

enum Progress {
    End,
    More,
    Nothing,
}
