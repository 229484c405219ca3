//! Compression of stored bytes: gzip, zstd, xz or none, recognised by magic numbers.
//!
//! Files may consist of several consecutive members or streams. Truncated data and data with a
//! wrong checksum are an error, never a shorter trace.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::GzDecoder;

use crate::error::{Error, Result};

/// A compression method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
    Xz,
}

/// Number of first bytes that identify a compression method.
pub(crate) const MAGIC_BYTES: usize = 8;

/// Methods that are recognised but not supported: magic number, name, command that decompresses.
static UNSUPPORTED: &[(&[u8], &str, &str)] = &[
    (b"BZh", "bzip2", "bzip2 -dc FILE"),
    (b"PK\x03\x04", "zip", "unzip -p FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x -so FILE"),
    (b"Rar!\x1a\x07", "rar", "unrar p -inul FILE"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc FILE"),
    (b"LZIP", "lzip", "lzip -dc FILE"),
    (b"\x1f\x9d", "compress", "uncompress -c FILE"),
];

/// The largest window of zstd that is accepted: 128 MiB, which is also the default limit of
/// `zstd -d`. Without a limit, a few bytes could demand 2 GiB of memory.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// The decoder's message about a larger window.
const ZSTD_WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// The memory limit for xz: a dictionary of 128 MiB, twice that of `xz -9`, and the decoder's other
/// buffers.
const XZ_MEMORY_MAX_KIB: u32 = (128 << 10) + 512;

impl Compression {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
        }
    }

    /// The compression of bytes that begin with `magic`.
    ///
    /// # Errors
    /// Unsupported compression.
    pub(crate) fn of(name: &str, is_member: bool, magic: &[u8]) -> Result<Compression> {
        // Some writers begin with a skippable frame.
        let zstd_skippable =
            magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == *b"\x2a\x4d\x18";
        if magic.starts_with(b"\x28\xb5\x2f\xfd") || zstd_skippable {
            return Ok(Compression::Zstd);
        }
        if magic.starts_with(&[0x1f, 0x8b]) {
            return Ok(Compression::Gzip);
        }
        if magic.starts_with(b"\xfd7zXZ\0") {
            return Ok(Compression::Xz);
        }
        match UNSUPPORTED.iter().find(|(prefix, ..)| magic.starts_with(prefix)) {
            Some(&(_, compression, remedy)) => {
                let name = name.to_owned();
                Err(Error::UnsupportedCompression { name, compression, remedy, is_member })
            }
            None => Ok(Compression::None),
        }
    }

    /// A reader of the decompressed bytes. `has_rest` is set if bytes behind the end of a gzip file
    /// are ignored.
    ///
    /// # Errors
    /// Out of memory for the decoder.
    pub(crate) fn decompress(
        self,
        stored: Box<dyn Read + Send>,
        has_rest: &Arc<AtomicBool>,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::None => stored,
            Compression::Gzip => {
                Box::new(GzipMembers::new(BufReader::new(stored), Arc::clone(has_rest)))
            }
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(stored)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(Explained(decoder, explain_zstd))
            }
            Compression::Xz => {
                let stored = BufReader::new(stored);
                let reader = lzma_rust2::XzReader::new_mem_limit(stored, true, XZ_MEMORY_MAX_KIB);
                Box::new(Explained(reader, explain_xz))
            }
        })
    }
}

/// The first byte of a gzip file.
const GZIP_MAGIC: u8 = 0x1f;

/// The members of a gzip file. Bytes behind the last one that do not begin like a member are
/// ignored, as gzip does it: padding, or what a download left behind.
struct GzipMembers<R> {
    /// `None` after the last member.
    member: Option<GzDecoder<R>>,
    has_rest: Arc<AtomicBool>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(stored: R, has_rest: Arc<AtomicBool>) -> GzipMembers<R> {
        GzipMembers { member: Some(GzDecoder::new(stored)), has_rest }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            let next = member.get_mut().fill_buf()?.first().copied();
            let ended = self.member.take().expect("it has just been read");
            match next {
                Some(GZIP_MAGIC) => self.member = Some(GzDecoder::new(ended.into_inner())),
                Some(_) => self.has_rest.store(true, Ordering::Relaxed),
                None => {}
            }
        }
        Ok(0)
    }
}

/// A decoder whose errors are explained by a function.
struct Explained<R>(R, fn(io::Error) -> io::Error);

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(self.1)
    }
}

/// The decoder's message about a stream that ends within its magic number.
const XZ_MAGIC_INCOMPLETE: &str = "incomplete XZ magic bytes";

/// Every truncation is an unexpected end, and a dictionary beyond the limit has a remedy.
fn explain_xz(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::OutOfMemory => io::Error::other(
            "its xz dictionary is larger than 128 MiB; decompress it with xz itself: \
             `xz -dc FILE | ftlab trace info -`",
        ),
        _ if error.to_string() == XZ_MAGIC_INCOMPLETE => io::ErrorKind::UnexpectedEof.into(),
        _ => error,
    }
}

/// A window beyond the limit has a remedy.
fn explain_zstd(error: io::Error) -> io::Error {
    match error.to_string() == ZSTD_WINDOW_TOO_LARGE {
        true => io::Error::other(
            "its zstd window is larger than 128 MiB; decompress it with a higher limit: \
             `zstd -dc --long=31 FILE | ftlab trace info -`",
        ),
        false => error,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A function that compresses bytes.
    pub(crate) type Compress = fn(&[u8]) -> Vec<u8>;

    /// All compression methods.
    pub(crate) const COMPRESSORS: [(&str, Compress); 3] =
        [("gzip", gzip), ("zstd", zstd), ("xz", xz)];

    fn decompressed(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let compression = Compression::of("t", false, &bytes).unwrap();
        let (mut all, has_rest) = (Vec::new(), Arc::default());
        let stored = Box::new(io::Cursor::new(bytes));
        compression.decompress(stored, &has_rest)?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn consecutive_members_are_concatenated() {
        for (name, compress) in COMPRESSORS {
            let bytes = [compress(b"one\n"), compress(b""), compress(b"two\n")].concat();
            assert_eq!(Compression::of("t", false, &bytes).unwrap().name(), name);
            assert_eq!(decompressed(bytes).unwrap(), b"one\ntwo\n", "{name}");
        }
    }

    #[test]
    fn padding_between_xz_streams_is_accepted() {
        let padded = [xz(b"one\n"), vec![0; 8], xz(b"two\n"), vec![0; 4]].concat();
        assert_eq!(decompressed(padded).unwrap(), b"one\ntwo\n");
        assert!(decompressed([xz(b"one\n"), vec![0; 3]].concat()).is_err());
        assert!(decompressed([xz(b"one\n"), b"rest".to_vec()].concat()).is_err());
    }

    #[test]
    fn bytes_behind_the_end_of_gzip_are_ignored() {
        for rest in [&b"\0\0\0\0"[..], b"left behind"] {
            let bytes = [gzip(b"one\n"), gzip(b"two\n"), rest.to_vec()].concat();
            assert_eq!(decompressed(bytes).unwrap(), b"one\ntwo\n");
        }
    }

    #[test]
    fn truncation_at_any_byte_is_an_error() {
        let text: Vec<u8> =
            (0..3000).flat_map(|n| format!("line {}\n", n * n).into_bytes()).collect();
        for (name, compress) in COMPRESSORS {
            let whole = compress(&text);
            let cuts = (MAGIC_BYTES..whole.len()).filter(|n| n % 97 == 0 || n + 50 > whole.len());
            for cut in cuts {
                let error = decompressed(whole[..cut].to_vec()).unwrap_err();
                assert_eq!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof,
                    "{name} truncated to {cut}: {error}"
                );
            }
        }
    }

    #[test]
    fn truncation_within_a_later_member_is_an_error() {
        for (name, compress) in COMPRESSORS {
            let (first, second) = (compress(b"one\n"), compress(b"two\n"));
            for cut in 1..second.len() {
                let error = decompressed([&first, &second[..cut]].concat()).unwrap_err();
                let kind = error.kind();
                assert_eq!(kind, io::ErrorKind::UnexpectedEof, "{name}, {cut}: {error}");
            }
        }
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let text: Vec<u8> = (0..400).flat_map(|n| format!("{}\n", n * 7919).into_bytes()).collect();
        for (name, compress) in [COMPRESSORS[0], COMPRESSORS[2]] {
            let whole = compress(&text);
            for at in (20..whole.len()).step_by(11) {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x10;
                assert!(decompressed(damaged).is_err(), "{name}: byte {at}");
            }
        }
    }

    #[test]
    fn windows_beyond_the_limit_are_refused_with_a_remedy() {
        let packed = |window_log| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(window_log).unwrap();
            encoder.write_all(b"one\n").unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(decompressed(packed(27)).unwrap(), b"one\n");
        let error = decompressed(packed(28)).unwrap_err().to_string();
        assert!(error.contains("`zstd -dc --long=31 FILE | ftlab trace info -`"), "{error}");
        let packed = |dictionary_bytes| {
            let mut options = lzma_rust2::XzOptions::with_preset(1);
            options.lzma_options.dict_size = dictionary_bytes;
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
            encoder.write_all(b"one\n").unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(decompressed(packed(128 << 20)).unwrap(), b"one\n");
        let error = decompressed(packed(192 << 20)).unwrap_err().to_string();
        assert!(error.contains("larger than 128 MiB"), "{error}");
        assert!(error.contains("`xz -dc FILE | ftlab trace info -`"), "{error}");
    }

    #[test]
    fn unsupported_methods_are_refused_with_a_remedy() {
        let message = Compression::of("t", false, b"BZh91AY&").unwrap_err().to_string();
        assert!(message.contains("compressed with bzip2, which is not supported"), "{message}");
        assert!(message.contains("`bzip2 -dc t | ftlab trace info -`"), "{message}");
    }
}
