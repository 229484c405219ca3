//! What the parsers deliver: a request, a skip, or what is wrong.

use crate::request::{Flags, Op};

/// What a line turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A request.
    Record(Record),
    /// A request that cannot be replayed, and why; counted by reason.
    Skip(&'static str),
    /// No request by design: a header, a summary, another action.
    Other,
}

impl Line {
    /// The same with another time.
    #[inline]
    pub(crate) fn at(self, ticks: u64) -> Line {
        match self {
            Line::Record(record) => Line::Record(Record { ticks, ..record }),
            other => other,
        }
    }
}

/// A request as its line tells it, before clock and checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
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
pub(crate) struct Fault {
    pub(crate) what: &'static str,
    pub(crate) remedy: &'static str,
    /// The whole trace is not what it should be: `--skip-bad` does not help.
    pub(crate) fatal: bool,
    /// The column it is about, from 1; 0 if the sentence says where.
    pub(crate) column: u8,
}

impl Fault {
    pub(crate) const fn new(what: &'static str) -> Fault {
        Fault { what, remedy: "", fatal: false, column: 0 }
    }

    pub(crate) const fn with_remedy(what: &'static str, remedy: &'static str) -> Fault {
        Fault { what, remedy, fatal: false, column: 0 }
    }

    pub(crate) const fn fatal(what: &'static str, remedy: &'static str) -> Fault {
        Fault { what, remedy, fatal: true, column: 0 }
    }

    /// The same fault in a column, counted from 1.
    pub(crate) fn in_column(self, column: usize) -> Fault {
        Fault { column: column.min(255) as u8, ..self }
    }

    /// What is wrong, with the column if there is one.
    pub(crate) fn sentence(&self) -> String {
        match self.column {
            0 => self.what.to_owned(),
            column => format!("column {column}, {}", self.what),
        }
    }
}
