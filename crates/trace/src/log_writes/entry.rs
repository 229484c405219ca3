//! An entry of a log, and the layout of heads.

use std::fmt;
use std::ops::Range;

use bitflags::bitflags;

use crate::request::SECTOR_BYTES;

/// The first number of a log.
pub(crate) const MAGIC: u64 = 0x006a_7366_7773_6872;
/// The only version of the format.
pub(crate) const VERSION: u64 = 1;
/// Bytes of the log's head before its padding.
pub(crate) const LOG_HEAD_BYTES: usize = 28;
/// Bytes of an entry's head before the name of a mark or its padding.
pub(crate) const ENTRY_HEAD_BYTES: usize = 32;

/// The longest name of a mark in a log that is written here, in bytes: it shares a sector with the
/// head of its entry and ends with a zero.
pub const MARK_NAME_BYTES_MAX: usize = SECTOR_BYTES as usize - ENTRY_HEAD_BYTES - 1;

bitflags! {
    /// The flags of an entry. None means a plain write.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct LogFlags: u64 {
        /// Everything before the entry was flushed.
        const FLUSH = 1;
        /// The data are durable by themselves (forced unit access).
        const FUA = 2;
        /// The sectors were discarded; no data follow.
        const DISCARD = 4;
        /// A mark: somebody gave this point a name.
        const MARK = 8;
        /// The data are metadata of a file system.
        const METADATA = 16;
    }
}

/// An entry of a log.
#[derive(Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The first sector, of 512 bytes; 0 for a flush or a mark.
    pub sector: u64,
    /// Number of sectors of 512 bytes; 0 for a flush or a mark.
    pub sectors: u64,
    /// What it is.
    pub flags: LogFlags,
    /// The data of a write, whole sectors; the name of a mark; else nothing.
    pub data: Vec<u8>,
}

impl LogEntry {
    /// A write.
    ///
    /// # Panics
    /// The data are not whole sectors, or none.
    pub fn write(sector: u64, data: Vec<u8>, flags: LogFlags) -> LogEntry {
        let bytes = data.len() as u64;
        assert!(bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES), "a write of {bytes} bytes");
        LogEntry { sector, sectors: bytes / SECTOR_BYTES, flags, data }
    }

    /// A discard.
    ///
    /// # Panics
    /// There is no sector in the range.
    pub fn discard(sectors: Range<u64>) -> LogEntry {
        assert!(sectors.start < sectors.end, "a discard of the sectors {sectors:?}");
        let (sector, sectors) = (sectors.start, sectors.end - sectors.start);
        LogEntry { sector, sectors, flags: LogFlags::DISCARD, data: Vec::new() }
    }

    /// A flush.
    pub fn flush() -> LogEntry {
        LogEntry { sector: 0, sectors: 0, flags: LogFlags::FLUSH, data: Vec::new() }
    }

    /// A mark with a name.
    pub fn mark(name: &str) -> LogEntry {
        LogEntry { sector: 0, sectors: 0, flags: LogFlags::MARK, data: name.as_bytes().to_vec() }
    }

    /// Its sectors.
    pub fn range(&self) -> Range<u64> {
        self.sector..self.sector + self.sectors
    }

    /// Whether its sectors were discarded.
    pub fn is_discard(&self) -> bool {
        self.flags.contains(LogFlags::DISCARD)
    }

    /// The name, if it is a mark.
    pub fn mark_name(&self) -> Option<String> {
        let is_mark = self.flags.contains(LogFlags::MARK);
        is_mark.then(|| String::from_utf8_lossy(&self.data).into_owned())
    }

    /// The part of the entry in a range of sectors, which lies within it.
    pub(crate) fn part(&self, sectors: Range<u64>) -> LogEntry {
        let byte = |sector: u64| ((sector - self.sector) * SECTOR_BYTES) as usize;
        let data = match self.is_discard() {
            true => Vec::new(),
            false => self.data[byte(sectors.start)..byte(sectors.end)].to_vec(),
        };
        let (sector, sectors) = (sectors.start, sectors.end - sectors.start);
        LogEntry { sector, sectors, flags: self.flags, data }
    }
}

impl fmt::Debug for LogEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (range, bits, bytes) = (self.range(), self.flags.bits(), self.data.len());
        write!(out, "LogEntry({range:?}, flags {bits:#x}, {bytes} bytes)")
    }
}
