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
}

#[derive(Debug)]
enum Place {
    Path(PathBuf),
    Spool(NamedTempFile),
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
        let failed = |source| Error::Open { name: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::Directory { name: path.to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        if !metadata.is_file() {
            return Input::spool(path, file);
        }
        Input::at(path, Place::Path(Path::new(path).to_owned()), file)
    }

    /// Copies what can be read only once to a temporary file, gone with the input.
    pub(crate) fn spool(name: &str, mut reader: impl Read) -> Result<Input> {
        let failed = |source| Error::Read { name: name.to_owned(), line: 0, source };
        let mut spool = NamedTempFile::new().map_err(failed)?;
        io::copy(&mut reader, &mut spool).map_err(failed)?;
        let file = spool.reopen().map_err(failed)?;
        Input::at(name, Place::Spool(spool), file)
    }

    fn at(name: &str, place: Place, file: File) -> Result<Input> {
        let failed = |source| Error::Open { name: name.to_owned(), source };
        let size_bytes = file.metadata().map_err(failed)?.len();
        if size_bytes == 0 {
            return Err(Error::Empty { name: name.to_owned() });
        }
        let mut magic = Vec::with_capacity(8);
        file.take(8).read_to_end(&mut magic).map_err(failed)?;
        let packing = packing_of(name, &magic)?;
        Ok(Input { name: name.to_owned(), place, size_bytes, packing })
    }

    /// What messages call the trace.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The stored size.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// A fresh window at the first byte.
    pub(crate) fn window(&self) -> Result<Window> {
        let file = self.file()?;
        let consumed = Arc::new(AtomicU64::new(0));
        let stored = Counted { file, consumed: Arc::clone(&consumed) };
        Ok(match self.packing {
            Packing::None => Window::mapped(stored.file, self.size_bytes),
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

    /// The SHA-256 of the stored bytes, in hexadecimal.
    pub(crate) fn sha256(&self) -> Result<String> {
        let failed = |source| self.failure(0, source);
        let mut hasher = Sha256::new();
        let mut file = self.file()?;
        let mut chunk = vec![0; 256 << 10];
        loop {
            let count = file.read(&mut chunk).map_err(failed)?;
            if count == 0 {
                break;
            }
            hasher.update(&chunk[..count]);
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn file(&self) -> Result<File> {
        let opened = match &self.place {
            Place::Path(path) => File::open(path),
            Place::Spool(spool) => spool.reopen().and_then(|mut file| {
                file.rewind()?;
                Ok(file)
            }),
        };
        opened.map_err(|source| Error::Open { name: self.name.clone(), source })
    }
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

/// A file that says how much of it has been taken, also from inside a decompressor.
struct Counted {
    file: File,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
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
    fn the_checksum_is_that_of_the_stored_bytes() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(spooled(b"abc").unwrap().sha256().unwrap(), expected);
    }
}
