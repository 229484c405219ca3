//! Digests of trace files: SHA-256 of the files as they are stored, as `trace_sha256` in a result.
//!
//! A sweep asks for the digest of a trace for each of its rows and for its journals. Each file is
//! read once, and again only when its state has changed: its inode, size or times.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};

/// Bytes that are read before progress is reported.
const CHUNK: usize = 1 << 20;

/// The digests of the trace files that were asked for.
#[derive(Debug, Default)]
pub struct TraceDigests {
    known: Mutex<HashMap<Vec<FileState>, Option<String>>>,
}

/// What changes when a file is written or replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FileState {
    path: PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl FileState {
    fn of(path: &Path, found: &Metadata) -> FileState {
        let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        FileState {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
            bytes: found.size(),
            modified_ns: ns(found.mtime(), found.mtime_nsec()),
            changed_ns: ns(found.ctime(), found.ctime_nsec()),
        }
    }
}

impl TraceDigests {
    /// The digest of the files that a trace's name stands for, in hexadecimal: of a file, of an
    /// archive, or of several files concatenated. None if they are missing, cannot be read, or are
    /// no regular files: reading a pipe would take its bytes from the run.
    ///
    /// # Errors
    /// [`Error::Interrupted`], if the receiver of the progress stops the reading.
    pub fn of(&self, word: &str, progress: &dyn Progress) -> Result<Option<String>> {
        let Some(states) = states(word) else { return Ok(None) };
        // Whoever needs the same file meanwhile waits for it instead of reading it, too.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known.get(&states) {
            return Ok(digest.clone());
        }
        let digest = match read(&states, progress) {
            Ok(digest) => Some(digest),
            Err(Stop::Interrupted) => return Err(Error::Interrupted),
            Err(Stop::Unreadable) => None,
        };
        known.insert(states, digest.clone());
        Ok(digest)
    }
}

/// The states of the files of a trace; none if there are none, or one is not a regular file.
fn states(word: &str) -> Option<Vec<FileState>> {
    let files = trace::stored_files(word);
    let state = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some(FileState::of(path, &found))
    };
    let states: Vec<FileState> = files.iter().map(state).collect::<Option<_>>()?;
    (!states.is_empty()).then_some(states)
}

/// Why a file was not read to its end.
enum Stop {
    Interrupted,
    Unreadable,
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Stop {
        Stop::Unreadable
    }
}

fn read(files: &[FileState], progress: &dyn Progress) -> core::result::Result<String, Stop> {
    let total = files.iter().map(|file| file.bytes).sum();
    let (mut hasher, mut chunk, mut done) = (Sha256::new(), vec![0; CHUNK], 0);
    for state in files {
        let mut file = File::open(&state.path)?;
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                break;
            }
            hasher.update(&chunk[..count]);
            done += count as u64;
            let goes_on = progress.report(Stage::Survey, done, Some(total));
            goes_on.map_err(|_| Stop::Interrupted)?;
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use trace::{ReadOptions, Trace};

    use crate::progress::NoProgress;

    /// Counts the reports, and stops the reading at one of them.
    struct Reports {
        seen: Cell<u32>,
        stop_at: u32,
    }

    impl Progress for Reports {
        fn report(&self, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
            self.seen.set(self.seen.get() + 1);
            if self.seen.get() == self.stop_at { Err(Error::Interrupted) } else { Ok(()) }
        }
    }

    fn reports(stop_at: u32) -> Reports {
        Reports { seen: Cell::new(0), stop_at }
    }

    const LINES: &str = "0,0,512,W,0.0\n0,8,512,W,0.5\n";

    #[test]
    fn a_file_is_read_once_until_it_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.spc");
        std::fs::write(&path, LINES).unwrap();
        let word = path.to_str().unwrap();
        let (digests, reports) = (TraceDigests::default(), reports(0));
        let first = digests.of(word, &reports).unwrap().expect("a digest");
        for _ in 0..1000 {
            assert_eq!(digests.of(word, &reports).unwrap().as_ref(), Some(&first));
        }
        assert_eq!(reports.seen.get(), 1, "one chunk, read once");
        // The same size: only the times and the content differ.
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, LINES.replace('8', "9")).unwrap();
        assert_ne!(digests.of(word, &reports).unwrap(), Some(first));
    }

    #[test]
    fn digests_are_those_of_results() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(at("t.spc"), LINES).unwrap();
        let mut archive = tar::Builder::new(File::create(at("set.tar")).unwrap());
        archive.append_path_with_name(at("t.spc"), "t.spc").unwrap();
        archive.append_path_with_name(at("t.spc"), "u.spc").unwrap();
        archive.finish().unwrap();
        drop(archive);
        let packed = File::create(at("packed.tar.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        io::copy(&mut File::open(at("set.tar")).unwrap(), &mut packed).unwrap();
        packed.finish().unwrap();
        for name in ["t.spc", "set.tar", "set.tar/t.spc", "packed.tar.gz", "packed.tar.gz/u.spc"] {
            let trace = Trace::open(&at(name), &ReadOptions::default()).unwrap();
            let digest = TraceDigests::default().of(&at(name), &NoProgress).unwrap();
            assert_eq!(digest, trace.sha256().unwrap(), "{name}");
        }
    }

    #[test]
    fn missing_files_and_pipes_have_no_digest_and_reading_can_be_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let digests = TraceDigests::default();
        assert_eq!(digests.of(&at("missing"), &NoProgress).unwrap(), None);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert_eq!(digests.of(&at("pipe"), &NoProgress).unwrap(), None, "and it does not wait");
        std::fs::write(at("t"), vec![1; 3 * CHUNK]).unwrap();
        let stopped = digests.of(&at("t"), &reports(2));
        assert!(matches!(stopped, Err(Error::Interrupted)));
        assert!(digests.of(&at("t"), &NoProgress).unwrap().is_some(), "not remembered");
    }
}
