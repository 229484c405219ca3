//! The check of the target of logs of writes: reading arbitrary bytes ends and does not panic, and a log that is
//! written from the entries reads the same.

use std::io::Cursor;

use trace::log_writes::entry::{LogEntry, LogFlags, MARK_NAME_BYTES_MAX};
use trace::log_writes::reader::LogReader;
use trace::log_writes::writer::LogWriter;

/// Reads `bytes` as a log, and its entries again from a copy.
pub fn read(bytes: &[u8]) {
    let Ok(reader) = LogReader::new("fuzz", bytes) else { return };
    let mut entries = Vec::new();
    for entry in reader {
        match entry {
            Ok(entry) => entries.push(entry),
            // The message must not be as long as the file.
            Err(error) => {
                assert!(error.to_string().len() < 400);
                break;
            }
        }
    }
    // An entry takes a sector at least.
    assert!(entries.len() <= bytes.len() / 512);
    entries.retain(can_be_written);
    let mut writer = LogWriter::new(Cursor::new(Vec::new())).expect("memory can be written");
    entries.iter().for_each(|entry| writer.append(entry).expect("memory can be written"));
    let copy = writer.finish().expect("memory can be written").into_inner();
    let again = LogReader::new("copy", &copy[..]).expect("a log that was just written");
    let again: Vec<LogEntry> = again.map(|entry| entry.expect("an entry")).collect();
    assert_eq!(again, entries);
}

/// Names of marks in logs with larger sectors may be longer.
fn can_be_written(entry: &LogEntry) -> bool {
    let is_mark = entry.flags.contains(LogFlags::MARK);
    !is_mark || entry.data.len() <= MARK_NAME_BYTES_MAX && !entry.data.contains(&0)
}
