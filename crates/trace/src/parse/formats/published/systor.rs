//! SYSTOR '17: the LUN traces of an enterprise virtual desktop infrastructure (Lee et al., 2017).
//!
//! ```text
//! Timestamp,Response,IOType,LUN,Offset,Size
//! 1455529206.002061000,0.000303000,W,4,39845888,4096
//! seconds, seconds, R|W, logical unit, bytes, bytes
//! ```
//!
//! Times are read as integers, because a floating-point number cannot hold ten digits before and
//! nine after the point. If the type is blank, the tracer did not see the response; such requests
//! are counted but not replayed. The header may recur in a file joined from hourly ones.

use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parser::LineEnds;
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{Likeness, TraceHead, is_heading};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "systor",
    summary: "SYSTOR '17 csv: s,response,R|W,LUN,offset,bytes, with a header",
    source: "README of the traces; Lee et al., SYSTOR 2017",
    params: &[],
    examples: &[],
    specimens: &[Specimen::detected(
        "systor",
        b"Timestamp,Response,IOType,LUN,Offset,Size\n1455529206.0020,0.0003,W,4,398,4096\n\
          1455529206.0021,,R,4,0,512\n",
    )],
    detect,
    opening: Opening::Columns(|_| layout()),
};

const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size";

fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_header(is_heading(head.first(), HEADER))
}

fn layout() -> spec::Result<ColumnLayout> {
    let list = "time.s+_+op+dev+off.bytes+len.bytes";
    let layout = ColumnLayout::listed(Separator::Byte(b','), list, OpNames::of("R", "W"))?;
    let blank_op = Some("no response");
    Ok(ColumnLayout { heading_text: HEADER, blank_op, line_ends: LineEnds::Usual, ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    const TEXT: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size\r\n\
        1455529206.002061000,0.000303000,W,4,39845888,4096\n\
        1455529206.002061001,,,4,39845888,4096\n\
        Timestamp,Response,IOType,LUN,Offset,Size\n\
        1455529206.002062001,0.1,R,6,0,512\n";

    #[test]
    fn lines_as_documented() {
        let (requests, skipped) = read_all(layout().unwrap(), TEXT, false).unwrap();
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 39_845_888));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 512));
        assert_eq!((requests[1].device, requests[1].time_ns), (1, 1_001));
        assert_eq!(skipped.iter().collect::<Vec<_>>(), [("no response", 1)]);
        assert_eq!(skipped.other_lines, 2);
        assert_eq!(detect(&TraceHead::new(TEXT)), Likeness::Header);
    }

    #[test]
    fn an_unknown_type_is_an_error() {
        let message = read_all(layout().unwrap(), b"1.0,0.1,X,6,0,512", false).unwrap_err();
        assert!(message.contains("column 3, the operation"), "{message}");
    }
}
