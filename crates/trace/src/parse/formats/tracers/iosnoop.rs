//! Tables of requests that tracers print: `biosnoop` of BCC and `iosnoop` of perf-tools.
//!
//! ```text
//! TIME(s)     COMM           PID     DISK    T SECTOR     BYTES   LAT(ms)
//! 0.000311    my program     7712    sda     R 1980416    8192       0.11
//! STARTs          ENDs            COMM         PID    TYPE DEV      BLOCK        BYTES     LATms
//! 5982800.302061  5982800.302679  supervise    1809   W    202,1    17039600     4096       0.62
//! ```
//!
//! The heading names the columns. Names of programs may contain blanks, so the columns behind them
//! are counted from the right. Addresses are in sectors of 512 bytes. Both programs print a request
//! when it completes; biosnoop's time is that of completion, so its latencies are subtracted. A
//! table without times is read in its order.

use crate::parse::block_layer::{op_of, rwbs};
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::TraceParser;
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::{Likeness, TraceHead, blank_fields};
use crate::request::{Op, SECTOR_BYTES};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "iosnoop",
    summary: "tables of BCC's biosnoop and of perf-tools' iosnoop, with their heading",
    source: "BCC, tools/biosnoop.py; perf-tools, iosnoop",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected(
            "iosnoop",
            b"TIME(s)  COMM     PID  DISK T SECTOR  BYTES LAT(ms)\n\
              0.000311 my prog  7712 sda  R 1980416 8192  0.11\n",
        ),
        Specimen::detected(
            "iosnoop",
            b"Tracing block I/O. Ctrl-C to end.\n\
              STARTs    ENDs      COMM PID  TYPE DEV   BLOCK    BYTES LATms\n\
              98.302061 98.302679 a    1809 WS   202,1 17039600 4096  0.62\n",
        ),
        Specimen::detected(
            "iosnoop",
            b"COMM PID  TYPE DEV   BLOCK BYTES LATms\na    1809 W    202,1 17039 4096  0.62\n",
        ),
    ],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(Snoop { columns: None }))),
};

/// The heading, perhaps after other lines.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_header(head.any(|line| Columns::of_heading(line).is_some()))
}

/// More columns than any of these programs prints.
const MOST_COLUMNS: usize = 16;

/// The places of the columns. Those before the name of the program are counted from the left, the
/// others from the right.
#[derive(Clone)]
struct Columns {
    count: usize,
    time: Option<usize>,
    /// Latencies in ms, if the time is that of completion.
    latencies: Vec<usize>,
    op: usize,
    device: usize,
    sector: usize,
    bytes: usize,
}

impl Columns {
    fn of_heading(line: &[u8]) -> Option<Columns> {
        let names = blank_fields(line, MOST_COLUMNS);
        let left = |name: &[u8]| names.iter().position(|known| *known == name);
        let right = |name: &[u8]| left(name).map(|index| names.len() - index);
        left(b"COMM").filter(|comm| left(b"PID").is_some_and(|pid| pid > *comm))?;
        let completed = left(b"TIME(s)");
        let latencies = match completed {
            // A latency includes the time in the queue of the operating system, if that is printed.
            Some(_) => right(b"LAT(ms)").into_iter().collect(),
            None => Vec::new(),
        };
        Some(Columns {
            count: names.len(),
            time: completed.or(left(b"STARTs")),
            latencies,
            op: right(b"T").or(right(b"TYPE"))?,
            device: right(b"DISK").or(right(b"DEV"))?,
            sector: right(b"SECTOR").or(right(b"BLOCK"))?,
            bytes: right(b"BYTES")?,
        })
    }
}

const HEADING: ParseError = ParseError::fatal(
    "the table has no heading with COMM, PID, T or TYPE, DISK or DEV, SECTOR or BLOCK, and BYTES",
    "keep the line with the names of the columns",
);
const FEW: ParseError = ParseError::new("the line has fewer columns than the heading");
const TIME: ParseError = ParseError::new("the time is not a number of seconds");
const LATENCY: ParseError = ParseError::new("the latency is not a number of milliseconds");
const TYPE: ParseError =
    ParseError::new("the type of the request is not RWBS, F?(D|W|R|N)F?A?S?M?");
const SECTOR: ParseError =
    ParseError::new("the sector is not a number, or exceeds 64 bits in bytes");
const BYTES: ParseError = ParseError::new("the size is not a number of bytes");

#[derive(Clone)]
struct Snoop {
    /// `None` before the heading.
    columns: Option<Columns>,
}

impl TraceParser for Snoop {
    const TICK_NS: u64 = 1;
    const UNSORTED: bool = true;

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        if line.trim_ascii().is_empty() {
            return Ok(Parsed::Other);
        }
        if let Some(columns) = Columns::of_heading(line) {
            self.columns = Some(columns);
            return Ok(Parsed::Other);
        }
        match &self.columns {
            Some(columns) => columns.request(line, devices),
            // A sentence of the program, unless it is a row of a table.
            None if blank_fields(line, MOST_COLUMNS).iter().any(|word| is_number(word)) => {
                Err(HEADING)
            }
            None => Ok(Parsed::Other),
        }
    }

    fn notes(&self) -> Vec<String> {
        let Some(columns) = &self.columns else { return Vec::new() };
        let note = match columns {
            Columns { time: None, .. } => {
                "The table has no times: the requests are in the order of their lines, all at once."
            }
            Columns { latencies, .. } if !latencies.is_empty() => {
                "The times are those of completion; the latencies are subtracted."
            }
            _ => return Vec::new(),
        };
        vec![String::from(note)]
    }
}

fn is_number(word: &[u8]) -> bool {
    Field::new(word).decimal(0, b'.').is_some()
}

impl Columns {
    fn request(&self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let words: Vec<&[u8]> = line.split(|byte| matches!(byte, b' ' | b'\t')).collect();
        let words: Vec<&[u8]> = words.into_iter().filter(|word| !word.is_empty()).collect();
        // A program may have no name.
        if words.len() + 1 < self.count {
            return Err(FEW);
        }
        let right = |index: usize| Field::new(words[words.len() - index]);
        let (letter, flags) = rwbs(right(self.op).bytes()).ok_or(TYPE)?;
        let bytes = right(self.bytes).number().ok_or(BYTES)?;
        let Some(op) = op_of(letter, flags, bytes) else { return Ok(Parsed::Skip("no data")) };
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => {
                let sector = right(self.sector).number();
                let offset = sector.and_then(|sector| sector.checked_mul(SECTOR_BYTES));
                (offset.ok_or(SECTOR)?, bytes)
            }
        };
        let mut ticks = match self.time {
            Some(index) => Field::new(words[index]).decimal(9, b'.').ok_or(TIME)?,
            None => 0,
        };
        for &index in &self.latencies {
            ticks = ticks.wrapping_sub(right(index).decimal(6, b'.').ok_or(LATENCY)?);
        }
        let device = devices.index(right(self.device).bytes())?;
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Request, Trace};
    use proptest::prelude::*;

    fn read(text: &[u8]) -> (Vec<Request>, Vec<String>) {
        let trace = Trace::of_bytes("t", text, &ReadOptions::default()).unwrap();
        let (mut replay, mut requests) = (trace.replay().unwrap(), Vec::new());
        while replay.next_batch(&mut requests, 9).unwrap() > 0 {}
        (requests, replay.report().notes)
    }

    const COMPLETED: &[u8] =
        b"TIME(s)     COMM           PID     DISK    T SECTOR     BYTES   LAT(ms)\n\
        0.000000    jbd2/sda2-8    1311    sda     W 41943120   4096       0.42\n\
        0.000311    postgres       7712    sda     R 1980416    8192       0.01\n\
        1.004023    ?              0       sda     R 0          0          0.08\n\
        1.104023    my own prog    41      sdb     D 800        4096       0.08\n";

    #[test]
    fn times_of_completion_become_times_of_arrival() {
        let (requests, notes) = read(COMPLETED);
        let found: Vec<_> =
            requests.iter().map(|it| (it.op, it.offset, it.bytes, it.time_ns / 1000)).collect();
        let expected = [
            (Op::Write, 41_943_120 * 512, 4096, 0),
            (Op::Read, 1_980_416 * 512, 8192, 721),
            (Op::Trim, 800 * 512, 4096, 1_104_363),
        ];
        assert_eq!(found, expected);
        assert_eq!(requests[2].device, 1);
        assert!(notes[0].starts_with("The times are those of completion"), "{notes:?}");
    }

    #[test]
    fn tables_with_starts_and_without_times() {
        let starts = b"Tracing block I/O. Ctrl-C to end.\n\
            STARTs          ENDs            COMM       PID   TYPE DEV      BLOCK    BYTES LATms\n\
            5982800.302423  5982800.302842  a b        1809  FF   202,1    0        0     0.42\n\
            5982800.302061  5982800.302679  supervise  1809  WS   202,1    17039600 4096  0.62\n";
        let (requests, _) = read(starts);
        assert_eq!((requests[0].op, requests[0].offset), (Op::Write, 17_039_600 * 512));
        assert_eq!((requests[1].op, requests[1].time_ns), (Op::Flush, 362_000));
        let untimed = b"Tracing block I/O... Ctrl-C to end.\n\
            COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n\
            svc              1809   W    202,1    17039968     4096       1.32\n\
            tar              14794  RM   202,1    8457608      4096       7.53\n";
        let (requests, notes) = read(untimed);
        let ops: Vec<_> = requests.iter().map(|it| (it.op, it.time_ns)).collect();
        assert_eq!(ops, [(Op::Write, 0), (Op::Read, 0)]);
        assert!(notes[0].starts_with("The table has no times"), "{notes:?}");
    }

    #[test]
    fn a_table_without_heading_is_refused() {
        let format = Some(spec::Spec::plain("iosnoop"));
        let options = ReadOptions { format, ..ReadOptions::default() };
        let text = b"0.000311    postgres       7712    sda     R 1980416    8192       0.11\n";
        let message = Trace::of_bytes("t", text, &options).unwrap().requests().unwrap_err();
        assert!(message.to_string().contains("the table has no heading"), "{message}");
    }

    proptest! {
        #[test]
        fn damaged_lines_are_survived(at in 0usize..400, byte: u8) {
            let mut bytes = COMPLETED.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = crate::parse::parser::tests::read_all(Snoop { columns: None }, &bytes, true);
        }
    }
}
