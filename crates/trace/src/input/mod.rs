//! The stored bytes of a trace: found, unpacked, taken out of archives, and brought into view.
//!
//! * `resolve_path`: which files a word names
//! * `packing`, `archive`: gzip, zstd, xz; members of tar archives
//! * `storage`: where bytes lie, so that they can be read again
//! * `stored_trace`: all of these together: what every reader of a format is given
//! * `sliding_window`: a bounded part of the bytes at a time, and the lines in it
//! * `part_cursor`: one reading of all parts of a trace

pub(crate) mod archive;
pub(crate) mod packing;
pub(crate) mod part_cursor;
pub mod resolve_path;
pub(crate) mod sliding_window;
pub(crate) mod storage;
pub(crate) mod stored_trace;
