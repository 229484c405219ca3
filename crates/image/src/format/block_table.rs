//! Slots, wear and health: what the pages of a chip do not say themselves.
//!
//! The table in memory is the state of the chip after the last operation. The table on disk has the
//! same fields: an entry for each block, then a byte for each page.

use nand::page_store::{BlockRecord, Health};
use nand::{BlockId, Geometry, Ppn};

use crate::format::bytes::{put, u32_at};
use crate::format::health_code;
use crate::format::journal::{Entry, Operation};
use crate::format::layout::{BLOCK_ENTRY_BYTES, Layout};

/// The slot of a block without pages.
pub(crate) const NO_SLOT: u32 = u32::MAX;
/// More erases than this are no wear but damage.
const ERASES_MAX: u32 = 1 << 31;
const HALF_ERASED: u32 = 1;

/// The state of all blocks and pages, without the contents of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockTable {
    geometry: Geometry,
    slots: u32,
    blocks: Vec<Block>,
    health: Vec<Health>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    slot: u32,
    record: BlockRecord,
}

impl BlockTable {
    /// The table of a blank chip.
    pub(crate) fn blank(layout: &Layout) -> BlockTable {
        let geometry = layout.geometry;
        let block = Block { slot: NO_SLOT, record: BlockRecord::default() };
        BlockTable {
            geometry,
            slots: layout.slots(),
            blocks: vec![block; geometry.blocks() as usize],
            health: vec![Health::Erased; geometry.pages() as usize],
        }
    }

    // ---- Looking ---------------------------------------------------------------------------

    /// The slot of a block; none if no page of the block was programmed.
    pub(crate) fn slot(&self, block: BlockId) -> Option<u32> {
        Some(self.blocks[block.0 as usize].slot).filter(|slot| *slot != NO_SLOT)
    }

    /// The slots that blocks have.
    pub(crate) fn used_slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().map(|block| block.slot).filter(|slot| *slot != NO_SLOT)
    }

    pub(crate) fn record(&self, block: BlockId) -> BlockRecord {
        self.blocks[block.0 as usize].record
    }

    pub(crate) fn health(&self, ppn: Ppn) -> Health {
        self.health[ppn.0 as usize]
    }

    // ---- Operations ------------------------------------------------------------------------

    /// Performs an operation.
    ///
    /// # Errors
    /// The table contradicts it, with the reason. This happens only with a damaged journal.
    pub(crate) fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        match entry.operation {
            Operation::Program { ppn, health, slot, .. } => self.program(ppn, health, slot),
            Operation::Erase(block) => self.erase(block),
            Operation::Health(ppn, health) => self.set_health(ppn, health),
            Operation::HalfErase(block) => {
                self.block_mut(block)?.record.half_erased = true;
                Ok(())
            }
            Operation::Decay => {
                let weak = self.health.iter_mut().filter(|health| **health == Health::Unstable);
                weak.for_each(|health| *health = Health::Torn);
                Ok(())
            }
        }
    }

    fn program(&mut self, ppn: Ppn, health: Health, slot: u32) -> Result<(), String> {
        let (block, slots) = (self.geometry.block_of(ppn), self.slots);
        let current = &mut self.block_mut(block)?.slot;
        if slot >= slots || (*current != NO_SLOT && *current != slot) {
            return Err(format!("block {} cannot be in slot {slot}", block.0));
        }
        *current = slot;
        self.set_health(ppn, health)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), String> {
        let BlockRecord { erases, .. } = self.block_mut(block)?.record;
        if erases >= ERASES_MAX {
            return Err(format!("block {} was erased {erases} times", block.0));
        }
        let record = BlockRecord { erases: erases + 1, half_erased: false };
        *self.block_mut(block)? = Block { slot: NO_SLOT, record };
        let first = self.geometry.first_page(block).0 as usize;
        let pages = self.geometry.pages_per_block() as usize;
        self.health[first..first + pages].fill(Health::Erased);
        Ok(())
    }

    fn set_health(&mut self, ppn: Ppn, health: Health) -> Result<(), String> {
        let current = self.health.get_mut(ppn.0 as usize);
        *current.ok_or_else(|| format!("there is no page {}", ppn.0))? = health;
        Ok(())
    }

    fn block_mut(&mut self, block: BlockId) -> Result<&mut Block, String> {
        let current = self.blocks.get_mut(block.0 as usize);
        current.ok_or_else(|| format!("there is no block {}", block.0))
    }

    // ---- Bytes -----------------------------------------------------------------------------

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_ENTRY_BYTES * self.blocks.len());
        for Block { slot, record } in &self.blocks {
            let flags = if record.half_erased { HALF_ERASED } else { 0 };
            let mut entry = [0; BLOCK_ENTRY_BYTES];
            put(&mut entry, 0, &slot.to_le_bytes());
            put(&mut entry, 4, &record.erases.to_le_bytes());
            put(&mut entry, 8, &flags.to_le_bytes());
            bytes.extend_from_slice(&entry);
        }
        bytes.extend(self.health.iter().map(|health| health_code::encode(*health)));
        bytes
    }

    /// Reads a table, which has the length that the layout says.
    ///
    /// # Errors
    /// An entry is impossible.
    pub(crate) fn decode(bytes: &[u8], layout: &Layout) -> Result<BlockTable, String> {
        let mut table = BlockTable::blank(layout);
        let (entries, health) = bytes.split_at(BLOCK_ENTRY_BYTES * table.blocks.len());
        let entries = entries.chunks_exact(BLOCK_ENTRY_BYTES);
        for (index, (block, entry)) in table.blocks.iter_mut().zip(entries).enumerate() {
            let [slot, erases, flags] = [0, 4, 8].map(|at| u32_at(entry, at));
            let known = slot < table.slots || slot == NO_SLOT;
            if !known || erases > ERASES_MAX || flags & !HALF_ERASED != 0 {
                return Err(format!("block {index}: slot {slot}, {erases} erases, flags {flags}"));
            }
            let record = BlockRecord { erases, half_erased: flags & HALF_ERASED != 0 };
            *block = Block { slot, record };
        }
        for (index, (page, code)) in table.health.iter_mut().zip(health).enumerate() {
            *page =
                health_code::decode(*code).ok_or_else(|| format!("page {index}: health {code}"))?;
        }
        Ok(table)
    }

    /// Checks that no two blocks have the same slot.
    ///
    /// # Errors
    /// Two have.
    pub(crate) fn check_slots(&self) -> Result<(), String> {
        let mut used: Vec<u32> = self.used_slots().collect();
        used.sort_unstable();
        match used.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two blocks are in slot {}", pair[0])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::layout::Room;

    fn layout() -> Layout {
        let geometry = Geometry::new(512, 32, 4, 4, nand::ProgramOrder::Any).unwrap();
        Layout { geometry, room: Room { spare_slots: 2, frames: 1 } }
    }

    #[test]
    fn each_part_of_an_entry_has_its_limit() {
        let decoded = |slot: u32, erases: u32, flags: u32| {
            let mut bytes = BlockTable::blank(&layout()).encode();
            for (at, number) in [(0, slot), (4, erases), (8, flags)] {
                put(&mut bytes, BLOCK_ENTRY_BYTES + at, &number.to_le_bytes());
            }
            BlockTable::decode(&bytes, &layout()).is_ok()
        };
        assert!(decoded(0, 0, 0) && decoded(5, ERASES_MAX, 1) && decoded(NO_SLOT, 7, 0));
        assert!(!decoded(6, 0, 0), "there are six slots");
        assert!(!decoded(0, ERASES_MAX + 1, 0) && !decoded(0, u32::MAX, 0));
        assert!(!decoded(0, 0, 2));
    }

    #[test]
    fn a_block_stays_in_its_slot_until_it_is_erased() {
        let mut table = BlockTable::blank(&layout());
        let mut program = |ppn, slot| table.program(Ppn(ppn), Health::Good, slot).is_ok();
        assert!(!program(0, 6) && program(0, 5) && program(1, 5));
        assert!(!program(2, 4), "its other pages are in slot 5");
    }
}
