//! A connection: its socket, its session, and what it holds.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use crate::server::movers::{LARGE, Moved, Movers, Moving};
use crate::server::stream::{Socket, Stream};
use crate::session::{Encryption, Session};
use crate::wire::buffer::{Buffer, SMALL};

/// Memory for answers that is not taken from the budget: for those that wait to be sent, for a
/// small one that is added, and for what the buffer grows by beyond them.
const ANSWERS: usize = 3 * SMALL;
/// Bytes of memory that each buffer of a connection at work keeps for its next requests.
pub const KEPT: usize = 2 << 20;

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
    /// Answers that are older than those of the session, and are sent first.
    older: Buffer,
    /// Memory of the input while a mover fills it.
    pub filling: Option<usize>,
    /// Memory of answers while a mover sends them.
    sending: Option<usize>,
    /// Whether a mover moved nothing for it, and nothing was moved since. The loop finds out why.
    is_stalled: bool,
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
            older: Buffer::default(),
            filling: None,
            sending: None,
            is_stalled: false,
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
                    self.is_stalled = false;
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
        if self.sending.is_some() {
            return true;
        }
        for output in [&mut self.older, &mut self.session.output] {
            while self.is_writable && !output.bytes().is_empty() {
                match self.stream.write(output.bytes()) {
                    Ok(0) => return false,
                    Ok(bytes) => {
                        output.take(bytes);
                        self.is_stalled = false;
                        self.moved = Instant::now();
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.is_writable = false;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
        }
        self.stream.flush().is_ok()
    }

    /// Its socket, if a mover is free and can use it.
    pub fn socket_for(&self, movers: &Movers) -> Option<Arc<Socket>> {
        let is_possible = movers.are_free() && !self.is_stalled;
        self.stream.plain().filter(|_| is_possible).cloned()
    }

    /// Lets a mover fill the input, if one is free. Returns whether it does.
    pub fn lend_input(&mut self, id: u64, movers: &mut Movers) -> bool {
        let Some(socket) = self.socket_for(movers) else { return false };
        self.session.input.room(self.needs);
        self.filling = Some(self.session.input.extra_bytes(0));
        movers.begin(id, socket, Moving::In(std::mem::take(&mut self.session.input)));
        true
    }

    /// Lets a mover send the answers if they are large and one is free. Returns whether it does.
    pub fn lend_output(&mut self, id: u64, movers: &mut Movers) -> bool {
        let is_due = self.unsent_bytes() >= LARGE && self.sending.is_none();
        if !is_due {
            return false;
        }
        let Some(socket) = self.socket_for(movers) else { return false };
        if self.older.bytes().is_empty() {
            std::mem::swap(&mut self.older, &mut self.session.output);
        }
        self.sending = Some(self.older.memory_with(0));
        movers.begin(id, socket, Moving::Out(std::mem::take(&mut self.older)));
        true
    }

    /// Takes a buffer back from a mover.
    pub fn take_back(&mut self, moved: Moved) {
        // What the socket said meanwhile may have gone unheard.
        match moved.buffer {
            Moving::In(input) => {
                (self.session.input, self.filling, self.is_readable) = (input, None, true);
            }
            Moving::Out(output) => {
                (self.older, self.sending, self.is_writable) = (output, None, true);
            }
        }
        match moved.bytes {
            0 => self.is_stalled = true,
            _ => self.moved = Instant::now(),
        }
    }

    /// Whether everything was sent.
    pub fn has_sent_all(&self) -> bool {
        self.unsent_bytes() == 0 && self.sending.is_none() && !self.stream.has_unsent()
    }

    /// Bytes that wait to be sent, apart from those that a mover sends.
    pub fn unsent_bytes(&self) -> usize {
        self.older.bytes().len() + self.session.output.bytes().len()
    }

    /// Memory beyond the small buffers that the connection holds now.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes_with(0, 0)
    }

    /// The same if it also held an input and an answer of these sizes.
    pub fn held_bytes_with(&self, input: usize, answer: usize) -> usize {
        let answers = self.session.output.memory_with(self.promised + answer)
            + self.sending.unwrap_or(self.older.memory_with(0));
        let inputs = self.session.input.extra_bytes(input) + self.session.aside.extra_bytes(0);
        inputs + self.filling.unwrap_or(0) + answers.saturating_sub(ANSWERS)
    }

    /// Gives back the memory of empty buffers that have more than `kept` bytes of it.
    pub fn shrink(&mut self, kept: usize) {
        self.session.shrink(kept);
        self.older.shrink(kept);
    }

    /// Notes whether a request has begun to come, but is not complete.
    pub fn note_incomplete(&mut self, now: Instant) {
        match self.awaits_bytes && self.session.is_within_a_unit() {
            true => drop(self.incomplete_since.get_or_insert(now)),
            // A mover may be busy with the rest.
            false if self.filling.is_some() => {}
            false => self.incomplete_since = None,
        }
    }
}
