//! The order of operations on a block, and rows that are programmed together.
//!
//! Each block has a lane in each of its dies. A write is held until the write before it in its lane
//! has begun; an erase also until the reads before it have begun. A read is held until an erase,
//! or the program of its page, has ended. A die does one thing at a time, so the rest follows.
//!
//! With a buffer, programs are held until all programs of their row wait for nothing else, so that
//! one command can program the row. A row is closed early when the buffer holds nothing but
//! such programs, when a flush needs them, when the block goes on to another row, or when a block
//! is to be erased that their pages come from.

use nand::Op;

use crate::engine::Drive;
use crate::engine::state::flash_operation::Dependent;
use crate::engine::state::lane::OpenRow;
use crate::engine::state::pool::NONE;

impl Drive {
    /// The last write of a lane that a read of this page must not overtake.
    #[inline(always)]
    pub(super) fn write_before_read(&self, lane: u32, page: u32) -> Option<u32> {
        let mut found = None;
        let mut write = self.lanes[lane].first;
        while write != NONE {
            let operation = &self.operations[write];
            if operation.holds_back(page) {
                found = Some(write);
            }
            write = operation.next_of_lane;
        }
        found
    }

    /// Puts a read into its lane, behind a write that it must not overtake.
    #[inline(always)]
    pub(super) fn queue_read(&mut self, own: u32, write: Option<u32>) {
        let lane = self.operations[own].lane;
        self.lanes[lane].reads += 1;
        if let Some(write) = write {
            self.depend(write, Dependent::Held(own));
            self.operations[own].held_by += 1;
        }
    }

    /// Puts a write into its lane.
    #[inline(always)]
    pub(super) fn queue_write(&mut self, own: u32) {
        let operation = &self.operations[own];
        let (number, op, row) = (operation.lane, operation.op, operation.at.row);
        let lane = &mut self.lanes[number];
        let before = core::mem::replace(&mut lane.last, own);
        let number_in_lane = lane.issued;
        lane.issued += 1;
        let mut held_by = 0;
        match before {
            NONE => lane.first = own,
            before => {
                let before = &mut self.operations[before];
                before.next_of_lane = own;
                held_by += u32::from(!before.has_begun);
            }
        }
        if op == Op::Erase {
            held_by += core::mem::take(&mut lane.reads);
            if lane.erase == NONE {
                lane.erase = own;
            }
        }
        let is_other_row = op == Op::Erase || lane.open_row.row != row;
        let operation = &mut self.operations[own];
        operation.number_in_lane = number_in_lane;
        operation.held_by = held_by;
        if is_other_row {
            self.close_row(number);
        }
        if op == Op::Program && self.rows_wait() {
            self.join_row(own);
        }
    }

    /// Lets a program wait for the rest of its row.
    fn join_row(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        let lane = &mut self.lanes[operation.lane];
        let open = &mut lane.open_row;
        if open.member == NONE {
            *open = OpenRow { member: NONE, row: operation.at.row, missing: 1 };
            if !lane.is_listed {
                lane.is_listed = true;
                self.open_lanes.push(operation.lane);
            }
        }
        operation.next_of_row = open.member;
        operation.is_in_open_row = true;
        operation.held_by += 1;
        open.member = own;
        open.missing += u32::from(!operation.at.ends_row);
    }

    /// One program less that the open row of a lane waits for.
    pub(super) fn no_longer_missing(&mut self, lane: u32) {
        let open = &mut self.lanes[lane].open_row;
        open.missing -= 1;
        if open.missing == 0 {
            self.close_row(lane);
        }
    }

    /// Lets the programs of the open row of a lane go.
    fn close_row(&mut self, lane: u32) {
        let mut own = self.lanes[lane].open_row.member;
        if own == NONE {
            return;
        }
        self.lanes[lane].open_row = OpenRow::CLOSED;
        let die = self.operations[own].at.die;
        while own != NONE {
            let operation = &mut self.operations[own];
            operation.is_in_open_row = false;
            self.buffer.in_open_rows -= u64::from(operation.buffer_entry != NONE);
            let next = operation.next_of_row;
            self.no_longer_held(own);
            own = next;
        }
        self.start(die);
    }

    /// Lets the programs of all open rows go.
    pub(super) fn close_rows(&mut self) {
        for lane in core::mem::take(&mut self.open_lanes) {
            self.lanes[lane].is_listed = false;
            self.close_row(lane);
        }
    }

    /// A die has taken an erase. Later reads of the block come before the next one.
    pub(super) fn erase_begins(&mut self, own: u32) {
        let operation = &self.operations[own];
        let lane = &mut self.lanes[operation.lane];
        assert!(lane.erase == own, "an erase overtook another one: {operation:?}");
        let mut next = operation.next_of_lane;
        while next != NONE && self.operations[next].op != Op::Erase {
            next = self.operations[next].next_of_lane;
        }
        lane.erase = next;
    }
}
