//! Text of blktrace's `btrecord -v`: the files `*.rec` beside its binary ones, one for each CPU.
//!
//! ```text
//! ------------------
//!    0.000041873   2        seconds, and the requests of this bunch
//! ------------------
//!         1      20480      8        1 read or 0 write, sector, sectors
//!         0       1024     16
//! ```
//!
//! Requests that were queued within 10 ms are a bunch, with one time for all. The trace from which
//! btrecord made its files has more: all times, all CPUs, flushes and trims.

use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::{LineEnds, TraceParser};
use crate::parse::text::field::Field;
use crate::parse::text::split::{Blanks, Split};
use crate::parse::text::trace_head::{Likeness, TraceHead};
use crate::request::{Op, SECTOR_BYTES};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "btrecord",
    summary: "text of blktrace's btrecord -v (*.rec): bunches of requests with one time each",
    source: "blktrace, btreplay/btrecord.c",
    params: &[],
    examples: &[],
    specimens: &[Specimen::detected(
        "btrecord",
        b"------------------\n   0.000041873   1\n------------------\n\t0       1024\t        16\n",
    )],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(Btrecord::default()))),
};

/// A rule above the head of a bunch.
fn detect(head: &TraceHead) -> Likeness {
    let has_bunch = || head.any(|line| bunch_ns(line).is_some());
    Likeness::of_header(is_rule(head.first()) && has_bunch())
}

const LINE: ParseError = ParseError::new(
    "the line is neither a rule, nor the time of a bunch and its number of requests, nor a request \
     as 1 or 0, sector, sectors",
);
const NO_BUNCH: ParseError = ParseError::new("no bunch with a time is above this request");
const BEYOND: ParseError = ParseError::new("the sectors exceed 64 bits in bytes");

#[derive(Clone, Default)]
struct Btrecord {
    /// The time of the current bunch.
    bunch_ns: Option<u64>,
}

impl TraceParser for Btrecord {
    const TICK_NS: u64 = 1;

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        if is_rule(line) {
            return Ok(Parsed::Other);
        }
        if let Some(bunch_ns) = bunch_ns(line) {
            self.bunch_ns = Some(bunch_ns);
            return Ok(Parsed::Other);
        }
        let mut words = Split::new(line, Blanks);
        let op = match words.next().ok_or(LINE)?.bytes() {
            b"0" => Op::Write,
            b"1" => Op::Read,
            _ => return Err(LINE),
        };
        let mut bytes = || {
            let sectors = words.next().and_then(Field::number).ok_or(LINE)?;
            sectors.checked_mul(SECTOR_BYTES).ok_or(BEYOND)
        };
        let (offset, bytes) = (bytes()?, bytes()?);
        let ticks = self.bunch_ns.ok_or(NO_BUNCH)?;
        let device = devices.index(b"0")?;
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, ..RawRequest::BLANK }))
    }

    fn line_ends(&self) -> LineEnds {
        LineEnds::Usual
    }

    fn notes(&self) -> Vec<String> {
        vec![String::from(
            "All requests of a bunch of btrecord have the time of its first one, and the file has \
             the reads and writes of one CPU. The files of blktrace have all times and CPUs.",
        )]
    }
}

fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.len() >= 3 && line.iter().all(|&byte| byte == b'-')
}

/// The time of a bunch, if this is its head: seconds with nine decimals, and a number of requests.
fn bunch_ns(line: &[u8]) -> Option<u64> {
    let mut words = Split::new(line, Blanks);
    let (time, count) = (words.next()?, words.next()?);
    let decimals = time.bytes().iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    count.number().filter(|_| decimals == 9 && words.next().is_none())?;
    time.decimal(9, b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;

    const TEXT: &[u8] = b"------------------\n   0.000041873   2\n------------------\n\
        \t1      20480\t         8\n\t0       1024\t        16\n\
        ------------------\n   1.500000000   1\n------------------\n\t0 8\t1\n";

    #[test]
    fn requests_have_the_time_of_their_bunch() {
        let (requests, skipped) = read_all(Btrecord::default(), TEXT, false).unwrap();
        let found: Vec<_> = requests
            .iter()
            .map(|it| (it.op, it.offset / 512, it.bytes / 512, it.time_ns))
            .collect();
        let late = 1_500_000_000 - 41_873;
        let expected =
            [(Op::Read, 20_480, 8, 0), (Op::Write, 1024, 16, 0), (Op::Write, 8, 1, late)];
        assert_eq!((found, skipped.other_lines), (expected.to_vec(), 6));
        assert_eq!(detect(&TraceHead::new(TEXT)), Likeness::Header);
        assert_eq!(detect(&TraceHead::new(b"----\n0 1024 16\n")), Likeness::None);
    }

    #[test]
    fn other_lines_are_errors() {
        for (text, what) in [
            ("0 1024 16\n", "t:1: no bunch with a time"),
            ("---\n2 1024 16\n", "t:2: the line is neither a rule"),
            ("0.000041873 1\n0 1024\n", "t:2: the line is neither a rule"),
            ("0.000041873 1\n1 36028797018963968 8\n", "t:2: the sectors exceed"),
        ] {
            let message = read_all(Btrecord::default(), text.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(what), "{text}: {message}");
        }
    }
}
