//! Where stored bytes lie, so that they can be read again and again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::input::packing::Packing;

/// The storage of a trace's bytes.
#[derive(Debug, Clone)]
pub(crate) enum Storage {
    /// A file of the user's.
    Path(PathBuf),
    /// A temporary file, gone with the last who reads it.
    Spool(Arc<NamedTempFile>),
    Memory(Arc<[u8]>),
    /// A stretch of an archive, counted in the bytes that the archive was packed from.
    Member {
        archive: Box<Storage>,
        packing: Packing,
        start: u64,
        bytes: u64,
    },
}

impl Storage {
    /// Copies what can be read only once to a temporary file.
    pub(crate) fn spool(reader: &mut dyn Read) -> io::Result<(Storage, u64)> {
        let mut spool = NamedTempFile::new()?;
        let bytes = io::copy(reader, &mut spool)?;
        Ok((Storage::Spool(Arc::new(spool)), bytes))
    }

    /// Whether it is a stretch of an archive.
    pub(crate) fn is_member(&self) -> bool {
        matches!(self, Storage::Member { .. })
    }

    /// The file in which the bytes stand as they are, and where in it they begin; `None` for
    /// memory and for what would have to be unpacked.
    pub(crate) fn file(&self) -> io::Result<Option<(File, u64)>> {
        Ok(match self {
            Storage::Path(path) => Some((File::open(path)?, 0)),
            Storage::Spool(spool) => Some((spool.reopen()?, 0)),
            Storage::Member { archive, packing: Packing::None, start, .. } => {
                archive.file()?.map(|(file, before)| (file, before + start))
            }
            Storage::Memory(_) | Storage::Member { .. } => None,
        })
    }

    /// The bytes from the first on.
    pub(crate) fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        let file = self.file()?;
        Ok(match (self, file) {
            (Storage::Member { bytes, .. }, Some((mut file, start))) => {
                file.seek(SeekFrom::Start(start))?;
                Box::new(file.take(*bytes))
            }
            (Storage::Member { archive, packing, start, bytes }, None) => {
                let mut unpacked = packing.unpack(archive.reader()?)?;
                io::copy(&mut unpacked.by_ref().take(*start), &mut io::sink())?;
                Box::new(unpacked.take(*bytes))
            }
            (Storage::Memory(bytes), _) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            (_, Some((file, _))) => Box::new(file),
            (Storage::Path(_) | Storage::Spool(_), None) => unreachable!("files are files"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::packing::tests::gzip;

    fn all(storage: &Storage) -> Vec<u8> {
        let mut bytes = Vec::new();
        storage.reader().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn member(archive: &Storage, packing: Packing) -> Storage {
        Storage::Member { archive: Box::new(archive.clone()), packing, start: 3, bytes: 4 }
    }

    #[test]
    fn a_stretch_is_the_same_wherever_it_lies() {
        let text = b"0123456789";
        let (spool, bytes) = Storage::spool(&mut &text[..]).unwrap();
        assert_eq!(bytes, 10);
        let memory = Storage::Memory(text[..].into());
        let packed = Storage::Memory(gzip(text).into());
        let places = [(&spool, Packing::None), (&memory, Packing::None), (&packed, Packing::Gzip)];
        for (archive, packing) in places {
            let member = member(archive, packing);
            for _ in 0..2 {
                assert_eq!(all(&member), b"3456");
            }
        }
        let (_, start) = member(&spool, Packing::None).file().unwrap().unwrap();
        assert_eq!(start, 3);
        assert!(member(&spool, Packing::Gzip).file().unwrap().is_none());
    }
}
