//! Operations: what they wait for, and their end.

use crate::engine::Drive;
use crate::flash_operation::{Copy, Dependent, FlashOperation};
use crate::journal::{EndedOperation, Entry};
use crate::pool::NONE;
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
        if operation.waits_for > 0 {
            return;
        }
        let request = operation.request;
        let shares = self.since_issue(request, shares);
        let operation = &mut self.operations[own];
        operation.shares = shares;
        operation.ready_ns = self.now_ns;
        operation.started_ns = self.now_ns;
        if operation.is_in_buffer {
            self.usage.read_from_buffer += 1;
            return self.ended(own);
        }
        let (die_number, lane) = (operation.at.die, operation.lane);
        operation.collecting_ns = self.dies[die_number as usize].collecting_ns(self.now_ns);
        if operation.is_in_open_row {
            self.no_longer_missing(lane);
        } else if operation.may_begin() {
            self.dies[die_number as usize].wait(own, operation.is_read());
            self.start(die_number);
        }
    }

    /// One thing less that keeps an operation from its die. The caller starts the die.
    pub(super) fn no_longer_held(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        operation.held_by -= 1;
        if operation.may_begin() {
            self.dies[operation.at.die as usize].wait(own, operation.is_read());
        }
    }

    /// An operation has ended.
    pub(super) fn ended(&mut self, own: u32) {
        let operation = self.operations.remove(own);
        let shares = operation.shares + self.own_shares(&operation);
        self.usage.ended[operation.op as usize] += u64::from(operation.counts);
        if self.journal.is_kept() {
            self.note_end(&operation);
        }
        if !operation.is_in_buffer {
            self.leave_lane(&operation, own);
        }
        match operation.copy {
            Copy::None => {}
            Copy::Source { target } => self.source_was_read(target),
            Copy::Target { departure, .. } => self.copy_ended(departure, shares),
        }
        if operation.is_buffered {
            self.buffered.remove(operation.buffer_entry);
            self.buffer.leave();
            self.note_buffer();
            self.admit();
        }
        self.release_dependents(operation.dependents, shares);
        let id = operation.request;
        self.requests[id].unfinished -= 1;
        match operation.is_awaited {
            true => self.request_awaited(id, shares),
            false => self.forget(id),
        }
    }

    fn source_was_read(&mut self, target: u32) {
        if let Copy::Target { was_read, .. } = &mut self.operations[target].copy {
            *was_read = true;
        }
    }

    /// A copy has left its block. After the last one, the block may be erased.
    fn copy_ended(&mut self, id: u32, shares: Shares) {
        let departure = &mut self.departures[id];
        departure.unfinished -= 1;
        if departure.unfinished > 0 {
            return;
        }
        let departure = self.departures.remove(id);
        let next = &mut self.leaving[departure.block as usize];
        if *next == id {
            *next = NONE;
        }
        self.release_dependents(departure.dependents, shares);
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

    /// Where the time went since the operation was ready.
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

    fn note_end(&mut self, operation: &FlashOperation) {
        let request = self.requests[operation.request].number;
        self.journal.add(|| {
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
                ended_ns: self.now_ns,
            })
        });
    }
}
