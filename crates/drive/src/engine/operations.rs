//! Operations: what they wait for, and their end.

use crate::engine::Drive;
use crate::engine::state::flash_operation::{Copy, Departure, Dependent, FlashOperation};
use crate::engine::state::pool::NONE;
use crate::journal::{EndedOperation, Entry};
use crate::shares::Shares;

impl Drive {
    /// Makes something wait for the end of an operation.
    pub(super) fn depend(&mut self, earlier: u32, later: Dependent) {
        let list = &mut self.operations[earlier].dependents;
        *list = self.dependents.insert((later, *list));
    }

    /// One thing less that an operation waits for. `shares` tell where the time went until now.
    pub(super) fn no_longer_waits(&mut self, own: u32, shares: Shares) {
        let operation = &mut self.operations[own];
        operation.waits_for -= 1;
        if operation.waits_for == 0 {
            let request = operation.request;
            let path = self.paths.insert(self.since_issue(request, shares));
            self.operations[own].path = path;
            self.ready(own);
        }
    }

    /// An operation waits for nothing but its die.
    #[inline(always)]
    pub(super) fn ready(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        operation.ready_ns = self.now_ns;
        operation.started_ns = self.now_ns;
        if operation.is_in_buffer {
            self.usage.read_from_buffer += 1;
            return self.ended(own);
        }
        let (number, lane) = (operation.at.die, operation.lane);
        let die = &mut self.dies[usize::from(number)];
        operation.collecting_ns = die.collecting_ns(self.now_ns);
        if operation.is_in_open_row {
            self.no_longer_missing(lane);
        } else if operation.held_by == 0 {
            die.wait(own, operation.is_read());
            self.start(number);
        }
    }

    /// One thing less that keeps an operation from its die. The caller starts the die.
    #[inline(always)]
    pub(super) fn no_longer_held(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        operation.held_by -= 1;
        if operation.may_begin() {
            self.dies[operation.at.die as usize].wait(own, operation.is_read());
        }
    }

    /// An operation has ended.
    pub(super) fn ended(&mut self, own: u32) {
        let operation = &self.operations[own];
        let FlashOperation { copy, lane, path, buffer_entry, dependents, .. } = *operation;
        let FlashOperation { request: id, is_awaited, is_buffered, .. } = *operation;
        // What ends before the last thing that a request waits for leaves no trace in its parts.
        let is_last = is_awaited && self.requests[id].awaited == 1;
        let shares = match is_last || copy != Copy::None || dependents != NONE {
            true => self.shares_until_ready(operation) + self.own_shares(operation),
            false => Shares::default(),
        };
        self.usage.ended[operation.op as usize] += u64::from(operation.counts);
        if self.journal.is_kept() {
            let number = self.requests[id].number;
            let entry = note(operation, number, self.now_ns);
            self.journal.add(|| entry);
        }
        if !operation.is_in_buffer {
            if !operation.is_read() {
                self.lanes[lane].write_ends(own, operation);
            }
            self.lanes.leave(lane);
        }
        self.operations.remove(own);
        if path != NONE {
            self.paths.remove(path);
        }
        match copy {
            Copy::None => {}
            Copy::Source { target } => self.source_was_read(target, shares),
            Copy::Target { departure, .. } => self.copy_ended(departure, shares),
        }
        if is_buffered {
            self.buffered.remove(buffer_entry);
            self.buffer.leave();
            self.note_buffer();
            self.admit();
        }
        if dependents != NONE {
            self.release_dependents(dependents, shares);
        }
        let active = &mut self.requests[id];
        active.unfinished -= 1;
        match (is_awaited, active.awaited) {
            (true, 1) => self.request_awaited(id, shares),
            (true, _) => active.awaited -= 1,
            (false, _) => self.forget(id),
        }
    }

    /// The read of a copy has ended.
    #[inline(always)]
    fn source_was_read(&mut self, target: u32, shares: Shares) {
        if let Copy::Target { was_read, .. } = &mut self.operations[target].copy {
            *was_read = true;
        }
        self.no_longer_waits(target, shares);
    }

    /// A copy has left its block. After the last one, the block may be erased.
    fn copy_ended(&mut self, id: u32, shares: Shares) {
        let departure = &mut self.departures[id];
        departure.unfinished -= 1;
        if departure.unfinished > 0 {
            return;
        }
        let Departure { lane, first_erase, erases, .. } = self.departures.remove(id);
        let next = self.lanes.departure(lane);
        if *next == id {
            *next = NONE;
        }
        self.lanes.leave(lane);
        let mut erase = first_erase;
        for _ in 0..erases {
            let own = erase;
            erase = self.operations[own].next_of_request;
            self.no_longer_waits(own, shares);
        }
    }

    fn release_dependents(&mut self, mut entry: u32, shares: Shares) {
        while entry != NONE {
            let (later, next) = self.dependents.remove(entry);
            entry = next;
            match later {
                Dependent::Operation(own) => self.no_longer_waits(own, shares),
                Dependent::Held(own) => {
                    let die = self.operations[own].at.die;
                    self.no_longer_held(own);
                    self.start(die);
                }
                Dependent::Request(id) => self.request_awaited(id, shares),
            }
        }
    }

    /// Where the time went until the operation was ready.
    #[inline(always)]
    fn shares_until_ready(&self, operation: &FlashOperation) -> Shares {
        let request = &self.requests[operation.request];
        match (operation.path, operation.is_buffered) {
            (NONE, false) => request.at_entry,
            (NONE, true) => request.at_admission,
            (path, _) => self.paths[path],
        }
    }

    /// Where the time went since the operation was ready.
    #[inline(always)]
    fn own_shares(&self, operation: &FlashOperation) -> Shares {
        let all_ns = self.now_ns - operation.ready_ns;
        if operation.collects() {
            return Shares { collection_ns: all_ns, ..Shares::default() };
        }
        let waited_ns = operation.started_ns - operation.ready_ns;
        let collection_ns = operation.collecting_ns.min(waited_ns);
        let array_ns = operation.array_ns.min(self.now_ns - operation.started_ns);
        let transfer_ns = operation.channel_ns.min(all_ns - waited_ns - array_ns);
        let queue_ns = all_ns - collection_ns - array_ns - transfer_ns;
        Shares { queue_ns, array_ns, transfer_ns, collection_ns, ..Shares::default() }
    }
}

/// The journal's entry of an operation that ends now.
fn note(operation: &FlashOperation, request: u64, ended_ns: u64) -> Entry {
    Entry::Operation(EndedOperation {
        op: operation.op,
        cause: operation.cause,
        place: operation.page,
        request,
        die: operation.at.die,
        counts: operation.counts,
        is_from_buffer: operation.is_in_buffer,
        ready_ns: operation.ready_ns,
        started_ns: operation.started_ns,
        ended_ns,
    })
}
