//! A file of the operating system. It is locked while it is open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::{Medium, SyncJob};
use crate::error::{Error, Result};

/// An open file with an exclusive lock. The system releases the lock however the process ends.
#[derive(Debug)]
pub struct DiskFile(Arc<Shared>);

/// A file that several threads may sync.
#[derive(Debug)]
struct Shared {
    file: File,
    /// Why one of them failed. The system reports a failure only once, to the first sync.
    failure: Mutex<Option<String>>,
}

impl Shared {
    /// Syncs, one thread after the other. After a failure none succeeds.
    fn sync(&self) -> io::Result<()> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &*failure {
            return Err(io::Error::other(format!("an earlier sync failed: {why}")));
        }
        let done = self.file.sync_data();
        *failure = done.as_ref().err().map(io::Error::to_string);
        done
    }
}

impl DiskFile {
    /// Opens a file that exists.
    ///
    /// # Errors
    /// The file is in use, or cannot be opened for reading and writing.
    pub fn open(path: &Path) -> Result<DiskFile> {
        DiskFile::locked(OpenOptions::new().read(true).write(true).open(path)?)
    }

    /// Opens a file that exists, to read it only.
    ///
    /// # Errors
    /// The file is in use, or cannot be opened.
    pub fn open_to_read(path: &Path) -> Result<DiskFile> {
        DiskFile::locked(File::open(path)?)
    }

    /// Creates an empty file.
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub fn create(path: &Path) -> Result<DiskFile> {
        DiskFile::locked(OpenOptions::new().read(true).write(true).create_new(true).open(path)?)
    }

    fn locked(file: File) -> Result<DiskFile> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DiskFile(Arc::new(Shared { file, failure: Mutex::new(None) }))),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse),
            Err(error) => Err(Error::Io(error.into())),
        }
    }
}

impl Medium for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.file.metadata()?.len())
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.0.file.set_len(bytes)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.file.read_exact_at(bytes, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.file.write_all_at(bytes, offset)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn punch(&mut self, offset: u64, bytes: u64) -> io::Result<bool> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;

        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.0.file, hole, offset, bytes) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn punch(&mut self, _offset: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn begin_sync(&mut self) -> SyncJob {
        let shared = Arc::clone(&self.0);
        Box::new(move || shared.sync())
    }

    fn reader(&self) -> Option<Box<dyn Medium>> {
        Some(Box::new(DiskFile(Arc::clone(&self.0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe cannot be synced. A later sync reports that failure too.
    #[test]
    fn after_a_failed_sync_none_succeeds() {
        let (_reader, writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut file = DiskFile(Arc::new(Shared { file, failure: Mutex::new(None) }));
        let first = std::thread::spawn(file.begin_sync()).join().unwrap();
        assert!(!first.unwrap_err().to_string().contains("an earlier sync"));
        let second = file.sync().unwrap_err().to_string();
        assert!(second.starts_with("an earlier sync failed: "), "{second}");
    }
}
