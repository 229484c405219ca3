//! Where things are in the file. `SPEC.md` has the same figures.
//!
//! ```text
//! 0           superblock 0
//! 4096        superblock 1
//! 8192        block table 0, block table 1
//!             journal
//!             slot 0, slot 1, …        slot:  page records │ data areas
//! ```
//! Each part begins at a multiple of 4096 bytes, so that no block of the file system has two parts.

use nand::spare::HEADER_BYTES;
use nand::{Geometry, Ppn};

/// Parts of the file begin at multiples of this many bytes.
pub const ALIGNMENT: u64 = 4096;
/// Bytes of a superblock.
pub const SUPERBLOCK_BYTES: usize = 4096;
/// Bytes of a frame of the journal: what a disk writes as a whole.
pub const FRAME_BYTES: usize = 512;
/// Operations in a frame of the journal.
pub const FRAME_ENTRIES: usize = 29;
/// Bytes of a block in the block table, without its pages.
pub const BLOCK_ENTRY_BYTES: usize = 12;
/// Bytes of a page record before the scheme bytes.
pub const RECORD_HEAD_BYTES: usize = 32 + HEADER_BYTES;
/// Higher numbers of operations or generations are no work but damage, and could overflow.
pub(crate) const COUNT_MAX: u64 = 1 << 62;
/// More frames would let the opening of an image read more than 2 MiB of journal.
const FRAMES_MAX: u32 = 4096;
/// The length of scheme bytes is a number of two bytes.
const SCHEME_BYTES_MAX: u32 = u16::MAX as u32;

/// Room in a file that the chip itself does not determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Slots beyond one for each block. With more of them, erases force fewer syncs.
    pub spare_slots: u32,
    /// Frames of the journal. With more of them, the block table is written less often.
    pub frames: u32,
}

impl Room {
    /// The usual room for a chip.
    pub fn of(geometry: &Geometry) -> Room {
        let frames = (geometry.pages() / 4).div_ceil(FRAME_ENTRIES as u32);
        Room { spare_slots: (geometry.blocks() / 8).max(8), frames: frames.clamp(8, FRAMES_MAX) }
    }
}

/// The places of all parts.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Pages and blocks of the chip.
    pub geometry: Geometry,
    /// The rest of what determines the layout.
    pub room: Room,
}

impl Layout {
    /// Checks that the file can exist. Then no place in it exceeds 2^63.
    ///
    /// # Errors
    /// It cannot, with the reason.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Room { spare_slots, frames } = self.room;
        let (blocks, scheme_bytes) = (self.geometry.blocks(), self.geometry.scheme_bytes());
        let slots_max = blocks.saturating_add(1 << 16);
        if !(1..=slots_max).contains(&spare_slots) {
            return Err(format!("{spare_slots} spare slots for {blocks} blocks"));
        }
        if !(1..=FRAMES_MAX).contains(&frames) {
            return Err(format!("a journal of {frames} frames; 1 to {FRAMES_MAX} are possible"));
        }
        if scheme_bytes > SCHEME_BYTES_MAX {
            return Err(format!("{scheme_bytes} scheme bytes; at most {SCHEME_BYTES_MAX} fit"));
        }
        Ok(())
    }

    /// Slots of the file.
    pub fn slots(&self) -> u32 {
        // The number NO_SLOT stays free.
        self.geometry.blocks().saturating_add(self.room.spare_slots).min(u32::MAX - 1)
    }

    /// Bytes of a block table.
    pub fn table_bytes(&self) -> usize {
        let blocks = self.geometry.blocks() as usize;
        BLOCK_ENTRY_BYTES * blocks + self.geometry.pages() as usize
    }

    /// Bytes of a page record: a spare area, and what the file adds.
    pub fn record_bytes(&self) -> usize {
        let scheme_bytes = self.geometry.scheme_bytes() as usize;
        (RECORD_HEAD_BYTES + scheme_bytes).next_multiple_of(8)
    }

    /// Bytes of all page records of a slot.
    pub fn records_bytes(&self) -> usize {
        self.record_bytes() * self.geometry.pages_per_block() as usize
    }

    /// The position of a block table, which is 0 or 1.
    pub fn table(&self, which: u32) -> u64 {
        let each = aligned(self.table_bytes() as u64);
        2 * SUPERBLOCK_BYTES as u64 + u64::from(which) * each
    }

    /// The position of a frame of the journal.
    pub fn frame(&self, frame: u32) -> u64 {
        self.table(2) + u64::from(frame) * FRAME_BYTES as u64
    }

    /// The position of a slot.
    pub fn slot(&self, slot: u32) -> u64 {
        aligned(self.frame(self.room.frames)) + u64::from(slot) * self.slot_bytes()
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> u64 {
        aligned(self.records_bytes() as u64) + aligned(self.geometry.block_bytes())
    }

    /// The position of the record of a page whose block is in `slot`.
    pub fn record(&self, slot: u32, ppn: Ppn) -> u64 {
        let offset = u64::from(self.geometry.offset_of(ppn));
        self.slot(slot) + offset * self.record_bytes() as u64
    }

    /// The position of the data area of a page whose block is in `slot`.
    pub fn data(&self, slot: u32, ppn: Ppn) -> u64 {
        let offset = u64::from(self.geometry.offset_of(ppn));
        let areas = self.slot(slot) + aligned(self.records_bytes() as u64);
        areas + offset * u64::from(self.geometry.page_bytes())
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.slot(self.slots())
    }
}

fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_room_is_in_proportion_to_the_chip() {
        let room = |blocks| {
            let geometry = Geometry::new(512, 64, 64, blocks, nand::ProgramOrder::Any).unwrap();
            let Room { spare_slots, frames } = Room::of(&geometry);
            (spare_slots, frames)
        };
        assert_eq!(room(8), (8, 8));
        assert_eq!(room(800), (100, 442), "800 x 64 / 4 operations in frames of 29");
        assert_eq!(room(80_000), (10_000, FRAMES_MAX));
    }

    #[test]
    fn scheme_bytes_have_a_length_of_two_bytes() {
        let check = |scheme_bytes: u32| {
            let spare_bytes = HEADER_BYTES as u32 + scheme_bytes;
            let geometry = Geometry::new(512, spare_bytes, 4, 4, nand::ProgramOrder::Any).ok()?;
            assert_eq!(geometry.scheme_bytes(), scheme_bytes);
            Some(Layout { geometry, room: Room { spare_slots: 2, frames: 1 } }.check().is_ok())
        };
        assert_eq!(check(SCHEME_BYTES_MAX), Some(true));
        assert_ne!(check(SCHEME_BYTES_MAX + 1), Some(true));
        assert_ne!(check(SCHEME_BYTES_MAX + 2), Some(true));
    }
}
