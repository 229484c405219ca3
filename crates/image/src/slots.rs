//! Slots: when a block may take one, and when their space is given back.
//!
//! An erase takes the slot from its block, but until the erase is beyond doubt a crash may bring
//! the block back. So the slot *waits* until a durable frame or superblock says that the erase is
//! durable. Then it is *warm*: free, with old bytes in it. Warm slots are taken first, because the
//! disk has room for them. If there are many, some are punched and become *cold*.

use std::collections::VecDeque;

use crate::format::block_table::BlockTable;
use crate::format::layout::Layout;

/// The most slots that are punched together.
const BATCH_MAX: usize = 16;

/// The slots that no block has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    cold: Vec<u32>,
    warm: VecDeque<u32>,
    /// Slots with the numbers of the operations that freed them, ascending.
    waiting: VecDeque<(u64, u32)>,
    /// Slots that are punched together.
    batch: usize,
}

impl Slots {
    /// The slots that `table` does not use. They are warm if they may hold old bytes.
    pub(crate) fn new(layout: &Layout, table: &BlockTable, warm: bool) -> Slots {
        let mut is_used = vec![false; layout.slots() as usize];
        table.used_slots().for_each(|slot| is_used[slot as usize] = true);
        let free = (0..layout.slots()).filter(|slot| !is_used[*slot as usize]).rev();
        let batch = (layout.room.spare_slots as usize / 2).clamp(1, BATCH_MAX);
        match warm {
            true => Slots { warm: free.collect(), batch, ..Slots::default() },
            false => Slots { cold: free.collect(), batch, ..Slots::default() },
        }
    }

    /// Takes a free slot.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.warm.pop_back().or_else(|| self.cold.pop())
    }

    /// Operation `number` freed a slot.
    pub(crate) fn free(&mut self, number: u64, slot: u32) {
        self.waiting.push_back((number, slot));
    }

    /// All operations up to `settled` are beyond doubt.
    pub(crate) fn settle(&mut self, settled: u64) {
        while let Some(&(number, slot)) = self.waiting.front()
            && number <= settled
        {
            self.waiting.pop_front();
            self.warm.push_back(slot);
        }
    }

    /// Takes slots to be punched: some if there are many warm ones, or all of them.
    pub(crate) fn take_for_punching(&mut self, all: bool) -> Vec<u32> {
        let warm = self.warm.len();
        let punched = match warm > 2 * self.batch {
            _ if all => warm,
            true => self.batch,
            false => 0,
        };
        let slots: Vec<u32> = self.warm.drain(..punched).collect();
        self.cold.extend(&slots);
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_punched_in_batches_once_there_are_many() {
        let mut slots = Slots { batch: 3, ..Slots::default() };
        slots.warm.extend(0..6);
        assert!(slots.take_for_punching(false).is_empty());
        slots.warm.push_back(6);
        assert_eq!(slots.take_for_punching(false), [0, 1, 2]);
        assert!(slots.take_for_punching(false).is_empty());
        assert_eq!(slots.take_for_punching(true), [3, 4, 5, 6]);
        assert_eq!(slots.cold, [0, 1, 2, 3, 4, 5, 6]);
    }
}
