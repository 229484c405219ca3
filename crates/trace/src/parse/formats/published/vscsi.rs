//! The vscsi traces of CloudPhysics (Waldspurger et al., FAST 2015), versions 1 and 2, as
//! libCacheSim reads them.
//!
//! ```text
//! version 1, 32 bytes: u32 number, u32 bytes, u32 segments, u16 command, u16 version, u64 block,
//!                      u64 µs
//! version 2, 40 bytes: u16 command, u16 version, u32 number, u32 bytes, u32 segments, u64 block,
//!                      u64 µs, u64 response
//! ```
//!
//! Numbers are little-endian. A block has 512 bytes; the command is a SCSI opcode. The upper byte
//! of `version` is 1 or 2. It lies at a different offset in each version, so the first two records
//! show which version it is. An unmap command is skipped, because the record does not contain its
//! range.

use spec::Params;

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::TraceParser;
use crate::parse::records::RecordBytes;
use crate::parse::text::trace_head::{Likeness, TraceHead};
use crate::reader::ReaderFactory;
use crate::request::{Flags, Op, SECTOR_BYTES};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "vscsi",
    summary: "CloudPhysics vscsi, binary, version 1 or 2 (recognised by the first records)",
    source: "libCacheSim, vscsi.h; Waldspurger et al., SHARDS, FAST 2015",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected(
            "vscsi",
            b"\x07\0\0\0\0\x10\0\0\x01\0\0\0\x2a\0\x04\x01\x08\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0\
              \x08\0\0\0\0\x10\0\0\x01\0\0\0\x28\0\x04\x01\x10\0\0\0\0\0\0\0\x41\x42\x0f\0\0\0\0\0",
        ),
        Specimen::undetected(
            "vscsi",
            b"\x07\0\0\0\0\x10\0\0\x01\0\0\0\x2a\0\x04\x01\x08\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0",
        ),
        Specimen::undetected(
            "vscsi",
            b"\x28\0\0\x02\x07\0\0\0\0\x10\0\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0\
              \x63\0\0\0\0\0\0\0",
        ),
    ],
    detect,
    opening: Opening::Inspected(open),
};

/// Records that are examined to recognise the format.
const EXAMINED: usize = 64;

/// No field identifies the format, but all of several records have the same version, and commands
/// that disks know.
fn detect(head: &TraceHead) -> Likeness {
    let alike = |vscsi: &Vscsi| {
        let records = || head.bytes().chunks_exact(vscsi.bytes).take(EXAMINED);
        vscsi.fits(head.bytes()) && records().count() > 1 && records().all(|it| vscsi.is_usual(it))
    };
    Likeness::of_header([ONE, TWO].iter().any(alike))
}

fn open(_: &Params, input: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    let head = input.head(2 * ONE.bytes.max(TWO.bytes))?;
    match [ONE, TWO].into_iter().find(|vscsi| vscsi.fits(&head)) {
        Some(vscsi) => Ok(Box::new(vscsi)),
        None => Err(UNKNOWN.of_record(input.name(), 1)),
    }
}

/// The layout of the records of one version.
#[derive(Clone, Copy)]
struct Vscsi {
    version: u16,
    bytes: usize,
    length_at: usize,
    command_at: usize,
    version_at: usize,
    block_at: usize,
}

const ONE: Vscsi =
    Vscsi { version: 1, bytes: 32, length_at: 4, command_at: 12, version_at: 14, block_at: 16 };
const TWO: Vscsi =
    Vscsi { version: 2, bytes: 40, length_at: 8, command_at: 0, version_at: 2, block_at: 16 };

impl Vscsi {
    /// Whether the first records, at most two, have this version.
    fn fits(&self, head: &[u8]) -> bool {
        let records = head.chunks_exact(self.bytes).take(2);
        let has_version = |bytes| {
            let record = RecordBytes { bytes, big_endian: false };
            record.u16(self.version_at) >> 8 == self.version
        };
        head.len() >= self.bytes && records.into_iter().all(has_version)
    }

    /// Whether a record has this version and a command that disks know.
    fn is_usual(&self, bytes: &[u8]) -> bool {
        let record = RecordBytes { bytes, big_endian: false };
        let command = record.u16(self.command_at);
        record.u16(self.version_at) >> 8 == self.version
            && (op(command).is_some() || OTHER_COMMANDS.contains(&command))
    }
}

/// Commands without data that disks get beside reads, writes and flushes: test unit ready, request
/// sense, inquiry, mode sense, reserve, release, start, read capacity, unmap, service action,
/// report LUNs.
static OTHER_COMMANDS: [u16; 13] =
    [0x00, 0x03, 0x12, 0x15, 0x16, 0x17, 0x1a, 0x1b, 0x25, 0x42, 0x4d, 0x9e, 0xa0];

/// The operation of a command; `None` if it is none of a trace.
fn op(command: u16) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x41 | 0x93 => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

const UNKNOWN: ParseError = ParseError::fatal(
    "the version of a vscsi record is neither 1 nor 2",
    "the trace may be in another format",
);
const VERSION: ParseError = ParseError::new("its version differs from that of the first record");
const BLOCK: ParseError = ParseError::new("its block address exceeds 64 bits in bytes");

impl TraceParser for Vscsi {
    const TICK_NS: u64 = 1000;

    fn record_bytes(&self) -> Option<usize> {
        Some(self.bytes)
    }

    #[inline]
    fn parse(&mut self, bytes: &[u8], devices: &mut Devices) -> ParseResult {
        let record = RecordBytes { bytes, big_endian: false };
        if record.u16(self.version_at) >> 8 != self.version {
            return Err(VERSION);
        }
        let command = record.u16(self.command_at);
        let Some(op) = op(command) else {
            let is_unmap = command == 0x42;
            let reason = if is_unmap { "unmap without range" } else { "other command" };
            return Ok(Parsed::Skip(reason));
        };
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => {
                let offset = record.u64(self.block_at).checked_mul(SECTOR_BYTES).ok_or(BLOCK)?;
                (offset, u64::from(record.u32(self.length_at)))
            }
        };
        let (ticks, device) = (record.u64(self.block_at + 8), devices.index(b"0")?);
        let flags = Flags::empty();
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream: 0 }))
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("The records have version {} of the vscsi layout.", self.version)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use proptest::prelude::*;

    fn one(command: u16, bytes: u32, block: u64, time_us: u64) -> Vec<u8> {
        let mut record = Vec::new();
        for word in [7, bytes, 1] {
            record.extend_from_slice(&word.to_le_bytes());
        }
        record.extend_from_slice(&command.to_le_bytes());
        record.extend_from_slice(&0x0104u16.to_le_bytes());
        record.extend_from_slice(&block.to_le_bytes());
        record.extend_from_slice(&time_us.to_le_bytes());
        record
    }

    fn two(command: u16, bytes: u32, block: u64, time_us: u64) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend_from_slice(&command.to_le_bytes());
        record.extend_from_slice(&0x0200u16.to_le_bytes());
        for word in [7, bytes, 1] {
            record.extend_from_slice(&word.to_le_bytes());
        }
        for word in [block, time_us, 99] {
            record.extend_from_slice(&word.to_le_bytes());
        }
        record
    }

    #[test]
    fn both_versions_deliver_the_same_requests() {
        for (vscsi, record) in [(ONE, one as fn(_, _, _, _) -> _), (TWO, two)] {
            let bytes = [
                record(0x2a, 512, 42_932_745, 5_633_898_368_802),
                record(0x42, 24, 0, 5_633_898_368_803),
                record(0x35, 0, 0, 5_633_898_368_804),
                record(0x88, 4096, 8, 5_633_898_368_812),
                record(0x12, 36, 0, 5_633_898_368_813),
            ]
            .concat();
            assert!(vscsi.fits(&bytes));
            assert!(![ONE, TWO].iter().any(|o| o.version != vscsi.version && o.fits(&bytes)));
            let (requests, skipped) = read_all(vscsi, &bytes, false).unwrap();
            let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
            assert_eq!(ops, [Op::Write, Op::Flush, Op::Read]);
            assert_eq!((requests[0].offset, requests[0].bytes), (42_932_745 * 512, 512));
            assert_eq!(requests[2].time_ns, 10_000);
            let skips: Vec<_> = skipped.iter().collect();
            assert_eq!(skips, [("unmap without range", 1), ("other command", 1)]);
        }
    }

    #[test]
    fn errors_name_the_damage() {
        let mut bytes = [one(0x2a, 512, 1, 1), one(0x2a, 512, u64::MAX, 2)].concat();
        let message = |bytes: &[u8]| read_all(ONE, bytes, false).unwrap_err();
        assert!(message(&bytes).starts_with("t: record 2: its block address exceeds"));
        bytes[32 + 15] = 9;
        assert!(message(&bytes).starts_with("t: record 2: its version differs"));
        assert!(message(&bytes[..40]).starts_with("t: record 2: the file ends within"));
        let (requests, skipped) = read_all(ONE, &bytes[..40], true).unwrap();
        assert_eq!((requests.len(), skipped.get("malformed")), (1, 1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            // The newline prevents the bytes from looking like a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            prop_assert!(read_all(ONE, &bytes, true).is_ok());
            prop_assert!(read_all(TWO, &bytes, true).is_ok());
        }
    }
}
