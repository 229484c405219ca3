//! DiskSim ASCII (`disksim_iotrace.c`): `%f %d %d %d %x`.
//!
//! ```text
//! 5265.313 0 6357144 8 0
//! time     device sector sectors flags; bit 0 of the flags: 1 read, 0 write
//! ```
//!
//! Times are in milliseconds; some converted traces have seconds (`unit=s`), which a note mentions.
//! FlashSim's traces and excerpts of MSR's look the same but use other units (`five_numbers`).

use spec::{Kind, Param};

use crate::parse::five_numbers::{self, LengthUnit};
use crate::parse::format::{Format, FormatExample, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames};
use crate::parse::text::trace_head::{Likeness, TraceHead};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim ASCII: ms device sector sectors flags (bit 0: read)",
    source: "DiskSim 4.0 reference manual (CMU-PDL-08-101) and disksim_iotrace.c",
    params: PARAMS,
    examples: &[FormatExample {
        traces: "converted traces with times in seconds",
        spec: "disksim:unit=s",
        detect: |head| decimals(head).min(Likeness::Lines),
    }],
    specimens: &[
        Specimen::detected("disksim", b"5265.313 0 6357144 8 0\n"),
        Specimen::detected("disksim:unit=s", b"5265.313 0 6357144 8 0\n"),
        Specimen::detected("disksim", b"0.0 0 1000 8.0 0\n1.5e-05 0 1008 8 1\n"),
        Specimen::undetected("disksim", b"938513000 4 264719034 16 0\n"),
    ],
    detect,
    opening: Opening::Columns(|params| layout(params.choice("unit"))),
};

static PARAMS: &[Param] = &[Param {
    name: "unit",
    kind: Kind::Choice(&["ms", "s"]),
    default: "ms",
    unit: "",
    doc: "the unit of times; DiskSim itself uses milliseconds",
}];

/// Five numbers, the first with decimals. Five integers are possible, too, but then the unit of
/// times is open.
fn detect(head: &TraceHead) -> Likeness {
    let integers = five_numbers::likeness(head, false, LengthUnit::Sectors);
    decimals(head).max(integers.min(Likeness::Lines))
}

fn decimals(head: &TraceHead) -> Likeness {
    five_numbers::likeness(head, true, LengthUnit::Sectors)
}

fn layout(unit: &str) -> spec::Result<ColumnLayout> {
    let note = match unit {
        "s" => "Times are read as seconds, lengths as sectors of 512 bytes.",
        _ => "Times are read as ms, lengths as sectors of 512 bytes; disksim:unit=s reads seconds.",
    };
    let layout = five_numbers::layout(unit, "sectors", OpNames::FlagBit)?;
    Ok(ColumnLayout { note: Some(note.to_owned()), ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    #[test]
    fn lines_of_published_traces() {
        let text = b"5265.313 0 6357144 8 0\n5297.450\t0\t191072\t64\t1\r\n5297.45 1 5 1 10\n";
        let (requests, _) = read_all(layout("ms").unwrap(), text, false).unwrap();
        let [first, second, third] = requests[..] else { panic!("{requests:?}") };
        assert_eq!((first.op, first.offset, first.bytes), (Op::Write, 6_357_144 * 512, 4096));
        assert_eq!((second.op, second.time_ns), (Op::Read, 32_137_000));
        assert_eq!((third.op, third.device), (Op::Write, 1));
        assert_eq!(
            read_all(layout("s").unwrap(), text, false).unwrap().0[1].time_ns,
            32_137_000_000
        );
        assert_eq!(detect(&TraceHead::new(text)), Likeness::Lines);
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("x 0 8 8 0", "column 1, the time"),
            ("18446744073710.0 0 8 8 0", "column 1, the time"),
            ("-1.x 0 8 8 0", "column 1, the time"),
            ("1.0 0 8.5 8 0", "column 3, the offset"),
            ("1.0 0 8 x 0", "column 4, the length"),
            ("1.0 0 8 8 g", "column 5, the operation"),
            ("1.0 0 8 8", "column 5, which this format requires, is missing"),
            ("1.0 0 8 8 0 7", "column 5, the last one of this format"),
        ];
        for (line, what) in cases {
            let message = read_all(layout("ms").unwrap(), line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }
}
