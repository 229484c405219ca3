//! How stored bytes are packed: gzip, zstd or xz, told by their magic bytes, or not at all.
//!
//! All of them may consist of several members or streams, one behind another. Bytes that are cut
//! off, or not those that a checksum stands for, are an error, never a shorter trace.

use std::io::{self, BufReader, Read};

use crate::error::{Error, Result};

/// How bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zstd,
    Xz,
}

/// As many of the first bytes as tell a packing.
pub(crate) const MAGIC_BYTES: usize = 8;

/// Packings that are recognised to be refused with a remedy: magic, name, command.
static UNREAD: &[(&[u8], &str, &str)] = &[
    (b"BZh", "bzip2", "bzip2 -dc FILE | ftlab … -"),
    (b"PK\x03\x04", "zip", "unzip -p FILE | ftlab … -"),
];

/// Windows of up to 128 MiB, as `zstd -d` itself takes unasked (`zstd --long`, which is 27): a few
/// bytes could demand 2 GiB else.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// What the decoder says of a larger one.
const ZSTD_WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// Dictionaries of up to 1.5 GiB, the largest that `xz` itself makes, and what comes with them.
/// Only what a trace really fills of one takes memory.
const XZ_MEMORY_MAX_KIB: u32 = 1600 << 10;

impl Packing {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Packing::None => "plain",
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Xz => "xz",
        }
    }

    /// The packing of bytes that begin so.
    ///
    /// # Errors
    /// One that is not read.
    pub(crate) fn of(name: &str, magic: &[u8]) -> Result<Packing> {
        // The second is a skippable frame, with which some writers begin.
        let zstd_skippable =
            magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == *b"\x2a\x4d\x18";
        if magic.starts_with(b"\x28\xb5\x2f\xfd") || zstd_skippable {
            return Ok(Packing::Zstd);
        }
        if magic.starts_with(&[0x1f, 0x8b]) {
            return Ok(Packing::Gzip);
        }
        if magic.starts_with(b"\xfd7zXZ\0") {
            return Ok(Packing::Xz);
        }
        match UNREAD.iter().find(|(prefix, ..)| magic.starts_with(prefix)) {
            Some(&(_, packing, remedy)) => {
                Err(Error::Packing { name: name.to_owned(), packing, remedy })
            }
            None => Ok(Packing::None),
        }
    }

    /// What was packed.
    ///
    /// # Errors
    /// There is no memory for the decoder.
    pub(crate) fn unpack(self, stored: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Packing::None => stored,
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(stored))),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(stored)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(Zstd(decoder))
            }
            Packing::Xz => {
                let stored = BufReader::new(stored);
                Box::new(lzma_rust2::XzReader::new_mem_limit(stored, true, XZ_MEMORY_MAX_KIB))
            }
        })
    }
}

/// A decoder of zstd that says what to do about a window beyond the limit.
struct Zstd<R>(R);

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(|error| match error.to_string() == ZSTD_WINDOW_TOO_LARGE {
            true => io::Error::other(
                "it was packed with a window beyond 128 MiB; unpack it with more memory: \
                 `zstd -dc --long=31 FILE | ftlab … -`",
            ),
            false => error,
        })
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

    /// A function from bytes to packed bytes.
    pub(crate) type Pack = fn(&[u8]) -> Vec<u8>;

    /// All packings.
    pub(crate) const PACKERS: [(&str, Pack); 3] = [("gzip", gzip), ("zstd", zstd), ("xz", xz)];

    fn unpacked(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let packing = Packing::of("t", &bytes).unwrap();
        let mut all = Vec::new();
        packing.unpack(Box::new(io::Cursor::new(bytes)))?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn several_members_are_read_as_one() {
        for (name, pack) in PACKERS {
            let bytes = [pack(b"one\n"), pack(b""), pack(b"two\n")].concat();
            assert_eq!(Packing::of("t", &bytes).unwrap().name(), name);
            assert_eq!(unpacked(bytes).unwrap(), b"one\ntwo\n", "{name}");
        }
    }

    #[test]
    fn xz_streams_may_have_padding_between_them() {
        let padded = [xz(b"one\n"), vec![0; 8], xz(b"two\n"), vec![0; 4]].concat();
        assert_eq!(unpacked(padded).unwrap(), b"one\ntwo\n");
        assert!(unpacked([xz(b"one\n"), vec![0; 3]].concat()).is_err());
        assert!(unpacked([xz(b"one\n"), b"rest".to_vec()].concat()).is_err());
    }

    #[test]
    fn wherever_packed_bytes_are_cut_off_it_is_an_error() {
        let text: Vec<u8> =
            (0..3000).flat_map(|n| format!("line {}\n", n * n).into_bytes()).collect();
        for (name, pack) in PACKERS {
            let whole = pack(&text);
            let cuts = (MAGIC_BYTES..whole.len()).filter(|n| n % 97 == 0 || n + 50 > whole.len());
            for cut in cuts {
                let error = unpacked(whole[..cut].to_vec()).unwrap_err();
                assert_eq!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof,
                    "{name} cut to {cut}: {error}"
                );
            }
        }
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let text: Vec<u8> = (0..400).flat_map(|n| format!("{}\n", n * 7919).into_bytes()).collect();
        for (name, pack) in [PACKERS[0], PACKERS[2]] {
            let whole = pack(&text);
            for at in (20..whole.len()).step_by(11) {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x10;
                assert!(unpacked(damaged).is_err(), "{name}: byte {at}");
            }
        }
    }

    #[test]
    fn long_windows_are_read_and_longer_ones_refused_with_a_remedy() {
        let packed = |window_log| {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(window_log).unwrap();
            encoder.write_all(b"one\n").unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(unpacked(packed(27)).unwrap(), b"one\n");
        let error = unpacked(packed(28)).unwrap_err().to_string();
        assert!(error.contains("`zstd -dc --long=31 FILE | ftlab … -`"), "{error}");
    }

    #[test]
    fn what_is_not_read_is_named_with_a_remedy() {
        let message = Packing::of("t", b"BZh91AY&").unwrap_err().to_string();
        assert!(message.contains("packed with bzip2, which is not read here"), "{message}");
        assert!(message.contains("`bzip2 -dc FILE | ftlab … -`"), "{message}");
    }
}
