//! How fast are traces read? Our readers against csv-crate loops over the same requests.
//!
//! The loop is what one would write by hand with the csv crate: one `ByteRecord` for all lines and
//! a large buffer. It does what a reader owes its user: every field is checked, numbers that exceed
//! 64 bits are errors, devices are numbered by name, times start at zero and never go back, and
//! requests land in the same batches. Both must agree on a checksum of all that. A binary trace is
//! compared with the loop over the same requests as csv text.
//!
//! The aims are ratios of at least 2 for text and 6 for binary traces. Names of cases, or parts of
//! them, may follow `--`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use csv::ByteRecord;
use ftlab_benches::compare;
use trace::{Flags, Op, ReadOptions, Request, Trace};

const LINES: u64 = 1_000_000;
const BATCH: usize = 1024;

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let cases =
        [msr(), spc(), blkparse(), mqsim(), columns(), quoted_columns(), blktrace(), vscsi()];
    let asked: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked = |case: &&Case| asked.iter().any(|word| case.name.contains(word.as_str()));
    for case in cases.iter().filter(|case| asked.is_empty() || is_asked(case)) {
        race(case, directory.path());
    }
}

/// A synthetic trace, and the same requests for the csv loop.
struct Case {
    name: &'static str,
    format: &'static str,
    bytes: Vec<u8>,
    /// The text for the csv loop, if it cannot read the trace itself.
    text: Option<Vec<u8>>,
    separator: u8,
    convert: fn(&ByteRecord) -> Option<Raw>,
}

/// A request as its line states it.
struct Raw<'a> {
    time_ns: u64,
    device: [&'a [u8]; 2],
    op: Op,
    flags: Flags,
    offset: u64,
    bytes: u64,
}

// ---- the traces ------------------------------------------------------------------------------

/// Numbers with the digits of real traces: scattered sectors, mostly small sizes, some reads.
fn fields(line: u64) -> (u64, u64, bool) {
    let mixed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let sectors = 8 << (mixed % 5);
    ((mixed % (64 << 21)) & !7, sectors, mixed.is_multiple_of(3))
}

/// A text with a line for each request: number, sector, sectors, whether it reads.
fn text(line: impl Fn(&mut String, u64, u64, u64, bool) -> std::fmt::Result) -> Vec<u8> {
    let mut text = String::new();
    for number in 0..LINES {
        let (sector, sectors, read) = fields(number);
        line(&mut text, number, sector, sectors, read).expect("memory suffices");
        text.push('\n');
    }
    text.into_bytes()
}

fn msr() -> Case {
    let bytes = text(|out, number, sector, sectors, read| {
        let time = 128_166_372_003_061_629 + number * 731;
        let kind = if read { "Read" } else { "Write" };
        let (offset, size, response) = (sector * 512, sectors * 512, 900 + number % 9000);
        write!(out, "{time},usr,0,{kind},{offset},{size},{response}")
    });
    fn convert(record: &ByteRecord) -> Option<Raw<'_>> {
        number(field(record, 6)?)?;
        Some(Raw {
            time_ns: number(field(record, 0)?)?.checked_mul(100)?,
            device: [field(record, 1)?, field(record, 2)?],
            op: op(field(record, 3)?, b"read", b"write")?,
            flags: Flags::empty(),
            offset: number(field(record, 4)?)?,
            bytes: number(field(record, 5)?)?,
        })
    }
    Case { name: "msr", format: "msr", bytes, text: None, separator: b',', convert }
}

fn spc() -> Case {
    let bytes = text(|out, number, sector, sectors, read| {
        let (size, kind) = (sectors * 512, if read { 'r' } else { 'w' });
        let (seconds, micros) = (number / 10_000, number % 10_000 * 97);
        write!(out, "0,{sector},{size},{kind},{seconds}.{micros:06}")
    });
    fn convert(record: &ByteRecord) -> Option<Raw<'_>> {
        number(field(record, 0)?)?;
        Some(Raw {
            device: [field(record, 0)?, b""],
            offset: number(field(record, 1)?)?.checked_mul(512)?,
            bytes: number(field(record, 2)?)?,
            op: op(field(record, 3)?, b"r", b"w")?,
            flags: Flags::empty(),
            time_ns: decimal(field(record, 4)?, 9)?,
        })
    }
    Case { name: "spc", format: "spc", bytes, text: None, separator: b',', convert }
}

fn blkparse() -> Case {
    let bytes = text(|out, number, sector, sectors, read| {
        let (seconds, nanoseconds) = (number / 10_000, number % 10_000 * 99_991);
        let rwbs = if read { "R" } else { "WS" };
        write!(out, "7,4 0 {number} {seconds}.{nanoseconds:09} 23648 Q {rwbs} {sector} {sectors}")
    });
    fn convert(record: &ByteRecord) -> Option<Raw<'_>> {
        let device = field(record, 0)?;
        let comma = device.iter().position(|&byte| byte == b',')?;
        for digits in [&device[..comma], &device[comma + 1..]] {
            digits.iter().all(u8::is_ascii_digit).then_some(())?;
        }
        for index in [1, 2, 4] {
            field(record, index)?.iter().all(u8::is_ascii_digit).then_some(())?;
        }
        (field(record, 5)? == b"Q").then_some(())?;
        let (op, flags) = rwbs(field(record, 6)?)?;
        Some(Raw {
            time_ns: decimal(field(record, 3)?, 9)?,
            device: [device, b""],
            op,
            flags,
            offset: number(field(record, 7)?)?.checked_mul(512)?,
            bytes: number(field(record, 8)?)?.checked_mul(512)?,
        })
    }
    let format = "blkparse:action=Q";
    Case { name: "blkparse", format, bytes, text: None, separator: b' ', convert }
}

fn mqsim() -> Case {
    let bytes = text(|out, number, sector, sectors, read| {
        let (time, device) = (938_513_000 + number * 7919, number / 50 % 4);
        write!(out, "{time} {device} {sector} {sectors} {}", u8::from(read))
    });
    fn convert(record: &ByteRecord) -> Option<Raw<'_>> {
        Some(Raw {
            time_ns: number(field(record, 0)?)?,
            device: [field(record, 1)?, b""],
            offset: number(field(record, 2)?)?.checked_mul(512)?,
            bytes: number(field(record, 3)?)?.checked_mul(512)?,
            op: if number(field(record, 4)?)? == 0 { Op::Write } else { Op::Read },
            flags: Flags::empty(),
        })
    }
    Case { name: "mqsim", format: "mqsim", bytes, text: None, separator: b' ', convert }
}

fn columns() -> Case {
    let bytes = text(|out, number, sector, sectors, read| {
        let (kind, seconds) = (if read { 'R' } else { 'W' }, 159_273 + number / 10_000);
        let micros = number % 10_000 * 97;
        write!(out, "<...>-12228,8388608,{kind},{sector},{sectors},{seconds}.{micros:06}")
    });
    fn convert(record: &ByteRecord) -> Option<Raw<'_>> {
        Some(Raw {
            device: [field(record, 1)?, b""],
            op: op(field(record, 2)?, b"r", b"w")?,
            offset: number(field(record, 3)?)?.checked_mul(512)?,
            bytes: number(field(record, 4)?)?.checked_mul(512)?,
            time_ns: decimal(field(record, 5)?, 9)?,
            flags: Flags::empty(),
        })
    }
    let format = "csv:columns=_+dev+op+off.sectors+len.sectors+time.s";
    Case { name: "csv", format, bytes, text: None, separator: b',', convert }
}

/// The same, all fields in quotes, as some programs write them.
fn quoted_columns() -> Case {
    let plain = columns();
    let bytes = plain.bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let bytes = bytes.flat_map(|line| {
        let fields = line.split(|&byte| byte == b',');
        let quoted = fields.map(|field| [b"\"", field, b"\""].concat());
        let mut line = quoted.collect::<Vec<_>>().join(&b',');
        line.push(b'\n');
        line
    });
    Case { name: "csv, in quotes", bytes: bytes.collect(), ..plain }
}

/// The requests of the binary traces as text: ns, R or W, sector, bytes.
fn plain_text() -> Option<Vec<u8>> {
    Some(text(|out, number, sector, sectors, read| {
        let (time_ns, kind) = (number * 97_000, if read { 'R' } else { 'W' });
        write!(out, "{time_ns},{kind},{sector},{}", sectors * 512)
    }))
}

fn convert_plain(record: &ByteRecord) -> Option<Raw<'_>> {
    Some(Raw {
        time_ns: number(field(record, 0)?)?,
        device: [b"0", b""],
        op: op(field(record, 1)?, b"r", b"w")?,
        flags: Flags::empty(),
        offset: number(field(record, 2)?)?.checked_mul(512)?,
        bytes: number(field(record, 3)?)?,
    })
}

fn blktrace() -> Case {
    let mut bytes = Vec::new();
    for line in 0..LINES {
        let (sector, sectors, read) = fields(line);
        let action: u32 = if read { 1 << 16 | 1 } else { 2 << 16 | 1 };
        bytes.extend_from_slice(&0x6561_7407u32.to_le_bytes());
        bytes.extend_from_slice(&(line as u32).to_le_bytes());
        bytes.extend_from_slice(&(line * 97_000).to_le_bytes());
        bytes.extend_from_slice(&sector.to_le_bytes());
        for word in [sectors as u32 * 512, action, 23_648, 8 << 20, 0, 0] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    let (text, convert) = (plain_text(), convert_plain);
    Case { name: "blktrace", format: "blktrace:action=Q", bytes, text, separator: b',', convert }
}

fn vscsi() -> Case {
    let mut bytes = Vec::new();
    for line in 0..LINES {
        let (sector, sectors, read) = fields(line);
        for word in [line as u32, sectors as u32 * 512, 1] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&(if read { 0x28u16 } else { 0x2a }).to_le_bytes());
        bytes.extend_from_slice(&0x0100u16.to_le_bytes());
        bytes.extend_from_slice(&sector.to_le_bytes());
        bytes.extend_from_slice(&(line * 97).to_le_bytes());
    }
    let (text, convert) = (plain_text(), convert_plain);
    Case { name: "vscsi", format: "vscsi", bytes, text, separator: b',', convert }
}

// ---- what the csv loop converts with ---------------------------------------------------------

fn field(record: &ByteRecord, index: usize) -> Option<&[u8]> {
    record.get(index)
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        digit.is_ascii_digit().then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

/// A decimal number times ten to the `power`.
fn decimal(text: &[u8], power: usize) -> Option<u64> {
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let mut value = number(&text[..point])?;
    let fraction = text.get(point + 1..).unwrap_or_default();
    for index in 0..power {
        let digit = *fraction.get(index).unwrap_or(&b'0');
        digit.is_ascii_digit().then_some(())?;
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(value)
}

fn op(word: &[u8], read: &[u8], write: &[u8]) -> Option<Op> {
    if word.eq_ignore_ascii_case(read) {
        return Some(Op::Read);
    }
    word.eq_ignore_ascii_case(write).then_some(Op::Write)
}

fn rwbs(word: &[u8]) -> Option<(Op, Flags)> {
    let op = match word.first()? {
        b'R' => Op::Read,
        b'W' => Op::Write,
        _ => return None,
    };
    let mut flags = Flags::empty();
    for letter in &word[1..] {
        flags |= match letter {
            b'F' => Flags::FUA,
            b'A' => Flags::READAHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            _ => return None,
        };
    }
    Some((op, flags))
}

// ---- the race --------------------------------------------------------------------------------

fn race(case: &Case, directory: &Path) {
    let path = directory.join(case.name);
    std::fs::write(&path, &case.bytes).expect("the trace can be written");
    let text_path = match &case.text {
        Some(text) => {
            let text_path = directory.join("text");
            std::fs::write(&text_path, text).expect("the text can be written");
            text_path
        }
        None => path.clone(),
    };
    assert_eq!(read_ours(case, &path), read_csv(case, &text_path), "{}", case.name);
    let lines = |sum: u64| {
        std::hint::black_box(sum);
        LINES
    };
    let theirs = || lines(read_csv(case, &text_path));
    let ours = || lines(read_ours(case, &path));
    let bytes_a_line = case.bytes.len() as f64 / LINES as f64;
    let title = format!("{}, {bytes_a_line:.0} bytes per request", case.name);
    let contenders = &mut [
        ("a loop around the csv crate", Box::new(theirs) as Box<dyn FnMut() -> u64>),
        ("ftlab", Box::new(ours)),
    ];
    compare(&title, "requests", contenders);
}

/// The checksum of a batch of requests, in which every field counts.
fn checksum(sum: &mut u64, batch: &mut Vec<Request>) {
    for request in batch.drain(..) {
        let kind = u64::from(request.op == Op::Read) << 1
            | u64::from(request.flags.contains(Flags::SYNC)) << 2
            | u64::from(request.device) << 8;
        *sum = sum.wrapping_add(request.time_ns ^ request.offset ^ request.bytes ^ kind << 40);
    }
}

fn read_ours(case: &Case, path: &Path) -> u64 {
    let format = Some(spec::Spec::parse(case.format).expect("the format is well-formed"));
    let options = ReadOptions { format, ..ReadOptions::default() };
    let trace = Trace::open(path.to_str().expect("a plain path"), &options).expect("it opens");
    let mut replay = trace.replay().expect("it can be read");
    let (mut batch, mut sum) = (Vec::new(), 0);
    while replay.next_batch(&mut batch, BATCH).expect("all lines are good") > 0 {
        checksum(&mut sum, &mut batch);
    }
    sum
}

fn read_csv(case: &Case, path: &Path) -> u64 {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).delimiter(case.separator).buffer_capacity(1 << 20);
    let mut reader = builder.from_path(path).expect("it opens");
    let (mut record, mut intake) = (ByteRecord::new(), Intake::default());
    let (mut batch, mut sum) = (Vec::new(), 0);
    while reader.read_byte_record(&mut record).expect("all lines are good") {
        let raw = (case.convert)(&record).expect("all lines are good");
        batch.extend(intake.request(&raw).expect("all lines are good"));
        if batch.len() == BATCH {
            checksum(&mut sum, &mut batch);
        }
    }
    checksum(&mut sum, &mut batch);
    sum
}

/// Devices by name, and the clock.
#[derive(Default)]
struct Intake {
    latest_name: Vec<u8>,
    latest_device: u32,
    devices: HashMap<Vec<u8>, u32>,
    first_ns: Option<u64>,
    latest_ns: u64,
}

impl Intake {
    /// `Some(None)`: nothing to serve; `None`: the line is bad.
    fn request(&mut self, raw: &Raw) -> Option<Option<Request>> {
        raw.offset.checked_add(raw.bytes)?;
        let device = self.device(&raw.device);
        let first_ns = *self.first_ns.get_or_insert(raw.time_ns);
        self.latest_ns = self.latest_ns.max(raw.time_ns);
        let time_ns = self.latest_ns - first_ns;
        let Raw { op, flags, offset, bytes, .. } = *raw;
        Some((bytes > 0).then_some(Request {
            time_ns,
            offset,
            bytes,
            device,
            op,
            flags,
            stream: 0,
        }))
    }

    fn device(&mut self, [one, two]: &[&[u8]; 2]) -> u32 {
        let length = one.len() + two.len();
        if self.latest_name.len() == length
            && self.latest_name.starts_with(one)
            && self.latest_name.ends_with(two)
        {
            return self.latest_device;
        }
        let next = self.devices.len() as u32;
        self.latest_name = [*one, *two].concat();
        self.latest_device = *self.devices.entry(self.latest_name.clone()).or_insert(next);
        self.latest_device
    }
}
