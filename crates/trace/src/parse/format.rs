//! The declaration of a trace format.

use spec::{Param, Params};

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::text::column_layout::ColumnLayout;
use crate::parse::text::trace_head::{Likeness, TraceHead};
use crate::reader::ReaderFactory;

/// A trace format.
pub struct Format {
    /// Its name in `--format`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The document or program that defines its columns and units.
    pub source: &'static str,
    /// Its keys in `--format`.
    pub params: &'static [Param],
    /// Settings that read well-known traces.
    pub examples: &'static [FormatExample],
    /// Short traces in this format, read by tests and fuzzers.
    pub specimens: &'static [Specimen],
    /// Whether the beginning of a trace looks like this format.
    pub(crate) detect: fn(&TraceHead) -> Likeness,
    /// How readers of a trace are made.
    pub(crate) opening: Opening,
}

/// How readers of a trace in a format are made.
pub(crate) enum Opening {
    /// The lines consist of columns, which depend on the keys.
    Columns(fn(&Params) -> spec::Result<ColumnLayout>),
    /// The format has a parser of its own, which depends on the keys.
    Parser(fn(&Params) -> spec::Result<Box<dyn ReaderFactory>>),
    /// The parser also depends on what the trace contains.
    Inspected(fn(&Params, &StoredTrace) -> Result<Box<dyn ReaderFactory>>),
}

impl Format {
    /// Learns what has to be known about a trace before it is read.
    pub(crate) fn open(
        &self,
        params: &Params,
        trace: &StoredTrace,
    ) -> Result<Box<dyn ReaderFactory>> {
        match self.opening {
            Opening::Columns(layout) => Ok(Box::new(layout(params)?)),
            Opening::Parser(parser) => Ok(parser(params)?),
            Opening::Inspected(open) => open(params, trace),
        }
    }
}

/// Settings of a format for traces that many people have.
#[derive(Debug, Clone, Copy)]
pub struct FormatExample {
    /// The traces.
    pub traces: &'static str,
    /// What to give as `--format`.
    pub spec: &'static str,
    /// Whether the beginning of a trace looks like these traces.
    pub(crate) detect: fn(&TraceHead) -> Likeness,
}

/// A short trace in a format.
#[derive(Debug, Clone, Copy)]
pub struct Specimen {
    /// What to give as `--format`.
    pub spec: &'static str,
    /// The trace.
    pub bytes: &'static [u8],
    /// Whether the content alone identifies the format.
    pub is_detected: bool,
}

impl Specimen {
    /// A trace whose content identifies the format.
    pub(crate) const fn detected(spec: &'static str, bytes: &'static [u8]) -> Specimen {
        Specimen { spec, bytes, is_detected: true }
    }

    /// A trace that could be in several formats, or in none that is known.
    pub(crate) const fn undetected(spec: &'static str, bytes: &'static [u8]) -> Specimen {
        Specimen { spec, bytes, is_detected: false }
    }
}
