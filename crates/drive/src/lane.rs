//! The operations on one block in one die.
//!
//! ```text
//! first ─▶ write ─▶ write ─▶ … ─▶ last       programs and erases that have not ended
//! ```
//! Writes of a lane begin in the order in which they were issued. So do reads, as far as an erase
//! or a program of their own page is concerned.

use rustc_hash::FxHashMap;

use crate::pool::{NONE, Pool};

/// A lane that is in use.
#[derive(Debug)]
pub(crate) struct Lane {
    key: u64,
    /// The first and the last write that has not ended.
    pub first: u32,
    pub last: u32,
    /// How many operations have not ended.
    pub operations: u32,
    /// How many reads have not begun that were issued after the last erase.
    pub reads: u32,
    /// The first erase that has not begun.
    pub erase: u32,
    /// Writes that were issued, and that have begun.
    pub issued: u32,
    pub begun: u32,
    pub open_row: OpenRow,
    /// Whether the lane is among those that `force` looks at.
    pub is_listed: bool,
}

/// Programs of a row that wait for the rest of it.
#[derive(Debug)]
pub(crate) struct OpenRow {
    /// One of the programs; each knows another one.
    pub member: u32,
    pub row: u32,
    /// Programs of the row that still wait for something else, and one more until the last program
    /// of the row was issued.
    pub missing: u32,
}

/// All lanes that are in use.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Pool<Lane>,
    by_place: FxHashMap<u64, u32>,
}

impl OpenRow {
    pub const CLOSED: OpenRow = OpenRow { member: NONE, row: 0, missing: 0 };
}

impl Lanes {
    pub fn new() -> Lanes {
        Lanes { lanes: Pool::new(), by_place: FxHashMap::default() }
    }

    /// The lane of a block in a die.
    pub fn enter(&mut self, block: u32, die: u16) -> u32 {
        let key = u64::from(block) << 16 | u64::from(die);
        let lane = *self.by_place.entry(key).or_insert_with(|| {
            self.lanes.insert(Lane {
                key,
                first: NONE,
                last: NONE,
                operations: 0,
                reads: 0,
                erase: NONE,
                issued: 0,
                begun: 0,
                open_row: OpenRow::CLOSED,
                is_listed: false,
            })
        });
        self.lanes[lane].operations += 1;
        lane
    }

    /// An operation leaves its lane.
    pub fn leave(&mut self, lane: u32) {
        self.lanes[lane].operations -= 1;
        if self.lanes[lane].operations == 0 {
            let Lane { key, .. } = self.lanes.remove(lane);
            self.by_place.remove(&key);
        }
    }

    /// A lane, if it is still in use.
    pub fn get(&self, lane: u32) -> Option<&Lane> {
        self.lanes.get(lane)
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }
}

impl core::ops::Index<u32> for Lanes {
    type Output = Lane;

    #[inline]
    fn index(&self, lane: u32) -> &Lane {
        &self.lanes[lane]
    }
}

impl core::ops::IndexMut<u32> for Lanes {
    #[inline]
    fn index_mut(&mut self, lane: u32) -> &mut Lane {
        &mut self.lanes[lane]
    }
}
