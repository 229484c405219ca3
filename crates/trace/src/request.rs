//! The request: what every trace format and every workload becomes.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// What the host wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Bring back what was written.
    Read,
    /// Keep these bytes.
    Write,
    /// These bytes are no longer needed (discard).
    Trim,
    /// Make durable what was written before; carries no range.
    Flush,
}

/// What the host said besides; a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// Nothing said.
    pub const NONE: Flags = Flags(0);
    /// The data are durable when the request completes (forced unit access).
    pub const FUA: Flags = Flags(1);
    /// Flush before serving the request.
    pub const PREFLUSH: Flags = Flags(2);
    /// Somebody waits for it.
    pub const SYNC: Flags = Flags(4);
    /// Metadata of a file system.
    pub const META: Flags = Flags(8);
    /// Read ahead of need.
    pub const READAHEAD: Flags = Flags(16);

    /// The set as bits, for temporary files.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// The set that these bits stand for; unknown ones are dropped.
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

/// One request of the host: one line of a trace.
///
/// Readers guarantee that `offset + bytes` does not overflow, that `bytes` is 0 for a flush and
/// only then, and that times never go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Nanoseconds since the first record of the trace.
    pub time_ns: u64,
    /// Where it starts on its device, in bytes; need not be aligned to anything.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The device, numbered from 0 in order of first appearance.
    pub device: u32,
    /// What to do.
    pub op: Op,
    /// What was said besides. A write with [`Flags::PREFLUSH`] is one request: flush, then write.
    pub flags: Flags,
}

impl Request {
    /// The first byte behind the request.
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
