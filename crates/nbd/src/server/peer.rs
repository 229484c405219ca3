//! A connection: its socket, its session, and what it holds.

use std::io::{self, Read, Write};
use std::time::Instant;

use crate::server::stream::Stream;
use crate::session::buffer::SMALL;
use crate::session::{Encryption, Session};

/// Bytes of answers that need no memory from the budget: those that wait to be sent, as many that
/// were sent just before, and a small one that is added.
const ANSWERS: usize = 3 * SMALL;

/// A connection.
pub struct Peer {
    /// Its socket.
    pub stream: Stream,
    /// What was said on it.
    pub session: Session,
    /// Whether the socket may have bytes.
    pub is_readable: bool,
    /// Whether the client sends nothing more. The system tells so only once.
    pub is_closed: bool,
    /// Whether the socket may take bytes.
    pub is_writable: bool,
    /// Memory from the budget.
    pub reserved: usize,
    /// Bytes of the answers that come later.
    pub promised: usize,
    /// Whether it is in the queue for a turn.
    pub is_queued: bool,
    /// Since when a request has been incomplete.
    pub incomplete_since: Option<Instant>,
    /// Requests whose answers come later.
    pub unanswered: usize,
    /// Whether the last step was not taken because much was unsent.
    pub was_full: bool,
    /// Whether the connection ends when the output is sent.
    pub is_ending: bool,
    /// When it was accepted.
    pub accepted: Instant,
    /// When bytes last came or went.
    pub moved: Instant,
    /// Whether the session can go on only with further bytes.
    pub awaits_bytes: bool,
    /// Bytes that the session needs in its input.
    pub needs: usize,
}

/// What came of reading from a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Bytes.
    Bytes,
    /// Nothing yet.
    Nothing,
    /// The client has hung up.
    End,
}

impl Peer {
    /// A connection that was just accepted.
    pub fn new(stream: Stream, encryption: Encryption) -> Peer {
        let now = Instant::now();
        Peer {
            stream,
            session: Session::new(encryption),
            is_readable: true,
            is_closed: false,
            is_writable: true,
            reserved: 0,
            promised: 0,
            is_queued: false,
            incomplete_since: None,
            unanswered: 0,
            was_full: false,
            is_ending: false,
            accepted: now,
            moved: now,
            awaits_bytes: false,
            needs: 0,
        }
    }

    /// Reads what has come.
    pub fn receive(&mut self) -> Came {
        if !self.is_readable {
            return Came::Nothing;
        }
        let room = self.session.input.room(self.needs);
        let bytes = room.len();
        loop {
            match self.stream.read(room) {
                Ok(0) => return Came::End,
                Ok(came) => {
                    let is_empty = came < bytes && self.stream.is_emptied_by_short_reads();
                    self.is_readable = !is_empty || self.is_closed;
                    self.session.input.came(came);
                    self.moved = Instant::now();
                    return Came::Bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_readable = false;
                    return Came::Nothing;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Came::End,
            }
        }
    }

    /// Sends what the socket takes. Returns whether the connection still stands.
    pub fn send(&mut self) -> bool {
        while self.is_writable && !self.session.output.unsent().is_empty() {
            match self.stream.write(self.session.output.unsent()) {
                Ok(0) => return false,
                Ok(bytes) => {
                    self.session.output.sent(bytes);
                    self.moved = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_writable = false;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.stream.flush().is_ok()
    }

    /// Whether everything was sent.
    pub fn has_sent_all(&self) -> bool {
        self.unsent_bytes() == 0 && !self.stream.has_unsent()
    }

    /// Bytes that wait to be sent.
    pub fn unsent_bytes(&self) -> usize {
        self.session.output.unsent().len()
    }

    /// Memory beyond the small buffers that the connection holds now.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes_with(0, 0)
    }

    /// The same if it also held an input and an answer of these sizes.
    pub fn held_bytes_with(&self, input: usize, answer: usize) -> usize {
        let answers = self.session.output.bytes.len() + self.promised + answer;
        self.session.input.extra_bytes(input) + answers.saturating_sub(ANSWERS)
    }

    /// Notes whether a request has begun to come, but is not complete.
    pub fn note_incomplete(&mut self, now: Instant) {
        match self.awaits_bytes && self.session.is_within_a_unit() {
            true => drop(self.incomplete_since.get_or_insert(now)),
            false => self.incomplete_since = None,
        }
    }
}
