//! The formats in which traces are written.

/// The format in which requests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// `fio version 3 iolog`.
    Fio,
    /// `major,minor cpu number seconds pid Q rwbs sector sectors`.
    Blkparse,
    /// `time_ns,device,rwbs,offset,bytes`, with a heading, and for a trace with streams one column
    /// more; [`CSV_SPEC`](super::CSV_SPEC) reads it.
    Csv,
}
