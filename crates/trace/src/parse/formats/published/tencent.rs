//! Tencent Cloud Block Storage, 2018 (Zhang et al., USENIX ATC 2020).
//!
//! ```text
//! 1538323200,4247200,128,1,1058
//! seconds, sector, sectors, 0 read | 1 write, volume
//! ```
//!
//! There is no heading, but some excerpts have one. Times are whole Unix seconds, so thousands of
//! requests have the same time. Five integers with other times, or with lengths that are rather
//! bytes, are not certain to be these, and the user has to choose.

use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{Likeness, TraceHead, comma_fields, is_digits};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent CBS csv: s,sector,sectors,0 read|1 write,volume",
    source: "README of the traces; Zhang et al., OSCA, USENIX ATC 2020",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected(
            "tencent",
            b"1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1063\n",
        ),
        Specimen::detected(
            "tencent",
            b"Timestamp,Offset,Size,IOType,VolumeID\n1538323200,4247200,128,1,1058\n",
        ),
        Specimen::undetected("tencent", b"1000012,8192,4096,1,0\n1000512,12288,4096,1,0\n"),
    ],
    detect,
    opening: Opening::Columns(|_| layout()),
};

/// Five integers, the fourth of which is 0 or 1.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = comma_fields(line, 6);
        fields.len() == 5
            && fields.iter().all(|field| is_digits(field, 1, 20))
            && matches!(fields[3], b"0" | b"1")
    }))
}

fn layout() -> spec::Result<ColumnLayout> {
    let list = "time.s+off.sectors+len.sectors+op+dev";
    let layout = ColumnLayout::listed(Separator::Byte(b','), list, OpNames::of("0", "1"))?;
    Ok(ColumnLayout { unix_times: true, ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    #[test]
    fn lines_of_the_published_trace() {
        let text = b"1538323199,4247200,128,1,1058\n1538323200,13896880,8,0,1063\n";
        let (requests, _) = read_all(layout().unwrap(), text, false).unwrap();
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 4_247_200 * 512));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 4096));
        assert_eq!((requests[1].device, requests[1].time_ns), (1, 1_000_000_000));
        assert_eq!(detect(&TraceHead::new(text)), Likeness::Lines);
        let message =
            read_all(layout().unwrap(), b"1538323199,4247200,128,2,1058", false).unwrap_err();
        assert!(message.contains("column 4, the operation"), "{message}");
    }
}
