//! Where the bytes of a trace come from: a file, several of them, members of an archive, or
//! standard input, packed or not.
//!
//! A trace is read more than once (to learn its format, to warm up, to measure), so what cannot be
//! read again, such as a pipe, is spooled to a temporary file first; so is an archive that is
//! packed, unless a single member of it is wanted, which is found anew each time. Packings and
//! archives are told by their content, never by their names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::input::archive::{self, Member};
use crate::input::packing::{MAGIC_BYTES, Packing};
use crate::input::resolve_path::ResolvedPath;
use crate::input::sliding_window::SlidingWindow;
use crate::input::storage::Storage;

/// A trace's stored bytes, which can be opened again and again.
#[derive(Debug)]
pub(crate) struct StoredTrace {
    name: String,
    storage: Storage,
    size_bytes: u64,
    packing: Packing,
    parts: Parts,
}

/// What a trace consists of.
#[derive(Debug)]
enum Parts {
    /// This input.
    Itself,
    /// This input and the files of the other CPUs.
    Cpus(Vec<StoredTrace>),
    /// The members of this archive.
    Members(Vec<StoredTrace>),
}

impl StoredTrace {
    /// Opens what a word names; `-` is standard input.
    ///
    /// # Errors
    /// What the system says, a directory, an empty file, a packing that is not read, an archive
    /// without a trace.
    pub(crate) fn open(word: &str) -> Result<StoredTrace> {
        if word == "-" {
            return StoredTrace::spool("standard input", io::stdin().lock());
        }
        match ResolvedPath::by(word) {
            ResolvedPath::File(path) => StoredTrace::file(word, &path)?.looked_into(None),
            ResolvedPath::Members(path, pattern) => {
                let archive = StoredTrace::file(&path.to_string_lossy(), &path)?;
                Ok(StoredTrace { name: word.to_owned(), ..archive.looked_into(Some(&pattern))? })
            }
            ResolvedPath::Cpus(paths) => {
                let path_name = |path: &Path| path.to_string_lossy().into_owned();
                let files = paths.iter().map(|path| StoredTrace::file(&path_name(path), path));
                StoredTrace::of_cpus(word, files)
            }
        }
    }

    /// Files that blktrace wrote together; it leaves an empty one for a CPU without events.
    fn of_cpus(
        word: &str,
        files: impl Iterator<Item = Result<StoredTrace>>,
    ) -> Result<StoredTrace> {
        let written = files.filter(|file| !matches!(file, Err(Error::Empty { .. })));
        let mut files = written.collect::<Result<Vec<_>>>()?.into_iter();
        let first = files.next().ok_or_else(|| Error::Empty { name: word.to_owned() })?;
        Ok(StoredTrace { name: word.to_owned(), parts: Parts::Cpus(files.collect()), ..first })
    }

    fn file(name: &str, path: &Path) -> Result<StoredTrace> {
        let failed = |source| Error::Open { name: name.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::Directory { name: name.to_owned() });
        }
        if !metadata.is_file() {
            return StoredTrace::spooled(name, File::open(path).map_err(failed)?);
        }
        StoredTrace::at(name.to_owned(), Storage::Path(path.to_owned()), metadata.len())
    }

    /// Bytes in memory as if they were a file.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Result<StoredTrace> {
        let storage = Storage::Memory(bytes.into());
        StoredTrace::at(name.to_owned(), storage, bytes.len() as u64)?.looked_into(None)
    }

    /// Copies what can be read only once to a temporary file, gone with the input.
    pub(crate) fn spool(name: &str, reader: impl Read) -> Result<StoredTrace> {
        StoredTrace::spooled(name, reader)?.looked_into(None)
    }

    fn spooled(name: &str, mut reader: impl Read) -> Result<StoredTrace> {
        let spooled = Storage::spool(&mut reader);
        let failed = |source| Error::Spool { name: name.to_owned(), source };
        let (storage, size_bytes) = spooled.map_err(failed)?;
        StoredTrace::at(name.to_owned(), storage, size_bytes)
    }

    /// The bytes in a storage, whatever they are.
    fn at(name: String, storage: Storage, size_bytes: u64) -> Result<StoredTrace> {
        if size_bytes == 0 {
            return Err(Error::Empty { name });
        }
        let mut magic = Vec::with_capacity(MAGIC_BYTES);
        let read = storage
            .reader()
            .and_then(|reader| reader.take(MAGIC_BYTES as u64).read_to_end(&mut magic));
        if let Err(source) = read {
            return Err(Error::Open { name, source });
        }
        let packing = Packing::of(&name, &magic)?;
        Ok(StoredTrace { name, storage, size_bytes, packing, parts: Parts::Itself })
    }

    // ---- archives ----------------------------------------------------------------------------

    /// The same, with its members if it is an archive: those that a pattern chooses, or all.
    fn looked_into(self, pattern: Option<&str>) -> Result<StoredTrace> {
        match (self.is_archive(), pattern) {
            (true, _) => self.with_members(pattern),
            (false, None) => Ok(self),
            (false, Some(pattern)) => {
                Err(self.refused(format!("it is no archive, so there is no `{pattern}` in it")))
            }
        }
    }

    /// Whether it is an archive; what cannot be read will say so when it is.
    fn is_archive(&self) -> bool {
        let mut head = Vec::with_capacity(archive::TAR_HEADER_BYTES);
        let unpacked = self.unpacked();
        let read = unpacked.and_then(|reader| {
            reader.take(archive::TAR_HEADER_BYTES as u64).read_to_end(&mut head)
        });
        read.is_ok() && archive::is_archive(&head)
    }

    fn with_members(mut self, pattern: Option<&str>) -> Result<StoredTrace> {
        let members = self.listed(pattern)?;
        let (archive, packing) = match members.len() {
            2.. if self.packing != Packing::None => (self.unpacked_to_a_file()?, Packing::None),
            _ => (self.storage.clone(), self.packing),
        };
        let part = |Member { name, start, bytes }| {
            let storage =
                Storage::Member { archive: Box::new(archive.clone()), packing, start, bytes };
            let part = StoredTrace::at(format!("{}/{name}", self.name), storage, bytes)?;
            match part.is_archive() {
                true => {
                    Err(self.refused(format!("member `{name}` is an archive; unpack it first")))
                }
                false => Ok(part),
            }
        };
        self.parts = Parts::Members(members.into_iter().map(part).collect::<Result<_>>()?);
        Ok(self)
    }

    /// The chosen members in the order of their names.
    fn listed(&self, pattern: Option<&str>) -> Result<Vec<Member>> {
        let failed = |source| Error::Open { name: self.name.clone(), source };
        if self.packing == Packing::None
            && let Some((file, _)) = self.storage.file().map_err(failed)?
        {
            let members = archive::seek_members(&self.name, file, pattern)?;
            let whole = |member: &&Member| member.start + member.bytes <= self.size_bytes;
            return match members.iter().find(|member| !whole(member)) {
                Some(cut) => Err(self.refused(format!("it is cut off in member `{}`", cut.name))),
                None => Ok(members),
            };
        }
        let unpacked = self.unpacked().map_err(failed)?;
        archive::read_members(&self.name, unpacked, pattern)
    }

    fn unpacked_to_a_file(&self) -> Result<Storage> {
        let failed = |source| Error::Spool { name: self.name.clone(), source };
        let spooled = self.unpacked().and_then(|mut reader| Storage::spool(&mut reader));
        spooled.map(|(storage, _)| storage).map_err(failed)
    }

    fn refused(&self, what: String) -> Error {
        Error::Archive { name: self.name.clone(), what }
    }

    // ---- reading -----------------------------------------------------------------------------

    /// What messages call the trace.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a member of an archive.
    pub(crate) fn is_member(&self) -> bool {
        self.storage.is_member()
    }

    /// The stored size, of all parts.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.parts().map(|part| part.size_bytes).sum()
    }

    /// What the trace consists of, in order: one input, and more for several CPUs or an archive.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &StoredTrace> {
        let (first, more) = match &self.parts {
            Parts::Itself => (Some(self), &[][..]),
            Parts::Cpus(others) => (Some(self), others.as_slice()),
            Parts::Members(members) => (None, members.as_slice()),
        };
        first.into_iter().chain(more)
    }

    /// The part with this number, from 0.
    pub(crate) fn part(&self, index: usize) -> Option<&StoredTrace> {
        self.parts().nth(index)
    }

    /// A fresh window at the first byte of this part.
    pub(crate) fn window(&self) -> Result<SlidingWindow> {
        let failed = |source| self.failure(0, source);
        if self.packing == Packing::None
            && let Some((file, start)) = self.storage.file().map_err(failed)?
        {
            return Ok(SlidingWindow::mapped(file, start, self.size_bytes));
        }
        let consumed = Arc::new(AtomicU64::new(0));
        let stored = self.storage.reader().map_err(failed)?;
        let stored = Counted { stored, consumed: Arc::clone(&consumed) };
        let unpacked = self.packing.unpack(Box::new(stored)).map_err(failed)?;
        Ok(SlidingWindow::stream(unpacked, consumed))
    }

    fn unpacked(&self) -> io::Result<Box<dyn Read + Send>> {
        self.packing.unpack(self.storage.reader()?)
    }

    /// The first bytes of the first part after unpacking, up to `most`.
    pub(crate) fn head(&self, most: usize) -> Result<Vec<u8>> {
        let part = self.part(0).expect("an archive without members is refused");
        let mut window = part.window()?;
        let head = window.head(most).map_err(|source| part.failure(0, source))?;
        match head.is_empty() {
            true => Err(Error::Empty { name: part.name.clone() }),
            false => Ok(head.to_vec()),
        }
    }

    /// The error for a failure to read on after `line`.
    pub(crate) fn failure(&self, line: u64, source: io::Error) -> Error {
        let name = self.name.clone();
        let cut_off = source.kind() == io::ErrorKind::UnexpectedEof;
        if cut_off && self.packing != Packing::None {
            return Error::Truncated { name, packing: self.packing.name(), line };
        }
        Error::Read { name, line, source }
    }

    /// The SHA-256 of the stored bytes, in hexadecimal; several files count as one behind another,
    /// an archive as it is.
    pub(crate) fn sha256(&self) -> Result<String> {
        let mut hasher = Sha256::new();
        self.digest(&mut hasher)?;
        if let Parts::Cpus(others) = &self.parts {
            others.iter().try_for_each(|other| other.digest(&mut hasher))?;
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn digest(&self, hasher: &mut Sha256) -> Result<()> {
        let failed = |source| self.failure(0, source);
        let mut stored = self.storage.reader().map_err(failed)?;
        let mut chunk = vec![0; 256 << 10];
        loop {
            let count = stored.read(&mut chunk).map_err(failed)?;
            if count == 0 {
                return Ok(());
            }
            hasher.update(&chunk[..count]);
        }
    }
}

/// Stored bytes that say how much of them has been taken, also from inside a decompressor.
struct Counted {
    stored: Box<dyn Read + Send>,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stored.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
