//! What a file must be able to do to hold an image.

pub mod disk_file;
pub mod loss;
pub mod lossy_disk;
pub mod shared_bytes;
pub(crate) mod view;

use std::io;

/// The rest of a sync that was begun, for any thread.
pub type SyncJob = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A file, as far as an image needs one.
///
/// Until a sync that began after it has ended, each write may reach the disk or not, in any order,
/// sector by sector. A write must be visible to later reads at once.
pub trait Medium: Send {
    /// Bytes of the file.
    ///
    /// # Errors
    /// The system refuses to tell.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// As for [`len`](Self::len).
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Extends the file with zeroes, or truncates it.
    ///
    /// # Errors
    /// The file system refuses.
    fn set_len(&mut self, bytes: u64) -> io::Result<()>;

    /// Fills `bytes` with what the file holds from `offset` on.
    ///
    /// # Errors
    /// The file ends before, or the disk fails.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The disk is full or fails; the range may be written in part.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Gives the space of a range back, which then reads as zero. Returns false if this kind of
    /// file cannot do it; the range then keeps its bytes.
    ///
    /// # Errors
    /// The disk fails.
    fn punch(&mut self, offset: u64, bytes: u64) -> io::Result<bool>;

    /// Makes all writes so far durable.
    ///
    /// # Errors
    /// The disk fails; any write since the last success may be lost, now or later.
    fn sync(&mut self) -> io::Result<()>;

    /// Begins a sync. When its job has succeeded, all writes before this call are durable. The file
    /// may be written meanwhile. The job fails if any sync of the file has failed before it ends.
    fn begin_sync(&mut self) -> SyncJob;

    /// An independent file with the same bytes, if this kind of file has cheap copies.
    fn fork(&self) -> Option<Box<dyn Medium>> {
        None
    }

    /// The same file once more, for reading, if this kind of file can be opened twice.
    fn reader(&self) -> Option<Box<dyn Medium>> {
        None
    }
}
