//! Requests: from their issue to their answer.

use crate::engine::Drive;
use crate::engine::state::durations::duration_ns;
use crate::engine::state::events::What;
use crate::engine::state::flash_operation::Dependent;
use crate::engine::state::pool::NONE;
use crate::journal::Entry;
use crate::operation::{Answer, HostRequest};
use crate::shares::Shares;

impl Drive {
    /// Sends a request through dispatcher, link and firmware.
    pub(super) fn pass_front(&mut self, id: u32, request: &HostRequest) {
        let mut own_ns = self.profile.dispatch_ns;
        let mut at_ns = self.dispatcher.take(self.now_ns, own_ns);
        let mut link_ns = 0;
        if request.op == trace::Op::Write {
            link_ns = duration_ns(request.bytes, self.profile.link);
            at_ns = self.link_in.take(at_ns, link_ns);
        }
        let trim_ns = if request.op == trace::Op::Trim { self.profile.trim_ns } else { 0 };
        let firmware_ns = self.profile.firmware_ns + trim_ns + request.memory_ns;
        own_ns += firmware_ns;
        at_ns += firmware_ns;
        let queue_ns = at_ns - self.now_ns - own_ns - link_ns;
        self.requests[id].at_entry =
            Shares { queue_ns, transfer_ns: link_ns, firmware_ns: own_ns, ..Shares::NONE };
        match at_ns == self.now_ns {
            true => self.enter(id),
            false => self.events.add(at_ns, What::Entered(id)),
        }
    }

    /// Lets the operations of a request begin, except those that wait for the buffer.
    #[inline(always)]
    pub(super) fn enter(&mut self, id: u32) {
        let active = &mut self.requests[id];
        active.entered_ns = self.now_ns;
        active.shares = active.at_entry;
        let (pages, first) = (active.pages, active.first);
        if active.request.op == trace::Op::Flush && self.awaits_programs(id) {
            self.await_buffered(id);
        }
        self.release(first);
        match pages {
            0 => self.no_longer_awaits(id),
            _ => {
                self.buffer.enter(id);
                self.admit();
            }
        }
    }

    /// Whether a request is answered only after programs of buffered pages: a flush or a forced
    /// write, if the buffer loses its pages with the power.
    fn awaits_programs(&self, id: u32) -> bool {
        let HostRequest { op, force, .. } = self.requests[id].request;
        let is_durable = op == trace::Op::Flush || (op == trace::Op::Write && force);
        is_durable && !self.profile.protected
    }

    /// A flush of a volatile buffer waits for all programs that are still to come.
    fn await_buffered(&mut self, id: u32) {
        self.close_rows();
        for nth in 0..self.buffered.len() {
            let program = self.buffered[nth];
            if self.operations[program].request != id {
                self.depend(program, Dependent::Request(id));
                self.requests[id].awaited += 1;
            }
        }
    }

    /// Lets requests into the buffer that find room.
    pub(super) fn admit(&mut self) {
        while let Some(id) = self.buffer.admit() {
            self.note_buffer();
            let active = &mut self.requests[id];
            active.buffer_ns = self.now_ns - active.entered_ns;
            active.shares.buffer_ns += active.buffer_ns;
            let first = active.first_buffered;
            self.enter_buffer(first);
            self.release(first);
            if self.awaits_programs(id) {
                self.close_rows();
            }
            self.no_longer_awaits(id);
        }
        if self.buffer.is_stuck() {
            self.close_rows();
        }
    }

    pub(super) fn note_buffer(&mut self) {
        let (at_ns, pages) = (self.now_ns, self.buffer.pages());
        self.journal.add(|| Entry::Buffer { at_ns, pages });
    }

    /// The pages of a request have their places in the buffer.
    fn enter_buffer(&mut self, first: u32) {
        let mut own = first;
        while own != NONE {
            let operation = &mut self.operations[own];
            operation.buffer_entry = self.buffered.len() as u32;
            self.buffered.push(own);
            self.buffer.in_open_rows += u64::from(operation.is_in_open_row);
            own = operation.next_of_request;
        }
    }

    /// The page of a program leaves its place in the buffer; the last page takes the place.
    pub(super) fn leave_buffer(&mut self, entry: u32) {
        self.buffered.swap_remove(entry as usize);
        if let Some(&moved) = self.buffered.get(entry as usize) {
            self.operations[moved].buffer_entry = entry;
        }
        self.buffer.leave();
        self.note_buffer();
        self.admit();
    }

    /// Lets operations of a request begin as far as the request is concerned.
    #[inline(always)]
    fn release(&mut self, first: u32) {
        let mut own = first;
        while own != NONE {
            let operation = &mut self.operations[own];
            let next = operation.next_of_request;
            operation.waits_for -= 1;
            if operation.waits_for == 0 {
                self.ready(own);
            }
            own = next;
        }
    }

    /// Something that a request's answer waits for has ended.
    pub(super) fn request_awaited(&mut self, id: u32, shares: Shares) {
        self.requests[id].shares = self.since_issue(id, shares);
        self.no_longer_awaits(id);
    }

    fn no_longer_awaits(&mut self, id: u32) {
        let active = &mut self.requests[id];
        active.awaited -= 1;
        if active.awaited == 0 {
            self.answer(id);
        }
    }

    /// Sends the answer of a request over the link.
    #[inline(always)]
    pub(super) fn answer(&mut self, id: u32) {
        let HostRequest { op, bytes, .. } = self.requests[id].request;
        let link_ns = match op {
            trace::Op::Read => duration_ns(bytes, self.profile.link),
            _ => 0,
        };
        if link_ns == 0 {
            return self.answered(id);
        }
        let end_ns = self.link_out.take(self.now_ns, link_ns);
        let shares = &mut self.requests[id].shares;
        shares.transfer_ns += link_ns;
        shares.queue_ns += end_ns - self.now_ns - link_ns;
        self.events.add(end_ns, What::Answered(id));
    }

    #[inline(always)]
    pub(super) fn answered(&mut self, id: u32) {
        let active = &mut self.requests[id];
        active.is_answered = true;
        let (number, unfinished, is_over) = (active.number, active.entries, active.unfinished == 0);
        let answer = Answer {
            request: active.request,
            issued_ns: active.issued_ns,
            answered_ns: self.now_ns,
            shares: active.shares,
        };
        assert!(
            answer.shares.total_ns() == answer.response_ns(),
            "the parts of a response to request {number} are not the response"
        );
        self.usage.request_left(&answer);
        self.journal.add(|| Entry::Request { number, answer, unfinished });
        self.answers.push(answer);
        if is_over {
            self.requests.remove(id);
        }
    }

    /// Where the time of a request went that ends now. An operation of another request may have
    /// begun earlier than this request; then all of its time was spent in the queue.
    pub(super) fn since_issue(&self, id: u32, shares: Shares) -> Shares {
        let whole_ns = self.now_ns - self.requests[id].issued_ns;
        match shares.total_ns() == whole_ns {
            true => shares,
            false => Shares { queue_ns: whole_ns, ..Shares::NONE },
        }
    }
}
