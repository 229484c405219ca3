//! What a trace format declares of itself.

use spec::{Param, Params};

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::trace_head::{Likeness, TraceHead};
use crate::reader::ReaderFactory;

/// A trace format.
pub struct Format {
    /// Its name in `--format`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where its columns and units are laid down.
    pub source: &'static str,
    /// Its keys in `--format`.
    pub params: &'static [Param],
    /// Settings that read well-known traces.
    pub examples: &'static [FormatExample],
    /// Whether the first lines of a trace look like it.
    pub(crate) detect: fn(&TraceHead) -> Likeness,
    /// Learns what it needs to know of a trace before reading it.
    pub(crate) open: fn(&Params, &StoredTrace) -> Result<Box<dyn ReaderFactory>>,
}

/// Settings of a format for traces that many people have.
#[derive(Debug, Clone, Copy)]
pub struct FormatExample {
    /// Which traces.
    pub traces: &'static str,
    /// What to give as `--format`.
    pub spec: &'static str,
}
