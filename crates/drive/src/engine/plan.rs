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
use crate::engine::state::flash_operation::{Copy, Departure, Dependent, FlashOperation};
use crate::engine::state::pool::NONE;
use crate::operation::{HostRequest, Issued};
use crate::profile::Acknowledge;

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

    #[inline(always)]
    fn plan_page(&mut self, id: u32, request: &HostRequest, issued: &Issued, before: &mut Before) {
        let ppn = Ppn(issued.place);
        let (block, at) = (self.places.block(ppn), self.places.place(ppn));
        let Issued { op, cause, ends_copy, .. } = *issued;
        let mut operation = FlashOperation::new(op, cause, issued.place, at, id);
        if op == Op::Program {
            let is_copied = ends_copy || matches!(cause, Cause::Gc | Cause::Merge);
            operation.is_buffered = self.acknowledges_by_buffer() && !is_copied;
        }
        let own = self.issue(operation, block, request);
        self.wait_for(before.map, own);
        if op == Op::Program {
            self.wait_for(before.rmw, own);
            if ends_copy {
                let source = before.read.expect("a copy's read comes before its program");
                self.join_copy(source, own);
            }
        } else {
            before.read = Some(own);
            match cause {
                Cause::Map => before.map = Some(own),
                _ if op == Op::SpareRead => before.map = Some(own),
                Cause::Rmw => before.rmw = Some(own),
                _ => {}
            }
        }
    }

    /// An erase of an FTL's block erases a block on each die of its stripe.
    fn plan_erase(&mut self, id: u32, request: &HostRequest, issued: &Issued, before: &Before) {
        let block = issued.place;
        let dies = self.places.dies_per_stripe();
        let lanes = self.lanes.enter(block);
        let departure = core::mem::replace(self.lanes.departure(lanes), NONE);
        if departure != NONE {
            self.departures[departure].erases = dies;
            self.close_rows();
        }
        for nth in 0..dies {
            let at = self.places.part(BlockId(block), nth);
            let mut operation = FlashOperation::new(Op::Erase, issued.cause, block, at, id);
            operation.counts = nth == 0;
            operation.waits_for += u32::from(departure != NONE);
            let own = self.issue(operation, block, request);
            self.wait_for(before.map, own);
            if departure != NONE && nth == 0 {
                self.departures[departure].first_erase = own;
            }
        }
        self.lanes.leave(lanes);
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
    #[inline(always)]
    fn issue(&mut self, mut operation: FlashOperation, block: u32, request: &HostRequest) -> u32 {
        let at = operation.at;
        operation.array_ns = self.durations.array_ns(operation.op, at.index);
        operation.channel_ns = self.durations.channel_ns(operation.op);
        operation.is_awaited = self.is_awaited(request, operation.op);
        operation.lane = self.lanes.enter(block) + u32::from(at.nth);
        let is_read = operation.is_read();
        let mut write = None;
        if is_read {
            write = self.write_before_read(operation.lane, operation.page);
            let is_program = |write: u32| self.operations[write].op == Op::Program;
            if self.acknowledges_by_buffer() && write.is_some_and(is_program) {
                operation.is_in_buffer = true;
                self.lanes.leave(operation.lane);
                return self.add(operation);
            }
        }
        self.channels[usize::from(at.channel)].usage.planned_ns += operation.channel_ns;
        self.dies[usize::from(at.die)].usage.planned_ns += operation.array_ns;
        let own = self.add(operation);
        match is_read {
            true => self.queue_read(own, write),
            false => self.queue_write(own),
        }
        own
    }

    /// Adds an operation to its request.
    #[inline(always)]
    fn add(&mut self, operation: FlashOperation) -> u32 {
        let active = &mut self.requests[operation.request];
        active.unfinished += 1;
        active.awaited += u32::from(operation.is_awaited);
        active.pages += u32::from(operation.is_buffered);
        let (first, last) = match operation.is_buffered {
            true => (&mut active.first_buffered, &mut active.last_buffered),
            false => (&mut active.first, &mut active.last),
        };
        let own = self.operations.insert(operation);
        match core::mem::replace(last, own) {
            NONE => *first = own,
            before => self.operations[before].next_of_request = own,
        }
        own
    }

    /// Makes the program of a copy wait for its read. Within a plane, the page need not leave it.
    fn join_copy(&mut self, source: u32, target: u32) {
        let from = &self.operations[source];
        let (from_place, from_page, is_in_buffer) = (from.at, from.page, from.is_in_buffer);
        let departure = self.departure(self.places.block(Ppn(from_page)));
        self.operations[source].copy = Copy::Source { target };
        let to = &mut self.operations[target];
        to.copy = Copy::Target { was_read: false, departure };
        to.waits_for += 1;
        let is_inside = (from_place.die, from_place.plane) == (to.at.die, to.at.plane);
        if self.profile.copyback && is_inside && !is_in_buffer {
            for id in [source, target] {
                let spared_ns = self.operations[id].channel_ns - self.durations.command_ns;
                self.operations[id].channel_ns = self.durations.command_ns;
                self.channels[usize::from(from_place.channel)].usage.planned_ns -= spared_ns;
            }
        }
    }

    /// The departure to which another copy out of a block belongs.
    fn departure(&mut self, block: u32) -> u32 {
        let lane = self.lanes.enter(block);
        let departure = *self.lanes.departure(lane);
        if departure != NONE {
            self.lanes.leave(lane);
            self.departures[departure].unfinished += 1;
            return departure;
        }
        let new = Departure { lane, unfinished: 1, first_erase: NONE, erases: 0 };
        let departure = self.departures.insert(new);
        *self.lanes.departure(lane) = departure;
        departure
    }

    #[inline(always)]
    fn wait_for(&mut self, earlier: Option<u32>, later: u32) {
        if let Some(earlier) = earlier {
            self.depend(earlier, Dependent::Operation(later));
            self.operations[later].waits_for += 1;
        }
    }
}
