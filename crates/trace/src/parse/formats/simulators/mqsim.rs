//! ASCII traces for MQSim (`ASCII_Trace_Definition.h`).
//!
//! ```text
//! 938513000 4 264719034 16 0
//! time device sector sectors type; type 0 write, 1 read
//! ```
//!
//! MQSim's configuration states the unit of time, the trace does not. It is nanoseconds unless
//! `unit=` gives another. MQSim itself stops at the first line that is not a request, and wraps
//! addresses that exceed the device. Here such a line is an error, and `--fit` decides about
//! addresses.

use spec::{Kind, Param};

use crate::parse::five_numbers::{self, LengthUnit};
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames};
use crate::parse::text::trace_head::{Likeness, TraceHead};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "mqsim",
    summary: "MQSim ASCII: ns device sector sectors type (0 write, 1 read)",
    source: "MQSim, ASCII_Trace_Definition.h; Tavakkol et al., FAST 2018",
    params: PARAMS,
    examples: &[],
    specimens: &[
        Specimen::undetected("mqsim", b"938513000 4 264719034 16 0\n"),
        Specimen::undetected("mqsim:unit=ms", b"938513000 4 264719034 16 0\n"),
        Specimen::undetected("mqsim:unit=ps", b"938513000 4 264719034 16 0\n"),
    ],
    detect,
    opening: Opening::Columns(|params| layout(params.choice("unit"))),
};

static PARAMS: &[Param] = &[Param {
    name: "unit",
    kind: Kind::Choice(&["ns", "us", "ps", "ms"]),
    default: "ns",
    unit: "",
    doc: "the unit of times, as in MQSim's configuration",
}];

/// Five integers.
fn detect(head: &TraceHead) -> Likeness {
    five_numbers::likeness(head, false, LengthUnit::Sectors).min(Likeness::Lines)
}

fn layout(unit: &str) -> spec::Result<ColumnLayout> {
    let note = format!("Times are read as {unit}, lengths as sectors of 512 bytes.");
    let layout = five_numbers::layout(unit, "sectors", OpNames::ZeroWrites)?;
    Ok(ColumnLayout { note: Some(note), ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    #[test]
    fn published_lines_in_every_unit() {
        let text = b"938513000 4 264719034 16 0\n938828000 3 197570570 32 1\n";
        for (unit, time_ns) in
            [("ns", 315_000), ("us", 315_000_000), ("ps", 315), ("ms", 315_000_000_000)]
        {
            let (requests, _) = read_all(layout(unit).unwrap(), text, false).unwrap();
            assert_eq!((requests[0].op, requests[1].op), (Op::Write, Op::Read));
            assert_eq!(requests[0].offset, 264_719_034 * 512);
            assert_eq!((requests[1].device, requests[1].bytes), (1, 32 * 512));
            assert_eq!(requests[1].time_ns, time_ns, "{unit}");
        }
        assert_eq!(detect(&TraceHead::new(text)), Likeness::Lines);
    }

    #[test]
    fn numbers_beyond_64_bits_are_errors() {
        let message =
            |line: &str| read_all(layout("ms").unwrap(), line.as_bytes(), false).unwrap_err();
        assert!(message("18446744073710 0 8 8 1").contains("column 1, the time"));
        assert!(message("1 0 18446744073709551616 8 1").contains("column 3, the offset"));
        assert!(message("1 0 8 36028797018963968 1").contains("the length exceeds 64 bits"));
        assert!(message("1 0 8 8 R").contains("column 5, the operation"));
    }
}
