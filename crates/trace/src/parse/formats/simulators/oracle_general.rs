//! libCacheSim's `oracleGeneral` and `oracleGeneralOpNS`: cache traces as binary records.
//!
//! ```text
//! oracleGeneral, 24 bytes:     u32 seconds, u64 object, u32 bytes, i64 next access
//! oracleGeneralOpNS, 27 bytes: u32 seconds, u64 object, u32 bytes, u8 operation, u16 namespace,
//!                              i64 next access
//! ```
//!
//! Little-endian and packed. The first has no operation: the user says what its records are, all
//! reads, all writes, or a share of reads (`as=`, `reads=`), spread evenly by a fixed rule, without
//! dice. An object is a place: its number counts `object_unit=` bytes. Objects that are hashes, not
//! addresses, reach far beyond any disk; `--fit compact` brings them together.

use spec::{Kind, Param, Params, Share};

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::format::Format;
use crate::parse::parsed::{ParseError, Parsed, RawRequest};
use crate::parse::records::{RecordBytes, RecordParser, Records};
use crate::parse::trace_head::{Likeness, TraceHead};
use crate::reader::ReaderFactory;
use crate::request::{Flags, Op};

/// The entry of `oracleGeneral` in the registry.
pub static PLAIN: Format = Format {
    name: "oracle-general",
    summary: "libCacheSim oracleGeneral, binary; as=read|write or reads=SHARE must be given",
    source: "libCacheSim, oracleGeneralBin.h",
    params: PLAIN_PARAMS,
    examples: &[],
    detect,
    open: open_plain,
};

/// The entry of `oracleGeneralOpNS` in the registry.
pub static WITH_OPS: Format = Format {
    name: "oracle-general-opns",
    summary: "libCacheSim oracleGeneralOpNS, binary, with operations and namespaces",
    source: "libCacheSim, oracleGeneralBin.h",
    params: WITH_OPS_PARAMS,
    examples: &[],
    detect,
    open: open_with_ops,
};

static PLAIN_PARAMS: &[Param] = &[
    Param {
        name: "as",
        kind: Kind::Choice(&["read", "write"]),
        default: "",
        unit: "",
        doc: "what all records are",
    },
    Param {
        name: "reads",
        kind: Kind::Share,
        default: "",
        unit: "",
        doc: "the share of records that are reads, instead of as=; the others are writes",
    },
    OBJECT_UNIT,
];

static WITH_OPS_PARAMS: &[Param] = &[OBJECT_UNIT];

const OBJECT_UNIT: Param = Param {
    name: "object_unit",
    kind: Kind::Size,
    default: "4KiB",
    unit: "bytes",
    doc: "the bytes that object numbers count",
};

/// Nothing in them is unmistakable.
fn detect(_: &TraceHead) -> Likeness {
    Likeness::None
}

fn open_plain(params: &Params, _: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    let reads = match (params.opt_choice("as"), params.opt_share("reads")) {
        (Some("read"), None) => Some((1, 1)),
        (Some(_), None) => Some((0, 1)),
        (None, Some(share)) => Some(fraction(share)),
        _ => None,
    };
    let Some((numerator, denominator)) = reads else {
        return Err(spec::Error::Malformed {
            text: String::from("oracle-general"),
            form: String::from(
                "complete: its records have no operation, so give one of `as=read`, `as=write`, \
                 `reads=SHARE`",
            ),
        }
        .into());
    };
    let ops = OpSource::Share { numerator, denominator, sum: 0 };
    Ok(Box::new(Records(Objects { ops, unit: params.size("object_unit") })))
}

fn open_with_ops(params: &Params, _: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    Ok(Box::new(Records(Objects { ops: OpSource::Field, unit: params.size("object_unit") })))
}

/// A share in millionths, rounded down, as the rule below needs whole numbers.
fn fraction(share: Share) -> (u64, u64) {
    const MILLION: u64 = 1_000_000;
    (share.floor_of(MILLION).min(MILLION), MILLION)
}

#[derive(Clone)]
struct Objects {
    ops: OpSource,
    unit: u64,
}

/// Where operations come from.
#[derive(Clone)]
enum OpSource {
    /// A byte of the record.
    Field,
    /// The `numerator` of `denominator` records are reads, as evenly as can be: a sum grows by the
    /// numerator, and a read is what makes it pass the denominator.
    Share { numerator: u64, denominator: u64, sum: u64 },
}

impl OpSource {
    /// The operation of a record; `None` for one that touches no data here.
    #[inline]
    fn next(&mut self, record: &RecordBytes) -> Option<Op> {
        match self {
            // get, gets, read; set, add, cas, replace, append, prepend, incr, decr, write, update;
            // delete.
            OpSource::Field => match record.bytes[16] {
                1 | 2 | 12 => Some(Op::Read),
                3..=8 | 10 | 11 | 13 | 14 => Some(Op::Write),
                9 => Some(Op::Trim),
                _ => None,
            },
            OpSource::Share { numerator, denominator, sum } => {
                *sum += *numerator;
                let read = *sum >= *denominator;
                if read {
                    *sum -= *denominator;
                }
                Some(if read { Op::Read } else { Op::Write })
            }
        }
    }
}

const OBJECT: ParseError = ParseError::with_remedy(
    "its object lies beyond 64 bits in bytes",
    "objects that are hashes need object_unit=1",
);

impl RecordParser for Objects {
    const TICK_NS: u64 = 1_000_000_000;

    fn bytes(&self) -> usize {
        match self.ops {
            OpSource::Field => 27,
            OpSource::Share { .. } => 24,
        }
    }

    #[inline]
    fn parse(
        &mut self,
        bytes: &[u8],
        devices: &mut Devices,
    ) -> std::result::Result<Parsed, ParseError> {
        let record = RecordBytes { bytes, big_endian: false };
        let Some(op) = self.ops.next(&record) else { return Ok(Parsed::Skip("other operation")) };
        let offset = record.u64(4).checked_mul(self.unit).ok_or(OBJECT)?;
        let bytes = u64::from(record.u32(12));
        let device = match self.ops {
            OpSource::Field => devices.number(record.u16(17).into())?,
            OpSource::Share { .. } => devices.number(0)?,
        };
        let (ticks, flags) = (u64::from(record.u32(0)), Flags::NONE);
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags }))
    }

    fn note(&self) -> Option<String> {
        let OpSource::Share { numerator, denominator, .. } = self.ops else { return None };
        let percent = 100.0 * numerator as f64 / denominator as f64;
        Some(format!("the trace has no operations; {percent} % are taken for reads"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::records::tests::read_records;
    use proptest::prelude::*;
    use spec::Spec;

    fn plain(seconds: u32, object: u64, bytes: u32) -> Vec<u8> {
        let mut record = seconds.to_le_bytes().to_vec();
        record.extend_from_slice(&object.to_le_bytes());
        record.extend_from_slice(&bytes.to_le_bytes());
        record.extend_from_slice(&(-1i64).to_le_bytes());
        record
    }

    fn with_op(seconds: u32, object: u64, bytes: u32, op: u8, namespace: u16) -> Vec<u8> {
        let mut record = plain(seconds, object, bytes);
        record.truncate(16);
        record.push(op);
        record.extend_from_slice(&namespace.to_le_bytes());
        record.extend_from_slice(&(-1i64).to_le_bytes());
        record
    }

    fn share(numerator: u64, denominator: u64) -> Objects {
        Objects { ops: OpSource::Share { numerator, denominator, sum: 0 }, unit: 4096 }
    }

    #[test]
    fn records_without_operations_become_what_the_user_says() {
        let bytes: Vec<u8> = (0..1000).flat_map(|n| plain(5 + n, u64::from(n), 512)).collect();
        for (numerator, reads) in [(0, 0), (25, 250), (100, 1000)] {
            let (requests, _) = read_records(share(numerator, 100), &bytes, false).unwrap();
            let is_read = |request: &&crate::request::Request| request.op == Op::Read;
            assert_eq!(requests.iter().filter(is_read).count(), reads);
            assert_eq!((requests[7].offset, requests[7].bytes), (7 * 4096, 512));
            assert_eq!(requests[7].time_ns, 7_000_000_000);
        }
    }

    #[test]
    fn operations_and_namespaces() {
        let bytes: Vec<u8> =
            (0..17).flat_map(|op| with_op(1, 10, 100, op, u16::from(op % 2))).collect();
        let parser = Objects { ops: OpSource::Field, unit: 1 };
        let (requests, skipped) = read_records(parser, &bytes, false).unwrap();
        let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
        let (r, w, t) = (Op::Read, Op::Write, Op::Trim);
        assert_eq!(ops, [r, r, w, w, w, w, w, w, t, w, w, r, w, w], "1 to 14");
        assert_eq!((requests[0].device, requests[1].device, requests[0].offset), (0, 1, 10));
        assert_eq!(skipped.get("other operation"), 3, "0, 15, 16");
    }

    #[test]
    fn the_user_must_say_what_records_are() {
        let input = StoredTrace::of_bytes("t", &plain(1, 2, 3)).unwrap();
        let open = |text: &str| {
            let pairs = Spec::parse(text).unwrap().pairs;
            open_plain(&spec::resolve("format", &pairs, PLAIN_PARAMS).unwrap(), &input)
        };
        for text in ["oracle-general", "oracle-general:as=read,reads=5%"] {
            let message = open(text).err().unwrap().to_string();
            assert!(message.contains("give one of `as=read`"), "{message}");
        }
        assert!(open("oracle-general:reads=5%").is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            // A byte in front keeps the bytes from passing for a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            prop_assert!(read_records(share(1, 3), &bytes, true).is_ok());
            let parser = Objects { ops: OpSource::Field, unit: 1 << 60 };
            prop_assert!(read_records(parser, &bytes, true).is_ok());
        }
    }
}
