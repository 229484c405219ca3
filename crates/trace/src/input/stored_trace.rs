//! A stored trace: a file, several files, the files in a folder, members of an archive, or standard
//! input, compressed or not.
//!
//! A trace is read more than once: to detect its format, to warm up, to measure. So input that
//! cannot be read again, such as a pipe, is first copied to a temporary file. A compressed archive
//! is decompressed into a temporary file, unless only one member is wanted, which is then searched
//! anew each time. Compression and archives are recognised by their content, never by file names.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result, STANDARD_INPUT};
use crate::input::archive::{self, Member};
use crate::input::compression::{Compression, MAGIC_BYTES};
use crate::input::read_ahead::ReadAhead;
use crate::input::resolve_path::{ResolvedPath, files_in};
use crate::input::sliding_window::SlidingWindow;
use crate::input::storage::{PositionedReader, Storage};

/// A trace as it is stored, which can be opened any number of times.
#[derive(Debug)]
pub(crate) struct StoredTrace {
    name: String,
    storage: Storage,
    size_bytes: u64,
    compression: Compression,
    /// Whether bytes behind the end of its compressed data were ignored.
    has_rest: Arc<AtomicBool>,
    parts: Parts,
}

/// The parts of a trace.
#[derive(Debug)]
enum Parts {
    /// The trace itself.
    Itself,
    /// The trace itself, which is the file of the first CPU, and the files of the other CPUs.
    Cpus(Vec<StoredTrace>),
    /// The members of this archive.
    Members(Vec<StoredTrace>),
    /// The files in this folder.
    Files(Vec<StoredTrace>),
}

impl StoredTrace {
    /// Opens the trace that an argument names; `-` is standard input.
    ///
    /// # Errors
    /// An error of the system, an empty file, unsupported compression, or an archive or a folder
    /// that cannot be read or has no suitable members.
    pub(crate) fn open(word: &str) -> Result<StoredTrace> {
        if word == "-" {
            return StoredTrace::spool(STANDARD_INPUT, io::stdin().lock());
        }
        match ResolvedPath::of(word) {
            ResolvedPath::File(path) => StoredTrace::file(word, &path)?.with_archive_members(None),
            ResolvedPath::Members(path, pattern) => {
                let archive = StoredTrace::file(&path.to_string_lossy(), &path)?;
                Ok(StoredTrace {
                    name: word.to_owned(),
                    ..archive.with_archive_members(Some(&pattern))?
                })
            }
            ResolvedPath::Cpus(paths) => {
                let path_name = |path: &Path| path.to_string_lossy().into_owned();
                let files = paths.iter().map(|path| StoredTrace::file(&path_name(path), path));
                StoredTrace::of_cpus(word, files)
            }
            ResolvedPath::Folder(folder, pattern) => {
                StoredTrace::of_folder(word, folder, pattern.as_deref())
            }
        }
    }

    /// The files in a folder, which are read like the members of an archive. Empty ones are left
    /// out.
    fn of_folder(word: &str, folder: PathBuf, pattern: Option<&str>) -> Result<StoredTrace> {
        let failed = |source| Error::Open { name: word.to_owned(), source };
        let shown = folder.to_string_lossy();
        let files = files_in(&folder, pattern).map_err(failed)?;
        let open = |(name, path): &(String, PathBuf)| {
            StoredTrace::file(&format!("{}/{name}", shown.trim_end_matches('/')), path)
        };
        let opened = files.iter().map(open).filter(|it| !matches!(it, Err(Error::Empty { .. })));
        let files = opened.collect::<Result<Vec<_>>>()?;
        if files.is_empty() {
            return Err(Error::Folder { name: word.to_owned() });
        }
        if let Some(archive) = files.iter().find(|file| file.is_archive()) {
            return Err(Error::ArchiveInFolder { name: archive.name.clone() });
        }
        Ok(StoredTrace {
            name: word.to_owned(),
            storage: Storage::Path(folder),
            size_bytes: 0,
            compression: Compression::None,
            has_rest: Arc::default(),
            parts: Parts::Files(files),
        })
    }

    /// The files of one run of blktrace, which leaves an empty file for a CPU without events.
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
        if !metadata.is_file() {
            return StoredTrace::spooled(name, File::open(path).map_err(failed)?);
        }
        StoredTrace::at(name.to_owned(), Storage::Path(path.to_owned()), metadata.len())
    }

    /// A trace in memory.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Result<StoredTrace> {
        let storage = Storage::Memory(bytes.into());
        StoredTrace::at(name.to_owned(), storage, bytes.len() as u64)?.with_archive_members(None)
    }

    /// Copies a trace that can be read only once to a temporary file, deleted with this value.
    pub(crate) fn spool(name: &str, reader: impl Read) -> Result<StoredTrace> {
        StoredTrace::spooled(name, reader)?.with_archive_members(None)
    }

    fn spooled(name: &str, mut reader: impl Read) -> Result<StoredTrace> {
        let spooled = Storage::spool(&mut reader);
        let failed = |source| Error::Spool { name: name.to_owned(), source };
        let (storage, size_bytes) = spooled.map_err(failed)?;
        StoredTrace::at(name.to_owned(), storage, size_bytes)
    }

    /// The bytes in a storage, without looking for an archive.
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
        let compression = Compression::of(&name, storage.is_member(), &magic)?;
        let (has_rest, parts) = (Arc::default(), Parts::Itself);
        Ok(StoredTrace { name, storage, size_bytes, compression, has_rest, parts })
    }

    // ---- archives ----------------------------------------------------------------------------

    /// The same trace; if it is an archive, with the members that match a pattern, or all.
    fn with_archive_members(self, pattern: Option<&str>) -> Result<StoredTrace> {
        match (self.is_archive(), pattern) {
            (true, _) => self.open_members(pattern),
            (false, None) => Ok(self),
            (false, Some(pattern)) => Err(self.archive_error(format!(
                "it is not an archive, so `{pattern}` does not exist in it"
            ))),
        }
    }

    /// Whether it is an archive. Errors are ignored here, because reading the trace reports them.
    fn is_archive(&self) -> bool {
        let mut head = Vec::with_capacity(archive::TAR_HEADER_BYTES);
        let decompressed = self.decompressed();
        let read = decompressed.and_then(|reader| {
            reader.take(archive::TAR_HEADER_BYTES as u64).read_to_end(&mut head)
        });
        read.is_ok() && archive::is_archive(&head)
    }

    fn open_members(mut self, pattern: Option<&str>) -> Result<StoredTrace> {
        let members = self.list_members(pattern)?;
        let (archive, compression) = match members.len() {
            2.. if self.compression != Compression::None => {
                (self.decompressed_to_a_file()?, Compression::None)
            }
            _ => (self.storage.clone(), self.compression),
        };
        let part = |Member { name, start, bytes }| {
            let storage =
                Storage::Member { archive: Box::new(archive.clone()), compression, start, bytes };
            let part = StoredTrace::at(format!("{}/{name}", self.name), storage, bytes)?;
            match part.is_archive() {
                true => {
                    Err(self
                        .archive_error(format!("member `{name}` is an archive; extract it first")))
                }
                false => Ok(part),
            }
        };
        self.parts = Parts::Members(members.into_iter().map(part).collect::<Result<_>>()?);
        Ok(self)
    }

    /// The members that match a pattern, or all, in the order of their names.
    fn list_members(&self, pattern: Option<&str>) -> Result<Vec<Member>> {
        let failed = |source| Error::Open { name: self.name.clone(), source };
        if self.compression == Compression::None
            && let Some((file, start)) = self.storage.file().map_err(failed)?
        {
            let members =
                archive::seek_members(&self.name, PositionedReader::new(file, start), pattern)?;
            let whole = |member: &&Member| member.start + member.bytes <= self.size_bytes;
            return match members.iter().find(|member| !whole(member)) {
                Some(cut) => {
                    Err(self.archive_error(format!("it is truncated in member `{}`", cut.name)))
                }
                None => Ok(members),
            };
        }
        let decompressed = self.decompressed().map_err(failed)?;
        archive::read_members(&self.name, decompressed, pattern)
    }

    fn decompressed_to_a_file(&self) -> Result<Storage> {
        let failed = |source| Error::Spool { name: self.name.clone(), source };
        let spooled = self.decompressed().and_then(|mut reader| Storage::spool(&mut reader));
        spooled.map(|(storage, _)| storage).map_err(failed)
    }

    fn archive_error(&self, what: String) -> Error {
        Error::Archive { name: self.name.clone(), what }
    }

    // ---- reading -----------------------------------------------------------------------------

    /// The name of the trace in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a member of an archive.
    pub(crate) fn is_member(&self) -> bool {
        self.storage.is_member()
    }

    /// Sentences about what was ignored of the parts that were read.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let ignored = self.parts().filter(|part| part.has_rest.load(Ordering::Relaxed));
        ignored.map(|part| {
            format!("Bytes behind the end of the gzip data of {} are ignored.", part.name)
        })
    }

    /// The stored size of all parts together.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.parts().map(|part| part.size_bytes).sum()
    }

    /// The parts in order: the trace itself, the files of all CPUs, the members of an archive, or
    /// the files in a folder.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &StoredTrace> {
        let (first, more) = match &self.parts {
            Parts::Itself => (Some(self), &[][..]),
            Parts::Cpus(others) => (Some(self), others.as_slice()),
            Parts::Members(parts) | Parts::Files(parts) => (None, parts.as_slice()),
        };
        first.into_iter().chain(more)
    }

    /// The part with this index.
    pub(crate) fn part(&self, index: usize) -> Option<&StoredTrace> {
        self.parts().nth(index)
    }

    /// A new window at the first byte of this part. Compressed bytes are decompressed on a thread
    /// of their own, ahead of the window.
    pub(crate) fn window(&self) -> Result<SlidingWindow> {
        let is_stored_plain = self.compression == Compression::None && !self.is_member();
        self.window_over(|decompressed| match is_stored_plain {
            true => Ok(decompressed),
            false => Ok(Box::new(ReadAhead::new(decompressed)?)),
        })
    }

    /// A new window, of which only the beginning will be read.
    fn window_at_head(&self) -> Result<SlidingWindow> {
        self.window_over(Ok)
    }

    fn window_over(
        &self,
        stream: impl FnOnce(Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>>,
    ) -> Result<SlidingWindow> {
        let failed = |source| self.failure(0, source);
        if self.compression == Compression::None
            && let Some((file, start)) = self.storage.file().map_err(failed)?
        {
            return Ok(SlidingWindow::file(file, start, self.size_bytes));
        }
        let consumed = Arc::new(AtomicU64::new(0));
        let stored = self.storage.reader().map_err(failed)?;
        let stored = Counted { stored, consumed: Arc::clone(&consumed) };
        let decompressed = self.compression.decompress(Box::new(stored), &self.has_rest);
        let decompressed = decompressed.map_err(failed)?;
        let stream = stream(decompressed).map_err(failed)?;
        Ok(SlidingWindow::stream(stream, consumed))
    }

    fn decompressed(&self) -> io::Result<Box<dyn Read + Send>> {
        self.compression.decompress(self.storage.reader()?, &self.has_rest)
    }

    /// The first bytes of the first part, at most `most`, decompressed.
    pub(crate) fn head(&self, most: usize) -> Result<Vec<u8>> {
        let part = self.part(0).expect("an archive without members is refused");
        let mut window = part.window_at_head()?;
        let head = window.head(most).map_err(|source| part.failure(0, source))?;
        match head.is_empty() {
            true => Err(Error::Empty { name: part.name.clone() }),
            false => Ok(head.to_vec()),
        }
    }

    /// The error for a failure to continue reading after `line`.
    pub(crate) fn failure(&self, line: u64, source: io::Error) -> Error {
        let name = self.name.clone();
        let is_truncated = source.kind() == io::ErrorKind::UnexpectedEof;
        if is_truncated && self.compression != Compression::None {
            return Error::Truncated { name, compression: self.compression.name() };
        }
        Error::Read { name, line, source }
    }

    /// The error, or the fact that the compressed data behind the place of the error are cut short,
    /// which the user has to know first.
    pub(crate) fn unless_truncated(&self, error: Error) -> Error {
        if self.compression == Compression::None {
            return error;
        }
        let drained = self.window().map(|mut window| window.drain());
        match drained.map(|drained| drained.map_err(|source| self.failure(0, source))) {
            Ok(Err(truncated @ Error::Truncated { .. })) => truncated,
            _ => error,
        }
    }

    /// The SHA-256 of the stored bytes in hexadecimal: of the archive, of the file, or of several
    /// files concatenated.
    pub(crate) fn sha256(&self) -> Result<String> {
        let mut hasher = Sha256::new();
        match &self.parts {
            Parts::Itself | Parts::Members(_) => self.digest(&mut hasher)?,
            Parts::Cpus(_) | Parts::Files(_) => {
                self.parts().try_for_each(|part| part.digest(&mut hasher))?;
            }
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

/// A reader that counts the bytes read, to be used below a decompressor.
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
