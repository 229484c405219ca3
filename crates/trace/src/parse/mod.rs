//! Text formats: one file a format, and the machinery they share.
//!
//! A format implements `LineParser`: a line in, a `Line` out. Everything else is common: where
//! lines come from, times that never go back, overflow of addresses, bad lines, skips by reason.
//!
//! * `cursor`: numbers and words out of bytes
//! * `devices`: device names become dense numbers
//! * `lines`: the loop over all lines of a trace
//! * `sample`: the first lines, for telling formats apart

pub mod blkparse;
pub(crate) mod cursor;
pub(crate) mod devices;
pub mod fio;
pub(crate) mod lines;
pub mod msr;
pub(crate) mod sample;
pub mod spc;

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
}

impl Fault {
    pub(crate) const fn new(what: &'static str) -> Fault {
        Fault { what, remedy: "", fatal: false }
    }

    pub(crate) const fn with_remedy(what: &'static str, remedy: &'static str) -> Fault {
        Fault { what, remedy, fatal: false }
    }

    pub(crate) const fn fatal(what: &'static str, remedy: &'static str) -> Fault {
        Fault { what, remedy, fatal: true }
    }
}

/// A text format: one line at a time, state only where the format has some.
pub(crate) trait LineParser: Send {
    /// Nanoseconds in a tick of this format's clock.
    const TICK_NS: u64;

    /// Reads a line that is not blank and has no line end. Any bytes may come.
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Line, Fault>;

    /// What the reader chose that the user may want to know.
    fn note(&self) -> Option<String> {
        None
    }
}
