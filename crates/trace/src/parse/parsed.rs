//! What a format's parser delivers for each line or record: a request, a reason to skip it, or an
//! error.

use crate::error::Error;
use crate::request::{Flags, Op};

/// What parsing a line or a record yields.
pub(crate) type ParseResult<T = Parsed> = Result<T, ParseError>;

/// The meaning of a line or of a binary record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A request.
    Request(RawRequest),
    /// A request that cannot be replayed, with the reason; counted by reason.
    Skip(&'static str),
    /// Not a request, by design of the format: a header, a summary, an event of another kind.
    Other,
}

impl Parsed {
    /// The same with another time.
    #[inline]
    pub(crate) fn at(self, ticks: u64) -> Parsed {
        match self {
            Parsed::Request(request) => Parsed::Request(RawRequest { ticks, ..request }),
            other => other,
        }
    }
}

/// A request as its line states it, not yet checked and with the trace's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawRequest {
    /// The time in ticks of the format's clock, from any origin.
    pub(crate) ticks: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) flags: Flags,
    /// The stream of a write, from 1; 0 for none, and for other requests.
    pub(crate) stream: u8,
}

impl RawRequest {
    /// A request whose fields are all zero, without flags and stream.
    pub(crate) const BLANK: RawRequest = RawRequest {
        ticks: 0,
        offset: 0,
        bytes: 0,
        device: 0,
        op: Op::Read,
        flags: Flags::empty(),
        stream: 0,
    };
}

/// Why a line or record violates its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) what: &'static str,
    pub(crate) remedy: &'static str,
    /// Whether the whole trace is unreadable, so that `--skip-bad` does not help.
    pub(crate) fatal: bool,
    /// The column in question, from 1; 0 if `what` says where.
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

    /// The same error, in the column with this number, from 1.
    pub(crate) fn in_column(self, column: usize) -> ParseError {
        ParseError { column: column.min(255) as u8, ..self }
    }

    /// The error of the record with this number, from 1, in the trace `name`.
    pub(crate) fn of_record(self, name: &str, record: u64) -> Error {
        let ParseError { what, remedy, fatal, .. } = self;
        Error::Record { name: name.to_owned(), record, what, remedy, fatal }
    }

    /// What is wrong, preceded by the column if there is one.
    pub(crate) fn sentence(&self) -> String {
        match self.column {
            0 => self.what.to_owned(),
            column => format!("column {column}, {}", self.what),
        }
    }
}
