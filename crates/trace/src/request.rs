//! The request: the common form of all trace formats and workloads.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The operation that the host requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Return the current data of the range.
    Read,
    /// Store new data in the range.
    Write,
    /// The data of the range are no longer needed (discard).
    Trim,
    /// Make all earlier writes durable; has no range.
    Flush,
}

/// The flags of a request; a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flags.
    pub const NONE: Flags = Flags(0);
    /// The data are durable when the request completes (forced unit access).
    pub const FUA: Flags = Flags(1);
    /// Flush before executing the request.
    pub const PREFLUSH: Flags = Flags(2);
    /// A process waits for the request.
    pub const SYNC: Flags = Flags(4);
    /// The data are metadata of a file system.
    pub const META: Flags = Flags(8);
    /// The data are read before they are needed.
    pub const READAHEAD: Flags = Flags(16);

    /// The set as bits, for temporary files.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits; unknown bits are dropped.
    pub(crate) fn from_bits(bits: u8) -> Flags {
        Flags(bits & 31)
    }

    /// Whether all of `flags` are set.
    pub fn contains(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Flags::FUA, "FUA"),
            (Flags::PREFLUSH, "PREFLUSH"),
            (Flags::SYNC, "SYNC"),
            (Flags::META, "META"),
            (Flags::READAHEAD, "READAHEAD"),
        ];
        out.debug_set().entries(names.iter().filter(|n| self.contains(n.0)).map(|n| n.1)).finish()
    }
}

/// A request of the host.
///
/// Readers guarantee that `offset + bytes` does not overflow, that `bytes` is 0 if and only if the
/// request is a flush, and that times never decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Nanoseconds since the first record of the trace.
    pub time_ns: u64,
    /// Its first byte on its device; need not be aligned.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The device, numbered from 0 in order of first appearance.
    pub device: u32,
    /// Its operation.
    pub op: Op,
    /// Its flags. A write with [`Flags::PREFLUSH`] is a single request: flush, then write.
    pub flags: Flags,
}

impl Request {
    /// The first byte after the request.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

/// The unit of addresses in most trace formats, in bytes.
pub const SECTOR_BYTES: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_a_set() {
        let mut flags = Flags::FUA | Flags::SYNC;
        assert!(flags.contains(Flags::SYNC));
        assert!(!flags.contains(Flags::SYNC | Flags::META));
        flags |= Flags::META;
        assert_eq!(format!("{flags:?}"), r#"{"FUA", "SYNC", "META"}"#);
        assert!(flags.contains(Flags::NONE));
    }

    #[test]
    fn a_request_is_small() {
        assert!(size_of::<Request>() <= 32, "batches of requests should stay in the cache");
    }
}
