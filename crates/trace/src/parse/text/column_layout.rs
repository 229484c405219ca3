//! Column layouts: a text format that consists of columns is a declaration instead of code.
//!
//! ```text
//! a line of DiskSim   5265.313 0 6357144 8 0
//! its declaration     Separator::Blanks, "time.ms+dev+off.sectors+len.sectors+op",
//!                     OpNames::FlagBit
//! ```
//!
//! A layout states the separator of fields, the meaning and unit of each field, and the names of
//! the operations. One parser (`column_parser`) reads all such formats. The keys of `--format
//! csv:…` are turned into a layout, too.

use crate::parse::parser::LineEnds;
use crate::request::Op;

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The arrival time of the request.
    Time(TimeUnit),
    /// The operation, named as in [`OpNames`].
    Op,
    /// The address.
    Offset(AddressUnit),
    /// The length.
    Length(AddressUnit),
    /// The device; if there are two such columns, both together name it.
    Device,
    /// The stream of a write.
    Stream,
    /// Not used.
    Ignored,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// 10^`power` ns; the power is 0 to 9.
    Nanoseconds { power: u8 },
    /// Thousandths of a nanosecond; fractions of a nanosecond are dropped.
    Picoseconds,
    /// A date and a time of day, such as `2025-03-04 10:11:12.000412`.
    Date,
}

/// A unit of addresses and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressUnit {
    pub(crate) bytes: u64,
    pub(crate) hexadecimal: bool,
}

/// The separator of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// This byte; blanks around it are ignored.
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
}

/// The names of operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpNames {
    /// These words, in upper or lower case.
    Words(OpWords),
    /// 0 is a write, any other number a read.
    ZeroWrites,
    /// A hexadecimal number whose lowest bit is set for reads.
    FlagBit,
    /// The words of blkparse, which include flags.
    Rwbs,
}

impl OpNames {
    /// A word for reads and one for writes.
    pub(crate) fn of(read: &str, write: &str) -> OpNames {
        OpNames::Words(OpWords::new([(read.as_bytes(), Op::Read), (write.as_bytes(), Op::Write)]))
    }
}

/// Words for operations. Words of a single byte are found in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpWords {
    letters: Box<[Option<Op>; 256]>,
    words: Vec<(Vec<u8>, Op)>,
}

impl OpWords {
    pub(crate) fn new<'a>(words: impl IntoIterator<Item = (&'a [u8], Op)>) -> OpWords {
        let mut all = OpWords { letters: Box::new([None; 256]), words: Vec::new() };
        for (word, op) in words {
            match word {
                [letter] => {
                    all.letters[usize::from(letter.to_ascii_lowercase())] = Some(op);
                    all.letters[usize::from(letter.to_ascii_uppercase())] = Some(op);
                }
                _ => all.words.push((word.to_vec(), op)),
            }
        }
        all
    }

    #[inline(always)]
    pub(crate) fn find(&self, word: &[u8]) -> Option<Op> {
        match word {
            [letter] => self.letters[usize::from(*letter)],
            _ => self.find_word(word),
        }
    }

    /// The words for an operation, joined by `+`.
    pub(crate) fn listed(&self, op: Op) -> String {
        let letters = (0..=255_u8).filter(|letter| !letter.is_ascii_lowercase());
        let letters = letters.filter(|letter| self.letters[usize::from(*letter)] == Some(op));
        let words = self.words.iter().filter(|(_, of)| *of == op).map(|(word, _)| word.clone());
        let all: Vec<Vec<u8>> = letters.map(|letter| vec![letter]).chain(words).collect();
        String::from_utf8_lossy(&all.join(&b'+')).into_owned()
    }

    #[inline(never)]
    fn find_word(&self, word: &[u8]) -> Option<Op> {
        let found = self.words.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
        found.map(|(_, op)| *op)
    }
}

/// The layout of a format's lines.
#[derive(Debug, Clone)]
pub(crate) struct ColumnLayout {
    pub(crate) separator: Separator,
    pub(crate) columns: Vec<Column>,
    pub(crate) ops: OpNames,
    /// The operation of all requests, if no column has it.
    pub(crate) only_op: Option<Op>,
    /// The reason to skip requests whose operation is blank; if `None`, they are errors.
    pub(crate) blank_op: Option<&'static str>,
    /// Whether more fields may follow the declared ones.
    pub(crate) open_ended: bool,
    /// Whether the first line is a heading.
    pub(crate) heading: bool,
    /// Whether the next line is the first one, which may be a heading in any case.
    pub(crate) at_start: bool,
    /// The text of headings, which may be on any line; empty if there are none.
    pub(crate) heading_text: &'static str,
    /// The number of the first column in error messages.
    pub(crate) first_column: usize,
    /// The decimal separator, point or comma; the other one separates thousands.
    pub(crate) point: u8,
    /// What a last line without line end means.
    pub(crate) line_ends: LineEnds,
    /// Whether the times of these traces are known to be Unix times.
    pub(crate) unix_times: bool,
    /// A note that users of the trace may want to know.
    pub(crate) note: Option<String>,
    /// The name of the latest device, of lines with two columns of devices.
    pub(crate) device_name: Vec<u8>,
}

impl ColumnLayout {
    pub(crate) fn new(separator: Separator, columns: Vec<Column>, ops: OpNames) -> ColumnLayout {
        ColumnLayout {
            separator,
            columns,
            ops,
            only_op: None,
            blank_op: None,
            open_ended: false,
            heading: false,
            at_start: true,
            heading_text: "",
            first_column: 1,
            point: b'.',
            line_ends: LineEnds::Optional,
            unix_times: false,
            note: None,
            device_name: Vec::new(),
        }
    }
}
