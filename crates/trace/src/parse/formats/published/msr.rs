//! MSR Cambridge: the block traces of Narayanan et al., "Write Off-Loading", FAST 2008.
//!
//! ```text
//! 128166481075232275,rsrch,1,Write,281358336,45056,94872
//! time               host disk type offset   size  response
//! ```
//!
//! The published files have no heading, but some excerpts do. The time is a Windows FILETIME: ticks
//! of 100 ns since 1601. Offset and size are in bytes. The response time, in ticks, is not used. A
//! device is the pair of host and disk number.

use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::TraceParser;
use crate::parse::text::field::Field;
use crate::parse::text::split::Split;
use crate::parse::text::trace_head::{Likeness, TraceHead, comma_fields, is_digits, is_heading};
use crate::request::Op;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge csv: FILETIME,host,disk,Read|Write,offset,size,response",
    source: "README of the traces; Narayanan et al., Write off-loading, FAST 2008",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected("msr", b"128166481075232275,rsrch,1,Write,281358336,45056,94872\r\n"),
        Specimen::detected(
            "msr",
            b"128166481075232275, rsrch, 1, Write, 4096, 512, -7\n\
              128166481075232276.0,rsrch,1,Read,8192.0,4096.0,120\n",
        ),
    ],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(Msr))),
};

/// Seven fields: the first has 17 to 19 digits, the fourth is Read or Write.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = comma_fields(line, 8);
        let ticks = fields[0].split(|&byte| byte == b'.').next().unwrap_or_default();
        fields.len() == 7 && is_digits(ticks, 17, 19) && op_named(fields[3]).is_some()
    }))
}

#[derive(Clone)]
struct Msr;

const HEADING: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

const TIME: ParseError = ParseError::new("field 1, the time, is not a number of ticks of 100 ns");
const DEVICE: ParseError = ParseError::new("fields 2 and 3, host and disk, are missing");
const TYPE: ParseError = ParseError::new("field 4 is neither Read nor Write");
const OFFSET: ParseError = ParseError::new("field 5, the offset, is not a number of bytes");
const SIZE: ParseError = ParseError::new("field 6, the size, is not a number of bytes");
const RESPONSE: ParseError =
    ParseError::new("field 7, the response time, is not a number or does not end the line");

impl TraceParser for Msr {
    const TICK_NS: u64 = 100;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        match usual_line(line, devices) {
            Some(request) => Ok(Parsed::Request(request)),
            None => other_line(line, devices),
        }
    }
}

/// The request of a line in the published form.
#[inline(always)]
fn usual_line(line: &[u8], devices: &mut Devices) -> Option<RawRequest> {
    let mut fields = Split::new(line, b',');
    let ticks = number(&mut fields)?;
    let (host, disk) = (fields.next()?, fields.next()?);
    let op = op_named(fields.next()?.bytes())?;
    let device = devices.index(host.through(disk)).ok()?;
    let (offset, bytes) = (number(&mut fields)?, number(&mut fields)?);
    Field::new(fields.next()?.bytes().trim_ascii_end()).number()?;
    let request = RawRequest { ticks, offset, bytes, device, op, ..RawRequest::BLANK };
    fields.next().is_none().then_some(request)
}

#[inline(always)]
fn number(fields: &mut Split<u8>) -> Option<u64> {
    fields.next().and_then(Field::number)
}

/// A line with blanks around its fields, with numbers such as `8192.0`, or with a negative response
/// time; or a bad one.
#[cold]
fn other_line(line: &[u8], devices: &mut Devices) -> ParseResult {
    let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    let mut next = || fields.next().unwrap_or_default();
    let whole = |field: &[u8]| {
        let field = Field::new(field);
        field.number().or_else(|| field.whole_number(b'.'))
    };
    let Some(ticks) = whole(next()) else { return heading(line).ok_or(TIME) };
    let (host, disk) = (next(), next());
    if disk.is_empty() {
        return Err(DEVICE);
    }
    let op = op_named(next()).ok_or(TYPE)?;
    let (offset, bytes) = (whole(next()).ok_or(OFFSET)?, whole(next()).ok_or(SIZE)?);
    if Field::new(fields.next().ok_or(SIZE)?).scientific(0, b'.').is_none()
        || fields.next().is_some()
    {
        return Err(RESPONSE);
    }
    let device = devices.index(&[host, disk].join(&b','))?;
    Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, ..RawRequest::BLANK }))
}

/// A line that does not begin with a time may be the heading.
#[cold]
fn heading(line: &[u8]) -> Option<Parsed> {
    is_heading(line, HEADING).then_some(Parsed::Other)
}

#[inline]
fn op_named(word: &[u8]) -> Option<Op> {
    if word.eq_ignore_ascii_case(b"read") {
        Some(Op::Read)
    } else if word.eq_ignore_ascii_case(b"write") {
        Some(Op::Write)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use proptest::prelude::*;

    const REAL: &[u8] = b"128166481075232275,rsrch,1,Write,281358336,45056,94872\n\
        128166481075232718,rsrch,1,read,281292800,65536,94430\r\n\
        128166481075299367,rsrch,0,Write,281227264,65536,27781";

    #[test]
    fn lines_of_the_published_traces() {
        let (requests, _) = read_all(Msr, REAL, false).unwrap();
        assert_eq!(requests.len(), 3);
        let second = requests[1];
        assert_eq!(second.time_ns, 44_300);
        assert_eq!((second.offset, second.bytes), (281_292_800, 65_536));
        assert_eq!((second.op, second.device), (Op::Read, 0));
        assert_eq!(requests[2].device, 1);
        assert_eq!(detect(&TraceHead::new(REAL)), Likeness::Lines);
        let headed = [HEADING.as_bytes(), b"\r\n", REAL].concat();
        assert_eq!(detect(&TraceHead::new(&headed)), Likeness::Lines);
        let (again, skipped) = read_all(Msr, &headed, false).unwrap();
        assert_eq!((again, skipped.other_lines), (requests, 1));
    }

    #[test]
    fn blanks_decimals_and_negative_response_times_are_read() {
        let text = b"128166372003061629, hm, 1, Write, 8192, 4096, 120\n\
            128166372003061630.0,hm,1,Read,8192.0,4096.0,120\n\
            128166372003061631,hm,1,Write,9223372036854775296,512,-120\n";
        let (requests, skipped) = read_all(Msr, text, false).unwrap();
        let found: Vec<_> = requests.iter().map(|it| (it.time_ns, it.offset, it.bytes)).collect();
        let far = 9_223_372_036_854_775_296;
        assert_eq!(found, [(0, 8192, 4096), (100, 8192, 4096), (200, far, 512)]);
        assert!(requests.iter().all(|it| it.device == 0));
        assert_eq!(skipped, crate::reader::Skipped::default());
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("x,h,1,Read,0,1,1", "field 1, the time"),
            ("18446744073709551616,h,1,Read,0,1,1", "field 1, the time"),
            ("1,h", "fields 2 and 3"),
            ("1,h,1,Erase,0,1,1", "field 4"),
            ("1,h,1,Read,-5,1,1", "field 5"),
            ("1,h,1,Read,0,1", "field 6"),
            ("1,h,1,Read,0,1,x", "field 7"),
            ("1,h,1,Read,0,1,7,8", "field 7"),
        ];
        for (line, what) in cases {
            let message = read_all(Msr, line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
            assert!(message.ends_with(line), "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            // The newline prevents the bytes from looking like a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            let _ = read_all(Msr, &bytes, false);
            prop_assert!(read_all(Msr, &bytes, true).is_ok());
        }

        #[test]
        fn damaged_lines_are_survived(at in 0usize..160, byte: u8) {
            let mut bytes = REAL.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            prop_assert!(read_all(Msr, &bytes, true).is_ok());
        }
    }
}
