//! Traces for FlashSim (Kim et al., SIMUL 2009).
//!
//! ```text
//! 26.214000       0       303574  1       0
//! milliseconds device sector pages operation; 1 read, 0 write
//! ```
//!
//! Addresses are in sectors of 512 bytes, lengths in whole pages: a request of 7 sectors in the
//! original trace has become one page of 8. DiskSim's traces look the same; this format is detected
//! only if its lengths show their unit (`five_numbers`).

use spec::{Kind, Param};

use crate::parse::five_numbers::{self, LengthUnit};
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::text::column_layout::{ColumnLayout, OpNames};
use crate::parse::text::trace_head::{Likeness, TraceHead};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "flashsim",
    summary: "FlashSim: ms device sector pages op (1 read, 0 write)",
    source: "FlashSim's own traces; Kim et al., SIMUL 2009",
    params: PARAMS,
    examples: &[],
    specimens: &[
        Specimen::undetected("flashsim", b"26.214000\t0\t303574\t1\t0\n"),
        Specimen::undetected("flashsim:pages=8KiB", b"26.214000\t0\t303574\t1\t0\n"),
    ],
    detect,
    opening: Opening::Columns(|params| layout(params.size("pages"))),
};

static PARAMS: &[Param] = &[Param {
    name: "pages",
    kind: Kind::Size,
    default: "4KiB",
    unit: "bytes",
    doc: "the page size, which is the unit of lengths",
}];

/// Five numbers, the first with decimals.
fn detect(head: &TraceHead) -> Likeness {
    five_numbers::likeness(head, true, LengthUnit::Pages)
}

fn layout(page_bytes: u64) -> spec::Result<ColumnLayout> {
    let pages = spec::print_size(page_bytes);
    let note = format!(
        "Times are read as ms, addresses as sectors of 512 bytes, lengths as pages of {pages}."
    );
    let layout = five_numbers::layout("ms", &format!("blocks:{pages}"), OpNames::of("1", "0"))?;
    Ok(ColumnLayout { note: Some(note), ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    #[test]
    fn lengths_are_pages() {
        let text = b"26.214000\t0\t303574\t1\t0\n78.643000\t0\t55596\t3\t1\n";
        let (requests, _) = read_all(layout(4096).unwrap(), text, false).unwrap();
        assert_eq!((requests[0].op, requests[0].bytes), (Op::Write, 4096));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 3 * 4096));
        assert_eq!((requests[1].offset, requests[1].time_ns), (55_596 * 512, 52_429_000));
        assert_eq!(read_all(layout(8192).unwrap(), text, false).unwrap().0[1].bytes, 3 * 8192);
    }
}
