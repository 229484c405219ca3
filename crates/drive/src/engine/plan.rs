//! Which operations of a request wait for which.
//!
//! ```text
//! map read, spare read ─▶ everything later      the firmware needs what it read
//! read-modify-write read ─▶ later programs
//! read of a copy ─▶ its program
//! copies out of a block ─▶ its erase            from whichever request they are
//! ```
//! All else may happen at the same time. The order of operations on a block is kept by its die.

use nand::{BlockId, Cause, Op, Ppn};

use crate::engine::Drive;
use crate::flash_operation::{Copy, Departure, Dependent, FlashOperation};
use crate::operation::{HostRequest, Issued};
use crate::places::Place;
use crate::pool::NONE;
use crate::profile::Acknowledge;
use crate::shares::Shares;

/// The operations that later ones of the same request wait for.
#[derive(Default)]
struct Before {
    /// The last map read.
    map: Option<u32>,
    /// The last read of a page that is written in part.
    rmw: Option<u32>,
    /// The last read.
    read: Option<u32>,
}

impl Drive {
    /// Adds the operations of a request to the lanes of their blocks. They wait for the request to
    /// enter.
    pub(super) fn plan(&mut self, id: u32, request: &HostRequest, issued: &[Issued]) {
        let mut before = Before::default();
        for operation in issued {
            self.usage.issued[operation.op as usize] += 1;
            match operation.op {
                Op::Erase => self.plan_erase(id, request, operation, &before),
                _ => self.plan_page(id, request, operation, &mut before),
            }
        }
    }

    fn plan_page(&mut self, id: u32, request: &HostRequest, issued: &Issued, before: &mut Before) {
        let ppn = Ppn(issued.place);
        let (block, at) = (self.places.block(ppn), self.places.place(ppn));
        let operation = self.prepared(id, request, issued, at);
        let own = self.issue(operation, block);
        self.wait_for(before.map, own);
        if issued.op == Op::Program {
            self.wait_for(before.rmw, own);
            if issued.ends_copy {
                let source = before.read.expect("a copy's read comes before its program");
                self.join_copy(source, own);
            }
        } else {
            before.read = Some(own);
            match issued.cause {
                Cause::Map => before.map = Some(own),
                _ if issued.op == Op::SpareRead => before.map = Some(own),
                Cause::Rmw => before.rmw = Some(own),
                _ => {}
            }
        }
    }

    /// An erase of an FTL's block erases a block on each die of its stripe.
    fn plan_erase(&mut self, id: u32, request: &HostRequest, issued: &Issued, before: &Before) {
        let block = issued.place;
        let departure = core::mem::replace(&mut self.leaving[block as usize], NONE);
        if departure != NONE {
            self.close_rows();
        }
        for nth in 0..self.places.dies_per_stripe() {
            let die = self.places.die_of(BlockId(block), nth);
            let at = Place { die, plane: 0, row: u32::MAX, index: 0, ends_row: false };
            let operation = self.prepared(id, request, issued, at);
            let own = self.issue(FlashOperation { counts: nth == 0, ..operation }, block);
            self.wait_for(before.map, own);
            if departure != NONE {
                let list = &mut self.departures[departure].dependents;
                *list = self.dependents.insert((Dependent::Operation(own), *list));
                self.operations[own].waits_for += 1;
            }
        }
    }

    /// The operation that a request issues to a place. It waits for the request to enter.
    fn prepared(
        &self,
        id: u32,
        request: &HostRequest,
        issued: &Issued,
        at: Place,
    ) -> FlashOperation {
        let Issued { op, cause, place, .. } = *issued;
        let is_copied = issued.ends_copy || matches!(cause, Cause::Gc | Cause::Merge);
        FlashOperation {
            op,
            cause,
            page: place,
            at,
            request: id,
            next_of_request: NONE,
            array_ns: self.profile.array_ns(op, at.index, &self.chip),
            channel_ns: self.channel_ns(op),
            waits_for: 1,
            held_by: 0,
            dependents: NONE,
            lane: NONE,
            next_of_lane: NONE,
            number_in_lane: 0,
            next_of_row: NONE,
            is_in_open_row: false,
            next_of_command: NONE,
            has_begun: false,
            copy: Copy::None,
            is_awaited: self.is_awaited(request, op),
            is_buffered: self.acknowledges_by_buffer() && op == Op::Program && !is_copied,
            buffer_entry: NONE,
            is_in_buffer: false,
            counts: true,
            ready_ns: 0,
            started_ns: 0,
            collecting_ns: 0,
            shares: Shares::default(),
        }
    }

    /// Whether a request is answered only after its operations of this kind.
    fn is_awaited(&self, request: &HostRequest, op: Op) -> bool {
        if self.profile.acknowledge == Acknowledge::Program {
            return true;
        }
        match request.op {
            trace::Op::Read => matches!(op, Op::Read | Op::SpareRead),
            trace::Op::Write => request.force && !self.profile.protected,
            trace::Op::Flush => !self.profile.protected,
            trace::Op::Trim => false,
        }
    }

    /// Adds an operation to its request, and to the lane of its block unless it reads a page that
    /// still waits in the drive's buffer.
    fn issue(&mut self, mut operation: FlashOperation, block: u32) -> u32 {
        let die = operation.at.die;
        operation.lane = self.lanes.enter(block, die);
        let write = match operation.is_read() {
            true => self.write_before_read(operation.lane, operation.page),
            false => None,
        };
        let is_program = |write: u32| self.operations[write].op == Op::Program;
        if self.acknowledges_by_buffer() && write.is_some_and(is_program) {
            operation.is_in_buffer = true;
            self.lanes.leave(operation.lane);
            return self.add(operation);
        }
        let channel = self.places.channel(die);
        self.usage.channels[channel].planned_ns += operation.channel_ns;
        self.dies[die as usize].usage.planned_ns += operation.array_ns;
        let is_read = operation.is_read();
        let own = self.add(operation);
        match is_read {
            true => self.queue_read(own, write),
            false => self.queue_write(own),
        }
        own
    }

    /// Adds an operation to its request.
    fn add(&mut self, operation: FlashOperation) -> u32 {
        let active = &mut self.requests[operation.request];
        active.unfinished += 1;
        active.awaited += u32::from(operation.is_awaited);
        active.pages += u32::from(operation.is_buffered);
        let is_buffered = operation.is_buffered;
        let own = self.operations.insert(operation);
        let last = if is_buffered { &mut active.last_buffered } else { &mut active.last };
        let before = core::mem::replace(last, own);
        match before {
            NONE if is_buffered => active.first_buffered = own,
            NONE => active.first = own,
            before => self.operations[before].next_of_request = own,
        }
        own
    }

    /// Makes the program of a copy wait for its read. Within a plane, the page need not leave it.
    fn join_copy(&mut self, source: u32, target: u32) {
        self.wait_for(Some(source), target);
        let (from, to) = (&self.operations[source], &self.operations[target]);
        let is_inside = (from.at.die, from.at.plane) == (to.at.die, to.at.plane);
        let spares_transfers = self.profile.copyback && is_inside && !from.is_in_buffer;
        let departure = self.departure(self.places.block(Ppn(from.page)));
        self.operations[source].copy = Copy::Source { target };
        self.operations[target].copy = Copy::Target { was_read: false, departure };
        if spares_transfers {
            let channel = self.places.channel(self.operations[source].at.die);
            for id in [source, target] {
                let spared_ns = self.operations[id].channel_ns - self.profile.command_ns;
                self.operations[id].channel_ns = self.profile.command_ns;
                self.usage.channels[channel].planned_ns -= spared_ns;
            }
        }
    }

    /// The departure to which another copy out of a block belongs.
    fn departure(&mut self, block: u32) -> u32 {
        let departure = &mut self.leaving[block as usize];
        if *departure == NONE {
            *departure =
                self.departures.insert(Departure { block, unfinished: 0, dependents: NONE });
        }
        self.departures[*departure].unfinished += 1;
        *departure
    }

    fn wait_for(&mut self, earlier: Option<u32>, later: u32) {
        if let Some(earlier) = earlier {
            self.depend(earlier, Dependent::Operation(later));
            self.operations[later].waits_for += 1;
        }
    }
}
