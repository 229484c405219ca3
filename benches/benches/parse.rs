//! How fast are traces read? Our reader against a csv-crate loop over the same file.
//!
//! Both convert the same fields of the same million lines (time, device, operation, offset, size)
//! and must agree on a checksum. The csv loop is as lean as it gets: one `ByteRecord` for all
//! lines, a large buffer, digits summed without checks. Rounds alternate, so that a busy machine
//! hits both; the best of each is compared. The aim is a ratio of at least 2.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use trace::{Op, ReadOptions, Trace};

const LINES: u64 = 1_000_000;
const ROUNDS: usize = 15;

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    for case in [msr(), blkparse()] {
        let path = directory.path().join(case.name);
        std::fs::write(&path, &case.text).expect("the trace can be written");
        compare(&case, &path);
    }
}

/// A synthetic trace and how a csv loop reads it.
struct Case {
    name: &'static str,
    text: String,
    format: &'static str,
    separator: u8,
    convert: fn(&csv::ByteRecord) -> u64,
}

/// Numbers with the digits of real traces: scattered offsets, mostly small sizes.
fn fields(line: u64) -> (u64, u64, bool) {
    let mixed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let sectors = 8 << (mixed % 5);
    ((mixed % (64 << 21)) & !7, sectors, mixed.is_multiple_of(3))
}

fn msr() -> Case {
    let mut text = String::new();
    for line in 0..LINES {
        let (sector, sectors, read) = fields(line);
        let (time, kind) =
            (128_166_372_003_061_629 + line * 731, if read { "Read" } else { "Write" });
        let (offset, size, response) = (sector * 512, sectors * 512, 900 + line % 9000);
        writeln!(text, "{time},usr,0,{kind},{offset},{size},{response}").expect("memory suffices");
    }
    let convert = |record: &csv::ByteRecord| {
        let device = record[1].len() + record[2].len();
        let read = record[3].eq_ignore_ascii_case(b"read");
        let numbers = number(&record[0]) ^ number(&record[4]) ^ number(&record[5]);
        numbers.wrapping_add(u64::from(read)).wrapping_add(u64::from(device == 0))
    };
    Case { name: "msr", text, format: "msr", separator: b',', convert }
}

fn blkparse() -> Case {
    let mut text = String::new();
    for line in 0..LINES {
        let (sector, sectors, read) = fields(line);
        let (seconds, nanoseconds) = (line / 10_000, line % 10_000 * 99_991);
        let rwbs = if read { "R" } else { "WS" };
        writeln!(text, "7,4 0 {line} {seconds}.{nanoseconds:09} 23648 Q {rwbs} {sector} {sectors}")
            .expect("memory suffices");
    }
    let convert = |record: &csv::ByteRecord| {
        let (seconds, rest) = record[3].split_at(record[3].len() - 10);
        let time = number(seconds) * 1_000_000_000 + number(&rest[1..]);
        let read = record[6].contains(&b'R');
        let queued = record[5] == *b"Q" && !record[0].is_empty();
        let numbers = time ^ (number(&record[7]) * 512) ^ (number(&record[8]) * 512);
        if queued { numbers.wrapping_add(u64::from(read)) } else { 0 }
    };
    Case { name: "blkparse", text, format: "blkparse:action=Q", separator: b' ', convert }
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'))
}

fn compare(case: &Case, path: &Path) {
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let our_sum = read_ours(case, path);
        ours = ours.min(start.elapsed());
        let start = Instant::now();
        let their_sum = read_csv(case, path);
        theirs = theirs.min(start.elapsed());
        assert_eq!(our_sum, their_sum, "{}: the readers disagree", case.name);
    }
    let speed = |time: Duration| {
        let (lines, bytes) = (LINES as f64, case.text.len() as f64);
        format!(
            "{:6.2} M lines/s {:5.0} MB/s",
            lines / time.as_secs_f64() / 1e6,
            bytes / time.as_secs_f64() / 1e6
        )
    };
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!("{:9} ours {}   csv {}   ratio {ratio:.2}", case.name, speed(ours), speed(theirs));
}

/// The checksum of all requests; times are made absolute again with the first line's.
fn read_ours(case: &Case, path: &Path) -> u64 {
    let format = Some(spec::Spec::parse(case.format).expect("the format is well-formed"));
    let options = ReadOptions { format, ..ReadOptions::default() };
    let trace = Trace::open(path.to_str().expect("a plain path"), &options).expect("it opens");
    let (ticks, first) = match case.name {
        "msr" => (100, 128_166_372_003_061_629),
        _ => (1, 0),
    };
    let mut replay = trace.replay().expect("it can be read");
    let mut batch = Vec::new();
    let mut sum = 0u64;
    while replay.next_batch(&mut batch, 1024).expect("all lines are good") > 0 {
        for request in batch.drain(..) {
            let numbers = (request.time_ns / ticks + first) ^ request.offset ^ request.bytes;
            sum = sum.wrapping_add(numbers.wrapping_add(u64::from(request.op == Op::Read)));
        }
    }
    sum
}

fn read_csv(case: &Case, path: &Path) -> u64 {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).delimiter(case.separator).buffer_capacity(1 << 20);
    let mut reader = builder.from_path(path).expect("it opens");
    let mut record = csv::ByteRecord::new();
    let mut sum = 0u64;
    while reader.read_byte_record(&mut record).expect("all lines are good") {
        sum = sum.wrapping_add((case.convert)(&record));
    }
    sum
}
