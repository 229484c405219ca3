//! Writes a log.

use std::io::{self, Seek, SeekFrom, Write};

use crate::error::{Error, Result};
use crate::log_writes::entry::{LogEntry, LogFlags, MAGIC, MARK_NAME_BYTES_MAX, VERSION};
use crate::request::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// Writes a log with sectors of 512 bytes. Its head says how many entries it has, so a reader sees
/// those until the last [`flush`](Self::flush).
pub struct LogWriter<W> {
    out: W,
    /// Bytes of the head and of all whole entries.
    end: u64,
    entries: u64,
    /// Whether the last entry failed, so that the output may be elsewhere than at the end.
    is_torn: bool,
}

impl<W: Write + Seek> LogWriter<W> {
    /// Begins an empty log at the start of `out`, which the caller buffers.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(out: W) -> Result<LogWriter<W>> {
        let mut writer = LogWriter { out, end: SECTOR_BYTES, entries: 0, is_torn: false };
        writer.write_head().map_err(Error::Write)?;
        Ok(writer)
    }

    /// Appends an entry. If that fails, the next one takes its place.
    ///
    /// # Errors
    /// The output cannot be written, or the name of a mark is too long or contains a zero.
    pub fn append(&mut self, entry: &LogEntry) -> Result<()> {
        let sector = entry_sector(entry)?;
        let has_data = !entry.flags.contains(LogFlags::MARK);
        let data: &[u8] = if has_data { &entry.data } else { &[] };
        let written = self.go_to_end().and_then(|()| {
            self.is_torn = true;
            self.out.write_all(&sector)?;
            self.out.write_all(data)
        });
        written.map_err(Error::Write)?;
        self.is_torn = false;
        self.entries += 1;
        self.end += (SECTOR + data.len()) as u64;
        Ok(())
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Makes all entries so far visible to readers, also if the process is killed later.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let written = self.write_head().and_then(|()| self.out.flush());
        written.map_err(Error::Write)
    }

    /// Ends the log and returns the output, flushed.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.out)
    }

    /// Writes the head with the number of entries. The entries come first: seeking empties buffers.
    fn write_head(&mut self) -> io::Result<()> {
        self.is_torn = true;
        self.out.seek(SeekFrom::Start(0))?;
        let mut sector = [0; SECTOR];
        let numbers = [MAGIC, VERSION, self.entries].map(u64::to_le_bytes);
        sector[..24].copy_from_slice(numbers.as_flattened());
        sector[24..28].copy_from_slice(&(SECTOR as u32).to_le_bytes());
        self.out.write_all(&sector)?;
        self.go_to_end()
    }

    fn go_to_end(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.out.seek(SeekFrom::Start(self.end))?;
            self.is_torn = false;
        }
        Ok(())
    }
}

/// The sector before the data of an entry.
fn entry_sector(entry: &LogEntry) -> Result<[u8; SECTOR]> {
    let is_mark = entry.flags.contains(LogFlags::MARK);
    let name: &[u8] = if is_mark { &entry.data } else { &[] };
    if name.len() > MARK_NAME_BYTES_MAX || name.contains(&0) {
        return Err(Error::MarkName { bytes: name.len(), bytes_max: MARK_NAME_BYTES_MAX });
    }
    let mut sector = [0; SECTOR];
    let numbers = [entry.sector, entry.sectors, entry.flags.bits(), name.len() as u64];
    sector[..32].copy_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
    sector[32..32 + name.len()].copy_from_slice(name);
    Ok(sector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// The numbers of a log, read without any code of this module: the head's number of entries,
    /// and of each entry its four numbers and the byte after its head.
    fn numbers(log: &[u8]) -> (u64, Vec<([u64; 4], u8)>) {
        let number = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
        assert_eq!(
            (number(0), number(8), log[24..28].to_vec()),
            (0x6a736677736872, 1, vec![0, 2, 0, 0])
        );
        let (mut at, mut entries) = (512, Vec::new());
        while at < log.len() {
            let four = [0, 8, 16, 24].map(|of| number(at + of));
            entries.push((four, log[at + 32]));
            at += 512 + if four[2] & 4 == 0 { four[1] as usize * 512 } else { 0 };
        }
        (number(16), entries)
    }

    #[test]
    fn a_log_has_the_layout_of_dm_log_writes() {
        let mut writer = LogWriter::new(Cursor::new(Vec::new())).unwrap();
        writer.append(&LogEntry::write(9, vec![5; 1024], LogFlags::FUA)).unwrap();
        writer.append(&LogEntry::discard(16..1 << 40)).unwrap();
        writer.append(&LogEntry::mark("umount")).unwrap();
        writer.append(&LogEntry::flush()).unwrap();
        let log = writer.finish().unwrap().into_inner();
        let expected = [
            ([9, 2, 2, 0], 0),
            ([16, (1 << 40) - 16, 4, 0], 0),
            ([0, 0, 8, 6], b'u'),
            ([0, 0, 1, 0], 0),
        ];
        assert_eq!(numbers(&log), (4, expected.to_vec()));
        assert_eq!(log[1024..2048], [5; 1024]);
        assert_eq!(log.len(), 512 * (1 + 4 + 2));
        assert_eq!(&log[2560 + 32..2560 + 39], b"umount\0");
    }

    #[test]
    fn the_head_counts_the_entries_until_the_last_flush() {
        let mut out = Cursor::new(Vec::new());
        let mut writer = LogWriter::new(&mut out).unwrap();
        writer.append(&LogEntry::flush()).unwrap();
        writer.flush().unwrap();
        writer.append(&LogEntry::flush()).unwrap();
        assert_eq!(writer.entries(), 2);
        assert_eq!(numbers(out.get_ref()).0, 1);
        assert_eq!(numbers(out.get_ref()).1.len(), 2);
    }

    #[test]
    fn names_of_marks_that_do_not_fit_are_refused() {
        let mut writer = LogWriter::new(Cursor::new(Vec::new())).unwrap();
        writer.append(&LogEntry::mark(&"x".repeat(MARK_NAME_BYTES_MAX))).unwrap();
        for name in ["x".repeat(MARK_NAME_BYTES_MAX + 1), "a\0b".to_owned()] {
            let message = writer.append(&LogEntry::mark(&name)).unwrap_err().to_string();
            assert!(message.contains("at most 479 bytes"), "{message}");
        }
        assert_eq!(writer.entries(), 1);
    }

    /// An output that fails one time in the middle of an entry.
    struct Failing {
        out: Cursor<Vec<u8>>,
        bytes_left: Option<usize>,
    }

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.bytes_left {
                Some(0) => {
                    self.bytes_left = None;
                    Err(io::Error::from(io::ErrorKind::StorageFull))
                }
                Some(left) => {
                    let written = self.out.write(&bytes[..left.min(bytes.len())])?;
                    self.bytes_left = Some(left - written);
                    Ok(written)
                }
                None => self.out.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Failing {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.out.seek(to)
        }
    }

    #[test]
    fn an_entry_that_fails_is_replaced_by_the_next_one() {
        for bytes in [0, 100, 512, 700] {
            let out = Failing { out: Cursor::new(Vec::new()), bytes_left: None };
            let mut writer = LogWriter::new(out).unwrap();
            writer.out.bytes_left = Some(bytes);
            let entry = |value| LogEntry::write(value, vec![value as u8; 512], LogFlags::empty());
            let message = writer.append(&entry(1)).unwrap_err().to_string();
            assert!(message.contains("no storage space"), "{message}");
            writer.append(&entry(2)).unwrap();
            let log = writer.finish().unwrap().out.into_inner();
            assert_eq!(numbers(&log), (1, vec![([2, 1, 0, 0], 0)]), "after {bytes} bytes");
            assert_eq!(log[1024..], [2; 512]);
        }
    }
}
