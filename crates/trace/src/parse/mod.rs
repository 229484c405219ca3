//! Trace formats: one file a format, and the machinery they share.
//!
//! A text format implements `LineParser`: a line in, a `Line` out; most of them are a mere
//! declaration of columns. A binary one implements `RecordParser`, but for blktrace, whose records
//! have different sizes and come from several files. Everything else is common: where lines come
//! from, times that never go back, overflow of addresses, bad lines, skips by reason.
//!
//! * `columns`, `fields`: formats that are a declaration of columns, and the loop over them
//! * `split`: a line taken apart into fields
//! * `field`: one of them: numbers in all their notations
//! * `eight`: eight bytes at a time, for both
//! * `devices`: device names become dense numbers
//! * `intake`: checks, the clock, skips by reason
//! * `lines`: the loop over all lines of a trace
//! * `records`: the loop over all records of a binary trace
//! * `sample`: the first lines, for telling formats apart

pub mod alibaba;
pub mod blkparse;
pub mod blkreplay;
pub mod blktrace;
pub(crate) mod columns;
pub mod csv;
pub(crate) mod devices;
pub mod diskmon;
pub mod disksim;
mod eight;
pub mod etw;
pub(crate) mod field;
pub(crate) mod fields;
pub mod fio;
pub mod fiu;
pub mod flashsim;
pub(crate) mod intake;
pub(crate) mod lines;
pub mod mqsim;
pub mod msr;
pub mod oracle_general;
pub(crate) mod records;
pub(crate) mod sample;
pub mod spc;
pub(crate) mod split;
pub mod ssdsim;
pub mod systor;
pub mod tencent;
pub mod vscsi;

use devices::Devices;

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

/// A text format: one line at a time, state only where the format has some.
pub(crate) trait LineParser: Send {
    /// Nanoseconds in a tick of this format's clock.
    const TICK_NS: u64;

    /// Whether the format's records do not come in the order of their times.
    const UNSORTED: bool = false;

    /// Whether times count from the beginning of each file, so that those of the members of an
    /// archive are laid one behind another.
    const OWN_CLOCK: bool = false;

    /// Reads a line that is not blank and has no line end. Any bytes may come.
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Line, Fault>;

    /// What the reader chose that the user may want to know.
    fn note(&self) -> Option<String> {
        None
    }
}
