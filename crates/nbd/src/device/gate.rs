//! Answers that are ready, but leave later: when the drive profile says, after a delay, or when the
//! device is no longer frozen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use nand::Nand;

use crate::device::client::Ready;
use crate::device::pacing::{DriveAnswer, Pacing, Performed, Ticket};

/// Bytes of answers that may wait here.
const BYTES_MAX: usize = 64 << 20;

/// The way of all answers of a device.
#[derive(Default)]
pub struct Gate {
    pace: Option<Pacing>,
    slow: Duration,
    is_frozen: bool,
    held: BinaryHeap<Reverse<Held>>,
    /// Bytes of all answers that have not left.
    bytes: usize,
    /// The number of answers so far. Of those due at one time the earliest leaves first.
    answers: u64,
}

struct Held {
    due: Instant,
    number: u64,
    ready: Ready,
    /// What the drive says, if it was asked.
    given: Option<DriveAnswer>,
}

impl Gate {
    /// A gate with a pace.
    pub fn new(pace: Option<Pacing>) -> Gate {
        Gate { pace, ..Gate::default() }
    }

    /// Whether answers leave at once.
    pub fn is_open(&self) -> bool {
        self.pace.is_none() && self.slow.is_zero() && !self.is_frozen && self.held.is_empty()
    }

    /// The pace, if there is one.
    pub fn pace(&self) -> Option<&Pacing> {
        self.pace.as_ref()
    }

    /// From now on every answer leaves this much later.
    pub fn set_slow(&mut self, slow: Duration) {
        self.slow = slow;
    }

    /// Whether nothing is answered and no request is begun.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    /// Freezes the device, or ends that.
    pub fn set_frozen(&mut self, is_frozen: bool) {
        self.is_frozen = is_frozen;
    }

    /// Tells the drive of a request that was performed. The answer must show the ticket.
    pub fn issue(&mut self, nand: Option<&mut Nand>, performed: Performed) -> Option<Ticket> {
        Some(self.pace.as_mut()?.issue(nand, performed))
    }

    /// Forgets operations that belong to no request, such as those of a mount.
    pub fn forget_operations(&mut self, nand: Option<&mut Nand>) {
        if let (Some(pace), Some(nand)) = (&mut self.pace, nand) {
            pace.attach(nand);
        }
    }

    /// Whether nothing waits here.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether so much waits here that no further request is to be performed.
    pub fn is_full(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// Takes an answer that is ready.
    pub fn hold(&mut self, ticket: Option<Ticket>, ready: Ready, now: Instant) {
        self.bytes += ready.reply.bytes().len();
        match (&mut self.pace, ticket) {
            (Some(pace), Some(ticket)) => {
                if let Some((given, ready)) = pace.ready(ticket, ready) {
                    self.hold_until(given.due, ready, Some(given));
                }
            }
            _ => self.hold_until(now, ready, None),
        }
    }

    fn hold_until(&mut self, due: Instant, ready: Ready, given: Option<DriveAnswer>) {
        self.answers += 1;
        let (due, number) = (due + self.slow, self.answers);
        self.held.push(Reverse(Held { due, number, ready, given }));
    }

    /// The answers that leave now.
    pub fn open(&mut self, now: Instant, out: &mut Vec<Ready>) {
        if let Some(pace) = &mut self.pace {
            for (given, ready) in pace.answers(now) {
                self.hold_until(given.due, ready, Some(given));
            }
        }
        if self.is_frozen {
            return;
        }
        while self.held.peek().is_some_and(|Reverse(held)| held.due <= now) {
            let Some(Reverse(held)) = self.held.pop() else { return };
            if let (Some(pace), Some(given)) = (&mut self.pace, held.given) {
                pace.left(given.response, now - held.due);
            }
            self.bytes -= held.ready.reply.bytes().len();
            out.push(held.ready);
        }
    }

    /// When the gate must be opened next.
    pub fn next(&self) -> Option<Instant> {
        let held = self.held.peek().filter(|_| !self.is_frozen).map(|Reverse(held)| held.due);
        let pace = self.pace.as_ref().and_then(Pacing::next);
        held.into_iter().chain(pace).min()
    }

    /// Drops all answers: the power failed.
    pub fn forget(&mut self) {
        self.held.clear();
        self.bytes = 0;
        if let Some(pace) = &mut self.pace {
            pace.forget_answers();
        }
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.number == other.number
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::buffer::Buffer;

    fn answer(session: u64, bytes: usize) -> Ready {
        let mut reply = Buffer::default();
        reply.put(&vec![0; bytes]);
        Ready { session, reply, promised: 0 }
    }

    #[test]
    fn answers_leave_in_their_order_and_the_gate_is_full_while_they_wait() {
        let (mut gate, now) = (Gate::default(), Instant::now());
        gate.set_frozen(true);
        (0..20).for_each(|session| gate.hold(None, answer(session, 1), now));
        gate.hold(None, answer(20, BYTES_MAX - 20), now);
        assert!(!gate.is_full() && !gate.is_empty());
        gate.hold(None, answer(21, 1), now);
        assert!(gate.is_full());
        let mut left = Vec::new();
        gate.open(now, &mut left);
        assert!(left.is_empty());
        gate.set_frozen(false);
        gate.open(now, &mut left);
        assert!(left.iter().map(|ready| ready.session).eq(0..22));
        assert!(gate.is_empty() && !gate.is_full());
    }
}
