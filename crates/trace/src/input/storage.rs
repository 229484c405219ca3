//! The location of stored bytes, from which they can be read any number of times.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::input::compression::Compression;

/// The location of the bytes of a trace, or of one of its parts.
#[derive(Debug, Clone)]
pub(crate) enum Storage {
    /// A file of the user.
    Path(PathBuf),
    /// A temporary file without a name, so that nothing of it remains however the process ends.
    Spool(Arc<File>),
    Memory(Arc<[u8]>),
    /// A range of bytes of the decompressed archive.
    Member {
        archive: Box<Storage>,
        compression: Compression,
        start: u64,
        bytes: u64,
    },
}

impl Storage {
    /// Copies bytes that can be read only once to a temporary file; also returns their number.
    pub(crate) fn spool(reader: &mut dyn Read) -> io::Result<(Storage, u64)> {
        let mut spool = tempfile::tempfile()?;
        let bytes = io::copy(reader, &mut spool)?;
        Ok((Storage::Spool(Arc::new(spool)), bytes))
    }

    /// Whether this is a member of an archive.
    pub(crate) fn is_member(&self) -> bool {
        matches!(self, Storage::Member { .. })
    }

    /// The file that contains the bytes uncompressed, and their offset in it; the position of the
    /// file itself means nothing. `None` if they are in
    /// memory or have to be decompressed first.
    pub(crate) fn file(&self) -> io::Result<Option<(File, u64)>> {
        Ok(match self {
            Storage::Path(path) => Some((File::open(path)?, 0)),
            Storage::Spool(spool) => Some((spool.try_clone()?, 0)),
            Storage::Member { archive, compression: Compression::None, start, .. } => {
                archive.file()?.map(|(file, before)| (file, before + start))
            }
            Storage::Memory(_) | Storage::Member { .. } => None,
        })
    }

    /// A reader that begins at the first byte.
    pub(crate) fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        let file = self.file()?;
        Ok(match (self, file) {
            (Storage::Member { bytes, .. }, Some((file, start))) => {
                Box::new(PositionedReader::new(file, start).take(*bytes))
            }
            (Storage::Member { archive, compression, start, bytes }, None) => {
                let mut decompressed =
                    compression.decompress(archive.reader()?, &Arc::default())?;
                io::copy(&mut decompressed.by_ref().take(*start), &mut io::sink())?;
                Box::new(decompressed.take(*bytes))
            }
            (Storage::Memory(bytes), _) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            (Storage::Spool(_), Some((file, _))) => Box::new(PositionedReader::new(file, 0)),
            (Storage::Path(_), Some((file, _))) => Box::new(file),
            (Storage::Path(_) | Storage::Spool(_), None) => unreachable!("files are files"),
        })
    }
}

/// A reader with a position of its own in a file that others read, too.
pub(crate) struct PositionedReader {
    file: File,
    position: u64,
}

impl PositionedReader {
    pub(crate) fn new(file: File, position: u64) -> PositionedReader {
        PositionedReader { file, position }
    }
}

impl Seek for PositionedReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (origin, distance) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::Current(distance) => (self.position, distance),
            SeekFrom::End(distance) => (self.file.metadata()?.len(), distance),
        };
        let outside = || io::Error::from(io::ErrorKind::InvalidInput);
        self.position = origin.checked_add_signed(distance).ok_or_else(outside)?;
        Ok(self.position)
    }
}

impl Read for PositionedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::compression::tests::gzip;

    fn all(storage: &Storage) -> Vec<u8> {
        let mut bytes = Vec::new();
        storage.reader().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn member(archive: &Storage, compression: Compression) -> Storage {
        Storage::Member { archive: Box::new(archive.clone()), compression, start: 3, bytes: 4 }
    }

    #[test]
    fn a_member_is_the_same_in_every_kind_of_storage() {
        let text = b"0123456789";
        let (spool, bytes) = Storage::spool(&mut &text[..]).unwrap();
        assert_eq!(bytes, 10);
        let memory = Storage::Memory(text[..].into());
        let packed = Storage::Memory(gzip(text).into());
        let places = [
            (&spool, Compression::None),
            (&memory, Compression::None),
            (&packed, Compression::Gzip),
        ];
        let (mut one, mut other) = (spool.reader().unwrap(), spool.reader().unwrap());
        one.read_exact(&mut [0; 5]).unwrap();
        let mut first = [0; 2];
        other.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"01", "readers do not disturb each other");
        for (archive, compression) in places {
            let member = member(archive, compression);
            for _ in 0..2 {
                assert_eq!(all(&member), b"3456");
            }
        }
        let (_, start) = member(&spool, Compression::None).file().unwrap().unwrap();
        assert_eq!(start, 3);
        assert!(member(&spool, Compression::Gzip).file().unwrap().is_none());
    }
}
