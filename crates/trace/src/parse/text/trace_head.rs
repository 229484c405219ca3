//! The beginning of a trace, by which its format is detected.

use crate::parse::encoding::without_mark;
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
    /// Its lines could be in the format, and their numbers show its units.
    Units,
    /// It begins with the header of the format.
    Header,
}

impl Likeness {
    pub(crate) fn of_lines(alike: bool) -> Likeness {
        if alike { Likeness::Lines } else { Likeness::None }
    }

    pub(crate) fn of_header(found: bool) -> Likeness {
        if found { Likeness::Header } else { Likeness::None }
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

    /// The first bytes up to the end of the last line that is whole.
    pub(crate) fn whole_text(&self) -> &'a [u8] {
        let text = without_mark(self.bytes);
        let is_cut = self.bytes.len() >= HEAD_BYTES;
        let end = if is_cut { memchr::memrchr(b'\n', text).unwrap_or(0) } else { text.len() };
        &text[..end]
    }

    /// All lines of the first bytes but the last one, unless the trace ends there.
    pub(crate) fn whole_lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.whole_text().split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        lines.filter(|line| !line.is_empty())
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

/// The likeness of a trace whose first line begins with the names of a heading.
pub(crate) fn heading_likeness(head: &TraceHead, heading: &str) -> Likeness {
    Likeness::of_header(names(head.first()).starts_with(&names(heading.as_bytes())))
}

fn names(line: &[u8]) -> Vec<Vec<u8>> {
    let name = |field| unquoted(field).to_ascii_lowercase();
    line.split(|byte| matches!(byte, b',' | b';')).map(name).collect()
}

/// A field without the blanks and quotes around it.
pub(crate) fn unquoted(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    let inner = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
    inner.unwrap_or(field).trim_ascii()
}

/// The first fields of a line, at most `most`, separated by blanks and tabs.
pub(crate) fn blank_fields(line: &[u8], most: usize) -> Vec<&[u8]> {
    let words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    words.take(most).collect()
}

/// Whether the field consists of `shortest` to `longest` digits.
pub(crate) fn is_digits(field: &[u8], shortest: usize, longest: usize) -> bool {
    (shortest..=longest).contains(&field.len()) && field.iter().all(u8::is_ascii_digit)
}

/// Whether the field is a whole number, which may be written as `8192.0`.
pub(crate) fn is_whole(field: &[u8]) -> bool {
    let field = Field::new(field);
    field.number().or_else(|| field.whole_number(b'.')).is_some()
}

/// Whether the field is a number of seconds.
pub(crate) fn is_seconds(field: &[u8]) -> bool {
    is_decimal_times(field, 9)
}

/// Whether the field is a number, which may have decimals.
pub(crate) fn is_decimal(field: &[u8]) -> bool {
    is_decimal_times(field, 0)
}

/// Whether the field is a number that fits into 64 bits when multiplied by 10^`power`.
fn is_decimal_times(field: &[u8], power: u8) -> bool {
    let field = Field::new(field.trim_ascii_end());
    let plain = field.decimal(power.into(), b'.');
    plain.or_else(|| field.scientific(power.into(), b'.')).is_some()
}
