//! What the drive is asked to do: requests of the host, and the flash operations that the FTL
//! makes of them.

use nand::{Cause, Op};

use crate::shares::Shares;

/// A flash operation as the FTL issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Its kind.
    pub op: Op,
    /// Its cause.
    pub cause: Cause,
    /// A page, or the block that is erased.
    pub place: u32,
    /// Whether it is the program of a copy. The operation before it is the read.
    pub ends_copy: bool,
    /// Whether all programs and erases before it end before it begins.
    pub after_all: bool,
}

impl Issued {
    /// An operation that is no part of a copy and waits for no other.
    pub const fn new(op: Op, cause: Cause, place: u32) -> Issued {
        Issued { op, cause, place, ends_copy: false, after_all: false }
    }
}

/// A request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRequest {
    /// Its kind.
    pub op: trace::Op,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether its data must survive a power cut once it is answered.
    pub force: bool,
    /// Time in memory above the flash, in nanoseconds.
    pub memory_ns: u64,
    /// The load to which it belongs.
    pub load: usize,
}

impl HostRequest {
    /// No request.
    pub(crate) const NONE: HostRequest =
        HostRequest { op: trace::Op::Read, bytes: 0, force: false, memory_ns: 0, load: 0 };
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub request: HostRequest,
    /// When it was issued, in nanoseconds.
    pub issued_ns: u64,
    /// When it was answered, in nanoseconds.
    pub answered_ns: u64,
    /// Where the time between went.
    pub shares: Shares,
}

impl Answer {
    /// The response time in nanoseconds.
    pub fn response_ns(&self) -> u64 {
        self.answered_ns - self.issued_ns
    }
}

/// Whether operations under this cause are collection: they move or reclaim pages that no request
/// asked for.
pub const fn is_collection(cause: Cause) -> bool {
    matches!(cause, Cause::Gc | Cause::Merge | Cause::Wear | Cause::Meta | Cause::Media)
}
