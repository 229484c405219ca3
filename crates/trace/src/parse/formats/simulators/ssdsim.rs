//! Traces for SSDsim (Hu et al., ICS 2011).
//!
//! ```text
//! 26214000 1 240840 6 0
//! time device sector sectors operation; 1 read, 0 write
//! ```
//!
//! Times are in nanoseconds. Some traces in circulation use another unit (`unit=`).

use spec::{Kind, Param};

use crate::parse::five_numbers::{self, LengthUnit};
use crate::parse::format::{Format, FormatExample, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames};
use crate::parse::text::trace_head::{Likeness, TraceHead};

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
    opening: Opening::Columns(|params| layout(params.choice("unit"))),
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

fn layout(unit: &str) -> spec::Result<ColumnLayout> {
    let note = format!("Times are read as {unit}, lengths as sectors of 512 bytes.");
    let layout = five_numbers::layout(unit, "sectors", OpNames::of("1", "0"))?;
    Ok(ColumnLayout { note: Some(note), ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    #[test]
    fn lines_of_a_published_trace() {
        let text = b"0 0 303567 7 0\n26214000 1 240840 6 1\n";
        let (requests, _) = read_all(layout("ns").unwrap(), text, false).unwrap();
        assert_eq!((requests[0].op, requests[0].bytes), (Op::Write, 7 * 512));
        assert_eq!((requests[1].op, requests[1].device), (Op::Read, 1));
        assert_eq!(requests[1].time_ns, 26_214_000);
        assert_eq!(
            read_all(layout("us").unwrap(), text, false).unwrap().0[1].time_ns,
            26_214_000_000
        );
        let message = read_all(layout("ns").unwrap(), b"0 0 303567 7 2", false).unwrap_err();
        assert!(message.contains("column 5, the operation"), "{message}");
    }
}
