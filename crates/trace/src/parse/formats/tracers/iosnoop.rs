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
//!
//! Columns of the wall clock (`TIME`, `TIMESTAMP`) have a date and a time of day, or only a time of
//! day, which starts anew at midnight. If the kernel names no disk, its column is empty.
//!
//! Tables are copied from terminals and reports, so there may be other lines between the rows and
//! below them, such as `[...]` for rows that were cut out, `^C` and `Ending tracing...`.

use crate::error::quote;
use crate::parse::block_layer::{op_of, rwbs};
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::TraceParser;
use crate::parse::text::date::{DAY_NS, clock_ns, date_ns};
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::{Likeness, TraceHead, blank_fields};
use crate::request::{Flags, Op, SECTOR_BYTES};

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
        Specimen::detected(
            "iosnoop",
            b"$ ./biosnoop -d sda -m 1\n\
              TIMESTAMP           COMM PID DISK T SECTOR BYTES LAT(ms)\n\
              2025-03-04 10:11:12 a    7   sda  W 800    4096  0.5\n\
              2025-03-04 10:11:13 a    7        R 808    4096  0.5\n",
        ),
    ],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(Snoop::default()))),
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
    time: Option<Time>,
    /// The latency in ms, if the time is that of completion.
    latency: Option<usize>,
    op: usize,
    device: usize,
    sector: usize,
    bytes: usize,
}

/// The column of the times.
#[derive(Clone, Copy)]
struct Time {
    index: usize,
    /// The power of ten of its unit in nanoseconds, for times that are numbers.
    power: usize,
}

impl Time {
    /// The column of this name.
    fn named(name: &[u8], index: usize) -> Option<Time> {
        let power = match name {
            b"TIME(s)" | b"TIME" | b"TIMESTAMP" | b"STARTs" => 9,
            b"TIME(ms)" => 6,
            b"TIME(us)" => 3,
            _ => return None,
        };
        Some(Time { index, power })
    }
}

impl Columns {
    fn of_heading(line: &[u8]) -> Option<Columns> {
        let names = blank_fields(line, MOST_COLUMNS);
        let left = |name: &[u8]| names.iter().position(|known| *known == name);
        let right = |name: &[u8]| left(name).map(|index| names.len() - index);
        left(b"COMM").filter(|comm| left(b"PID").is_some_and(|pid| pid > *comm))?;
        let time = names.iter().enumerate().find_map(|(index, name)| Time::named(name, index));
        let latency = match left(b"STARTs") {
            // It begins when the device gets the request, so it has no time in queues.
            None => time.and(right(b"LAT(ms)")),
            Some(_) => None,
        };
        Some(Columns {
            count: names.len(),
            time,
            latency,
            op: right(b"T").or(right(b"TYPE"))?,
            device: right(b"DISK").or(right(b"DEV"))?,
            sector: right(b"SECTOR").or(right(b"BLOCK"))?,
            bytes: right(b"BYTES")?,
        })
    }
}

const HEADING: ParseError = ParseError::fatal(
    "the table has no heading with COMM, PID, T or TYPE, DISK or DEV, SECTOR or BLOCK, and BYTES",
    "keep the line with the names of the columns, such as \
     `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`",
);
const FEW: ParseError = ParseError::new("the line has fewer columns than the heading");
const TIME: ParseError = ParseError::new(
    "the time is neither a number, such as 1.004023, nor a time of day, such as 17:58:57.8 or \
     2025-03-04 17:58:57.8",
);
const LATENCY: ParseError = ParseError::new("the latency is not a number of milliseconds");
const TYPE: ParseError =
    ParseError::new("the type of the request is not RWBS, F?(D|W|R|N)F?A?S?M?");
const SECTOR: ParseError =
    ParseError::new("the sector is not a number, or exceeds 64 bits in bytes");
const BYTES: ParseError = ParseError::new("the size is not a number of bytes");

#[derive(Clone, Default)]
struct Snoop {
    /// `None` before the heading.
    columns: Option<Columns>,
    clock: WallClock,
    /// Requests that name no disk.
    without_disk: u64,
    /// Lines below the heading that are no rows, and the first of them.
    strays: u64,
    first_stray: String,
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
            Some(columns) if columns.is_stray(line) => {
                if self.strays == 0 {
                    self.first_stray = quote(line);
                }
                self.strays += 1;
                Ok(Parsed::Other)
            }
            Some(columns) => {
                let row = columns.row(line, &mut self.clock)?;
                self.without_disk += u64::from(row.disk.is_none());
                row.request(devices)
            }
            None if is_row(line) => Err(HEADING),
            // A sentence of the program, or the command that started it.
            None => Ok(Parsed::Other),
        }
    }

    fn notes(&self) -> Vec<String> {
        let Some(columns) = &self.columns else { return Vec::new() };
        let times = match columns {
            Columns { time: None, .. } => Some(
                "The table has no times: the requests are in the order of their lines, without a \
                 rate, and `--replay open` issues all at once.",
            ),
            Columns { latency: Some(_), .. } => {
                Some("The times are those of completion; the latencies are subtracted.")
            }
            _ => None,
        };
        let disks = (self.without_disk > 0).then(|| {
            format!(
                "Rows without a disk: {}. They are read as one device, `{UNKNOWN_DISK}`, but may \
                 be of several disks.",
                self.without_disk
            )
        });
        let strays = (self.strays > 0).then(|| {
            format!(
                "Lines below the heading that are no rows: {} (the first: {}). They are passed \
                 over; rows that such lines stand for are missing.",
                self.strays, self.first_stray
            )
        });
        times.map(str::to_owned).into_iter().chain(disks).chain(strays).collect()
    }
}

/// Whether a line looks like the row of a table: behind the type of the request there are at least
/// its address and its size.
fn is_row(line: &[u8]) -> bool {
    let words = blank_fields(line, MOST_COLUMNS);
    let is_number = |word: &&&[u8]| Field::new(word).decimal(0, b'.').is_some();
    let op = words.iter().position(|word| rwbs(word).is_some());
    op.is_some_and(|op| words[op..].iter().filter(is_number).count() >= 2)
}

/// Times of the wall clock, of which the date may be missing.
#[derive(Clone, Default)]
struct WallClock {
    /// The midnights that passed since the first row, in nanoseconds of their days.
    days_ns: u64,
    latest_ns: u64,
}

/// Rows are out of order by no more than this, so a larger step back has passed midnight.
const DISORDER_NS: u64 = 3_600_000_000_000;

impl WallClock {
    /// A time of day, counted from the midnight before the first row.
    fn since_first_midnight(&mut self, ns: u64) -> u64 {
        if self.latest_ns > ns + DISORDER_NS {
            self.days_ns = self.days_ns.wrapping_add(DAY_NS);
        } else if self.days_ns > 0 && ns + DISORDER_NS > self.latest_ns + DAY_NS {
            self.days_ns = self.days_ns.wrapping_sub(DAY_NS);
        }
        self.latest_ns = ns;
        self.days_ns.wrapping_add(ns)
    }
}

/// The name of the device of all rows that name no disk.
const UNKNOWN_DISK: &str = "unknown";

/// A row of a table.
struct Row<'a> {
    ticks: u64,
    letter: u8,
    flags: Flags,
    /// `None` if its column is empty.
    disk: Option<&'a [u8]>,
    sector: Field<'a>,
    bytes: u64,
}

impl Columns {
    /// Whether a line is neither a row nor a piece of one. A row begins with its time; without
    /// times it has a process id, which is a number.
    fn is_stray(&self, line: &[u8]) -> bool {
        let words = blank_fields(line, MOST_COLUMNS);
        let begins_row = match self.time {
            Some(time) => words.get(time.index).is_some_and(|word| word[0].is_ascii_digit()),
            None => words.iter().any(|word| Field::new(word).is_digits()),
        };
        !begins_row && !is_row(line)
    }

    fn row<'a>(&self, line: &'a [u8], clock: &mut WallClock) -> ParseResult<Row<'a>> {
        let words = line.split(|byte| matches!(byte, b' ' | b'\t'));
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
        // A program may have no name, and a disk neither.
        if words.len() + 2 < self.count {
            return Err(FEW);
        }
        let right = |index: usize| words.len().checked_sub(index).map(|at| Field::new(words[at]));
        let (op, sector) = (right(self.op).ok_or(FEW)?, right(self.sector).ok_or(FEW)?);
        let (letter, flags) = rwbs(op.bytes()).ok_or(TYPE)?;
        let bytes = right(self.bytes).and_then(Field::number).ok_or(BYTES)?;
        let mut ticks = match self.time {
            Some(time) => time.ticks(&words, clock).ok_or(TIME)?,
            None => 0,
        };
        if let Some(index) = self.latency {
            let latency_ns = right(index).and_then(|latency| latency.decimal(6, b'.'));
            ticks = ticks.wrapping_sub(latency_ns.ok_or(LATENCY)?);
        }
        // No disk has a number for a name: if its column is empty, the process id is in its place.
        let disk = right(self.device).filter(|disk| !disk.is_digits()).map(Field::bytes);
        Ok(Row { ticks, letter, flags, disk, sector, bytes })
    }
}

impl Time {
    /// The time of a row, in nanoseconds.
    fn ticks(self, words: &[&[u8]], clock: &mut WallClock) -> Option<u64> {
        let word = *words.get(self.index)?;
        if !word.contains(&b':') && !word.contains(&b'-') {
            return Field::new(word).decimal(self.power, b'.');
        }
        let with_date = || {
            let time = words.get(self.index + 1)?;
            date_ns(word).or_else(|| date_ns(&[word, *time].join(&b' ')))
        };
        match clock_ns(word) {
            Some(ns) => Some(clock.since_first_midnight(ns)),
            None => with_date(),
        }
    }
}

impl Row<'_> {
    fn request(&self, devices: &mut Devices) -> ParseResult {
        let Row { ticks, letter, flags, disk, sector, bytes } = *self;
        let Some(op) = op_of(letter, flags, bytes) else { return Ok(Parsed::Skip("no data")) };
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => {
                let sector = sector.number();
                let offset = sector.and_then(|sector| sector.checked_mul(SECTOR_BYTES));
                (offset.ok_or(SECTOR)?, bytes)
            }
        };
        let device = devices.index(disk.unwrap_or(UNKNOWN_DISK.as_bytes()))?;
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, ReadReport, Request, Trace};
    use proptest::prelude::*;

    fn read_with_report(text: &[u8]) -> (Vec<Request>, ReadReport) {
        let trace = Trace::of_bytes("t", text, &ReadOptions::default()).unwrap();
        let (mut replay, mut requests) = (trace.replay().unwrap(), Vec::new());
        while replay.next_batch(&mut requests, 9).unwrap() > 0 {}
        (requests, replay.report())
    }

    fn read(text: &[u8]) -> (Vec<Request>, Vec<String>) {
        let (requests, report) = read_with_report(text);
        (requests, report.notes)
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
        assert_eq!(notes.len(), 1, "no time, so not sorted by time: {notes:?}");
    }

    #[test]
    fn times_of_the_wall_clock_are_read_across_midnight() {
        let heading =
            |name: &str| format!("# biosnoop 10\n{name} COMM PID DISK T SECTOR BYTES LAT(ms)\n");
        let clock = "23:59:59.9 a b 7 sda W 8 4096 0.5\n00:00:00.1 a 7 sda R 16 4096 100\n\
            23:59:59.95 a 7 sda R 24 4096 0.5\n00:00:01.1 a 7 sda R 32 4096 0.5\n";
        let dated = clock.replace("23:", "2025-02-28 23:").replace("00:00:0", "2025-03-01 00:00:0");
        for (name, rows) in [("TIME", clock), ("TIMESTAMP", &dated)] {
            let (requests, notes) = read((heading(name) + rows).as_bytes());
            let found: Vec<_> = requests.iter().map(|it| (it.offset, it.time_ns / 1000)).collect();
            let expected = [(4096, 0), (12_288, 50_000), (8192, 100_500), (16_384, 1_200_000)];
            assert_eq!(found, expected, "{name}");
            assert!(notes[0].starts_with("The times are those of completion"), "{notes:?}");
            assert_eq!(notes[1], "The requests are sorted by time.");
        }
    }

    #[test]
    fn rows_without_a_disk_are_a_device_of_their_own() {
        let text = b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
            0.1 a b 0   sda W 8  4096 0.5\n\
            0.2 a b 0       W 16 4096 0.5\n\
            0.3     12      W 16 4096 0.5\n\
            0.4     12  sdb R 16 4096 0.5\n";
        let (requests, report) = read_with_report(text);
        assert_eq!(requests.iter().map(|it| it.device).collect::<Vec<_>>(), [0, 1, 1, 2]);
        assert_eq!(report.devices, ["sda", "unknown", "sdb"]);
        let note = &report.notes[1];
        assert!(note.starts_with("Rows without a disk: 2. They are read"), "{note}");
    }

    #[test]
    fn lines_that_are_no_rows_are_passed_over_and_noted() {
        let table = |heading: &str, row: &str| {
            format!(
                "# ./iosnoop\n{heading}\n{row}\n[...]\n{row}\n...\n{row}\n^C\nEnding tracing...\n\
                 ```\n\nThe first writes are slow, as R is busy.\n$ ./iosnoop\n{heading}\n\
                 {row}\n"
            )
        };
        for (heading, row) in [
            ("TIME(s) COMM PID DISK T SECTOR BYTES P LAT(ms)", "0.5 a 7 sda W 8 4096 S 0.5"),
            ("STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms", "0.5 0.6 a 7 W 8,0 8 4096 0.5"),
            ("COMM PID TYPE DEV BLOCK BYTES LATms", "a b 7 W 8,0 8 4096 0.5"),
        ] {
            let (requests, notes) = read(table(heading, row).as_bytes());
            assert_eq!(requests.len(), 4, "{heading}");
            let note = notes.iter().find(|note| note.contains("no rows")).unwrap();
            assert!(note.contains("no rows: 7 (the first: [...]). They are"), "{note}");
        }
    }

    #[test]
    fn a_piece_of_a_row_is_an_error() {
        let heading = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.5 a 7 sda W 8 4096 0.5\n";
        let untimed = "COMM PID TYPE DEV BLOCK BYTES LATms\na 7 W 8,0 8 4096 0.5\n";
        let pieces = [(heading, "0.6"), (heading, "0.6 a 7 sda W 1"), (untimed, "a 71")];
        for (heading, piece) in pieces {
            let text = format!("{heading}{piece}\n");
            let trace = Trace::of_bytes("t", text.as_bytes(), &ReadOptions::default()).unwrap();
            let message = trace.requests().unwrap_err().to_string();
            assert!(message.starts_with("t:3: "), "{piece}: {message}");
        }
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
            let _ = crate::parse::parser::tests::read_all(Snoop::default(), &bytes, true);
        }
    }
}
