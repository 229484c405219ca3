//! The request: the common form of all trace formats and workloads.

use bitflags::bitflags;

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

impl Op {
    /// All operations in the order of their codes.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// The number of the operation in columns and temporary files: 0 read, 1 write, 2 trim,
    /// 3 flush.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The operation with this code, if there is one.
    #[inline]
    pub fn of_code(code: u8) -> Option<Op> {
        Op::ALL.get(usize::from(code)).copied()
    }

    /// The operation with this name: `read`, `write`, `trim` or `flush`, or its first letter, in
    /// capital or small letters.
    pub fn of_name(name: &[u8]) -> Option<Op> {
        let names: [&[u8]; 4] = [b"read", b"write", b"trim", b"flush"];
        let is_named =
            |one: &&[u8]| name.eq_ignore_ascii_case(one) || name.eq_ignore_ascii_case(&one[..1]);
        Op::of_code(names.iter().position(is_named)? as u8)
    }
}

bitflags! {
    /// The flags of a request. Their bits stand in columns and temporary files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Flags: u8 {
        /// The data are durable when the request completes (forced unit access).
        const FUA = 1;
        /// Flush before executing the request.
        const PREFLUSH = 2;
        /// A process waits for the request.
        const SYNC = 4;
        /// The data are metadata of a file system.
        const META = 8;
        /// The data are read before they are needed.
        const READAHEAD = 16;
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
    /// For writes: the stream to which the host assigns the data, a number from 1 to
    /// [`STREAMS_MAX`]; 0 if it names none.
    pub stream: u8,
}

/// The most streams that a trace may have.
pub const STREAMS_MAX: u8 = 63;

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
        assert_eq!(format!("{flags:?}"), "Flags(FUA | SYNC | META)");
        assert!(flags.contains(Flags::empty()));
    }

    #[test]
    fn codes_and_bits_are_read_as_they_are_written() {
        for (code, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!((usize::from(op.code()), Op::of_code(op.code())), (code, Some(op)));
        }
        let named = ["read", "W", "Trim", "f"].map(|name| Op::of_name(name.as_bytes()));
        assert_eq!(named, Op::ALL.map(Some));
        assert_eq!(["", "wr", "discard", "x"].map(|name| Op::of_name(name.as_bytes())), [None; 4]);
        assert_eq!((Op::of_code(4), Flags::from_bits(32)), (None, None));
        let all: Flags = (0..5).map(|bit| Flags::from_bits(1 << bit).unwrap()).collect();
        assert_eq!(all.bits(), 31);
    }

    #[test]
    fn a_request_is_small() {
        assert!(size_of::<Request>() <= 32, "batches of requests should stay in the cache");
    }
}
