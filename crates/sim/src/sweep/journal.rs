//! The journal: finished rows on disk, so that a sweep that was killed can be continued.
//!
//! ```text
//! ftlab sweep journal 1, plan 9c1f… of ftlab 0.2.0 5d20…, 12 rows, traces 07ab…
//! 5a3e01c2 4 {"schema":"ftlab.run/1",…}          CRC-32 of what follows, row, its JSON
//! 0c44d9b7 0? {"schema":"ftlab.run/1",…}         a row that was refused, and is tried again
//! ```
//! A row is appended by one write and synced before it counts as done. A kill can leave the last
//! line incomplete: it is cut off, and its row is run again. So is the row of a line that is
//! damaged, of which the user is told. The file is created with its head by a rename; should a
//! crash of the system leave only a part of the head, nothing is lost, and it is created anew. A
//! running sweep holds a lock on it, which the system releases however the sweep ends.
//!
//! Some file systems of clusters have no locks. There a journal is used without one. Should two
//! sweeps then write the same journal, the one that notices it stops; lines that they have broken
//! do not count, so the worst is that rows are run again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, OtherSweep, Result};
use crate::sweep::key::JournalKey;
use crate::sweep::row::RowState;

/// What the first line of a journal begins with.
const HEAD: &str = "ftlab sweep journal 1, ";

/// Finished rows on disk.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The rows that were tried.
    rows: BTreeMap<usize, JsonSpan>,
    /// The position of the next line.
    end: u64,
    warnings: Vec<String>,
}

/// The position of the JSON of a row.
#[derive(Clone, Copy)]
struct JsonSpan {
    start: u64,
    length: usize,
    state: RowState,
}

impl Journal {
    /// Creates a journal, or continues the one that exists.
    ///
    /// # Errors
    /// It cannot be written, another sweep is writing it, or it belongs to another plan.
    pub fn open(path: &Path, key: &JournalKey, rows: usize) -> Result<Journal> {
        let start = start_of_head(&key.plan, rows);
        let head = format!("{start}{}\n", key.traces);
        let failed = |source| Error::Journal { path: path.to_owned(), source };
        let file = loop {
            if let Some(file) = locked(path, &head).map_err(failed)? {
                break file;
            }
        };
        match file {
            Lock::Held => Err(Error::JournalInUse { path: path.to_owned() }),
            Lock::Ours(file, is_locked) => {
                let mut journal = Journal::resume(file, path, &head, &start)?;
                if !is_locked {
                    journal.warnings.push(format!(
                        "the file system of {} has no locks; see to it that no other sweep writes \
                         it",
                        path.display()
                    ));
                }
                Ok(journal)
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
        match File::open(path).and_then(|file| first_line(&file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(Error::Journal { path: path.to_owned(), source }),
            Ok(line) if is_part_of_head(&line) || line.starts_with(start.as_bytes()) => Ok(()),
            Ok(line) => {
                Err(Error::OtherPlan { path: path.to_owned(), other: other(&line, &start) })
            }
        }
    }

    /// Continues the journal in a file. Its first line must be `head`, which begins with `start`.
    fn resume(file: File, path: &Path, head: &str, start: &str) -> Result<Journal> {
        let failed = |source| Error::Journal { path: path.to_owned(), source };
        let mut lines = BufReader::new(&file);
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).map_err(failed)?;
        if line != head.as_bytes() {
            let other = other(&line, start);
            return Err(Error::OtherPlan { path: path.to_owned(), other });
        }
        let Found { rows, damaged, end } = found(lines, line.len() as u64).map_err(failed)?;
        file.set_len(end).map_err(failed)?;
        let warnings = warning(path, &damaged).into_iter().collect();
        Ok(Journal { file, path: path.to_owned(), rows, end, warnings })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, row: usize, json: &str, state: RowState) -> Result<()> {
        self.append(row, json, state)?;
        self.sync()
    }

    /// Appends the rows of another journal that are not in this one, or only refused here. Its
    /// warnings become those of this one, too.
    ///
    /// # Errors
    /// One of the two cannot be read or written.
    pub fn keep_all(&mut self, other: &Journal) -> Result<()> {
        for (&row, span) in &other.rows {
            if self.state(row) < Some(span.state) {
                self.append(row, &other.row(row)?, span.state)?;
            }
        }
        self.warnings.extend_from_slice(&other.warnings);
        self.sync()
    }

    fn append(&mut self, row: usize, json: &str, state: RowState) -> Result<()> {
        self.refuse_other_writer()?;
        let mark = if state == RowState::Refused { "?" } else { "" };
        let checked = format!("{row}{mark} {json}");
        let line = format!("{:08x} {checked}\n", crc32fast::hash(checked.as_bytes()));
        let written = self.file.write_all_at(line.as_bytes(), self.end);
        written.map_err(|source| self.failed(source))?;
        let start = self.end + (line.len() - json.len() - 1) as u64;
        self.rows.insert(row, JsonSpan { start, length: json.len(), state });
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

    /// What the user should know of it: lines that are damaged, and a file system without locks.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn state(&self, row: usize) -> Option<RowState> {
        self.rows.get(&row).map(|span| span.state)
    }

    /// Whether a row was tried.
    pub fn has(&self, row: usize) -> bool {
        self.state(row).is_some()
    }

    /// Whether a row is done, so that it is not run again.
    pub fn is_done(&self, row: usize) -> bool {
        self.state(row) == Some(RowState::Done)
    }

    /// The number of rows that are done.
    pub fn count(&self) -> usize {
        self.rows.len() - self.refused_count()
    }

    /// The number of rows that were refused.
    pub fn refused_count(&self) -> usize {
        self.rows.values().filter(|span| span.state == RowState::Refused).count()
    }

    /// The JSON of a row that was tried.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn row(&self, row: usize) -> Result<String> {
        let span = self.rows[&row];
        let mut json = vec![0; span.length];
        let read = self.file.read_exact_at(&mut json, span.start);
        let text = read.and_then(|()| String::from_utf8(json).map_err(io::Error::other));
        text.map_err(|source| self.failed(source))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends it, once the output has been written: deletes it, unless rows were refused. Then it
    /// stays, and the next sweep runs only these.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub fn finish(self) -> Result<()> {
        if self.refused_count() > 0 { Ok(()) } else { self.delete() }
    }

    /// Deletes it, once its rows are elsewhere.
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
    format!("{HEAD}plan {plan}, {rows} rows, traces ")
}

/// What differs in the first line of a journal, which should begin with `start`.
fn other(line: &[u8], start: &str) -> OtherSweep {
    let parts = |line: &str| -> Option<[String; 2]> {
        let (plan, rest) = line.strip_prefix(HEAD)?.split_once(" of ftlab ")?;
        let (build, rest) = rest.split_once(", ")?;
        let (rows, _) = rest.split_once(", traces ")?;
        let digest = plan.strip_prefix("plan ")?;
        let is_whole = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then(|| [build.to_owned(), format!("{plan}, {rows}")])
    };
    let (Some([build, plan]), Some(wanted)) =
        (str::from_utf8(line).ok().and_then(parts), parts(start))
    else {
        return OtherSweep::Unknown;
    };
    match [build, plan] {
        found if found == wanted => OtherSweep::Traces,
        [build, _] if build != wanted[0] => OtherSweep::Build,
        _ => OtherSweep::Plan,
    }
}

/// The first line of a file; of one that is no journal, perhaps only its beginning.
fn first_line(file: &File) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(file.take(4096)).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Whether a first line is incomplete: then its file was never completely created, and has no rows.
fn is_part_of_head(line: &[u8]) -> bool {
    !line.ends_with(b"\n") && HEAD.bytes().zip(line).all(|(wanted, found)| wanted == *found)
}

/// What the lines of a journal have.
struct Found {
    rows: BTreeMap<usize, JsonSpan>,
    /// The numbers of damaged lines, from 1.
    damaged: Vec<usize>,
    /// The end of the last line that is not cut off.
    end: u64,
}

/// Reads the lines behind the head.
fn found(mut lines: impl BufRead, head_bytes: u64) -> io::Result<Found> {
    let mut found = Found { rows: BTreeMap::new(), damaged: Vec::new(), end: head_bytes };
    let mut line = Vec::new();
    for number in 2.. {
        line.clear();
        lines.read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            break;
        }
        match entry(&line) {
            None => found.damaged.push(number),
            Some((row, state, json)) => {
                let (start, length) = (found.end + json as u64, line.len() - json - 1);
                found.rows.insert(row, JsonSpan { start, length, state });
            }
        }
        found.end += line.len() as u64;
    }
    Ok(found)
}

/// The warning about damaged lines, if there are any.
fn warning(path: &Path, damaged: &[usize]) -> Option<String> {
    let (first, more) = damaged.split_first()?;
    let (path, more) = (path.display(), more.len());
    Some(match more {
        0 => format!("{path}:{first}: this line is damaged and does not count"),
        _ => format!("{path}:{first}: this line and {more} more are damaged and do not count"),
    })
}

/// The rows that a journal has so far.
#[derive(Debug, PartialEq, Eq)]
pub struct RowsSoFar {
    /// The rows as JSON, one line each.
    pub rows: Vec<String>,
    /// The number of rows of the plan.
    pub planned: usize,
    /// The warning about damaged lines, if there are any.
    pub warning: Option<String>,
}

/// The rows that a journal has so far, given the bytes of its file; a sweep may be writing it. None
/// if the bytes are no journal.
pub fn rows_in(path: &Path, bytes: &[u8]) -> Option<RowsSoFar> {
    let head = bytes.split_inclusive(|&byte| byte == b'\n').next()?;
    let lines = bytes.starts_with(HEAD.as_bytes()).then(|| &bytes[head.len()..])?;
    let planned = str::from_utf8(head).ok()?.split(", ").nth(2)?.strip_suffix(" rows")?;
    let Found { rows, damaged, .. } = found(lines, 0).ok()?;
    let json = |span: JsonSpan| {
        let start = span.start as usize;
        String::from_utf8_lossy(&lines[start..start + span.length]).into_owned()
    };
    Some(RowsSoFar {
        rows: rows.into_values().map(json).collect(),
        planned: planned.parse().ok()?,
        warning: warning(path, &damaged),
    })
}

/// The row of a valid line, whether it is done, and the position of its JSON in the line.
fn entry(line: &[u8]) -> Option<(usize, RowState, usize)> {
    let text = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (crc, checked) = text.split_once(' ')?;
    if u32::from_str_radix(crc, 16).ok()? != crc32fast::hash(checked.as_bytes()) {
        return None;
    }
    let (row, json) = checked.split_once(' ')?;
    let (row, state) = match row.strip_suffix('?') {
        Some(row) => (row, RowState::Refused),
        None => (row, RowState::Done),
    };
    Some((row.parse().ok()?, state, text.len() - json.len()))
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
    let line = first_line(&file)?;
    let is_empty = line.starts_with(HEAD.as_bytes()) && file.metadata()?.len() == line.len() as u64;
    // Without rows, a journal of another plan has nothing to lose, if nobody is writing it.
    let is_useless = is_empty && is_locked && line != head.as_bytes();
    if is_part_of_head(&line) || is_useless {
        std::fs::remove_file(path)?;
        return Ok(None);
    }
    (&file).rewind()?;
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
    use crate::sweep::row::RowState::{Done, Refused};

    fn key(plan: &str) -> JournalKey {
        JournalKey { plan: format!("{plan:0>64} of ftlab 1 b"), traces: "012".to_owned() }
    }

    fn opened(path: &Path) -> Journal {
        Journal::open(path, &key("abc"), 3).unwrap()
    }

    /// Writes a journal with rows 2 and 0 and returns its bytes.
    fn two_rows(path: &Path) -> Vec<u8> {
        let mut journal = opened(path);
        journal.keep(2, r#"{"n":2}"#, Done).unwrap();
        journal.keep(0, r#"{"n":"µ"}"#, Done).unwrap();
        drop(journal);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_journal_that_is_being_written_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let mut bytes = two_rows(&path);
        let read = |bytes: &[u8]| rows_in(&path, bytes);
        let rows = vec![r#"{"n":"µ"}"#.to_owned(), r#"{"n":2}"#.to_owned()];
        let both = Some(RowsSoFar { rows, planned: 3, warning: None });
        assert_eq!(read(&bytes), both);
        bytes.extend(b"5a3e01c2 1 {\"n\"");
        assert_eq!(read(&bytes), both, "a line that is not whole yet");
        assert!(read(b"sweep.row,sweep.varied\n").is_none() && read(b"").is_none());
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
            journal.keep(1, "{}", Done).unwrap();
            drop(journal);
            let journal = opened(&path);
            assert_eq!((journal.count(), journal.row(1).unwrap().as_str()), (rows + 1, "{}"));
        }
    }

    #[test]
    fn a_damaged_line_costs_only_its_row_and_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let whole = two_rows(&path);
        let first_line = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
        let mut bytes = whole.clone();
        bytes[first_line + 12] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let named = format!("{}:2: this line is damaged", path.display());
        let mut journal = opened(&path);
        assert_eq!([0, 1, 2].map(|row| journal.has(row)), [true, false, false]);
        assert!(journal.warnings()[0].starts_with(&named), "{:?}", journal.warnings());
        let RowsSoFar { rows, warning, .. } = rows_in(&path, &bytes).unwrap();
        assert!(rows == [r#"{"n":"µ"}"#] && warning.unwrap().starts_with(&named));
        journal.keep(2, "{}", Done).unwrap();
        drop(journal);
        let journal = opened(&path);
        assert_eq!([0, 2].map(|row| journal.row(row).unwrap()), [r#"{"n":"µ"}"#, "{}"]);
    }

    #[test]
    fn a_refused_row_is_there_but_not_done() {
        let directory = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
        let mut journal = opened(&a);
        journal.keep(0, "{}", Done).unwrap();
        journal.keep(1, "no", Refused).unwrap();
        journal.finish().unwrap();
        let journal = opened(&a);
        let states = |it: &Journal| [0, 1, 2].map(|row| (it.has(row), it.is_done(row)));
        assert_eq!(states(&journal), [(true, true), (true, false), (false, false)]);
        assert_eq!((journal.count(), journal.refused_count()), (1, 1));
        // Another machine may have had more memory.
        let mut other = opened(&b);
        other.keep(0, "no", Refused).unwrap();
        other.keep(1, "{}", Done).unwrap();
        other.keep_all(&journal).unwrap();
        assert_eq!([0, 1].map(|row| other.row(row).unwrap()), ["{}", "{}"]);
        other.finish().unwrap();
        assert!(a.exists() && !b.exists(), "only the journal with a refused row stays");
    }

    /// A crash of the system can leave a file that was created without its content.
    #[test]
    fn a_journal_without_its_whole_head_is_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        drop(opened(&path));
        let head = std::fs::read(&path).unwrap();
        for length in 0..head.len() {
            std::fs::write(&path, &head[..length]).unwrap();
            Journal::refuse_other_plan(&path, "abc", 3).unwrap();
            assert_eq!(opened(&path).count(), 0, "cut to {length} bytes");
            assert_eq!(std::fs::read(&path).unwrap(), head);
        }
    }

    #[test]
    fn rows_of_another_journal_are_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        two_rows(&at("a"));
        let mut journal = opened(&at("b"));
        journal.keep(2, "{}", Done).unwrap();
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
            Journal { file, path, rows: BTreeMap::new(), end: 0, warnings: Vec::new() }
        };
        assert!(unsyncable().keep(0, "{}", Done).is_err());
        let directory = tempfile::tempdir().unwrap();
        let mut other = opened(&directory.path().join("j"));
        other.keep(1, "{}", Done).unwrap();
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
        assert!(journal.warnings().is_empty());
        let mut other = OpenOptions::new().append(true).open(&path).unwrap();
        other.write_all(b"0badc0de 1 {}\n").unwrap();
        let why = journal.keep(0, "{}", Done).unwrap_err().to_string();
        assert!(why.contains("written by another program"), "{why}");
        std::fs::remove_file(&path).unwrap();
        let mut journal = opened(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(journal.keep(0, "{}", Done).is_err(), "it was deleted");
    }

    #[test]
    fn the_journal_of_another_plan_or_sweep_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let mut journal = opened(&path);
        let why = |result: Result<Journal>| result.err().unwrap().to_string();
        assert!(why(Journal::open(&path, &key("abd"), 3)).contains("another sweep is writing"));
        journal.keep(1, "{}", Done).unwrap();
        drop(journal);
        assert!(why(Journal::open(&path, &key("abd"), 3)).contains("another plan"));
        assert!(why(Journal::open(&path, &key("abc"), 4)).contains("another plan"));
        let other_traces = JournalKey { traces: "013".to_owned(), ..key("abc") };
        let other_traces = why(Journal::open(&path, &other_traces, 3));
        assert!(other_traces.contains("with other traces") && !other_traces.contains("plan"));
        std::fs::remove_file(&path).unwrap();
        let mut journal = Journal::open(&path, &key("abc"), 30_000).unwrap();
        journal.keep(1, "{}", Done).unwrap();
        drop(journal);
        assert!(why(Journal::open(&path, &key("abc"), 3)).contains("another plan"));
        let head = std::fs::read_to_string(&path).unwrap();
        let build = head.replace("ftlab 1 b", "ftlab 1 c").replace("0abc", "0abd");
        let damaged = head.replace("0abc", "0a c");
        let older = head.replace(" of ftlab 1 b", "");
        let [by_build, unknown] = ["another version or build", "or its first line is damaged"];
        for (text, sentence) in [(&build, by_build), (&damaged, unknown), (&older, unknown)] {
            std::fs::write(&path, text).unwrap();
            assert!(why(Journal::open(&path, &key("abc"), 3)).contains(sentence), "{text}");
        }
        std::fs::write(&path, "something else").unwrap();
        assert!(why(Journal::open(&path, &key("abc"), 3)).contains(unknown));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else");
    }
    #[test]
    fn a_journal_of_another_plan_without_rows_is_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        drop(opened(&path));
        let mut journal = Journal::open(&path, &key("abd"), 4).unwrap();
        journal.keep(3, "{}", Done).unwrap();
        drop(journal);
        assert!(Journal::open(&path, &key("abd"), 4).unwrap().is_done(3));
        assert!(Journal::open(&path, &key("abc"), 3).is_err());
    }
}
