//! fio iologs, versions 2 and 3 (fio's `HOWTO.rst`, "Trace file format", and `iolog.c`).
//!
//! ```text
//! fio version 2 iolog            fio version 3 iolog
//! /dev/sda add                   53 /dev/sda add
//! /dev/sda open                  159 /dev/sda open
//! /dev/sda write 4096 8192       165 /dev/sda write 4096 8192
//! /dev/sda wait 2000 0           336499 /dev/sda datasync 0 0
//! ```
//!
//! Times are in microseconds. Version 3 has one on every line; version 2 has only `wait` lines,
//! which advance the clock. Offset and length are in bytes. A file is a device. If the first line
//! is missing, the second one shows the version. Version 1 has neither times nor file names; csv
//! reads it.

use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::{LineEnds, TraceParser};
use crate::parse::text::field::Field;
use crate::parse::text::split::{Blanks, Split};
use crate::parse::text::trace_head::{Likeness, TraceHead, comma_fields, is_digits};
use crate::request::Op;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "fio",
    summary: "fio iolog, version 2 or 3: [µs] file action [offset length]",
    source: "fio's HOWTO, Trace file format, and iolog.c",
    params: &[],
    examples: &[],
    specimens: &[
        Specimen::detected(
            "fio",
            b"fio version 3 iolog\n53 v add\n60 v read 0 4096\n61 v datasync 0 0\n",
        ),
        Specimen::detected("fio", b"fio version 2 iolog\nv read 0 4096\nv wait 2000 0\n"),
        Specimen::detected("fio", b"fio version 2 iolog\n8,0 add\n8,0 read 0 512\n"),
        Specimen::detected("fio", b"53 v add\n60 v read 0 4096\n"),
        Specimen::detected("fio", b"v open\nv read 0 4096\nv wait 2000 0\n"),
    ],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(Fio::default()))),
};

/// The header, or lines that show the version; [`Fio`] refuses version 1 with a hint.
fn detect(head: &TraceHead) -> Likeness {
    if head.first().starts_with(b"fio version ") {
        return Likeness::Header;
    }
    Likeness::of_lines(is_version_1(head.first()) || version_of(head.first()).is_some())
}

/// The version of a log whose first line is missing. The name of a file is no number, unlike the
/// first columns of other formats with such words.
fn version_of(line: &[u8]) -> Option<IologVersion> {
    let words: Vec<Field> = Split::new(line, Blanks).take(6).collect();
    let (version, words) = match words.as_slice() {
        [time, words @ ..] if time.is_digits() => (IologVersion::Three, words),
        words => (IologVersion::Two, words),
    };
    let [file, action, range @ ..] = words else { return None };
    let fields = match action.bytes() {
        b"add" | b"open" | b"close" => 0,
        b"read" | b"write" | b"trim" | b"sync" | b"datasync" | b"wait" => 2,
        _ => return None,
    };
    let is_range = range.len() == fields && range.iter().all(|word| word.is_digits());
    let is_number = file.decimal(0, b'.').is_some();
    (is_range && !is_number).then_some(version)
}

/// `rw, offset, length`: three numbers, the first of them 0 to 2.
fn is_version_1(line: &[u8]) -> bool {
    let fields = comma_fields(line, 4);
    let numbers = fields.iter().all(|field| is_digits(field, 1, 20));
    fields.len() == 3 && numbers && matches!(fields[0], b"0" | b"1" | b"2")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IologVersion {
    /// Times only as `wait` lines.
    Two,
    /// A time on every line.
    Three,
}

#[derive(Clone, Default)]
struct Fio {
    /// As stated by the header; `None` before it.
    version: Option<IologVersion>,
    /// Whether the header is missing.
    is_headless: bool,
    /// In version 2, the sum of all waits so far.
    clock_us: u64,
}

const VERSION_1: ParseError = ParseError::fatal(
    "this is an fio iolog of version 1, without times and file names",
    "`--format csv:columns=op+off.bytes+len.bytes,reads=0,writes=1,flushes=2` reads its lines",
);
const VERSION: ParseError = ParseError::fatal(
    "only versions 2 and 3 of fio iologs are supported",
    "record the log again with fio 3, which writes version 3",
);
const HEADER: ParseError = ParseError::fatal(
    "an fio iolog begins with `fio version 2 iolog` or `fio version 3 iolog`",
    "if the trace is in another format, choose it with --format",
);
const TIME: ParseError = ParseError::new("the time is not a number of microseconds");
const FILE: ParseError = ParseError::new("the file name is missing");
const ACTION: ParseError = ParseError::new(
    "the action is not one of read, write, trim, sync, datasync, wait, add, open, close",
);
const OFFSET: ParseError = ParseError::new("the offset is not a number of bytes");
const LENGTH: ParseError = ParseError::new("the length is not a number of bytes");
const EXTRA: ParseError = ParseError::new("more fields follow after offset and length");
const WAIT: ParseError = ParseError::new("the waits add up to more than 64 bits");

impl TraceParser for Fio {
    const TICK_NS: u64 = 1_000;
    const OWN_CLOCK: bool = true;

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        if self.version.is_none() && self.header(line)? {
            return Ok(Parsed::Other);
        }
        let mut words = Split::new(line, Blanks);
        let ticks = match self.version {
            None => return Err(HEADER),
            Some(IologVersion::Two) => self.clock_us,
            Some(IologVersion::Three) => words.next().and_then(Field::number).ok_or(TIME)?,
        };
        let file = words.next().ok_or(FILE)?.bytes();
        let op = match words.next().ok_or(ACTION)?.bytes() {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" => return self.wait(&mut words),
            b"add" | b"open" | b"close" => return Ok(Parsed::Other),
            _ => return Err(ACTION),
        };
        let device = devices.index(file)?;
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => range(&mut words)?,
        };
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, ..RawRequest::BLANK }))
    }

    fn line_ends(&self) -> LineEnds {
        LineEnds::Usual
    }

    fn notes(&self) -> Vec<String> {
        let note = |version| {
            let version = match version {
                IologVersion::Two => 2,
                IologVersion::Three => 3,
            };
            match self.is_headless {
                true => format!(
                    "The file has no first line `fio version {version} iolog`, but its lines are \
                     those of this version."
                ),
                false => format!("The file is an iolog of version {version}."),
            }
        };
        self.version.map(note).into_iter().collect()
    }
}

impl Fio {
    /// Learns the version from the first line that is not blank; false if the line is not a
    /// header but belongs to the log.
    fn header(&mut self, line: &[u8]) -> ParseResult<bool> {
        if line.trim_ascii().is_empty() {
            return Err(HEADER);
        }
        self.version = Some(match line.trim_ascii() {
            b"fio version 2 iolog" => IologVersion::Two,
            b"fio version 3 iolog" => IologVersion::Three,
            b"fio version 1 iolog" => return Err(VERSION_1),
            other if is_version_1(other) => return Err(VERSION_1),
            other if other.starts_with(b"fio version ") => return Err(VERSION),
            other => {
                self.is_headless = true;
                version_of(other).ok_or(HEADER)?
            }
        });
        Ok(!self.is_headless)
    }

    /// Advances the clock in version 2. Version 3 has a time on every line, so waits are skipped.
    fn wait(&mut self, words: &mut Split<Blanks>) -> ParseResult {
        if self.version == Some(IologVersion::Three) {
            return Ok(Parsed::Skip("wait"));
        }
        let (wait_us, _) = range(words)?;
        self.clock_us = self.clock_us.checked_add(wait_us).ok_or(WAIT)?;
        Ok(Parsed::Other)
    }
}

/// Offset and length, which end the line.
fn range(words: &mut Split<Blanks>) -> ParseResult<(u64, u64)> {
    let offset = words.next().and_then(Field::number).ok_or(OFFSET)?;
    let length = words.next().and_then(Field::number).ok_or(LENGTH)?;
    if words.next().is_some() { Err(EXTRA) } else { Ok((offset, length)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::reader::Skipped;
    use crate::request::Request;
    use crate::{ReadOptions, Trace};
    use proptest::prelude::*;
    use spec::Spec;

    fn read(text: &[u8]) -> std::result::Result<(Vec<Request>, Skipped), String> {
        read_all(Fio::default(), text, false)
    }

    const THREE: &[u8] = b"fio version 3 iolog\n\
        53 vdev add\n\
        1409280 vdev open\n\
        1409292 vdev read 50017792 4096\n\
        1409300 vdev wait 5 0\n\
        58352535 vdev write 1918301696 1536\n\
        58352536 other trim 0 65536\n\
        58355938 vdev datasync 0 0\n\
        58356007 vdev close\n";

    #[test]
    fn version_3_has_a_time_on_every_line() {
        let (requests, skipped) = read(THREE).unwrap();
        let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
        assert_eq!(ops, [Op::Read, Op::Write, Op::Trim, Op::Flush]);
        assert_eq!(requests[1].time_ns, (58_352_535 - 1_409_292) * 1000);
        assert_eq!((requests[1].offset, requests[1].bytes), (1_918_301_696, 1536));
        assert_eq!((requests[2].device, requests[3].device), (1, 0));
        assert_eq!(skipped.iter().collect::<Vec<_>>(), [("wait", 1)]);
        assert_eq!(skipped.other_lines, 4);
    }

    #[test]
    fn waits_advance_the_clock_of_version_2() {
        let text = b"\nfio version 2 iolog\r\nf add\nf open\nf read 0 512\nf wait 2000 0\n\
            f write 512 512\nf sync 0 0\n";
        let (requests, _) = read(text).unwrap();
        let times: Vec<_> = requests.iter().map(|request| request.time_ns).collect();
        assert_eq!(times, [0, 2_000_000, 2_000_000]);
    }

    #[test]
    fn version_1_is_refused_with_a_hint() {
        for text in [&b"0, 4096, 512\n"[..], b"fio version 1 iolog\n"] {
            assert_ne!(detect(&TraceHead::new(text)), Likeness::None);
            let message = read(text).unwrap_err();
            assert!(message.contains("version 1"), "{message}");
            assert!(message.contains("flushes=2` reads its lines"), "{message}");
        }
        let format = Spec::parse("csv:columns=op+off.bytes+len.bytes,reads=0,writes=1,flushes=2");
        let options = ReadOptions { format: format.ok(), ..ReadOptions::default() };
        let text = b"0, 4096, 512\n1, 512, 512\n2, 0, 0\n";
        let requests = Trace::of_bytes("t", text, &options).unwrap().requests().unwrap();
        assert_eq!(requests.len(), 3, "the remedy works");
        assert!(read(b"fio version 4 iolog\n").unwrap_err().contains("only versions 2 and 3"));
        assert!(read(b"53 vdev erase\n").unwrap_err().contains("begins with `fio version"));
    }

    #[test]
    fn logs_without_their_first_line_are_read() {
        let two = &b"fio version 2 iolog\nf add\nf read 0 512\nf wait 2000 0\nf sync 0 0\n"[..];
        for text in [THREE, two] {
            let end = memchr::memchr(b'\n', text).unwrap() + 1;
            let (headless, whole) = (read(&text[end..]).unwrap(), read(text).unwrap());
            assert_eq!(headless.0, whole.0);
            assert_eq!(headless.1.other_lines + 1, whole.1.other_lines);
            assert_eq!(detect(&TraceHead::new(&text[end..])), Likeness::Lines);
        }
        let mut parser = Fio::default();
        assert_eq!(parser.parse(b"53 vdev add", &mut Devices::default()), Ok(Parsed::Other));
        assert!(parser.notes()[0].contains("no first line `fio version 3 iolog`"));
        for other in ["0.5 read 8 8", "1 2 read 8 8", "a read", "a read 8 8 8", "a read x 8"] {
            assert_eq!(version_of(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("x vdev read 0 512", "the time"),
            ("5", "the file name"),
            ("5 vdev erase 0 512", "the action"),
            ("5 vdev read -1 512", "the offset"),
            ("5 vdev read 0", "the length"),
            ("5 vdev read 0 512 1", "more fields follow"),
        ];
        for (line, what) in cases {
            let message = read(format!("fio version 3 iolog\n{line}").as_bytes()).unwrap_err();
            assert!(message.starts_with(&format!("t:2: {what}")), "{line}: {message}");
        }
        let waits = b"fio version 2 iolog\nf wait 18446744073709551615 0\nf wait 1 0\n";
        assert!(read(waits).unwrap_err().starts_with("t:3: the waits add up"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = read(&[b"\n", &bytes[..]].concat());
            let _ = read(&[b"fio version 3 iolog\n", &bytes[..]].concat());
            let _ = read(&[b"fio version 2 iolog\nf ", &bytes[..]].concat());
        }

        #[test]
        fn damaged_lines_are_survived(at in 20usize..200, byte: u8) {
            let mut bytes = THREE.to_vec();
            bytes[at] = byte;
            let parser = Fio::default();
            prop_assert!(read_all(parser, &bytes, true).is_ok());
        }
    }
}
