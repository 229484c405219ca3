//! The operations on one block in one die.
//!
//! ```text
//! first ─▶ write ─▶ write ─▶ … ─▶ last       programs and erases that have not ended
//! ```
//! Writes of a lane begin in the order in which they were issued. So do reads, as far as an erase
//! or a program of their own page is concerned.

use core::ops::{Index, IndexMut};

use crate::engine::state::flash_operation::FlashOperation;
use crate::engine::state::pool::NONE;

/// A lane.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// The first and the last write that has not ended.
    pub first: u32,
    pub last: u32,
    /// How many reads have not begun that were issued after the last erase.
    pub reads: u32,
    /// The first erase that has not begun.
    pub erase: u32,
    /// Writes that were issued, and that have begun.
    pub issued: u32,
    pub begun: u32,
    pub open_row: OpenRow,
    /// Whether the lane is among those that may have an open row.
    pub is_listed: bool,
}

/// Programs of a row that wait for the rest of it.
#[derive(Clone, Debug)]
pub(crate) struct OpenRow {
    /// One of the programs; each knows another one.
    pub member: u32,
    pub row: u32,
    /// Programs of the row that still wait for something else, and one more until the last program
    /// of the row was issued.
    pub missing: u32,
}

/// The lanes of all blocks that are in use, those of a block side by side.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    dies_per_stripe: u32,
    users: Vec<Users>,
    free: Vec<u32>,
    /// For each block its entry in `users`, if it is in use.
    of_block: Vec<u32>,
}

/// What uses the lanes of a block.
#[derive(Clone, Copy, Debug)]
struct Users {
    block: u32,
    /// Operations that have not ended, and departures.
    count: u32,
    /// The departure to which the next copy out of the block belongs.
    departure: u32,
}

impl OpenRow {
    pub const CLOSED: OpenRow = OpenRow { member: NONE, row: 0, missing: 0 };
}

impl Lane {
    const EMPTY: Lane = Lane {
        first: NONE,
        last: NONE,
        reads: 0,
        erase: NONE,
        issued: 0,
        begun: 0,
        open_row: OpenRow::CLOSED,
        is_listed: false,
    };

    /// A read begins. Returns the erase that it held, or [`NONE`].
    #[inline(always)]
    pub fn read_begins(&mut self) -> u32 {
        self.reads -= u32::from(self.erase == NONE);
        self.erase
    }

    /// A write begins. Returns the write that it held, or [`NONE`].
    #[inline(always)]
    pub fn write_begins(&mut self, write: &FlashOperation) -> u32 {
        let is_in_order = write.number_in_lane == self.begun;
        assert!(is_in_order, "a write overtook another one of its block: {write:?}");
        self.begun += 1;
        write.next_of_lane
    }

    /// A write ends.
    #[inline(always)]
    pub fn write_ends(&mut self, own: u32, write: &FlashOperation) {
        assert!(self.first == own, "a write ended before an earlier one: {write:?}");
        self.first = write.next_of_lane;
        if self.last == own {
            self.last = NONE;
        }
    }
}

impl Lanes {
    pub fn new(blocks: u32, dies_per_stripe: u32) -> Lanes {
        let of_block = vec![NONE; blocks as usize];
        Lanes { lanes: Vec::new(), dies_per_stripe, users: Vec::new(), free: Vec::new(), of_block }
    }

    /// An operation or departure enters the lanes of a block. Returns the first of them.
    #[inline(always)]
    pub fn enter(&mut self, block: u32) -> u32 {
        let mut entry = self.of_block[block as usize];
        if entry == NONE {
            entry = self.open(block);
        }
        self.users[entry as usize].count += 1;
        entry * self.dies_per_stripe
    }

    /// Gives lanes to a block that was not in use.
    fn open(&mut self, block: u32) -> u32 {
        let users = Users { block, count: 0, departure: NONE };
        let entry = match self.free.pop() {
            Some(entry) => entry,
            None => {
                self.users.push(users);
                let lanes = self.users.len() * self.dies_per_stripe as usize;
                self.lanes.resize(lanes, Lane::EMPTY);
                self.users.len() as u32 - 1
            }
        };
        self.users[entry as usize] = users;
        self.of_block[block as usize] = entry;
        entry
    }

    /// An operation or departure leaves the lanes of its block.
    #[inline(always)]
    pub fn leave(&mut self, lane: u32) {
        let entry = lane / self.dies_per_stripe;
        let users = &mut self.users[entry as usize];
        users.count -= 1;
        if users.count == 0 {
            self.of_block[users.block as usize] = NONE;
            self.free.push(entry);
        }
    }

    /// The departure to which the next copy out of a block that is in use belongs.
    #[inline(always)]
    pub fn departure(&mut self, lane: u32) -> &mut u32 {
        &mut self.users[(lane / self.dies_per_stripe) as usize].departure
    }

    /// Whether no block is in use.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.users.len()
    }
}

impl Index<u32> for Lanes {
    type Output = Lane;

    #[inline]
    fn index(&self, lane: u32) -> &Lane {
        &self.lanes[lane as usize]
    }
}

impl IndexMut<u32> for Lanes {
    #[inline]
    fn index_mut(&mut self, lane: u32) -> &mut Lane {
        &mut self.lanes[lane as usize]
    }
}
