//! libCacheSim's `oracleGeneralOpNS`: cache traces as binary records with operation and namespace.
//!
//! ```text
//! 27 bytes: u32 seconds, u64 object, u32 bytes, u8 operation, u16 namespace, i64 next access
//! ```
//!
//! Numbers are little-endian and packed. A namespace is a device.

use spec::Param;

use crate::parse::cache_object::{self, OBJECT_UNIT};
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseResult, Parsed};
use crate::parse::parser::TraceParser;
use crate::parse::records::RecordBytes;
use crate::parse::text::trace_head::Likeness;
use crate::request::Op;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "oracle-general-opns",
    summary: "libCacheSim oracleGeneralOpNS, binary, with operations and namespaces",
    source: "libCacheSim, oracleGeneralBin.h",
    params: PARAMS,
    examples: &[],
    specimens: &[Specimen::undetected(
        "oracle-general-opns:object_unit=1",
        b"\x05\0\0\0\x07\0\0\0\0\0\0\0\0\x02\0\0\x01\x02\0\xff\xff\xff\xff\xff\xff\xff\xff\
          \x06\0\0\0\x08\0\0\0\0\0\0\0\0\x04\0\0\x03\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    )],
    // No field identifies the format.
    detect: |_| Likeness::None,
    opening: Opening::Parser(|params| {
        Ok(Box::new(OracleGeneralOpns { object_unit: params.size("object_unit") }))
    }),
};

static PARAMS: &[Param] = &[OBJECT_UNIT];

#[derive(Clone)]
struct OracleGeneralOpns {
    object_unit: u64,
}

/// The host's operation for one of libCacheSim's; `None` if that accesses no data.
#[inline]
fn op_of(number: u8) -> Option<Op> {
    match number {
        // get, gets, read
        1 | 2 | 12 => Some(Op::Read),
        // set, add, cas, replace, append, prepend; incr, decr; write, update
        3..=8 | 10 | 11 | 13 | 14 => Some(Op::Write),
        // delete
        9 => Some(Op::Trim),
        _ => None,
    }
}

impl TraceParser for OracleGeneralOpns {
    const TICK_NS: u64 = cache_object::TICK_NS;

    fn record_bytes(&self) -> Option<usize> {
        Some(27)
    }

    #[inline]
    fn parse(&mut self, bytes: &[u8], devices: &mut Devices) -> ParseResult {
        let record = RecordBytes { bytes, big_endian: false };
        let Some(op) = op_of(record.bytes[16]) else { return Ok(Parsed::Skip("other operation")) };
        let device = devices.number(record.u16(17).into())?;
        cache_object::request(&record, self.object_unit, op, device)
    }

    fn notes(&self) -> Vec<String> {
        vec![cache_object::unit_note(self.object_unit)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use proptest::prelude::*;

    fn record(op: u8, namespace: u16) -> Vec<u8> {
        let mut record = 1u32.to_le_bytes().to_vec();
        record.extend_from_slice(&10u64.to_le_bytes());
        record.extend_from_slice(&100u32.to_le_bytes());
        record.push(op);
        record.extend_from_slice(&namespace.to_le_bytes());
        record.extend_from_slice(&(-1i64).to_le_bytes());
        record
    }

    #[test]
    fn operations_and_namespaces() {
        let bytes: Vec<u8> = (0..17).flat_map(|op| record(op, u16::from(op % 2))).collect();
        let parser = OracleGeneralOpns { object_unit: 1 };
        let (requests, skipped) = read_all(parser, &bytes, false).unwrap();
        let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
        let (r, w, t) = (Op::Read, Op::Write, Op::Trim);
        assert_eq!(ops, [r, r, w, w, w, w, w, w, t, w, w, r, w, w], "1 to 14");
        assert_eq!((requests[0].device, requests[1].device, requests[0].offset), (0, 1, 10));
        assert_eq!(skipped.get("other operation"), 3, "0, 15, 16");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            // The newline prevents the bytes from looking like a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            let parser = OracleGeneralOpns { object_unit: 1 << 60 };
            prop_assert!(read_all(parser, &bytes, true).is_ok());
        }
    }
}
