//! Which chip a file contains.
//!
//! The block table is a state of the chip that was complete on disk. The journal has the operations
//! after it. Some of these are *settled*: a later frame says that they were durable. Of the others
//! count those up to the first one that is missing or whose page is not whole.

use crate::error::{Error, Result};
use crate::format::block_table::BlockTable;
use crate::format::checksum::checksum;
use crate::format::journal::{Entry, Frame, FrameBytes, Operation};
use crate::format::layout::{FRAME_BYTES, Layout, SUPERBLOCK_BYTES};
use crate::format::page_codec::{self, Record};
use crate::format::superblock::Superblock;
use crate::medium::Medium;

/// The state of an image.
pub(crate) struct Recovered {
    pub(crate) superblock: Superblock,
    /// The copy of the superblock that is known to be whole and current: 0 or 1.
    pub(crate) copy: usize,
    pub(crate) table: BlockTable,
    /// The last operation that took place.
    pub(crate) operation: u64,
}

/// Reads the state of an image, and writes nothing.
///
/// # Errors
/// The file is no image, or damaged, or cannot be read.
pub(crate) fn recover(medium: &dyn Medium) -> Result<Recovered> {
    let (superblock, copy) = choose(read_superblocks(medium)?)?;
    let layout = superblock.layout();
    let (found, made) = (medium.len()?, layout.file_bytes());
    if found != made {
        return Err(Error::Length { found, made });
    }
    let (table, operation) = recover_table(medium, &superblock)?;
    Ok(Recovered { superblock, copy, table, operation })
}

/// Reads the block table and repeats the journal on it. Returns also the last operation.
///
/// # Errors
/// One of them is damaged, or the disk fails.
pub(crate) fn recover_table(
    medium: &dyn Medium,
    superblock: &Superblock,
) -> Result<(BlockTable, u64)> {
    let mut table = read_table(medium, superblock)?;
    let journal = Journal::read(medium, superblock)?;
    let operation = journal.replay(medium, &superblock.layout(), &mut table)?;
    table.check_slots().map_err(Error::Damaged)?;
    Ok((table, operation))
}

/// Reads both copies. A copy that the disk cannot read is as good as a damaged one.
pub(crate) fn read_superblocks(medium: &dyn Medium) -> Result<[Result<Superblock>; 2]> {
    let length = medium.len()?;
    if length < 2 * SUPERBLOCK_BYTES as u64 {
        return Err(refuse_short(medium, length));
    }
    Ok([0, SUPERBLOCK_BYTES as u64].map(|at| {
        let mut copy = [0; SUPERBLOCK_BYTES];
        medium.read_at(&mut copy, at)?;
        Superblock::decode(&copy)
    }))
}

/// Why a file that is too short for its superblocks is refused.
fn refuse_short(medium: &dyn Medium, length: u64) -> Error {
    let mut start = [0; 8];
    if length < start.len() as u64 {
        return Error::Foreign;
    }
    match medium.read_at(&mut start, 0) {
        Err(error) => Error::Io(error),
        Ok(()) if Superblock::is_magic(&start) => {
            Error::Damaged(format!("it ends after {length} bytes, in its head"))
        }
        Ok(()) => Error::Foreign,
    }
}

/// The copy that counts: the newer one of two whole ones.
pub(crate) fn choose(copies: [Result<Superblock>; 2]) -> Result<(Superblock, usize)> {
    match copies {
        [Ok(one), Ok(other)] if one.uuid != other.uuid => {
            Err(Error::Damaged("its superblocks are of two images".into()))
        }
        [Ok(one), Ok(other)] if one.generation < other.generation => Ok((other, 1)),
        [Err(error @ Error::OtherFormat { .. }), _]
        | [_, Err(error @ Error::OtherFormat { .. })] => Err(error),
        [Ok(one), _] => Ok((one, 0)),
        [_, Ok(other)] => Ok((other, 1)),
        [Err(Error::Foreign), Err(error)] | [Err(error), _] => Err(error),
    }
}

fn read_table(medium: &dyn Medium, superblock: &Superblock) -> Result<BlockTable> {
    let layout = superblock.layout();
    let mut bytes = vec![0; layout.table_bytes()];
    medium.read_at(&mut bytes, layout.table(superblock.table))?;
    let damaged = |why| Error::Damaged(format!("block table {}: {why}", superblock.table));
    if checksum(&bytes) != superblock.table_crc {
        return Err(damaged("wrong checksum".into()));
    }
    BlockTable::decode(&bytes, &layout).map_err(damaged)
}

/// The part of a journal that counts.
struct Journal {
    /// The frames that follow each other from the first one on.
    frames: Vec<Frame>,
    /// The operation before the first one of the journal.
    start: u64,
    /// The last operation that is known to have been durable.
    settled: u64,
}

impl Journal {
    fn read(medium: &dyn Medium, superblock: &Superblock) -> Result<Journal> {
        let layout = superblock.layout();
        let mut bytes = vec![0; layout.room.frames as usize * FRAME_BYTES];
        medium.read_at(&mut bytes, layout.frame(0))?;
        let (start, generation) = (superblock.operation, superblock.generation);
        let mut journal = Journal { frames: Vec::new(), start, settled: start };
        let (mut next, mut gap) = (start.saturating_add(1), false);
        for (index, bytes) in bytes.chunks_exact(FRAME_BYTES).enumerate() {
            let bytes: &FrameBytes = bytes.try_into().expect("a frame");
            let frame = Frame::decode(bytes).filter(|frame| frame.generation >= generation);
            let Some(frame) = frame else {
                gap = true;
                continue;
            };
            if frame.generation > generation {
                let why = format!("frame {index} of its journal is newer than its superblock");
                return Err(Error::Damaged(why));
            }
            journal.settled = journal.settled.max(frame.durable);
            gap |= frame.first != next;
            if !gap {
                next = next.saturating_add(frame.operations.len() as u64);
                journal.frames.push(frame);
            }
        }
        Ok(journal)
    }

    /// Performs the operations that took place on the table, and returns the last one.
    fn replay(&self, medium: &dyn Medium, layout: &Layout, table: &mut BlockTable) -> Result<u64> {
        let mut last = self.start;
        for entry in self.frames.iter().flat_map(Frame::entries) {
            if entry.number > self.settled && !is_whole(medium, layout, &entry)? {
                break;
            }
            let applied = table.apply(&entry);
            applied.map_err(|why| Error::Damaged(format!("operation {}: {why}", entry.number)))?;
            last = entry.number;
        }
        if last < self.settled {
            let settled = self.settled;
            let why = format!("its journal ends at operation {last}, but {settled} was durable");
            return Err(Error::Damaged(why));
        }
        Ok(last)
    }
}

/// Whether the page of an operation was written completely.
fn is_whole(medium: &dyn Medium, layout: &Layout, entry: &Entry) -> Result<bool> {
    let Operation::Program { ppn, slot, record_crc, .. } = entry.operation else {
        return Ok(true);
    };
    if ppn.0 >= layout.geometry.pages() || slot >= layout.slots() {
        // The table will refuse it.
        return Ok(true);
    }
    let mut record = vec![0; layout.record_bytes()];
    medium.read_at(&mut record, layout.record(slot, ppn))?;
    let Some(checked) = Record::check(&record, &layout.geometry, ppn) else { return Ok(false) };
    let mut data = vec![0; layout.geometry.page_bytes() as usize];
    medium.read_at(&mut data, layout.data(slot, ppn))?;
    Ok(page_codec::record_crc(&record) == record_crc && checked.fits(&data))
}
