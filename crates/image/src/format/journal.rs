//! Operations, and the frames of the journal that hold them.
//!
//! A frame is what a disk writes as a whole. It holds operations that follow each other without a
//! gap, and says up to which operation everything was durable when it was written. Frames are
//! written once; the journal begins anew when the block table is written.

use nand::page_store::Health;
use nand::{BlockId, Ppn};

use crate::format::bytes::{put, u32_at, u64_at};
use crate::format::checksum::checksum;
use crate::format::health_code;
use crate::format::layout::{FRAME_BYTES, FRAME_ENTRIES};

const MAGIC: &[u8; 4] = b"FJRN";
const CRC_AT: usize = 4;
const ENTRIES_AT: usize = 48;
const ENTRY_BYTES: usize = 16;

const _: () = assert!(ENTRIES_AT + FRAME_ENTRIES * ENTRY_BYTES == FRAME_BYTES);

/// The bytes of a frame.
pub(crate) type FrameBytes = [u8; FRAME_BYTES];

/// A change of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A page was written to its place in a slot. A fault that changes a header does it too.
    Program { ppn: Ppn, health: Health, slot: u32, record_crc: u32 },
    /// A block was erased. It has no slot until its next program.
    Erase(BlockId),
    /// A fault changed the health of a page.
    Health(Ppn, Health),
    /// A fault left a block half erased.
    HalfErase(BlockId),
    /// All unstable pages became unreadable.
    Decay,
}

/// An operation with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its place in the order of all operations, from 1.
    pub(crate) number: u64,
    pub(crate) operation: Operation,
}

/// A frame of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The generation of the superblock that this journal belongs to.
    pub(crate) generation: u64,
    /// The number of the first operation; of an empty frame, the number that comes next.
    pub(crate) first: u64,
    /// The last operation that was durable when the frame was written.
    pub(crate) durable: u64,
    /// The operations, with consecutive numbers.
    pub(crate) operations: Vec<Operation>,
}

impl Frame {
    /// The bytes of a frame with at most [`FRAME_ENTRIES`] operations.
    pub(crate) fn encode(
        generation: u64,
        first: u64,
        durable: u64,
        operations: &[Operation],
    ) -> FrameBytes {
        let mut bytes = [0; FRAME_BYTES];
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, 8, &generation.to_le_bytes());
        put(&mut bytes, 16, &first.to_le_bytes());
        put(&mut bytes, 24, &durable.to_le_bytes());
        put(&mut bytes, 32, &(operations.len() as u32).to_le_bytes());
        for (index, operation) in operations.iter().enumerate() {
            put(&mut bytes, ENTRIES_AT + index * ENTRY_BYTES, &operation.encode());
        }
        let crc = checksum(&bytes[CRC_AT + 4..]);
        put(&mut bytes, CRC_AT, &crc.to_le_bytes());
        bytes
    }

    /// Reads a frame; none if these bytes are no frame, or a damaged one.
    pub(crate) fn decode(bytes: &FrameBytes) -> Option<Frame> {
        let entries = u32_at(bytes, 32) as usize;
        let whole = u32_at(bytes, CRC_AT) == checksum(&bytes[CRC_AT + 4..]);
        if &bytes[..4] != MAGIC || !whole || entries > FRAME_ENTRIES {
            return None;
        }
        let entry = bytes[ENTRIES_AT..].chunks_exact(ENTRY_BYTES);
        let operations = entry.take(entries).map(Operation::decode).collect::<Option<Vec<_>>>()?;
        let [generation, first, durable] = [8, 16, 24].map(|at| u64_at(bytes, at));
        Some(Frame { generation, first, durable, operations })
    }

    /// The operations with their numbers.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let numbered = (self.first..).zip(&self.operations);
        numbered.map(|(number, operation)| Entry { number, operation: *operation })
    }
}

impl Operation {
    fn encode(self) -> [u8; ENTRY_BYTES] {
        let (kind, health, place, slot, crc) = match self {
            Operation::Program { ppn, health, slot, record_crc } => {
                (1, health_code::encode(health), ppn.0, slot, record_crc)
            }
            Operation::Erase(block) => (2, 0, block.0, 0, 0),
            Operation::Health(ppn, health) => (3, health_code::encode(health), ppn.0, 0, 0),
            Operation::HalfErase(block) => (4, 0, block.0, 0, 0),
            Operation::Decay => (5, 0, 0, 0, 0),
        };
        let mut bytes = [0; ENTRY_BYTES];
        put(&mut bytes, 0, &[kind, health]);
        put(&mut bytes, 4, &place.to_le_bytes());
        put(&mut bytes, 8, &slot.to_le_bytes());
        put(&mut bytes, 12, &crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Operation> {
        let health = health_code::decode(bytes[1])?;
        let [place, slot, record_crc] = [4, 8, 12].map(|at| u32_at(bytes, at));
        match bytes[0] {
            1 => Some(Operation::Program { ppn: Ppn(place), health, slot, record_crc }),
            2 => Some(Operation::Erase(BlockId(place))),
            3 => Some(Operation::Health(Ppn(place), health)),
            4 => Some(Operation::HalfErase(BlockId(place))),
            5 => Some(Operation::Decay),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_is_read_and_one_that_claims_more_is_refused() {
        let erase = |at| Operation::Erase(BlockId(at as u32));
        let full: Vec<Operation> = (0..FRAME_ENTRIES).map(erase).collect();
        for operations in [&full[..], &full[1..], &[]] {
            let frame = Frame::decode(&Frame::encode(5, 6, 7, operations)).unwrap();
            assert_eq!((frame.generation, frame.first, frame.durable), (5, 6, 7));
            assert_eq!(frame.operations, operations);
        }
        for more in [1, 2] {
            let mut bytes = Frame::encode(5, 6, 7, &full);
            put(&mut bytes, 32, &(FRAME_ENTRIES as u32 + more).to_le_bytes());
            let crc = checksum(&bytes[CRC_AT + 4..]);
            put(&mut bytes, CRC_AT, &crc.to_le_bytes());
            assert!(Frame::decode(&bytes).is_none(), "{more} entries more than there are");
        }
    }
}
