//! The journal: finished rows on disk, so that a sweep that was killed can be continued.
//!
//! ```text
//! ftlab sweep journal 1, plan 9c1f…, 12 rows, traces 07ab…
//! 5a3e01c2 4 {"schema":"ftlab.run/1",…}          CRC-32 of what follows, row, its JSON
//! 0c44d9b7 0 {"schema":"ftlab.run/1",…}
//! ```
//! A row is appended by one write and synced before it counts as done. A kill can leave the last
//! line incomplete: the file is truncated at the first line that is not valid, and the rows behind
//! it are run again. The file is created with its head by a rename. A running sweep holds a lock on
//! it, which the system releases however the sweep ends.
//!
//! Some file systems of clusters have no locks. There a journal is used without one. Should two
//! sweeps then write the same journal, the one that notices it stops; lines that they have broken
//! do not count, so the worst is that rows are run again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::sweep::key::JournalKey;

/// Finished rows on disk.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// For each row the position of its JSON, if it is done.
    rows: Vec<Option<JsonSpan>>,
    /// The position of the next line.
    end: u64,
    is_locked: bool,
}

#[derive(Clone, Copy)]
struct JsonSpan {
    start: u64,
    length: usize,
}

impl Journal {
    /// Creates a journal, or continues the one that exists.
    ///
    /// # Errors
    /// It cannot be written, another sweep is writing it, or it belongs to another plan.
    pub fn open(path: &Path, key: &JournalKey, rows: usize) -> Result<Journal> {
        let head = format!("{}{}\n", start_of_head(&key.plan, rows), key.traces);
        let failed = |source| Error::Journal { path: path.to_owned(), source };
        let file = loop {
            if let Some(file) = locked(path, &head).map_err(failed)? {
                break file;
            }
        };
        match file {
            Lock::Held => Err(Error::JournalInUse { path: path.to_owned() }),
            Lock::Ours(file, is_locked) => {
                let journal = Journal::resume(file, path, &head, rows)?;
                Ok(Journal { is_locked, ..journal })
            }
        }
    }

    /// Refuses a journal that another sweep is writing; one that does not exist is not.
    ///
    /// # Errors
    /// Another sweep is writing it.
    pub fn refuse_if_in_use(path: &Path) -> Result<()> {
        let Ok(file) = File::open(path) else { return Ok(()) };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => Err(Error::JournalInUse { path: path.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Refuses a journal of another plan; one that does not exist is of none. Its traces are not
    /// compared, because they would have to be read.
    ///
    /// # Errors
    /// It was begun by another plan, or cannot be read.
    pub fn refuse_other_plan(path: &Path, plan: &str, rows: usize) -> Result<()> {
        let start = start_of_head(plan, rows);
        let mut found = Vec::new();
        let length = start.len() as u64;
        let read = File::open(path).and_then(|file| file.take(length).read_to_end(&mut found));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(Error::Journal { path: path.to_owned(), source }),
            Ok(_) if found != start.as_bytes() => Err(Error::OtherPlan { path: path.to_owned() }),
            Ok(_) => Ok(()),
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
        Ok(Journal { file, path: path.to_owned(), rows: spans, end, is_locked: true })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, row: usize, json: &str) -> Result<()> {
        self.append(row, json)?;
        self.sync()
    }

    /// Appends the rows of another journal that are not in this one.
    ///
    /// # Errors
    /// One of the two cannot be read or written.
    pub fn keep_all(&mut self, other: &Journal) -> Result<()> {
        for row in 0..self.rows.len() {
            if other.has(row) && !self.has(row) {
                self.append(row, &other.row(row)?)?;
            }
        }
        self.sync()
    }

    fn append(&mut self, row: usize, json: &str) -> Result<()> {
        self.refuse_other_writer()?;
        let checked = format!("{row} {json}");
        let line = format!("{:08x} {checked}\n", crc32fast::hash(checked.as_bytes()));
        let written = self.file.write_all_at(line.as_bytes(), self.end);
        written.map_err(|source| self.failed(source))?;
        let start = self.end + (line.len() - json.len() - 1) as u64;
        self.rows[row] = Some(JsonSpan { start, length: json.len() });
        self.end += line.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|source| self.failed(source))
    }

    /// Stops if somebody else has written the file, or deleted it.
    fn refuse_other_writer(&self) -> Result<()> {
        let found = self.file.metadata().map_err(|source| self.failed(source))?;
        match found.len() == self.end && found.nlink() > 0 {
            true => Ok(()),
            false => Err(Error::JournalLost { path: self.path.clone() }),
        }
    }

    /// Whether a lock keeps other sweeps from writing it.
    pub fn is_locked(&self) -> bool {
        self.is_locked
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

/// What the first line of each journal of a plan begins with.
fn start_of_head(plan: &str, rows: usize) -> String {
    format!("ftlab sweep journal 1, plan {plan}, {rows} rows, traces ")
}

/// The rows that a journal has so far, given the bytes of its file; a sweep may be writing it. None
/// if the bytes are no journal.
pub fn rows_in(bytes: &[u8]) -> Option<BTreeMap<usize, String>> {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    lines.next().filter(|head| head.starts_with(b"ftlab sweep journal 1, "))?;
    let row = |line: &[u8]| {
        let (row, json) = entry(line)?;
        Some((row, str::from_utf8(&line[json..]).ok()?.trim_end().to_owned()))
    };
    Some(lines.map_while(row).collect())
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
    /// Nobody else writes it; with a lock, if the file system has locks.
    Ours(File, bool),
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
    let is_locked = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(Some(Lock::Held)),
        Err(error) if has_no_locks(error) => false,
        locked => locked.map(|()| true)?,
    };
    // The previous holder may have deleted it after it was opened here.
    Ok((file.metadata()?.nlink() > 0).then_some(Lock::Ours(file, is_locked)))
}

/// Whether a file system answers like this because it has no locks: Lustre mounted without
/// `flock`, NFS without its lock daemon, some file systems in user space.
fn has_no_locks(error: Errno) -> bool {
    [Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOLCK].contains(&error)
}

/// Creates an empty journal, unless another sweep does so at the same time.
fn create(path: &Path, head: &str) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Colleagues may read it while the sweep runs.
    let readable = Permissions::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    let created = builder.prefix(".ftlab-").permissions(readable).tempfile_in(directory);
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

    fn key(plan: &str) -> JournalKey {
        JournalKey { plan: plan.to_owned(), traces: "012".to_owned() }
    }

    fn opened(path: &Path) -> Journal {
        Journal::open(path, &key("abc"), 3).unwrap()
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
    fn a_journal_that_is_being_written_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut bytes = two_rows(&path);
        let read = |bytes: &[u8]| rows_in(bytes).unwrap().into_iter().collect::<Vec<_>>();
        let both = [(0, r#"{"n":"µ"}"#.to_owned()), (2, r#"{"n":2}"#.to_owned())];
        assert_eq!(read(&bytes), both);
        bytes.extend(b"5a3e01c2 1 {\"n\"");
        assert_eq!(read(&bytes), both, "a line that is not whole yet");
        assert!(rows_in(b"sweep.row,sweep.varied\n").is_none() && rows_in(b"").is_none());
    }

    #[test]
    fn a_journal_has_the_permissions_of_any_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let [journal, other] = ["journal", "other"].map(|name| directory.path().join(name));
        opened(&journal);
        File::create(&other).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&journal), mode(&other));
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
    fn rows_of_another_journal_are_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        two_rows(&at("a"));
        let mut journal = opened(&at("b"));
        journal.keep(2, "{}").unwrap();
        journal.keep_all(&opened(&at("a"))).unwrap();
        drop(journal);
        let journal = opened(&at("b"));
        assert_eq!([0, 1, 2].map(|row| journal.has(row)), [true, false, true]);
        assert_eq!(journal.row(0).unwrap(), r#"{"n":"µ"}"#);
        assert_eq!(journal.row(2).unwrap(), "{}", "its own");
    }

    /// A null device takes every byte, but cannot be synced.
    #[test]
    fn a_row_that_cannot_be_synced_is_not_done() {
        let unsyncable = || {
            let path = PathBuf::from("/dev/null");
            let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            Journal { file, path, rows: vec![None; 3], end: 0, is_locked: true }
        };
        assert!(unsyncable().keep(0, "{}").is_err());
        let directory = tempfile::tempdir().unwrap();
        let mut other = opened(&directory.path().join("j"));
        other.keep(1, "{}").unwrap();
        assert!(unsyncable().keep_all(&other).is_err());
    }

    /// Without locks, a second writer is noticed by the length of the file.
    #[test]
    fn without_locks_a_second_writer_is_noticed() {
        let without = [Errno::NOSYS, Errno::NOTSUP, Errno::NOLCK];
        assert!(without.into_iter().all(has_no_locks));
        assert!(!has_no_locks(Errno::WOULDBLOCK) && !has_no_locks(Errno::IO));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let mut journal = opened(&path);
        assert!(journal.is_locked());
        let mut other = OpenOptions::new().append(true).open(&path).unwrap();
        other.write_all(b"0badc0de 1 {}\n").unwrap();
        let why = journal.keep(0, "{}").unwrap_err().to_string();
        assert!(why.contains("written by another program"), "{why}");
        std::fs::remove_file(&path).unwrap();
        let mut journal = opened(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(journal.keep(0, "{}").is_err(), "it was deleted");
    }

    #[test]
    fn the_journal_of_another_plan_or_sweep_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let journal = opened(&path);
        let why = |result: Result<Journal>| result.err().unwrap().to_string();
        assert!(why(Journal::open(&path, &key("abc"), 3)).contains("another sweep is writing"));
        drop(journal);
        assert!(why(Journal::open(&path, &key("abd"), 3)).contains("another plan"));
        assert!(why(Journal::open(&path, &key("abc"), 4)).contains("another plan"));
        let other_traces = JournalKey { traces: "013".to_owned(), ..key("abc") };
        assert!(why(Journal::open(&path, &other_traces, 3)).contains("other traces"));
        std::fs::write(&path, "something else").unwrap();
        assert!(why(Journal::open(&path, &key("abc"), 3)).contains("another plan"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else");
    }
}
