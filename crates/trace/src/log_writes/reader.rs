//! Reads a log.

use std::io::{self, Read};

use crate::error::{Error, Result};
use crate::log_writes::entry::{
    ENTRY_HEAD_BYTES, LOG_HEAD_BYTES, LogEntry, LogFlags, MAGIC, VERSION,
};
use crate::request::SECTOR_BYTES;

/// The most data of an entry that are read, in bytes: twice the longest request of NBD. No kernel
/// logs a request that is nearly as long.
pub const DATA_BYTES_MAX: u64 = 64 << 20;

/// The largest sector of a log, in bytes; that of a kernel is at most a page.
const SECTOR_BYTES_MAX: u64 = 64 << 10;

/// The entries of a log, in order. It ends after as many entries as the head says, or with the
/// first error. Its memory is bounded, whatever the log says.
pub struct LogReader<R> {
    /// The name of the log in messages.
    name: String,
    input: R,
    sector_bytes: u64,
    /// Number of entries, as the head says.
    entries: u64,
    /// Number of entries that were read.
    read: u64,
    has_failed: bool,
    /// The sector before the data of an entry.
    head: Vec<u8>,
}

impl<R: Read> LogReader<R> {
    /// Reads the head of a log. `name` stands for it in messages; the caller buffers `input`.
    ///
    /// # Errors
    /// The input cannot be read, or is no such log.
    pub fn new(name: &str, input: R) -> Result<LogReader<R>> {
        let (name, head) = (name.to_owned(), Vec::new());
        let sector_bytes = SECTOR_BYTES;
        let mut reader =
            LogReader { name, input, sector_bytes, entries: 0, read: 0, has_failed: false, head };
        reader.read_head()?;
        Ok(reader)
    }

    /// Number of entries, as the head says.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of the log's own sectors. Entries count in sectors of 512 bytes all the same.
    pub fn sector_bytes(&self) -> u64 {
        self.sector_bytes
    }

    fn read_head(&mut self) -> Result<()> {
        let head = self.bytes(LOG_HEAD_BYTES as u64, "its head")?;
        let [magic, version, entries] = [0, 8, 16].map(|at| number(&head, at));
        // The last number has 32 bits.
        let sector_bytes = number(&head, LOG_HEAD_BYTES - 8) >> 32;
        if magic != MAGIC {
            let why = format!("it begins with {magic:#x} instead of {MAGIC:#x}");
            return Err(self.error(format!("this is no log of dm-log-writes: {why}")));
        }
        if version != VERSION {
            return Err(self.error(format!("the log has version {version}; only 1 is known")));
        }
        let is_possible = (SECTOR_BYTES..=SECTOR_BYTES_MAX).contains(&sector_bytes);
        if !is_possible || !sector_bytes.is_power_of_two() {
            let why = "it must be a power of two from 512 to 65536";
            return Err(self.error(format!("a sector of the log has {sector_bytes} bytes; {why}")));
        }
        (self.sector_bytes, self.entries) = (sector_bytes, entries);
        self.bytes(sector_bytes - LOG_HEAD_BYTES as u64, "its head").map(|_| ())
    }

    fn read_entry(&mut self) -> Result<LogEntry> {
        self.head = self.bytes(self.sector_bytes, "")?;
        let [sector, sectors, bits, name_bytes] = [0, 8, 16, 24].map(|at| number(&self.head, at));
        let Some(flags) = LogFlags::from_bits(bits) else {
            return Err(self.of_entry(format!("has the unknown flags {bits:#x}")));
        };
        if flags.contains(LogFlags::MARK) {
            return self.mark(sectors, name_bytes, flags);
        }
        let scale = self.sector_bytes / SECTOR_BYTES;
        let scaled = |number: u64| number.checked_mul(scale);
        let (Some(first), Some(count)) = (scaled(sector), scaled(sectors)) else {
            return Err(self.too_far(sector, sectors));
        };
        // Its bytes must have 64-bit addresses.
        let end = first.checked_add(count).and_then(|end| end.checked_mul(SECTOR_BYTES));
        if end.is_none() {
            return Err(self.too_far(sector, sectors));
        }
        let data = match flags.contains(LogFlags::DISCARD) {
            true => Vec::new(),
            false => self.data(count * SECTOR_BYTES)?,
        };
        Ok(LogEntry { sector: first, sectors: count, flags, data })
    }

    fn mark(&self, sectors: u64, name_bytes: u64, flags: LogFlags) -> Result<LogEntry> {
        let room = self.sector_bytes - ENTRY_HEAD_BYTES as u64;
        if sectors != 0 || name_bytes > room {
            let found = format!("{sectors} sectors and a name of {name_bytes} bytes");
            let why = format!("is a mark with {found}; it can have none, and at most {room}");
            return Err(self.of_entry(why));
        }
        let name = &self.head[ENTRY_HEAD_BYTES..][..name_bytes as usize];
        Ok(LogEntry { sector: 0, sectors: 0, flags, data: name.to_vec() })
    }

    fn data(&mut self, bytes: u64) -> Result<Vec<u8>> {
        if bytes > DATA_BYTES_MAX {
            let why = format!("has {bytes} bytes of data; at most {DATA_BYTES_MAX} are read");
            return Err(self.of_entry(why));
        }
        self.bytes(bytes, "")
    }

    /// Reads exactly `count` bytes. The memory grows with the bytes found, not with `count`.
    /// `part` names what they belong to; by default it is the current entry.
    fn bytes(&mut self, count: u64, part: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(count).read_to_end(&mut bytes);
        match read {
            Ok(found) if found as u64 == count => Ok(bytes),
            Ok(_) => Err(self.cut_short(part)),
            Err(source) => Err(self.unreadable(&source)),
        }
    }

    fn cut_short(&self, part: &str) -> Error {
        match part {
            "" => {
                let (number, all) = (self.read + 1, self.entries);
                self.error(format!("the log ends within entry {number} of the {all} in its head"))
            }
            part => self.error(format!("the log ends within {part}")),
        }
    }

    fn unreadable(&self, source: &io::Error) -> Error {
        self.error(format!("cannot continue reading after entry {}: {source}", self.read))
    }

    fn too_far(&self, sector: u64, sectors: u64) -> Error {
        let unit = self.sector_bytes;
        let what = format!("{sectors} sectors of {unit} bytes from sector {sector} on");
        self.of_entry(format!("covers {what}, which are beyond 64-bit addresses"))
    }

    /// An error of the current entry, counted from 1.
    fn of_entry(&self, what: String) -> Error {
        self.error(format!("entry {} {what}", self.read + 1))
    }

    fn error(&self, what: String) -> Error {
        Error::LogWrites { name: self.name.clone(), what }
    }
}

impl<R: Read> Iterator for LogReader<R> {
    type Item = Result<LogEntry>;

    fn next(&mut self) -> Option<Result<LogEntry>> {
        if self.has_failed || self.read == self.entries {
            return None;
        }
        let entry = self.read_entry();
        self.has_failed = entry.is_err();
        self.read += 1;
        Some(entry)
    }
}

/// The little-endian number at these bytes.
fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_writes::writer::LogWriter;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn log(entries: &[LogEntry]) -> Vec<u8> {
        let mut writer = LogWriter::new(Cursor::new(Vec::new())).unwrap();
        entries.iter().for_each(|entry| writer.append(entry).unwrap());
        writer.finish().unwrap().into_inner()
    }

    fn read(bytes: &[u8]) -> Result<Vec<LogEntry>> {
        LogReader::new("l", bytes)?.collect()
    }

    fn refused(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    fn some() -> Vec<LogEntry> {
        let write = |sector, value, flags| LogEntry::write(sector, vec![value; 1024], flags);
        vec![
            write(8, 1, LogFlags::empty()),
            LogEntry::discard(0..1 << 50),
            LogEntry::flush(),
            LogEntry::mark("mkfs"),
            write(1 << 50, 2, LogFlags::FUA),
        ]
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        assert_eq!(read(&log(&some())).unwrap(), some());
        assert_eq!(read(&log(&some())).unwrap()[3].mark_name().unwrap(), "mkfs");
        assert_eq!(read(&log(&[])).unwrap(), []);
    }

    /// As a kernel logs a disk of 4 KiB sectors.
    #[test]
    fn larger_sectors_are_counted_as_sectors_of_512_bytes() {
        let mut bytes = vec![0; 4 * 4096];
        let mut put = |at: usize, number: u64| {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        };
        [(0, MAGIC), (8, 1), (16, 2), (24, 4096)].into_iter().for_each(|it| put(it.0, it.1));
        let entries = [(4096, 3), (4104, 1), (4112, 17), (12_288 + 16, 8), (12_288 + 24, 2)];
        entries.into_iter().for_each(|it| put(it.0, it.1));
        bytes[12_288 + 32..][..2].copy_from_slice(b"ok");
        let entries = read(&bytes).unwrap();
        assert_eq!((entries[0].range(), entries[0].data.len()), (24..32, 4096));
        assert!(entries[0].flags.contains(LogFlags::METADATA));
        assert_eq!(entries[1].mark_name().unwrap(), "ok");
    }

    #[test]
    fn what_follows_the_last_counted_entry_is_not_read() {
        let mut bytes = log(&some());
        bytes[16] = 3;
        assert_eq!(read(&bytes).unwrap(), some()[..3]);
    }

    #[test]
    fn a_log_that_is_cut_short_is_an_error_at_every_length() {
        let bytes = log(&some());
        for end in 0..bytes.len() {
            let message = refused(&bytes[..end]);
            assert!(message.starts_with("l: the log ends within"), "{end}: {message}");
        }
        let second = "l: the log ends within entry 2 of the 5 in its head";
        assert_eq!(refused(&bytes[..512 * 4 + 1]), second);
    }

    #[test]
    fn malformed_logs_are_refused_with_their_numbers() {
        let with = |at: usize, byte: u8| {
            let mut bytes = log(&some());
            bytes[at] = byte;
            refused(&bytes)
        };
        assert!(with(0, 0).contains("no log of dm-log-writes: it begins with 0x6a736677736800"));
        assert!(with(8, 2).contains("version 2"));
        assert!(with(24, 1).contains("a sector of the log has 513 bytes"));
        assert!(with(26, 9).contains("a sector of the log has 590336 bytes"));
        assert!(with(512 + 16, 32).contains("entry 1 has the unknown flags 0x20"));
        assert!(with(512 + 8 + 4, 1).contains("entry 1 has 2199023256576 bytes of data"));
        assert!(with(2048 + 7, 255).contains("entry 2 covers"));
        assert!(with(3072 + 8, 1).contains("entry 4 is a mark with 1 sectors"));
        let long = with(3072 + 25, 2);
        assert!(long.contains("a name of 516 bytes; it can have none, and at most 480"), "{long}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            changes in prop::collection::vec((0_usize..4000, any::<u8>()), 0..6),
            end in 0_usize..4100,
        ) {
            let mut bytes = log(&some());
            let length = bytes.len();
            changes.into_iter().for_each(|(at, byte)| bytes[at % length] = byte);
            bytes.truncate(end);
            if let Ok(reader) = LogReader::new("l", &bytes[..]) {
                prop_assert!(reader.take(20).count() <= 20);
            }
        }
    }
}
