//! Which operations of a request wait for which.
//!
//! ```text
//! map read, spare read ─▶ everything later      the firmware needs what it read
//! read-modify-write read ─▶ later programs
//! read of a copy ─▶ its program                 two stages of one operation
//! copies out of a block ─▶ its erase            from whichever request they are
//! all programs and erases ─▶ those after a barrier
//! ```
//! All else may happen at the same time. The order of operations on a block is kept by its lanes.

use nand::{BlockId, Cause, Op, Ppn};

use crate::engine::Drive;
use crate::engine::state::flash_operation::{Dependent, FlashOperation, Stage};
use crate::engine::state::pool::NONE;
use crate::operation::{HostRequest, Issued};
use crate::profile::Acknowledge;

/// What operations of a request have in common.
struct Plan {
    request: u32,
    /// Whether the request is answered only after its reads, and after its programs and erases.
    awaits_reads: bool,
    awaits_writes: bool,
    /// The last map read; later operations wait for it.
    map: u32,
    /// The last read of a page that is written in part; later programs wait for it.
    rmw: u32,
}

impl Drive {
    /// Adds the operations of a request to the lanes of their blocks. They wait for the request to
    /// enter.
    pub(super) fn plan(&mut self, id: u32, request: &HostRequest, issued: &[Issued]) {
        let (awaits_reads, awaits_writes) = self.awaits(request);
        let mut plan = Plan { request: id, awaits_reads, awaits_writes, map: NONE, rmw: NONE };
        let mut rest = issued.iter();
        while let Some(operation) = rest.next() {
            self.usage.issued[operation.op as usize] += 1;
            let next = rest.as_slice().first().filter(|next| next.ends_copy);
            if next.unwrap_or(operation).after_all {
                self.raise_barrier();
            }
            match (operation.op, next) {
                (Op::Erase, _) => self.plan_erase(&plan, operation),
                (Op::Program, _) => self.plan_program(&plan, operation),
                (_, None) => self.plan_read(&mut plan, operation),
                (_, Some(target)) => {
                    rest.next();
                    self.usage.issued[Op::Program as usize] += 1;
                    self.plan_copy(&plan, operation, target);
                }
            }
        }
    }

    /// Whether a request is answered only after its reads, and after its programs and erases.
    fn awaits(&self, request: &HostRequest) -> (bool, bool) {
        if self.profile.acknowledge == Acknowledge::Program {
            return (true, true);
        }
        let is_forced = match request.op {
            trace::Op::Read => return (true, false),
            trace::Op::Write => request.force,
            trace::Op::Flush => true,
            trace::Op::Trim => false,
        };
        let awaits_all = is_forced && !self.profile.protected;
        (awaits_all, awaits_all)
    }

    /// Lets all programs and erases from now on wait for those so far. A drive that completes them
    /// without power need not wait. Rows are not filled up across a barrier.
    fn raise_barrier(&mut self) {
        if !self.profile.protected && self.barriers.raise() {
            self.close_rows();
        }
    }

    fn plan_read(&mut self, plan: &mut Plan, issued: &Issued) {
        let (stage, erase) = self.stage(issued.op, issued.place);
        let program = self.program_of(&stage);
        let mut operation = FlashOperation::new(stage, issued.cause, plan.request);
        operation.is_awaited = plan.awaits_reads;
        operation.is_in_buffer = self.acknowledges_by_buffer() && program != NONE;
        let own = match operation.is_in_buffer {
            true => self.add(operation),
            false => {
                self.expect(stage.at.die, &stage);
                let own = self.add(operation);
                self.hold(if program == NONE { erase } else { program }, own);
                own
            }
        };
        self.wait_for(plan.map, own);
        match issued.cause {
            Cause::Map => plan.map = own,
            _ if issued.op == Op::SpareRead => plan.map = own,
            Cause::Rmw => plan.rmw = own,
            _ => {}
        }
    }

    #[inline(always)]
    fn plan_program(&mut self, plan: &Plan, issued: &Issued) {
        let (stage, erase) = self.stage(Op::Program, issued.place);
        self.expect(stage.at.die, &stage);
        let is_moved = matches!(issued.cause, Cause::Gc | Cause::Merge);
        let mut operation = FlashOperation::new(stage, issued.cause, plan.request);
        operation.is_awaited = plan.awaits_writes;
        operation.is_buffered = self.acknowledges_by_buffer() && !is_moved;
        let own = self.add(operation);
        self.queue_program(own, &stage, erase);
        self.wait_for_barrier(own);
        self.wait_for(plan.map, own);
        self.wait_for(plan.rmw, own);
    }

    /// A copy also uses the block of its source until it has ended, so that an erase of that block
    /// waits for it. Within a plane, the page need not leave it.
    #[inline(always)]
    fn plan_copy(&mut self, plan: &Plan, source: &Issued, target: &Issued) {
        let (mut read, erase_of_source) = self.stage(source.op, source.place);
        let (mut program, erase) = self.stage(Op::Program, target.place);
        let written = self.program_of(&read);
        let is_in_buffer = self.acknowledges_by_buffer() && written != NONE;
        let is_inside = (read.at.die, read.at.plane) == (program.at.die, program.at.plane);
        if self.profile.copyback && is_inside && !is_in_buffer {
            read.channel_ns = self.durations.command_ns;
            program.channel_ns = self.durations.command_ns;
        }
        let mut operation = FlashOperation::new(read, target.cause, plan.request);
        operation.program = Some(program);
        operation.source_lane = read.lane;
        operation.is_awaited = plan.awaits_writes;
        operation.is_in_buffer = is_in_buffer;
        self.expect(program.at.die, &program);
        let own = self.add(operation);
        if !is_in_buffer {
            self.expect(read.at.die, &read);
            self.wait_for(if written == NONE { erase_of_source } else { written }, own);
        }
        self.queue_program(own, &program, erase);
        self.wait_for_barrier(own);
        self.wait_for(plan.map, own);
    }

    /// An erase of an FTL's block erases a block on each die of its stripe. It waits for all
    /// earlier operations on the block, so their rows must not wait for later programs.
    fn plan_erase(&mut self, plan: &Plan, issued: &Issued) {
        let block = issued.place;
        let stage = Stage {
            op: Op::Erase,
            page: block,
            at: self.places.first_part(BlockId(block)),
            lane: NONE,
            array_ns: self.durations.array_ns(Op::Erase, 0),
            channel_ns: self.durations.channel_ns(Op::Erase),
        };
        let mut operation = FlashOperation::new(stage, issued.cause, plan.request);
        operation.is_awaited = plan.awaits_writes;
        operation.parts = self.places.dies_per_stripe();
        for number in self.places.stripe(BlockId(block)) {
            self.expect(self.places.die(number), &stage);
        }
        let own = self.add(operation);
        let (lane, has_to_wait) = self.lanes.enter_erase(block, own);
        self.operations[own].stage.lane = lane;
        if has_to_wait {
            self.operations[own].waits_for += 1;
            self.close_rows();
        }
        self.wait_for_barrier(own);
        self.wait_for(plan.map, own);
    }

    /// An operation on a page enters the lanes of its block. Returns what a die will do for it, and
    /// the erase that it has to wait for, or [`NONE`].
    #[inline(always)]
    fn stage(&mut self, op: Op, page: u32) -> (Stage, u32) {
        let ppn = Ppn(page);
        let (block, at) = (self.places.block(ppn), self.places.place(ppn));
        let (first, erase) = self.lanes.enter(block);
        let lane = first + u32::from(at.nth);
        let (array_ns, channel_ns) =
            (self.durations.array_ns(op, at.index), self.durations.channel_ns(op));
        (Stage { op, page, at, lane, array_ns, channel_ns }, erase)
    }

    /// Adds to what a die and its channel are expected to do.
    #[inline(always)]
    fn expect(&mut self, die: u16, stage: &Stage) {
        let usage = &mut self.dies[usize::from(die)].usage;
        usage.planned_ns += stage.array_ns;
        usage.planned_transfer_ns += stage.channel_ns;
    }

    /// Adds an operation to its request.
    #[inline(always)]
    fn add(&mut self, operation: FlashOperation) -> u32 {
        let active = &mut self.requests[operation.request];
        active.unfinished += 1;
        if self.journal.is_kept() {
            active.entries += operation.entries();
        }
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

    /// Makes a program or an erase wait for those before the last barrier that have not ended.
    #[inline(always)]
    fn wait_for_barrier(&mut self, own: u32) {
        self.operations[own].waits_for += u32::from(self.barriers.enter(own));
    }

    /// Makes an operation wait for an earlier one, if there is one.
    #[inline(always)]
    fn wait_for(&mut self, earlier: u32, later: u32) {
        if earlier != NONE {
            self.depend(earlier, Dependent::Operation(later));
            self.operations[later].waits_for += 1;
        }
    }

    /// Makes an operation wait for an earlier one on its block, if there is one.
    #[inline(always)]
    pub(super) fn hold(&mut self, earlier: u32, later: u32) {
        if earlier != NONE {
            self.depend(earlier, Dependent::Held(later));
            self.operations[later].held_by += 1;
        }
    }
}
