//! SPC: the trace format of the Storage Performance Council, revision 1.0.1.
//!
//! ```text
//! 0,20941264,8192,W,0.551706
//! unit, block of 512 bytes, size in bytes, opcode, seconds[, more…]
//! ```
//!
//! The UMass traces (Financial1, WebSearch1) use this format. A unit (ASU) is a device with its own
//! addresses. Blanks around commas are allowed. Fields after the fifth are ignored.

use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{
    Likeness, TraceHead, comma_fields, is_digits, is_seconds, is_whole,
};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "spc",
    summary: "SPC 1.0.1 (UMass Financial, WebSearch): unit,block,bytes,R|W,seconds[,…]",
    source: "SPC trace file format specification 1.0.1 (Storage Performance Council, 2002)",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected(
            "spc",
            b"0,20941264,8192,W,0.551706\n0, 20939840, 8192, r, 0.554041,x\n",
        ),
        Specimen::detected("spc", b"0,1,2,r,0.5,x,y\n"),
        Specimen::detected("spc", b"0,8,512,w,-0.000010\n0,16,512.0,w,1.5e-06\n"),
    ],
    detect,
    opening: Opening::Columns(|_| layout()),
};

/// At least five fields: three numbers, R or W, seconds.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = comma_fields(line, 6);
        fields.len() >= 5
            && is_digits(fields[0], 1, 20)
            && fields[1..3].iter().all(|field| is_whole(field))
            && matches!(fields[3], b"R" | b"r" | b"W" | b"w")
            && is_seconds(fields[4])
    }))
}

fn layout() -> spec::Result<ColumnLayout> {
    let list = "dev+off.sectors+len.bytes+op+time.s+_...";
    ColumnLayout::listed(Separator::Byte(b','), list, OpNames::of("R", "W"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;
    use proptest::prelude::*;

    const REAL: &[u8] = b"0,20941264,8192,W,0.551706\n\
        0, 20939840, 8192, w, 0.554041\n\
        1,3436288,15872,r,1.250000000,extra,,1\n\
        0,0,0,R,2\n";

    #[test]
    fn blanks_extra_fields_and_empty_requests() {
        let (requests, skipped) = read_all(layout().unwrap(), REAL, false).unwrap();
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[0].offset, 20_941_264 * 512);
        assert_eq!(requests[0].time_ns, 0);
        assert_eq!(requests[1].time_ns, 2_335_000);
        assert_eq!((requests[2].op, requests[2].device), (Op::Read, 1));
        assert_eq!(requests[2].time_ns, 698_294_000);
        assert_eq!(skipped.get("zero-length"), 1);
        assert_eq!(detect(&TraceHead::new(REAL)), Likeness::Lines);
    }

    #[test]
    fn other_notations_of_times_and_a_time_before_zero_are_read() {
        let text = b"0,8,512,w,-0.000010\n0,8,512,w,0.000000\n0,8,512,w,1e-06\n0,8,512,w,2.6e-02\n";
        let (requests, skipped) = read_all(layout().unwrap(), text, false).unwrap();
        let times: Vec<_> = requests.iter().map(|it| it.time_ns).collect();
        assert_eq!((times, skipped.backward_times), (vec![0, 10_000, 11_000, 26_010_000], 0));
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("0", "column 2, which this format requires, is missing"),
            ("0,-1,2,R,0.1", "column 2, the offset, is not a whole number"),
            ("0,1,2.5,R,0.1", "column 3, the length, is not a whole number"),
            ("0,1,2,X,0.1", "column 4, the operation, is not a known word"),
            ("0,1,2,Read,0.1", "column 4, the operation, is not a known word"),
            ("0,1,2,R,", "column 5, the time, is not a decimal number"),
            ("0,1,2,R,0.1x", "column 5, the time, is not a decimal"),
            ("0,1,2,R,1e99", "column 5, the time, is not a decimal"),
            ("0,1,2,R,NaN", "column 5, the time, is not a decimal number"),
            ("0,36028797018963968,2,R,0.1", "the offset exceeds 64 bits in bytes"),
        ];
        for (line, what) in cases {
            let message = read_all(layout().unwrap(), line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            // The newline prevents the bytes from looking like a compressed file.
            let bytes = [b"\n", &bytes[..]].concat();
            let _ = read_all(layout().unwrap(), &bytes, false);
            prop_assert!(read_all(layout().unwrap(), &bytes, true).is_ok());
        }

        #[test]
        fn damaged_lines_are_survived(at in 0usize..110, byte: u8) {
            let mut bytes = REAL.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            prop_assert!(read_all(layout().unwrap(), &bytes, true).is_ok());
        }
    }
}
