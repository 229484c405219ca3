//! What only Linux does for guests. Elsewhere everything compiles, and a guest is refused with a
//! sentence when the first of its files in memory is made.

use std::fs::File;
use std::io;

/// A file in memory without a name, which ends with the last process that has it. Processes that
/// this one starts inherit it, unless it is closed for them.
///
/// # Errors
/// There is no memory, or this is not Linux.
#[cfg(target_os = "linux")]
pub fn memory_file(name: &str, is_inherited: bool) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let flags = if is_inherited { MemfdFlags::empty() } else { MemfdFlags::CLOEXEC };
    Ok(memfd_create(name, flags)?.into())
}

/// Lets the kernel end this process with its parent.
///
/// # Errors
/// The kernel refuses.
#[cfg(target_os = "linux")]
pub fn end_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Refuses: a guest needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn memory_file(_: &str, _: bool) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "guests need Linux; use a scheme of ftlab here"))
}

/// Refuses: a guest needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn end_with_parent() -> io::Result<()> {
    memory_file("", false).map(drop)
}
