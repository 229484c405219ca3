//! FIU: the I/O deduplication traces of Koller and Rangaswami, FAST 2010.
//!
//! ```text
//! 89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173
//! nanoseconds    pid process sector sectors W|R major minor md5 of the content
//! ```
//!
//! The name of the process may contain blanks, so the last six fields are counted from the right.
//! Sectors have 512 bytes. A device is the pair of major and minor number.

use spec::Params;

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Specimen};
use crate::parse::parsed::{ParseError, Parsed};
use crate::parse::text::column_layout::{
    Column, ColumnLayout, NANOSECONDS, OpNames, OpWords, SECTORS, Separator,
};
use crate::parse::text::lines::LineParser;
use crate::parse::trace_head::{Likeness, TraceHead, blank_fields, is_digits};
use crate::reader::ReaderFactory;
use crate::request::Op;

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
    open,
};

/// Nine or more fields, of which the fourth from the right is W or R.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = blank_fields(line, 64);
        let count = fields.len();
        count >= 9 && is_digits(fields[0], 1, 20) && matches!(fields[count - 4], b"W" | b"R")
    }))
}

fn open(_: &Params, _: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    Ok(Box::new(fiu()))
}

/// The last six fields.
static TAIL: &[Column] = &[
    Column::Offset(SECTORS),
    Column::Length(SECTORS),
    Column::Op,
    Column::Device,
    Column::Device,
    Column::Ignored,
];

/// The first three fields.
static HEAD: &[Column] = &[Column::Time(NANOSECONDS), Column::Ignored, Column::Ignored];

fn fiu() -> Fiu {
    let ops = OpNames::Words(OpWords::new([(&b"W"[..], Op::Write), (b"R", Op::Read)]));
    let layout = |columns| ColumnLayout::new(Separator::Blanks, columns, ops.clone());
    Fiu { head: layout(HEAD).open_ended(), tail: layout(TAIL).numbered_from(4) }
}

#[derive(Clone)]
struct Fiu {
    head: ColumnLayout,
    tail: ColumnLayout,
}

const FIELDS: ParseError = ParseError::new("there are fewer fields than the nine of this format");

impl LineParser for Fiu {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(
        &mut self,
        line: &[u8],
        devices: &mut Devices,
    ) -> std::result::Result<Parsed, ParseError> {
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
    use crate::parse::text::lines::tests::read_all;

    const TEXT: &[u8] = b"\
89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173
89966527996712 4253 kjournald x y 508516680 16 R 6 1 b5e9f4e5ab62a4fff5313a606b0ad4e3
";

    #[test]
    fn names_of_processes_may_contain_blanks() {
        let (requests, _) = read_all(fiu(), TEXT, false).unwrap();
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
            let message = read_all(fiu(), line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }
}
