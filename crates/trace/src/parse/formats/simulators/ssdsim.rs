//! Traces for SSDsim (Hu et al., ICS 2011).
//!
//! ```text
//! 26214000 1 240840 6 0
//! time device sector sectors operation; 1 read, 0 write
//! ```
//!
//! Times are in nanoseconds. Some traces in circulation use another unit (`unit=`).

use spec::{Kind, Param, Params};

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::five_numbers::{self, LengthUnit};
use crate::parse::format::{Format, FormatExample, Specimen};
use crate::parse::text::column_layout::{
    Column, ColumnLayout, MICROSECONDS, MILLISECONDS, NANOSECONDS, OpNames, OpWords, SECTORS,
    Separator,
};
use crate::parse::trace_head::{Likeness, TraceHead};
use crate::reader::ReaderFactory;
use crate::request::Op;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "ssdsim",
    summary: "SSDsim: ns device sector sectors op (1 read, 0 write)",
    source: "SSDsim's own traces; Hu et al., ICS 2011",
    params: PARAMS,
    examples: &[FormatExample {
        traces: "excerpts with times in µs, such as DTRS1K",
        spec: "ssdsim:unit=us",
        detect,
    }],
    specimens: &[
        Specimen::undetected("ssdsim", b"26214000 1 240840 6 1\n"),
        Specimen::undetected("ssdsim:unit=us", b"26214000 1 240840 6 1\n"),
    ],
    detect,
    open,
};

static PARAMS: &[Param] = &[Param {
    name: "unit",
    kind: Kind::Choice(&["ns", "us", "ms"]),
    default: "ns",
    unit: "",
    doc: "the unit of times",
}];

/// Five integers.
fn detect(head: &TraceHead) -> Likeness {
    five_numbers::likeness(head, false, LengthUnit::Sectors).min(Likeness::Lines)
}

fn open(params: &Params, _: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    Ok(Box::new(layout(params.choice("unit"))))
}

fn layout(unit: &str) -> ColumnLayout {
    let note = format!("Times are read as {unit}, lengths as sectors of 512 bytes.");
    let unit = match unit {
        "us" => MICROSECONDS,
        "ms" => MILLISECONDS,
        _ => NANOSECONDS,
    };
    let columns = [
        Column::Time(unit),
        Column::Device,
        Column::Offset(SECTORS),
        Column::Length(SECTORS),
        Column::Op,
    ];
    let ops = OpNames::Words(OpWords::new([(&b"1"[..], Op::Read), (b"0", Op::Write)]));
    ColumnLayout::new(Separator::Blanks, &columns, ops).with_note(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::text::lines::tests::read_all;

    #[test]
    fn lines_of_a_published_trace() {
        let text = b"0 0 303567 7 0\n26214000 1 240840 6 1\n";
        let (requests, _) = read_all(layout("ns"), text, false).unwrap();
        assert_eq!((requests[0].op, requests[0].bytes), (Op::Write, 7 * 512));
        assert_eq!((requests[1].op, requests[1].device), (Op::Read, 1));
        assert_eq!(requests[1].time_ns, 26_214_000);
        assert_eq!(read_all(layout("us"), text, false).unwrap().0[1].time_ns, 26_214_000_000);
        let message = read_all(layout("ns"), b"0 0 303567 7 2", false).unwrap_err();
        assert!(message.contains("column 5, the operation"), "{message}");
    }
}
