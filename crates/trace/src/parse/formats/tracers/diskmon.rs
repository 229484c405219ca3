//! Logs of DiskMon, a Windows tool by Sysinternals.
//!
//! ```text
//! 0       4.656875        0.00003815      0       Write   6194591 32
//! number  seconds         duration        disk    Read|Write sector sectors    separated by tabs
//! ```

use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parser::LineEnds;
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{Likeness, TraceHead, is_digits, is_seconds};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "diskmon",
    summary: "Sysinternals DiskMon: number, s, duration, disk, Read|Write, sector, sectors; tabs",
    source: "logs of Sysinternals DiskMon",
    params: &[],
    examples: &[],
    specimens: &[Specimen::detected(
        "diskmon",
        b"0\t4.656875\t0.00003815\t0\tWrite\t6194591\t32\r\n",
    )],
    detect,
    opening: Opening::Columns(|_| layout()),
};

/// Seven or more fields separated by tabs, of which the fifth is Read or Write.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields: Vec<_> = line.split(|&byte| byte == b'\t').take(8).collect();
        fields.len() >= 7
            && is_digits(fields[0], 1, 20)
            && is_seconds(fields[1])
            && matches!(fields[4], b"Read" | b"Write")
    }))
}

fn layout() -> spec::Result<ColumnLayout> {
    let list = "_+time.s+_+dev+op+off.sectors+len.sectors+_...";
    let layout = ColumnLayout::listed(Separator::Byte(b'\t'), list, OpNames::of("Read", "Write"))?;
    Ok(ColumnLayout { line_ends: LineEnds::Usual, ..layout })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::Op;

    const TEXT: &[u8] = b"0\t4.656875\t0.00003815\t0\tWrite\t6194591\t32\r\n\
        1\t5.000625\t0.00007629\t0\tRead\t6164519\t8\t\r\n";

    #[test]
    fn lines_of_a_published_log() {
        let (requests, _) = read_all(layout().unwrap(), TEXT, false).unwrap();
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 6_194_591 * 512));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 4096));
        assert_eq!(requests[1].time_ns, 343_750_000);
        assert_eq!(detect(&TraceHead::new(TEXT)), Likeness::Lines);
    }

    #[test]
    fn an_impossible_sector_is_an_error() {
        let line = b"0\t0.484119\t0.00530243\t0\tWrite\t8486082789636758048\t2742488\t\r\n";
        let message = read_all(layout().unwrap(), line, false).unwrap_err();
        assert!(message.starts_with("t:1: the offset exceeds 64 bits in bytes"), "{message}");
    }
}
