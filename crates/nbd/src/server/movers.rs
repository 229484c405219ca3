//! Threads that move large payloads, so that the loop goes on meanwhile.
//!
//! ```text
//! loop ── a buffer to be filled, or to be sent ──▶ mover ─┐ bytes of one socket
//!   ▲                                                     │
//!   └── the buffer, as far as it got ── waker ◀───────────┘
//! ```
//! A mover has one buffer at a time. It waits for its client only for a moment: what takes longer
//! is done by the loop, which waits for all clients at once. If no mover is free, the loop moves
//! the payload itself.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mio::Waker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::server::stream::Socket;
use crate::server::syncer::EndsProcess;
use crate::session::has_whole_request;
use crate::wire::buffer::Buffer;

/// Bytes from which on a payload is worth another thread.
pub const LARGE: usize = 256 << 10;
/// How long a mover waits for its client to take or to send something.
const PATIENCE: Duration = Duration::from_millis(1);
/// How long a mover works for one client that takes or sends little at a time.
const LONGEST: Duration = Duration::from_millis(50);

/// A buffer on its way to or from a client.
pub enum Moving {
    /// It is filled until a request is whole in it.
    In(Buffer),
    /// It is sent.
    Out(Buffer),
}

/// A buffer that comes back.
pub struct Moved {
    /// The number of the connection.
    pub id: u64,
    /// The buffer.
    pub buffer: Moving,
    /// Bytes that came or went.
    pub bytes: usize,
}

struct Job {
    id: u64,
    socket: Arc<Socket>,
    buffer: Moving,
}

/// The threads.
pub struct Movers {
    jobs: Vec<Sender<Job>>,
    /// Threads without a job.
    free: Vec<usize>,
    done: Receiver<(usize, Moved)>,
}

impl Movers {
    /// Starts threads, one less than the processors and at most four. They wake the server when a
    /// buffer comes back.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(waker: &Arc<Waker>) -> io::Result<Movers> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let (moved, done) = channel();
        let mut jobs = Vec::new();
        for number in 0..processors.saturating_sub(1).min(4) {
            let (job, to_do) = channel::<Job>();
            let (moved, waker) = (moved.clone(), Arc::clone(waker));
            let work = move || {
                let _guard = EndsProcess;
                for job in to_do {
                    // If nobody listens any more, the process is about to end.
                    if moved.send((number, job.perform())).is_err() || waker.wake().is_err() {
                        return;
                    }
                }
            };
            std::thread::Builder::new().name(format!("mover {number}")).spawn(work)?;
            jobs.push(job);
        }
        Ok(Movers { free: (0..jobs.len()).collect(), jobs, done })
    }

    /// Whether a buffer can be given to a thread now.
    pub fn are_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Gives a buffer to a thread that is free.
    ///
    /// # Panics
    /// None [is free](Self::are_free).
    pub fn begin(&mut self, id: u64, socket: Arc<Socket>, buffer: Moving) {
        let number = self.free.pop().expect("a thread is free");
        let job = Job { id, socket, buffer };
        self.jobs[number].send(job).expect("the threads end only with the process");
    }

    /// A buffer that came back.
    pub fn ended(&mut self) -> Option<Moved> {
        let (number, moved) = self.done.try_recv().ok()?;
        self.free.push(number);
        Some(moved)
    }
}

impl Job {
    /// Moves what can be moved. Whether the connection has ended is for the loop to find out.
    fn perform(mut self) -> Moved {
        let (until, mut bytes) = (Instant::now() + LONGEST, 0);
        while !self.is_done() {
            match self.step() {
                Ok(0) => break,
                Ok(moved) => bytes += moved,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > until || !self.may_go_on() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        Moved { id: self.id, buffer: self.buffer, bytes }
    }

    fn is_done(&mut self) -> bool {
        match &mut self.buffer {
            Moving::In(input) => {
                has_whole_request(input.bytes()) || input.rest_of_room().is_empty()
            }
            Moving::Out(output) => output.bytes().is_empty(),
        }
    }

    fn step(&mut self) -> io::Result<usize> {
        let mut socket = &*self.socket;
        match &mut self.buffer {
            Moving::In(input) => {
                let bytes = socket.read(input.rest_of_room())?;
                input.came(bytes);
                Ok(bytes)
            }
            Moving::Out(output) => {
                let bytes = socket.write(output.bytes())?;
                output.take(bytes);
                Ok(bytes)
            }
        }
    }

    /// Waits a moment until the socket has or takes bytes.
    fn may_go_on(&self) -> bool {
        let events = match self.buffer {
            Moving::In(_) => PollFlags::IN,
            Moving::Out(_) => PollFlags::OUT,
        };
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.subsec_nanos().into() };
        let mut sockets = [PollFd::new(&*self.socket, events)];
        poll(&mut sockets, Some(&patience)).is_ok_and(|ready| ready > 0)
    }
}
