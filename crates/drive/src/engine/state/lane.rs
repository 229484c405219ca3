//! The programs of one block in one die.
//!
//! ```text
//! first ─▶ program ─▶ program ─▶ … ─▶ last       programs that have not ended
//! ```
//! Programs of a lane begin in the order in which they were issued. An erase gives its block new
//! lanes: it waits until the last operation has left the old ones, and all operations in the new
//! lanes wait for it.

use core::ops::{Index, IndexMut};

use crate::engine::state::pool::NONE;

/// A lane; aligned, so that its place needs no multiplication.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Lane {
    /// The first and the last program that has not ended.
    pub first: u32,
    pub last: u32,
    /// The first program that has not begun.
    pub waiting: u32,
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
    /// Operations that have not ended: on the block, or copies out of it.
    count: u32,
    /// The erase that all of them wait for.
    after: u32,
    /// The erase that waits for all of them.
    before: u32,
}

impl OpenRow {
    pub const CLOSED: OpenRow = OpenRow { member: NONE, row: 0, missing: 0 };
}

impl Lane {
    const EMPTY: Lane = Lane {
        first: NONE,
        last: NONE,
        waiting: NONE,
        open_row: OpenRow::CLOSED,
        is_listed: false,
    };

    /// A program comes. Returns the program before it, and whether it is the first that has not
    /// begun.
    #[inline(always)]
    pub fn program_comes(&mut self, own: u32) -> (u32, bool) {
        let before = core::mem::replace(&mut self.last, own);
        if before == NONE {
            self.first = own;
        }
        let is_first = self.waiting == NONE;
        if is_first {
            self.waiting = own;
        }
        (before, is_first)
    }

    /// A program begins, and the next one may.
    #[inline(always)]
    pub fn program_begins(&mut self, own: u32, next: u32) {
        assert!(
            self.waiting == own,
            "program {own} overtook program {} of its block",
            self.waiting
        );
        self.waiting = next;
    }

    /// A program ends.
    #[inline(always)]
    pub fn program_ends(&mut self, own: u32, next: u32) {
        assert!(self.first == own, "program {own} ended before program {}", self.first);
        self.first = next;
        if next == NONE {
            self.last = NONE;
        }
    }
}

impl Lanes {
    pub fn new(blocks: u32, dies_per_stripe: u32) -> Lanes {
        let of_block = vec![NONE; blocks as usize];
        Lanes { lanes: Vec::new(), dies_per_stripe, users: Vec::new(), free: Vec::new(), of_block }
    }

    /// An operation enters the lanes of a block. Returns the first of them, and the erase that it
    /// has to wait for, or [`NONE`].
    #[inline(always)]
    pub fn enter(&mut self, block: u32) -> (u32, u32) {
        let mut entry = self.of_block[block as usize];
        if entry == NONE {
            entry = self.open(block, NONE);
        }
        let users = &mut self.users[entry as usize];
        users.count += 1;
        (entry * self.dies_per_stripe, users.after)
    }

    /// An erase enters new lanes of its block. Returns the first of them, and whether the erase has
    /// to wait until the old ones are empty.
    pub fn enter_erase(&mut self, block: u32, own: u32) -> (u32, bool) {
        let old = self.of_block[block as usize];
        if old != NONE {
            self.users[old as usize].before = own;
        }
        let entry = self.open(block, own);
        self.users[entry as usize].count += 1;
        (entry * self.dies_per_stripe, old != NONE)
    }

    /// Gives new lanes to a block.
    fn open(&mut self, block: u32, after: u32) -> u32 {
        let users = Users { block, count: 0, after, before: NONE };
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

    /// An operation leaves the lanes of its block. Returns the erase that no longer waits for it
    /// and others, or [`NONE`].
    #[inline(always)]
    pub fn leave(&mut self, lane: u32) -> u32 {
        let entry = lane / self.dies_per_stripe;
        let users = &mut self.users[entry as usize];
        users.count -= 1;
        match users.count {
            0 => self.close(entry),
            _ => NONE,
        }
    }

    /// The lanes of a block are empty. Returns the erase that waited for that, or [`NONE`].
    fn close(&mut self, entry: u32) -> u32 {
        let Users { block, before, .. } = self.users[entry as usize];
        if before == NONE {
            self.of_block[block as usize] = NONE;
        }
        self.free.push(entry);
        before
    }

    /// An erase has ended, so that later operations need not wait for it.
    pub fn erase_ends(&mut self, lane: u32) {
        self.users[(lane / self.dies_per_stripe) as usize].after = NONE;
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
