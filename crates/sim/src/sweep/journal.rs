//! The journal: finished rows on disk, so that a sweep that was killed can be continued.
//!
//! ```text
//! ftlab sweep journal 1, plan 9c1f…, 12 rows
//! 5a3e01c2 4 {"schema":"ftlab.run/1",…}          CRC-32 of what follows, row, its JSON
//! 0c44d9b7 0 {"schema":"ftlab.run/1",…}
//! ```
//! A row is appended by one write and synced before it counts as done. A kill can leave the last
//! line incomplete: the file is truncated at the first line that is not valid, and the rows behind
//! it are run again. The file is created with its head by a rename. A running sweep holds a lock on
//! it, which the system releases however the sweep ends.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// Finished rows on disk.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// For each row the position of its JSON, if it is done.
    rows: Vec<Option<JsonSpan>>,
    /// The position of the next line.
    end: u64,
}

#[derive(Clone, Copy)]
struct JsonSpan {
    start: u64,
    length: usize,
}

impl Journal {
    /// The path of the journal, which lies beside its output.
    pub fn path_of(output: &Path) -> PathBuf {
        let mut name = output.as_os_str().to_owned();
        name.push(".journal");
        name.into()
    }

    /// Creates a journal, or continues the one that exists.
    ///
    /// # Errors
    /// It cannot be written, another sweep is writing it, or it belongs to another plan.
    pub fn open(path: &Path, plan: &str, rows: usize) -> Result<Journal> {
        let head = format!("ftlab sweep journal 1, plan {plan}, {rows} rows\n");
        let failed = |source| Error::Journal { path: path.to_owned(), source };
        let file = loop {
            if let Some(file) = locked(path, &head).map_err(failed)? {
                break file;
            }
        };
        match file {
            Lock::Held => Err(Error::JournalInUse { path: path.to_owned() }),
            Lock::Ours(file) => Journal::resume(file, path, &head, rows),
        }
    }

    fn resume(file: File, path: &Path, head: &str, rows: usize) -> Result<Journal> {
        let failed = |source| Error::Journal { path: path.to_owned(), source };
        let mut lines = BufReader::new(&file);
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).map_err(failed)?;
        if line != head.as_bytes() {
            return Err(Error::OtherPlan { path: path.to_owned() });
        }
        let (mut spans, mut end) = (vec![None; rows], line.len() as u64);
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line).map_err(failed)?;
            let Some((row, json)) = entry(&line).filter(|(row, _)| *row < rows) else { break };
            spans[row] = Some(JsonSpan { start: end + json as u64, length: line.len() - json - 1 });
            end += line.len() as u64;
        }
        file.set_len(end).map_err(failed)?;
        Ok(Journal { file, path: path.to_owned(), rows: spans, end })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, row: usize, json: &str) -> Result<()> {
        let checked = format!("{row} {json}");
        let line = format!("{:08x} {checked}\n", crc32fast::hash(checked.as_bytes()));
        let written = self.file.write_all_at(line.as_bytes(), self.end);
        let synced = written.and_then(|()| self.file.sync_data());
        synced.map_err(|source| self.failed(source))?;
        let start = self.end + (line.len() - json.len() - 1) as u64;
        self.rows[row] = Some(JsonSpan { start, length: json.len() });
        self.end += line.len() as u64;
        Ok(())
    }

    /// Whether a row is done.
    pub fn has(&self, row: usize) -> bool {
        self.rows[row].is_some()
    }

    /// The number of rows that are done.
    pub fn count(&self) -> usize {
        self.rows.iter().flatten().count()
    }

    /// The JSON of a row that is done.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn row(&self, row: usize) -> Result<String> {
        let span = self.rows[row].expect("the row is done");
        let mut json = vec![0; span.length];
        let read = self.file.read_exact_at(&mut json, span.start);
        let text = read.and_then(|()| String::from_utf8(json).map_err(io::Error::other));
        text.map_err(|source| self.failed(source))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes it, once the output has been written.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub fn delete(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Journal { path: self.path.clone(), source }
    }
}

/// The row of a valid line, and the position of its JSON in the line.
fn entry(line: &[u8]) -> Option<(usize, usize)> {
    let text = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (crc, checked) = text.split_once(' ')?;
    if u32::from_str_radix(crc, 16).ok()? != crc32fast::hash(checked.as_bytes()) {
        return None;
    }
    let (row, json) = checked.split_once(' ')?;
    Some((row.parse().ok()?, text.len() - json.len()))
}

enum Lock {
    Ours(File),
    Held,
}

/// Opens the file, creating it if necessary, and locks it; `None` if it was deleted in between.
fn locked(path: &Path, head: &str) -> io::Result<Option<Lock>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(path, head)?;
            return Ok(None);
        }
        opened => opened?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(Some(Lock::Held)),
        Err(error) => Err(error.into()),
        // The previous holder may have deleted it after it was opened here.
        Ok(()) if file.metadata()?.nlink() == 0 => Ok(None),
        Ok(()) => Ok(Some(Lock::Ours(file))),
    }
}

/// Creates an empty journal, unless another sweep does so at the same time.
fn create(path: &Path, head: &str) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let created = tempfile::Builder::new().prefix(".ftlab-").tempfile_in(directory);
    // The error itself names the temporary file.
    let file = created.map_err(|error| io::Error::from(error.kind()))?;
    file.as_file().write_all(head.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => Err(failed.error),
        _ => File::open(directory)?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &Path) -> Journal {
        Journal::open(path, "abc", 3).unwrap()
    }

    /// Writes a journal with rows 2 and 0 and returns its bytes.
    fn two_rows(path: &Path) -> Vec<u8> {
        let mut journal = opened(path);
        journal.keep(2, r#"{"n":2}"#).unwrap();
        journal.keep(0, r#"{"n":"µ"}"#).unwrap();
        drop(journal);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn rows_can_be_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows.csv.journal");
        two_rows(&path);
        let journal = opened(&path);
        assert_eq!([0, 1, 2].map(|row| journal.has(row)), [true, false, true]);
        assert_eq!(journal.row(0).unwrap(), r#"{"n":"µ"}"#);
        assert_eq!(journal.row(2).unwrap(), r#"{"n":2}"#);
        journal.delete().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_truncated_journal_keeps_its_whole_rows_and_can_be_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let whole = two_rows(&path);
        let line_ends: Vec<usize> =
            whole.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1).collect();
        for length in line_ends[0]..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut journal = opened(&path);
            let rows = line_ends.iter().filter(|&&end| end <= length).count() - 1;
            assert_eq!(journal.count(), rows, "cut to {length} bytes");
            journal.keep(1, "{}").unwrap();
            drop(journal);
            let journal = opened(&path);
            assert_eq!((journal.count(), journal.row(1).unwrap().as_str()), (rows + 1, "{}"));
        }
    }

    #[test]
    fn rows_behind_a_flipped_bit_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let whole = two_rows(&path);
        let first_line = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
        let mut bytes = whole.clone();
        bytes[first_line + 12] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(opened(&path).count(), 0);
    }

    #[test]
    fn the_journal_of_another_plan_or_sweep_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let journal = opened(&path);
        let why = |result: Result<Journal>| result.err().unwrap().to_string();
        assert!(why(Journal::open(&path, "abc", 3)).contains("another sweep is writing"));
        drop(journal);
        assert!(why(Journal::open(&path, "abd", 3)).contains("another plan"));
        assert!(why(Journal::open(&path, "abc", 4)).contains("another plan"));
        std::fs::write(&path, "something else").unwrap();
        assert!(why(Journal::open(&path, "abc", 3)).contains("another plan"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else");
    }
}
