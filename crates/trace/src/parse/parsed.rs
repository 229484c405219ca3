//! What the parsers deliver: a request, a skip, or what is wrong.

use crate::request::{Flags, Op};

/// What a line turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A request.
    Request(RawRequest),
    /// A request that cannot be replayed, and why; counted by reason.
    Skip(&'static str),
    /// No request by design: a header, a summary, another action.
    Other,
}

impl Parsed {
    /// The same with another time.
    #[inline]
    pub(crate) fn at(self, ticks: u64) -> Parsed {
        match self {
            Parsed::Request(record) => Parsed::Request(RawRequest { ticks, ..record }),
            other => other,
        }
    }
}

/// A request as its line tells it, before clock and checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawRequest {
    /// Time in units of [`LineParser::TICK_NS`] from any origin.
    pub(crate) ticks: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) flags: Flags,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) what: &'static str,
    pub(crate) remedy: &'static str,
    /// The whole trace is not what it should be: `--skip-bad` does not help.
    pub(crate) fatal: bool,
    /// The column it is about, from 1; 0 if the sentence says where.
    pub(crate) column: u8,
}

impl ParseError {
    pub(crate) const fn new(what: &'static str) -> ParseError {
        ParseError { what, remedy: "", fatal: false, column: 0 }
    }

    pub(crate) const fn with_remedy(what: &'static str, remedy: &'static str) -> ParseError {
        ParseError { what, remedy, fatal: false, column: 0 }
    }

    pub(crate) const fn fatal(what: &'static str, remedy: &'static str) -> ParseError {
        ParseError { what, remedy, fatal: true, column: 0 }
    }

    /// The same fault in a column, counted from 1.
    pub(crate) fn in_column(self, column: usize) -> ParseError {
        ParseError { column: column.min(255) as u8, ..self }
    }

    /// What is wrong, with the column if there is one.
    pub(crate) fn sentence(&self) -> String {
        match self.column {
            0 => self.what.to_owned(),
            column => format!("column {column}, {}", self.what),
        }
    }
}
