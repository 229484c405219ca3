//! The stored bytes of a trace: finding, decompressing and reading them.
//!
//! * [`resolve_path`]: the files that the user's argument names
//! * `compression`: gzip, zstd and xz
//! * `archive`: the members of tar archives
//! * `storage`: the location of bytes, from which they can be read again
//! * `read_ahead`: decompression on a thread of its own
//! * `stored_trace`: all of these together; every reader of a format gets one
//! * `sliding_window`: a window over the bytes, and the lines in it
//! * `part_cursor`: a position in all parts of a trace

pub(crate) mod archive;
pub(crate) mod compression;
pub(crate) mod part_cursor;
pub(crate) mod read_ahead;
pub mod resolve_path;
pub(crate) mod sliding_window;
pub(crate) mod storage;
pub(crate) mod stored_trace;
