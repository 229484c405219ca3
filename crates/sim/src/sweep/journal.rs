//! The journal: rows as they are done, so that a sweep killed at any moment goes on where it was.
//!
//! ```text
//! ftlab sweep journal 1, plan 9c1f…, 12 rows
//! 5a3e01c2 4 {"schema":"ftlab.run/1",…}          CRC-32 of what follows, row, its JSON
//! 0c44d9b7 0 {"schema":"ftlab.run/1",…}
//! ```
//! A row is appended by one write and synced before anybody hears of it. A kill can leave the last
//! line half written: from the first line on that is not whole, the file is cut off and its rows
//! are run again. The file itself appears whole, head included, by rename. While a sweep runs it
//! holds a lock, which the system takes back however the sweep ends.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};

/// Rows done, on disk.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Where the JSON of each row stands.
    places: Vec<Option<Place>>,
    /// Where the next line goes.
    end: u64,
}

#[derive(Clone, Copy)]
struct Place {
    start: u64,
    length: usize,
}

impl Journal {
    /// Where the journal of an output lies: beside it.
    pub fn path_of(output: &Path) -> PathBuf {
        let mut name = output.as_os_str().to_owned();
        name.push(".journal");
        name.into()
    }

    /// Begins a journal, or goes on with the one that is there.
    ///
    /// # Errors
    /// It cannot be written, another sweep is writing it, or it is of another plan.
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
        let (mut places, mut end) = (vec![None; rows], line.len() as u64);
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line).map_err(failed)?;
            let Some((row, json)) = entry(&line).filter(|(row, _)| *row < rows) else { break };
            places[row] = Some(Place { start: end + json as u64, length: line.len() - json - 1 });
            end += line.len() as u64;
        }
        file.set_len(end).map_err(failed)?;
        Ok(Journal { file, path: path.to_owned(), places, end })
    }

    /// Keeps a row.
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
        self.places[row] = Some(Place { start, length: json.len() });
        self.end += line.len() as u64;
        Ok(())
    }

    /// Whether a row is done.
    pub fn has(&self, row: usize) -> bool {
        self.places[row].is_some()
    }

    /// Rows done.
    pub fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// The JSON of a row that is done.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub fn row(&self, row: usize) -> Result<String> {
        let place = self.places[row].expect("asked only for rows that are done");
        let mut json = vec![0; place.length];
        let read = self.file.read_exact_at(&mut json, place.start);
        let text = read.and_then(|()| String::from_utf8(json).map_err(io::Error::other));
        text.map_err(|source| self.failed(source))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes it: the output is there.
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

/// The row of a whole line, and where its JSON starts.
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

/// Opens the file, which is made if need be, and locks it; nothing if it was deleted in between.
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
        // Whoever held it before may have deleted it as we came.
        Ok(()) if file.metadata()?.nlink() == 0 => Ok(None),
        Ok(()) => Ok(Some(Lock::Ours(file))),
    }
}

/// Makes a journal of no rows, whole, unless somebody else does at the same time.
fn create(path: &Path, head: &str) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new().prefix(".ftlab-").tempfile_in(directory)?;
    file.write_all(head.as_bytes())?;
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

    /// A journal with rows 2 and 0, and the bytes of it.
    fn two_rows(path: &Path) -> Vec<u8> {
        let mut journal = opened(path);
        journal.keep(2, r#"{"n":2}"#).unwrap();
        journal.keep(0, r#"{"n":"µ"}"#).unwrap();
        drop(journal);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn rows_are_found_again() {
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
    fn wherever_it_is_cut_off_whole_rows_are_kept_and_others_written_anew() {
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
    fn a_flipped_bit_ends_what_is_believed() {
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
    fn another_plan_or_another_sweep_is_refused() {
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
