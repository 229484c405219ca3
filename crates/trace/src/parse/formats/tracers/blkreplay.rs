//! Load files of blkreplay (Thomas Schöbel-Theuer), such as its traces of production servers.
//!
//! ```text
//! Copyright …  (any number of comment lines)
//! start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0
//!       0.000000000 ;     37766853 ;   64 ; W ; 0.0 ; 0.0
//!       seconds     ;       sector ; sectors ; R|W ; unused
//! ```
//!
//! A load may repeat comments and header: only its first request ends the comments.
//!
//! Some loads use the operations of blkparse (`RA`: readahead), so all of RWBS is accepted.

use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseResult, Parsed};
use crate::parse::parser::TraceParser;
use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::trace_head::{Likeness, TraceHead, is_seconds};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "blkreplay",
    summary: "blkreplay .load: comments, a header, then s ; sector ; sectors ; R|W ; …",
    source: "blkreplay's own loads and documentation (Schöbel-Theuer)",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected(
            "blkreplay",
            b"Copyright\nstart ; sector; length ; op ; x\n 0.44 ; 37766917 ; 14 ; W ; 0.0\n",
        ),
        Specimen::detected("blkreplay", b"x\n\nstart ; sector; length ; op ; a\n1 ; 8 ; 1 ; R ;\n"),
    ],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(blkreplay()?))),
};

/// The header, after any comments.
fn detect(head: &TraceHead) -> Likeness {
    let mut lines = head.bytes().split(|&byte| byte == b'\n');
    Likeness::of_header(lines.any(is_header))
}

fn is_header(line: &[u8]) -> bool {
    let mut fields = line.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    ["start", "sector", "length", "op"]
        .iter()
        .all(|name| fields.next().is_some_and(|field| field.eq_ignore_ascii_case(name.as_bytes())))
}

fn blkreplay() -> spec::Result<Blkreplay> {
    let list = "time.s+off.sectors+len.sectors+op+_...";
    let layout = ColumnLayout::listed(Separator::Byte(b';'), list, OpNames::Rwbs)?;
    Ok(Blkreplay { layout, in_comments: true })
}

#[derive(Clone)]
struct Blkreplay {
    layout: ColumnLayout,
    /// Whether no request has been read.
    in_comments: bool,
}

impl TraceParser for Blkreplay {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        if self.in_comments && !begins_with_time(line) {
            return Ok(Parsed::Other);
        }
        self.in_comments = false;
        self.layout.parse(line, devices)
    }
}

/// Whether the line is meant as a request, which no comment is.
#[cold]
fn begins_with_time(line: &[u8]) -> bool {
    let first = line.split(|&byte| byte == b';').next().unwrap_or_default();
    first.len() < line.len() && is_seconds(first.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::request::{Flags, Op};

    const TEXT: &[u8] = b"Copyright Thomas Schoebel-Theuer /  1&1 Internet AG\n\n\
        PLEASE DO NOT EDIT\n\
        start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n      \
        0.449518165 ;     37766917 ;   14 ; W ; 0.0 ; 0.0\n      \
        0.456676896 ;            0 ;    1 ;RA ; 0.0 ; 0.0\n";

    #[test]
    fn lines_of_a_published_load() {
        let (requests, skipped) = read_all(blkreplay().unwrap(), TEXT, false).unwrap();
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 37_766_917 * 512));
        assert_eq!((requests[1].op, requests[1].bytes), (Op::Read, 512));
        assert_eq!(requests[1].flags, Flags::READAHEAD);
        assert_eq!(requests[1].time_ns, 7_158_731);
        assert_eq!(skipped.other_lines, 4);
        assert_eq!(detect(&TraceHead::new(TEXT)), Likeness::Header);
    }

    #[test]
    fn other_lines_are_allowed_only_before_the_first_request() {
        let text = [TEXT, b"PLEASE\n"].concat();
        let message = read_all(blkreplay().unwrap(), &text, false).unwrap_err();
        assert!(message.starts_with("t:7: column 1, the time"), "{message}");
        let (requests, _) = read_all(blkreplay().unwrap(), b"x\n1.0 ; 8 ; 8 ; R\n", false).unwrap();
        assert_eq!(requests.len(), 1, "a load without header");
    }
}
