//! What is known of an FTL between two requests.

use ftl::{Ftl, Report, Span};
use nand::{Lpn, Nand, Ppn};

/// What the host asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOp {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A trim.
    Trim,
    /// A flush.
    Flush,
    /// The power returns, and the FTL is mounted.
    Mount,
    /// The power fails. The take that begins here shows what it left.
    Cut,
    /// Everything is read and compared.
    Check,
    /// Nobody asks for anything: a picture of a disk at rest.
    Idle,
}

/// A request of the host.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its number in the pass, from 1.
    pub number: u64,
    /// What it asks for.
    pub op: HostOp,
    /// Its pages.
    pub spans: &'a [Span],
}

/// A device between two requests.
pub struct Moment<'a> {
    /// The chip.
    pub nand: &'a Nand,
    /// The FTL; none while the power is off, and if a mount was interrupted.
    pub ftl: Option<&'a dyn Ftl>,
    /// Pages of writes that entered the scheme since the counters were reset.
    pub entered: u64,
    /// Whether the FTL says where pages are. A guest does not.
    pub has_places: bool,
}

impl Moment<'_> {
    /// Where the newest version of a page of the host, or of the map, is. None if the FTL does not
    /// say it.
    pub fn place(&self, owner: u32) -> Option<Option<Ppn>> {
        let ftl = self.ftl.filter(|_| self.has_places)?;
        Some(ftl.place(self.nand, Lpn(owner)))
    }

    /// What the FTL says about itself; nothing if there is none.
    pub fn report(&self) -> Report {
        self.ftl.map(Ftl::report).unwrap_or_default()
    }
}
