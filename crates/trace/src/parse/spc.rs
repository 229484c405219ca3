//! SPC: the trace format of the Storage Performance Council, revision 1.0.1.
//!
//! ```text
//! 0,20941264,8192,W,0.551706
//! unit, block of 512 bytes, size in bytes, opcode, seconds[, more…]
//! ```
//!
//! The UMass traces (Financial1, WebSearch1) are in it. A unit (ASU) is a device with its own
//! addresses; blanks may stand around commas; any further fields are ignored.

use spec::{Param, Params};

use super::cursor::Cursor;
use super::devices::Devices;
use super::sample::{Likeness, Sample, comma_fields, is_digits, is_seconds};
use super::{Fault, Line, LineParser, Record};
use crate::error::Result;
use crate::input::Input;
use crate::registry::Format;
use crate::replay::Source;
use crate::request::{Flags, Op, SECTOR_BYTES};

/// The format's entry in the registry.
pub static FORMAT: Format = Format {
    name: "spc",
    summary: "SPC 1.0.1 (UMass Financial, WebSearch): unit,block,bytes,R|W,seconds[,…]",
    params: PARAMS,
    detect,
    open,
};

static PARAMS: &[Param] = &[];

/// At least five fields: three numbers, R or W, seconds.
fn detect(sample: &Sample) -> Likeness {
    Likeness::of_lines(sample.any(|line| {
        let fields = comma_fields(line, 6);
        fields.len() >= 5
            && fields[..3].iter().all(|field| is_digits(field, 1, 20))
            && op_named(fields[3]).is_some()
            && is_seconds(fields[4])
    }))
}

fn open(_: &Params, _: &Input) -> Result<Box<dyn Source>> {
    Ok(Box::new(Spc))
}

#[derive(Clone)]
struct Spc;

const UNIT: Fault = Fault::new("field 1, the unit, is not a number and a comma");
const BLOCK: Fault = Fault::new("field 2, the block address, is not a number and a comma");
const SIZE: Fault = Fault::new("field 3, the size, is not a number of bytes and a comma");
const OPCODE: Fault = Fault::new("field 4, the opcode, is not R or W and a comma");
const TIME: Fault = Fault::new("field 5, the time, is not a number of seconds such as 0.551706");
const BEYOND: Fault = Fault::new("field 2, the block address, exceeds 64 bits in bytes");

impl LineParser for Spc {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> std::result::Result<Line, Fault> {
        let mut cursor = Cursor::new(line);
        cursor.blanks();
        let unit = cursor.rest();
        cursor.number().ok_or(UNIT)?;
        let device = devices.index(&unit[..unit.len() - cursor.rest().len()])?;
        cursor.comma().ok_or(UNIT)?;
        let block = field(&mut cursor).ok_or(BLOCK)?;
        let bytes = field(&mut cursor).ok_or(SIZE)?;
        let op = op(&mut cursor).ok_or(OPCODE)?;
        let ticks = time_ns(&mut cursor).ok_or(TIME)?;
        let offset = block.checked_mul(SECTOR_BYTES).ok_or(BEYOND)?;
        Ok(Line::Record(Record { ticks, offset, bytes, device, op, flags: Flags::NONE }))
    }
}

/// A number and the comma behind it.
#[inline]
fn field(cursor: &mut Cursor) -> Option<u64> {
    let value = cursor.number()?;
    cursor.comma()?;
    Some(value)
}

#[inline]
fn op(cursor: &mut Cursor) -> Option<Op> {
    let op = op_named(cursor.rest().get(..1)?)?;
    cursor.skip(1);
    cursor.comma()?;
    Some(op)
}

/// The time, with the end of the line or a further field behind it.
#[inline]
fn time_ns(cursor: &mut Cursor) -> Option<u64> {
    let time_ns = cursor.seconds_ns()?;
    cursor.blanks();
    matches!(cursor.rest(), [] | [b',', ..]).then_some(time_ns)
}

fn op_named(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"r" => Some(Op::Read),
        b"W" | b"w" => Some(Op::Write),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::lines::tests::read_all;
    use proptest::prelude::*;

    const REAL: &[u8] = b"0,20941264,8192,W,0.551706\n\
        0, 20939840, 8192, w, 0.554041\n\
        1,3436288,15872,r,1.250000000,extra,,1\n\
        0,0,0,R,2\n";

    #[test]
    fn real_lines_with_blanks_extras_and_nothing_to_do() {
        let (requests, skipped) = read_all(Spc, REAL, false).unwrap();
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[0].offset, 20_941_264 * 512);
        assert_eq!(requests[0].time_ns, 0);
        assert_eq!(requests[1].time_ns, 2_335_000);
        assert_eq!((requests[2].op, requests[2].device), (Op::Read, 1));
        assert_eq!(requests[2].time_ns, 698_294_000);
        assert_eq!(skipped.get("zero-length"), 1);
        assert_eq!(detect(&Sample::new(REAL)), Likeness::Lines);
    }

    #[test]
    fn each_field_is_named_when_it_is_bad() {
        let cases = [
            ("x,1,2,R,0.1", "field 1"),
            ("0;1", "field 1"),
            ("0,-1,2,R,0.1", "field 2"),
            ("0,1,2.5,R,0.1", "field 3"),
            ("0,1,2,X,0.1", "field 4"),
            ("0,1,2,Read,0.1", "field 4"),
            ("0,1,2,R,", "field 5"),
            ("0,1,2,R,0.1x", "field 5"),
            ("0,36028797018963968,2,R,0.1", "field 2, the block address, exceeds"),
        ];
        for (line, what) in cases {
            let message = read_all(Spc, line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            // The newline keeps the bytes from passing for a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            let _ = read_all(Spc, &bytes, false);
            prop_assert!(read_all(Spc, &bytes, true).is_ok());
        }

        #[test]
        fn damaged_lines_are_survived(at in 0usize..110, byte: u8) {
            let mut bytes = REAL.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            prop_assert!(read_all(Spc, &bytes, true).is_ok());
        }
    }
}
