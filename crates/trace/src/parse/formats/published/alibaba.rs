//! Alibaba Cloud block traces, 2020 (Li et al., IISWC 2020), `io_traces.csv`.
//!
//! ```text
//! 419,W,8792731648,16384,1577808144360767
//! device, R|W, offset in bytes, bytes, microseconds
//! ```
//!
//! The published file has no heading; some excerpts have one with the names of the columns. Times
//! are Unix times. If they are none in microseconds, other units are as plausible, and the user has
//! to choose.

use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{
    Likeness, TraceHead, comma_fields, is_decimal, is_digits, is_whole,
};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba 2020 csv: device,R|W,offset,bytes,µs",
    source: "README of alibaba/block-traces; Li et al., IISWC 2020",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected("alibaba", b"419,W,8792731648,16384,1577808144360767\n"),
        Specimen::undetected("alibaba", b"419,W,8792731648,16384,1577808144360\n"),
        Specimen::undetected("alibaba", b"7,W,8192,4096,1\n7,R,8192,4096,2\n"),
    ],
    detect,
    opening: Opening::Columns(|_| layout()),
};

const HEADING: &str = "device_id,opcode,offset,length,timestamp";

/// Five fields: the second is R or W, all others are numbers.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = comma_fields(line, 6);
        fields.len() == 5
            && matches!(fields[1], b"R" | b"W")
            && is_digits(fields[0], 1, 20)
            && fields[2..4].iter().all(|field| is_whole(field))
            && is_decimal(fields[4])
    }))
}

fn layout() -> spec::Result<ColumnLayout> {
    let list = "dev+op+off.bytes+len.bytes+time.us";
    let layout = ColumnLayout::listed(Separator::Byte(b','), list, OpNames::of("R", "W"))?;
    Ok(ColumnLayout { heading_text: HEADING, unix_times: true, ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    #[test]
    fn lines_as_documented() {
        let text = b"419,W,8792731648,16384,1577808144360767\n725,R,0,4096,1577808144360799\n";
        let (requests, _) = read_all(layout().unwrap(), text, false).unwrap();
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 8_792_731_648));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 4096));
        assert_eq!((requests[1].device, requests[1].time_ns), (1, 32_000));
        assert_eq!(detect(&TraceHead::new(text)), Likeness::Lines);
        let headed = [HEADING.as_bytes(), b"\n", text].concat();
        assert_eq!(detect(&TraceHead::new(&headed)), Likeness::Lines);
        assert_eq!(read_all(layout().unwrap(), &headed, false).unwrap().0, requests);
        let message =
            read_all(layout().unwrap(), b"419,W,-1,16384,1577808144360767", false).unwrap_err();
        assert!(message.contains("column 3, the offset"), "{message}");
    }
}
