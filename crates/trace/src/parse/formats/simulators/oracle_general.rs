//! libCacheSim's `oracleGeneral`: cache traces as binary records without operations.
//!
//! ```text
//! 24 bytes: u32 seconds, u64 object, u32 bytes, i64 next access
//! ```
//!
//! Numbers are little-endian and packed. The user decides whether the records are reads or writes:
//! all of them (`as=`) or a share of them (`reads=`). The reads are then spread evenly by a fixed
//! rule, not at random.

use spec::{Kind, Param, Params, Share};

use crate::parse::cache_object::{self, OBJECT_UNIT};
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::ParseResult;
use crate::parse::parser::TraceParser;
use crate::parse::records::RecordBytes;
use crate::parse::text::trace_head::Likeness;
use crate::reader::ReaderFactory;
use crate::request::Op;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "oracle-general",
    summary: "libCacheSim oracleGeneral, binary; as=read|write or reads=SHARE must be given",
    source: "libCacheSim, oracleGeneralBin.h",
    params: PARAMS,
    examples: &[],
    specimens: &[Specimen::undetected(
        "oracle-general:reads=30%",
        b"\x05\0\0\0\x07\0\0\0\0\0\0\0\0\x02\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
          \x06\0\0\0\x08\0\0\0\0\0\0\0\0\x04\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    )],
    // No field identifies the format.
    detect: |_| Likeness::None,
    opening: Opening::Parser(open),
};

static PARAMS: &[Param] = &[
    Param::key("as", Kind::Choice(&["read", "write"]), "", "the operation of all records"),
    Param::key(
        "reads",
        Kind::Share,
        "",
        "the share of records that are reads, instead of as=; the others are writes",
    ),
    OBJECT_UNIT,
];

fn open(params: &Params) -> spec::Result<Box<dyn ReaderFactory>> {
    let reads = match (params.opt_choice("as"), params.opt_share("reads")) {
        (Some("read"), None) => EvenShare::new(1, 1),
        (Some(_), None) => EvenShare::new(0, 1),
        (None, Some(share)) => EvenShare::of(share),
        _ => {
            let form = "complete: its records have no operation, so give one of \
                        `--format oracle-general:as=read`, `--format oracle-general:as=write`, \
                        `--format oracle-general:reads=30%`";
            let (text, form) = (String::from("oracle-general"), form.to_owned());
            return Err(spec::Error::Malformed { text, form });
        }
    };
    Ok(Box::new(OracleGeneral { reads, object_unit: params.size("object_unit") }))
}

#[derive(Clone)]
struct OracleGeneral {
    reads: EvenShare,
    object_unit: u64,
}

/// Selects `numerator` of every `denominator` records, as evenly as possible: a sum grows by the
/// numerator with each record; the record with which it reaches the denominator is selected.
#[derive(Clone)]
struct EvenShare {
    numerator: u64,
    denominator: u64,
    sum: u64,
}

impl EvenShare {
    fn new(numerator: u64, denominator: u64) -> EvenShare {
        EvenShare { numerator, denominator, sum: 0 }
    }

    /// A share in millionths, rounded down.
    fn of(share: Share) -> EvenShare {
        const MILLION: u64 = 1_000_000;
        EvenShare::new(share.floor_of(MILLION).min(MILLION), MILLION)
    }

    /// Whether the next record is selected.
    #[inline]
    fn next(&mut self) -> bool {
        self.sum += self.numerator;
        let selected = self.sum >= self.denominator;
        if selected {
            self.sum -= self.denominator;
        }
        selected
    }
}

impl TraceParser for OracleGeneral {
    const TICK_NS: u64 = cache_object::TICK_NS;

    fn record_bytes(&self) -> Option<usize> {
        Some(24)
    }

    #[inline]
    fn parse(&mut self, bytes: &[u8], devices: &mut Devices) -> ParseResult {
        let record = RecordBytes { bytes, big_endian: false };
        let op = if self.reads.next() { Op::Read } else { Op::Write };
        cache_object::request(&record, self.object_unit, op, devices.number(0)?)
    }

    fn notes(&self) -> Vec<String> {
        let percent = 100.0 * self.reads.numerator as f64 / self.reads.denominator as f64;
        let reads =
            format!("The trace has no operations: {percent} % of its requests become reads.");
        vec![reads, cache_object::unit_note(self.object_unit)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use proptest::prelude::*;
    use spec::Spec;

    fn record(seconds: u32, object: u64, bytes: u32) -> Vec<u8> {
        let mut record = seconds.to_le_bytes().to_vec();
        record.extend_from_slice(&object.to_le_bytes());
        record.extend_from_slice(&bytes.to_le_bytes());
        record.extend_from_slice(&(-1i64).to_le_bytes());
        record
    }

    fn parser(numerator: u64, denominator: u64) -> OracleGeneral {
        OracleGeneral { reads: EvenShare::new(numerator, denominator), object_unit: 4096 }
    }

    #[test]
    fn the_user_decides_which_share_of_records_are_reads() {
        let bytes: Vec<u8> = (0..1000).flat_map(|n| record(5 + n, u64::from(n), 512)).collect();
        for (numerator, reads) in [(0, 0), (25, 250), (100, 1000)] {
            let (requests, _) = read_all(parser(numerator, 100), &bytes, false).unwrap();
            let is_read = |request: &&crate::request::Request| request.op == Op::Read;
            assert_eq!(requests.iter().filter(is_read).count(), reads);
            assert_eq!((requests[7].offset, requests[7].bytes), (7 * 4096, 512));
            assert_eq!(requests[7].time_ns, 7_000_000_000);
        }
    }

    #[test]
    fn the_operation_must_be_given() {
        let opened = |text: &str| {
            let pairs = Spec::parse(text).unwrap().pairs;
            open(&spec::resolve("format", &pairs, PARAMS).unwrap())
        };
        for text in ["oracle-general", "oracle-general:as=read,reads=5%"] {
            let message = opened(text).err().unwrap().to_string();
            assert!(message.contains("give one of `--format oracle-general:as=read`"), "{message}");
        }
        assert!(opened("oracle-general:reads=5%").is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            // The newline prevents the bytes from looking like a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            prop_assert!(read_all(parser(1, 3), &bytes, true).is_ok());
        }
    }
}
