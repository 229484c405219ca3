//! Where the bytes of a trace come from: a file or standard input, plain or compressed.
//!
//! A trace is read more than once (to learn its format, to warm up, to measure), so what cannot be
//! read again, such as a pipe, is spooled to a temporary file first. Compression is told by the
//! magic bytes, never by the name.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::window::Window;

/// A trace's stored bytes, which can be opened again and again.
#[derive(Debug)]
pub(crate) struct Input {
    name: String,
    place: Place,
    size_bytes: u64,
    packing: Packing,
    /// The files of the other CPUs, for a trace that blktrace wrote.
    others: Vec<Input>,
}

#[derive(Debug)]
enum Place {
    Path(PathBuf),
    Spool(NamedTempFile),
    Memory(Arc<[u8]>),
}

/// How the bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::None => "plain",
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }
}

/// Packings that are recognised to be refused with a remedy: magic, name, command.
static UNREAD_PACKINGS: &[(&[u8], &str, &str)] = &[
    (b"\xfd7zXZ\0", "xz", "xz -dc FILE | ftlab … -"),
    (b"BZh", "bzip2", "bzip2 -dc FILE | ftlab … -"),
    (b"PK\x03\x04", "zip", "unzip -p FILE | ftlab … -"),
];

/// Windows of up to 2 GiB, the format's own limit for `zstd --long=31`.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

impl Input {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// What the system says, a directory, an empty file, or a packing that is not read.
    pub(crate) fn open(path: &str) -> Result<Input> {
        if path == "-" {
            return Input::spool("standard input", io::stdin().lock());
        }
        let files = cpu_files(path);
        if let Some((first, others)) = files.split_first() {
            let mut input = Input::open_file(path, first)?;
            let name = |other: &Path| other.to_string_lossy().into_owned();
            let others = others.iter().map(|other| Input::open_file(&name(other), other));
            input.others = others.collect::<Result<_>>()?;
            return Ok(input);
        }
        Input::open_file(path, Path::new(path))
    }

    fn open_file(name: &str, path: &Path) -> Result<Input> {
        let failed = |source| Error::Open { name: name.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::Directory { name: name.to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        if !metadata.is_file() {
            return Input::spool(name, file);
        }
        let size_bytes = metadata.len();
        Input::at(name, Place::Path(path.to_owned()), file, size_bytes)
    }

    /// Bytes in memory as if they were a file.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Result<Input> {
        Input::at(name, Place::Memory(bytes.into()), bytes, bytes.len() as u64)
    }

    /// Copies what can be read only once to a temporary file, gone with the input.
    pub(crate) fn spool(name: &str, mut reader: impl Read) -> Result<Input> {
        let failed = |source| Error::Read { name: name.to_owned(), line: 0, source };
        let mut spool = NamedTempFile::new().map_err(failed)?;
        io::copy(&mut reader, &mut spool).map_err(failed)?;
        let file = spool.reopen().map_err(failed)?;
        let size_bytes = file.metadata().map_err(failed)?.len();
        Input::at(name, Place::Spool(spool), file, size_bytes)
    }

    fn at(name: &str, place: Place, head: impl Read, size_bytes: u64) -> Result<Input> {
        let failed = |source| Error::Open { name: name.to_owned(), source };
        if size_bytes == 0 {
            return Err(Error::Empty { name: name.to_owned() });
        }
        let mut magic = Vec::with_capacity(8);
        head.take(8).read_to_end(&mut magic).map_err(failed)?;
        let packing = packing_of(name, &magic)?;
        Ok(Input { name: name.to_owned(), place, size_bytes, packing, others: Vec::new() })
    }

    /// What messages call the trace.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The stored size, of all files.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.parts().map(|part| part.size_bytes).sum()
    }

    /// The files of the trace: this one, and those of other CPUs.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Input> {
        std::iter::once(self).chain(&self.others)
    }

    /// A fresh window at the first byte.
    pub(crate) fn window(&self) -> Result<Window> {
        let consumed = Arc::new(AtomicU64::new(0));
        let stored = match &self.place {
            Place::Memory(bytes) => Box::new(io::Cursor::new(Arc::clone(bytes))) as Box<_>,
            _ if self.packing == Packing::None => {
                return Ok(Window::mapped(self.file()?, self.size_bytes));
            }
            _ => Box::new(self.file()?) as Box<dyn Read + Send>,
        };
        let stored = Counted { stored, consumed: Arc::clone(&consumed) };
        Ok(match self.packing {
            Packing::None => Window::stream(Box::new(stored), consumed),
            Packing::Gzip => {
                let decoder = flate2::bufread::MultiGzDecoder::new(BufReader::new(stored));
                Window::stream(Box::new(decoder), consumed)
            }
            Packing::Zstd => {
                let decoder = zstd_decoder(stored).map_err(|source| self.failure(0, source))?;
                Window::stream(Box::new(decoder), consumed)
            }
        })
    }

    /// The first bytes after decompression, up to `most`.
    pub(crate) fn sample(&self, most: usize) -> Result<Vec<u8>> {
        let mut window = self.window()?;
        let head = window.head(most).map_err(|source| self.failure(0, source))?;
        if head.is_empty() {
            return Err(Error::Empty { name: self.name.clone() });
        }
        Ok(head.to_vec())
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

    /// The SHA-256 of the stored bytes, in hexadecimal; several files count as one behind another.
    pub(crate) fn sha256(&self) -> Result<String> {
        let mut hasher = Sha256::new();
        for part in self.parts() {
            part.digest(&mut hasher)?;
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn digest(&self, hasher: &mut Sha256) -> Result<()> {
        if let Place::Memory(bytes) = &self.place {
            hasher.update(bytes);
            return Ok(());
        }
        let mut file = self.file()?;
        let mut chunk = vec![0; 256 << 10];
        loop {
            let count = file.read(&mut chunk).map_err(|source| self.failure(0, source))?;
            if count == 0 {
                return Ok(());
            }
            hasher.update(&chunk[..count]);
        }
    }

    fn file(&self) -> Result<File> {
        let opened = match &self.place {
            Place::Path(path) => File::open(path),
            Place::Spool(spool) => spool.reopen().and_then(|mut file| {
                file.rewind()?;
                Ok(file)
            }),
            Place::Memory(_) => Err(io::Error::other("bytes in memory are no file")),
        };
        opened.map_err(|source| Error::Open { name: self.name.clone(), source })
    }
}

/// The files that blktrace wrote for each CPU, in the order of CPUs, if `path` is one of them or
/// what their names have in common; else none.
fn cpu_files(path: &str) -> Vec<PathBuf> {
    const MIDDLE: &str = ".blktrace.";
    let common = match path.rsplit_once(MIDDLE) {
        Some((common, end)) if cpu(end).is_some() => common,
        _ if !Path::new(path).exists() => path,
        _ => return Vec::new(),
    };
    let (directory, common) = match common.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((directory, name)) => (directory, name),
        None => (".", common),
    };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<(u32, String)> = names
        .filter_map(|name| {
            let end = name.strip_prefix(common)?.strip_prefix(MIDDLE)?;
            Some((cpu(end)?, name))
        })
        .collect();
    files.sort();
    // Of a file that is there packed and unpacked, the shorter name comes first.
    files.dedup_by_key(|(cpu, _)| *cpu);
    files.into_iter().map(|(_, name)| Path::new(directory).join(name)).collect()
}

/// The CPU that the end of a name tells: `0`, `12.zst`.
fn cpu(end: &str) -> Option<u32> {
    let digits = end.strip_suffix(".zst").or(end.strip_suffix(".gz")).unwrap_or(end);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn packing_of(name: &str, magic: &[u8]) -> Result<Packing> {
    if magic.starts_with(&[0x1f, 0x8b]) {
        return Ok(Packing::Gzip);
    }
    // The second is a skippable frame, with which some writers begin.
    let zstd_skippable =
        magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == *b"\x2a\x4d\x18";
    if magic.starts_with(b"\x28\xb5\x2f\xfd") || zstd_skippable {
        return Ok(Packing::Zstd);
    }
    match UNREAD_PACKINGS.iter().find(|(prefix, ..)| magic.starts_with(prefix)) {
        Some(&(_, packing, remedy)) => {
            Err(Error::Packing { name: name.to_owned(), packing, remedy })
        }
        None => Ok(Packing::None),
    }
}

fn zstd_decoder(stored: Counted) -> io::Result<impl Read + Send> {
    let mut decoder = zstd::stream::read::Decoder::new(stored)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
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
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"one\ntwo\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    fn spooled(bytes: &[u8]) -> Result<Input> {
        Input::spool("test", bytes)
    }

    #[test]
    fn packings_are_told_by_content_and_may_have_several_members() {
        let doubled = |bytes: Vec<u8>| [bytes.clone(), bytes].concat();
        for bytes in [doubled(TEXT.to_vec()), doubled(gzip(TEXT)), doubled(zstd(TEXT))] {
            let input = spooled(&bytes).unwrap();
            for _ in 0..2 {
                assert_eq!(input.sample(100).unwrap(), b"one\ntwo\none\ntwo\n");
            }
            assert_eq!(input.sample(5).unwrap(), b"one\nt");
        }
    }

    #[test]
    fn long_windows_are_read() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.write_all(TEXT).unwrap();
        let input = spooled(&encoder.finish().unwrap()).unwrap();
        assert_eq!(input.sample(100).unwrap(), TEXT);
    }

    #[test]
    fn cut_off_data_are_called_so() {
        for bytes in [gzip(TEXT), zstd(TEXT)] {
            let message = spooled(&bytes[..bytes.len() - 3]).unwrap().sample(100).unwrap_err();
            assert!(message.to_string().contains("data end too early"), "{message}");
        }
    }

    #[test]
    fn garbage_behind_a_magic_is_an_error() {
        for magic in [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd"] {
            let bytes = [magic, &[0xee; 100]].concat();
            assert!(spooled(&bytes).unwrap().sample(100).is_err());
        }
    }

    #[test]
    fn what_cannot_be_opened_is_said_plainly() {
        let message = |path: &str| Input::open(path).unwrap_err().to_string();
        assert!(message("/nowhere/at/all").starts_with("cannot open trace `/nowhere/at/all`: No"));
        assert_eq!(message("/"), "trace `/` is a directory; name one of the files in it");
        assert_eq!(spooled(b"").unwrap_err().to_string(), "trace `test` is empty");
        let nothing = spooled(&gzip(b"")).unwrap().sample(10).unwrap_err();
        assert_eq!(nothing.to_string(), "trace `test` is empty");
        let packed = spooled(b"\xfd7zXZ\0abc").unwrap_err().to_string();
        assert!(packed.contains("packed with xz"), "{packed}");
    }

    #[test]
    fn files_of_all_cpus_belong_together() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        for (name, byte) in
            [("x.blktrace.10", b'k'), ("x.blktrace.2.gz", b'b'), ("x.blktrace.0", b'a')]
        {
            std::fs::write(at(name), [byte; 3]).unwrap();
        }
        std::fs::write(at("x.blktrace.0.zst"), b"not taken").unwrap();
        std::fs::write(at("x.blktrace.more"), b"not one of them").unwrap();
        std::fs::write(at("xy.blktrace.1"), b"another trace").unwrap();
        for name in ["x", "x.blktrace.10", "x.blktrace.0"] {
            let input = Input::open(&at(name)).unwrap();
            let samples: Vec<_> = input.parts().map(|part| part.sample(9).unwrap()).collect();
            assert_eq!(samples, [b"aaa", b"bbb", b"kkk"]);
            assert_eq!((input.size_bytes(), input.name()), (9, at(name).as_str()));
        }
        assert_eq!(Input::open(&at("x.blktrace.more")).unwrap().parts().count(), 1);
        assert!(Input::open(&at("y")).is_err());
    }

    #[test]
    fn the_checksum_is_that_of_the_stored_bytes() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(spooled(b"abc").unwrap().sha256().unwrap(), expected);
    }
}
