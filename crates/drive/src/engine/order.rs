//! The order of operations on a block, and rows that are programmed together.
//!
//! Each block has a lane in each of its dies. A program is held until the program before it in its
//! lane has begun, a read until a program of its page has ended. An erase waits until all earlier
//! operations on its block have ended, on all dies; later ones are held until it has ended.
//!
//! With a buffer, programs are held until all programs of their row wait for nothing else, so that
//! one command can program the row. A row is closed early when the buffer holds nothing but
//! such programs, when a flush needs them, when the block goes on to another row, or when an erase
//! has to wait.

use crate::engine::Drive;
use crate::engine::state::flash_operation::Stage;
use crate::engine::state::lane::OpenRow;
use crate::engine::state::pool::NONE;

impl Drive {
    /// The last program of the page that is read here, or [`NONE`] if it has ended.
    #[inline(always)]
    pub(super) fn program_of(&self, read: &Stage) -> u32 {
        let (mut found, mut own) = (NONE, self.lanes[read.lane].first);
        while own != NONE {
            let operation = &self.operations[own];
            if operation.programs(read.page) {
                found = own;
            }
            own = operation.next_of_lane;
        }
        found
    }

    /// Puts a program into its lane, behind an erase of its block if there is one.
    #[inline(always)]
    pub(super) fn queue_program(&mut self, own: u32, program: &Stage, erase: u32) {
        let (before, is_first) = self.lanes[program.lane].program_comes(own);
        if before != NONE {
            self.operations[before].next_of_lane = own;
        }
        if !is_first || erase != NONE {
            self.operations[own].held_by = 1;
        }
        if self.rows_wait {
            self.join_row(own, program);
        }
    }

    /// An erase has ended. In each lane, the first program that came after it is held no longer.
    pub(super) fn erase_ended(&mut self, first_lane: u32, dies: u32) {
        self.lanes.erase_ends(first_lane);
        for lane in first_lane..first_lane + dies {
            let held = self.lanes[lane].waiting;
            if held != NONE {
                self.no_longer_held(held);
            }
        }
    }

    /// Lets a program wait for the rest of its row.
    fn join_row(&mut self, own: u32, program: &Stage) {
        if self.lanes[program.lane].open_row.row != program.at.row {
            self.close_row(program.lane);
        }
        let lane = &mut self.lanes[program.lane];
        let open = &mut lane.open_row;
        if open.member == NONE {
            *open = OpenRow { member: NONE, row: program.at.row, missing: 1 };
            if !lane.is_listed {
                lane.is_listed = true;
                self.open_lanes.push(program.lane);
            }
        }
        let operation = &mut self.operations[own];
        operation.next_of_row = open.member;
        operation.is_in_open_row = true;
        operation.held_by += 1;
        open.member = own;
        open.missing += u32::from(!program.at.ends_row);
    }

    /// One program less that the open row of a lane waits for.
    pub(super) fn no_longer_missing(&mut self, lane: u32) {
        let open = &mut self.lanes[lane].open_row;
        open.missing -= 1;
        if open.missing == 0 {
            self.close_row(lane);
        }
    }

    /// Lets the programs of the open row of a lane go. The first one comes last: its die can then
    /// take them together.
    fn close_row(&mut self, lane: u32) {
        let open = core::mem::replace(&mut self.lanes[lane].open_row, OpenRow::CLOSED);
        let mut own = open.member;
        while own != NONE {
            let operation = &mut self.operations[own];
            operation.is_in_open_row = false;
            self.buffer.in_open_rows -= u64::from(operation.buffer_entry != NONE);
            let next = operation.next_of_row;
            self.no_longer_held(own);
            own = next;
        }
    }

    /// Lets the programs of all open rows go.
    pub(super) fn close_rows(&mut self) {
        for lane in core::mem::take(&mut self.open_lanes) {
            self.lanes[lane].is_listed = false;
            self.close_row(lane);
        }
    }
}
