//! FIU: the I/O deduplication traces of Koller and Rangaswami, FAST 2010.
//!
//! ```text
//! 89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173
//! nanoseconds    pid process sector sectors W|R major minor md5 of the content
//! ```
//!
//! The name of the process may contain blanks, so the last six fields are counted from the right.
//! Sectors have 512 bytes. A device is the pair of major and minor number.

use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult};
use crate::parse::parser::TraceParser;
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{Likeness, TraceHead, blank_fields, is_digits};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "fiu",
    summary: "FIU deduplication: ns pid process sector sectors W|R major minor md5",
    source: "README of the traces; Koller and Rangaswami, I/O Deduplication, FAST 2010",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected("fiu", b"89966527950584 4253 nfsd x 508516672 8 W 6 0 88b93b62\n"),
        Specimen::detected("fiu", b"8996 4253 nfsd x 508516672 8 W 6 0 88b9\n"),
    ],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(fiu()?))),
};

/// Nine or more fields, of which the fourth from the right is W or R.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = blank_fields(line, 64);
        let count = fields.len();
        count >= 9 && is_digits(fields[0], 1, 20) && matches!(fields[count - 4], b"W" | b"R")
    }))
}

fn fiu() -> spec::Result<Fiu> {
    let ops = OpNames::of("R", "W");
    let layout = |list| ColumnLayout::listed(Separator::Blanks, list, ops.clone());
    let tail = layout("off.sectors+len.sectors+op+dev+dev+_")?;
    Ok(Fiu { head: layout("time.ns+_+_+_...")?, tail: ColumnLayout { first_column: 4, ..tail } })
}

#[derive(Clone)]
struct Fiu {
    /// The first three fields.
    head: ColumnLayout,
    /// The last six fields.
    tail: ColumnLayout,
}

const FIELDS: ParseError = ParseError::new("there are fewer fields than the nine of this format");

impl TraceParser for Fiu {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let (head, tail) = split(line).ok_or(FIELDS)?;
        let time_ns = self.head.time_ns(head)?;
        let line = self.tail.parse(tail, devices)?;
        Ok(line.at(time_ns))
    }
}

/// The line in two parts; the second begins with the sixth field from the right.
#[inline]
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut head = line.trim_ascii_end();
    for _ in 0..6 {
        head = &head[..head.iter().rposition(is_blank)?];
        head = &head[..head.iter().rposition(|byte| !is_blank(byte))? + 1];
    }
    Some(line.split_at(head.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    const TEXT: &[u8] = b"\
89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173
89966527996712 4253 kjournald x y 508516680 16 R 6 1 b5e9f4e5ab62a4fff5313a606b0ad4e3
";

    #[test]
    fn names_of_processes_may_contain_blanks() {
        let (requests, _) = read_all(fiu().unwrap(), TEXT, false).unwrap();
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 508_516_672 * 512));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 16 * 512));
        assert_eq!((requests[1].device, requests[1].time_ns), (1, 46_128));
        assert_eq!(detect(&TraceHead::new(TEXT)), Likeness::Lines);
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("1 2 W 6 0 5", "there are fewer fields than the nine"),
            ("x 4253 nfsd 8 8 W 6 0 5", "column 1, the time"),
            ("1 4253 8 8 W 6 0 5", "column 3, which this format requires, is missing"),
            ("1 4253 nfsd x 8 W 6 0 5", "column 4, the offset"),
            ("1 4253 nfsd 8 8 X 6 0 5", "column 6, the operation"),
        ];
        for (line, what) in cases {
            let message = read_all(fiu().unwrap(), line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }
}
