//! The first lines of a trace, by which its format is told.

use crate::parse::text::field::Field;

/// How many bytes are looked at, after decompression.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// How many lines are looked at: enough to get past a stray line or two.
const HEAD_LINES: usize = 16;

/// How sure a format is that a trace is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// It is another.
    None,
    /// Its lines look like it.
    Lines,
    /// It begins with the format's own header.
    Header,
}

impl Likeness {
    pub(crate) fn of_lines(alike: bool) -> Likeness {
        if alike { Likeness::Lines } else { Likeness::None }
    }
}

/// The first lines that are not blank.
pub(crate) struct TraceHead<'a> {
    bytes: &'a [u8],
    lines: Vec<&'a [u8]>,
}

impl<'a> TraceHead<'a> {
    /// Takes the lines from the trace's first bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> TraceHead<'a> {
        let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty()).take(HEAD_LINES).collect();
        TraceHead { bytes, lines }
    }

    /// The first bytes themselves.
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

/// The fields of a line between commas, blanks trimmed, at most `most`.
pub(crate) fn comma_fields(line: &[u8], most: usize) -> Vec<&[u8]> {
    line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).take(most).collect()
}

/// The fields of a line between blanks and tabs, at most `most`.
pub(crate) fn blank_fields(line: &[u8], most: usize) -> Vec<&[u8]> {
    let words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    words.take(most).collect()
}

/// Whether the line is five numbers between blanks, as simulators of disks and SSDs have it: time,
/// device, sector, length, operation; the time whole or with decimals as wanted.
pub(crate) fn is_five_numbers(line: &[u8], decimal: bool) -> bool {
    let fields = blank_fields(line, 6);
    let hexadecimal = |field: &[u8]| field.iter().all(u8::is_ascii_hexdigit);
    fields.len() == 5
        && is_seconds(fields[0])
        && fields[0].contains(&b'.') == decimal
        && fields[1..4].iter().all(|field| is_digits(field, 1, 20))
        && hexadecimal(fields[4].strip_prefix(b"0x").unwrap_or(fields[4]))
}

/// Whether the field is digits only, `shortest` to `longest` of them.
pub(crate) fn is_digits(field: &[u8], shortest: usize, longest: usize) -> bool {
    (shortest..=longest).contains(&field.len()) && field.iter().all(u8::is_ascii_digit)
}

/// Whether the field is a number of seconds.
pub(crate) fn is_seconds(field: &[u8]) -> bool {
    Field::new(field.trim_ascii_end()).decimal(9, b'.').is_some()
}
