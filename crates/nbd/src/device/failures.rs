//! What an error of the disk means to a client.

use disk::Error;
use ftl::contract::guest::GuestFaultKind;

use crate::wire::Errno;
use crate::wire::replies::Failed;

/// The answer to a request that met this error.
///
/// ```text
/// EPERM    the disk can only be read since an earlier failure, or because its flash is worn out
/// ENOSPC   no block can be made free, the file system beneath the image is full, or a disk in
///          memory has no memory left
/// EIO      a page cannot be read, or the storage failed
/// ```
pub fn of_disk(error: &Error) -> Failed {
    let errno = match error {
        Error::ReadOnly(_)
        | Error::Ftl(ftl::Error::ReadOnly | ftl::Error::Chip(nand::Error::WornOut { .. })) => {
            Errno::Permission
        }
        Error::Ftl(ftl::Error::Guest(fault)) if fault.kind == GuestFaultKind::ReadOnly => {
            Errno::Permission
        }
        Error::Ftl(ftl::Error::NoRoom { .. } | ftl::Error::Chip(nand::Error::StorageFull(_)))
        | Error::NoMemory { .. } => Errno::NoSpace,
        Error::Unaligned { .. } | Error::Beyond { .. } => Errno::Invalid,
        _ => Errno::Io,
    };
    Failed::new(errno, error.to_string())
}
