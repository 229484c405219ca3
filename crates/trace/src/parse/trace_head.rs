//! The beginning of a trace, by which its format is detected.

use crate::parse::text::encoding::without_mark;
use crate::parse::text::field::Field;

/// Bytes that are examined, after decompression.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Lines that are examined: more than one, because the first lines may be stray ones.
const HEAD_LINES: usize = 16;

/// How much a trace looks like one of a format, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// Not at all.
    None,
    /// Its lines could be in the format.
    Lines,
    /// It begins with the header of the format.
    Header,
}

impl Likeness {
    pub(crate) fn of_lines(alike: bool) -> Likeness {
        if alike { Likeness::Lines } else { Likeness::None }
    }
}

/// The first bytes of a trace, and the first lines that are not blank.
pub(crate) struct TraceHead<'a> {
    bytes: &'a [u8],
    lines: Vec<&'a [u8]>,
}

impl<'a> TraceHead<'a> {
    /// Splits the first bytes of a trace into lines.
    pub(crate) fn new(bytes: &'a [u8]) -> TraceHead<'a> {
        let lines = without_mark(bytes).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty()).take(HEAD_LINES).collect();
        TraceHead { bytes, lines }
    }

    /// The first bytes.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The first line; empty if there is none.
    pub(crate) fn first(&self) -> &'a [u8] {
        self.lines.first().copied().unwrap_or_default()
    }

    /// Whether any line satisfies the predicate.
    pub(crate) fn any(&self, predicate: impl Fn(&[u8]) -> bool) -> bool {
        self.lines.iter().any(|line| predicate(line))
    }
}

/// The first fields of a line, at most `most`, separated by commas and without surrounding blanks.
pub(crate) fn comma_fields(line: &[u8], most: usize) -> Vec<&[u8]> {
    line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).take(most).collect()
}

/// Whether the line has the same names as a heading, in upper or lower case, with or without quotes
/// and blanks.
pub(crate) fn is_heading(line: &[u8], heading: &str) -> bool {
    names(line) == names(heading.as_bytes())
}

fn names(line: &[u8]) -> Vec<Vec<u8>> {
    let plain = |field: &[u8]| {
        let name = field.trim_ascii();
        let inner = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""));
        inner.unwrap_or(name).trim_ascii().to_ascii_lowercase()
    };
    line.split(|&byte| byte == b',').map(plain).collect()
}

/// The first fields of a line, at most `most`, separated by blanks and tabs.
pub(crate) fn blank_fields(line: &[u8], most: usize) -> Vec<&[u8]> {
    let words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    words.take(most).collect()
}

/// Whether the line has the five numbers that simulators of disks and SSDs use, separated by
/// blanks: time, device, sector, length, operation. The time has decimals if `decimal`, else it has
/// none.
pub(crate) fn is_five_numbers(line: &[u8], decimal: bool) -> bool {
    let fields = blank_fields(line, 6);
    let hexadecimal = |field: &[u8]| field.iter().all(u8::is_ascii_hexdigit);
    fields.len() == 5
        && is_seconds(fields[0])
        && fields[0].contains(&b'.') == decimal
        && fields[1..4].iter().all(|field| is_digits(field, 1, 20))
        && hexadecimal(fields[4].strip_prefix(b"0x").unwrap_or(fields[4]))
}

/// Whether the field consists of `shortest` to `longest` digits.
pub(crate) fn is_digits(field: &[u8], shortest: usize, longest: usize) -> bool {
    (shortest..=longest).contains(&field.len()) && field.iter().all(u8::is_ascii_digit)
}

/// Whether the field is a number of seconds.
pub(crate) fn is_seconds(field: &[u8]) -> bool {
    Field::new(field.trim_ascii_end()).decimal(9, b'.').is_some()
}
