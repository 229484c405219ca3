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
use crate::flash_operation::{Copy, FlashOperation, NOTHING};
use crate::operation::{HostRequest, Issued};
use crate::places::Place;
use crate::profile::Acknowledge;
use crate::shares::Shares;

/// The operations that later ones of the same request wait for.
#[derive(Default)]
struct Before {
    /// The last map read.
    map: Option<usize>,
    /// The last read of a page that is written in part.
    rmw: Option<usize>,
    /// The last read.
    read: Option<usize>,
}

impl Drive {
    /// Adds the operations of a request to the queues of their dies. They wait for the request to
    /// enter. Returns their numbers.
    pub(crate) fn plan(
        &mut self,
        id: usize,
        request: &HostRequest,
        issued: &[Issued],
    ) -> Vec<usize> {
        let mut before = Before::default();
        let mut planned = Vec::with_capacity(issued.len());
        for operation in issued {
            self.usage.issued[operation.op as usize] += 1;
            match operation.op {
                Op::Erase => self.plan_erase(id, request, operation, &before, &mut planned),
                _ => planned.push(self.plan_page(id, request, operation, &mut before)),
            }
        }
        planned
    }

    fn plan_page(
        &mut self,
        id: usize,
        request: &HostRequest,
        issued: &Issued,
        before: &mut Before,
    ) -> usize {
        let at = self.places.place(Ppn(issued.place));
        let operation = self.prepared(id, request, issued, at);
        let is_program = issued.op == Op::Program;
        let own = self.enqueue(operation);
        self.depend(before.map, own);
        if is_program {
            self.depend(before.rmw, own);
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
        own
    }

    /// An erase of an FTL's block erases a block on each die of its stripe.
    fn plan_erase(
        &mut self,
        id: usize,
        request: &HostRequest,
        issued: &Issued,
        before: &Before,
        planned: &mut Vec<usize>,
    ) {
        let block = BlockId(issued.place);
        let dies: Vec<u16> = self.places.dies_of(block).collect();
        for (nth, die) in dies.into_iter().enumerate() {
            let at = Place { die, plane: 0, row: u32::MAX, index: 0, ends_row: false };
            let operation = self.prepared(id, request, issued, at);
            let own = self.enqueue(FlashOperation { counts: nth == 0, ..operation });
            self.depend(before.map, own);
            let copies = self.copying.iter().filter(|(_, copy)| copy.0 == block.0);
            let programs: Vec<usize> = copies.map(|(_, copy)| copy.1).collect();
            programs.into_iter().for_each(|program| self.depend(Some(program), own));
            planned.push(own);
        }
    }

    /// The operation that a request issues to a place. It waits for the request to enter.
    fn prepared(
        &self,
        id: usize,
        request: &HostRequest,
        issued: &Issued,
        at: Place,
    ) -> FlashOperation {
        let Issued { op, cause, place, .. } = *issued;
        let is_copied = issued.ends_copy || matches!(cause, Cause::Gc | Cause::Merge);
        let is_buffered = self.acknowledges_by_buffer() && op == Op::Program && !is_copied;
        let block = if op == Op::Erase { place } else { self.places.block(Ppn(place)) };
        FlashOperation {
            op,
            cause,
            page: if op == Op::Erase { u32::MAX } else { place },
            block,
            at,
            number: 0,
            request: id,
            array_ns: self.profile.array_ns(op, at.index, &self.chip),
            channel_ns: self.channel_ns(op),
            waits_for: 1,
            dependents: NOTHING,
            copy: Copy::None,
            is_awaited: self.is_awaited(request, op),
            is_buffered,
            buffer_entry: NOTHING,
            is_in_buffer: false,
            row_is_complete: false,
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

    /// Adds an operation to the queue of its die.
    fn enqueue(&mut self, mut operation: FlashOperation) -> usize {
        operation.number = self.next_number;
        self.next_number += 1;
        operation.is_in_buffer = operation.is_read() && self.is_in_buffer(&operation);
        let (op, at, block) = (operation.op, operation.at, operation.block);
        let (array_ns, channel_ns) = (operation.array_ns, operation.channel_ns);
        let is_in_buffer = operation.is_in_buffer;
        let own = self.operations.insert(operation);
        if is_in_buffer {
            return own;
        }
        let channel = self.places.channel(at.die);
        self.usage.channels[channel].planned_ns += channel_ns;
        let die = &mut self.dies[at.die as usize];
        die.usage.planned_ns += array_ns;
        die.queue.push_back(own);
        if op == Op::Program {
            die.programs += 1;
            if at.ends_row {
                self.complete_row(at.die, block, at.row);
            }
        }
        own
    }

    /// Whether a page waits in the drive's buffer to be programmed, so that no die need read it.
    fn is_in_buffer(&self, read: &FlashOperation) -> bool {
        let die = &self.dies[read.at.die as usize];
        let is_same = |&id: &usize| {
            let program = &self.operations[id];
            program.op == Op::Program && program.page == read.page
        };
        self.acknowledges_by_buffer() && die.programs > 0 && die.unfinished().any(|id| is_same(&id))
    }

    /// All programs of a row have been issued.
    fn complete_row(&mut self, die: u16, block: u32, row: u32) {
        for &id in &self.dies[die as usize].queue {
            let operation = &mut self.operations[id];
            let is_of_row = (operation.block, operation.at.row) == (block, row);
            operation.row_is_complete |= is_of_row && operation.op == Op::Program;
        }
    }

    /// Makes the program of a copy wait for its read. Within a plane, the page need not leave it.
    fn join_copy(&mut self, source: usize, target: usize) {
        self.operations[source].copy = Copy::Source(target);
        self.depend(Some(source), target);
        let (from, to) = (&self.operations[source], &self.operations[target]);
        let is_inside = (from.at.die, from.at.plane) == (to.at.die, to.at.plane);
        let spares_transfers = self.profile.copyback && is_inside && !from.is_in_buffer;
        let entry = self.copying.insert((from.block, target));
        self.operations[target].copy = Copy::Target { read_ns: None, entry };
        if spares_transfers {
            let channel = self.places.channel(self.operations[source].at.die);
            for id in [source, target] {
                let spared_ns = self.operations[id].channel_ns - self.profile.command_ns;
                self.operations[id].channel_ns = self.profile.command_ns;
                self.usage.channels[channel].planned_ns -= spared_ns;
            }
        }
    }

    fn depend(&mut self, earlier: Option<usize>, later: usize) {
        if let Some(earlier) = earlier {
            let next = self.operations[earlier].dependents;
            self.operations[earlier].dependents = self.dependents.insert((later, next));
            self.operations[later].waits_for += 1;
        }
    }
}
