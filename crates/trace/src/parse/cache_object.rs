//! The fields that the record formats of libCacheSim share.
//!
//! ```text
//! byte 0: u32 seconds    byte 4: u64 object    byte 12: u32 bytes
//! ```
//!
//! An object becomes an address: its number counts `object_unit=` bytes. If objects are hashes
//! instead of addresses, they lie far beyond the end of any disk; `--fit compact` moves them
//! together.

use spec::{Kind, Param};

use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::records::RecordBytes;
use crate::request::Op;

pub(crate) const OBJECT_UNIT: Param = Param {
    name: "object_unit",
    kind: Kind::Size,
    default: "4KiB",
    unit: "bytes",
    doc: "the unit of object numbers",
};

/// Nanoseconds in a tick of these formats' clock.
pub(crate) const TICK_NS: u64 = 1_000_000_000;

const OBJECT: ParseError = ParseError::with_remedy(
    "the address of its object exceeds 64 bits in bytes",
    "objects that are hashes need object_unit=1",
);

/// A sentence about the unit, which the trace does not state.
pub(crate) fn unit_note(object_unit: u64) -> String {
    format!(
        "An object number is read as an address in units of {object_unit} bytes; `object_unit=` \
         gives another unit: 512 for sectors, 1 for bytes."
    )
}

/// The request of a record whose operation and device are known.
#[inline(always)]
pub(crate) fn request(record: &RecordBytes, object_unit: u64, op: Op, device: u32) -> ParseResult {
    let offset = record.u64(4).checked_mul(object_unit).ok_or(OBJECT)?;
    let (ticks, bytes) = (u64::from(record.u32(0)), u64::from(record.u32(12)));
    Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, ..RawRequest::BLANK }))
}
