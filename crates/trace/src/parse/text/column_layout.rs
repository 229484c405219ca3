//! Column layouts: a text format that consists of columns is a declaration instead of code.
//!
//! ```text
//! a line of DiskSim   5265.313 0 6357144 8 0
//! its declaration     Separator::Blanks, OpNames::FlagBit,
//!                     [Time(MILLISECONDS), Device, Offset(SECTORS), Length(SECTORS), Op]
//! ```
//!
//! A layout states the separator of fields, the meaning and unit of each field, and the names of
//! the operations. One parser (`column_parser`) reads all such formats. The keys of `--format
//! csv:…` are turned into a layout, too.

use crate::request::{Op, SECTOR_BYTES};

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
}

pub(crate) const SECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 9 };
pub(crate) const MILLISECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 6 };
pub(crate) const MICROSECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 3 };
/// 100 ns, the unit of Windows.
pub(crate) const TICKS: TimeUnit = TimeUnit::Nanoseconds { power: 2 };
pub(crate) const NANOSECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 0 };

/// A unit of addresses and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddressUnit {
    pub(crate) bytes: u64,
    pub(crate) hexadecimal: bool,
}

pub(crate) const BYTES: AddressUnit = AddressUnit { bytes: 1, hexadecimal: false };
pub(crate) const SECTORS: AddressUnit = AddressUnit { bytes: SECTOR_BYTES, hexadecimal: false };
pub(crate) const PAGES: AddressUnit = AddressUnit { bytes: 4096, hexadecimal: false };

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

/// Words for operations. Words of a single byte are found in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpWords {
    letters: Box<[Option<Op>; 256]>,
    words: Vec<(Vec<u8>, Op)>,
    /// The reason to skip requests whose word is blank; if `None`, they are errors.
    pub(crate) blank: Option<&'static str>,
}

impl OpWords {
    pub(crate) fn new<'a>(words: impl IntoIterator<Item = (&'a [u8], Op)>) -> OpWords {
        let mut all = OpWords { letters: Box::new([None; 256]), words: Vec::new(), blank: None };
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
    /// Whether more fields may follow the declared ones.
    pub(crate) open_ended: bool,
    /// Whether the next line is a heading.
    pub(crate) heading: bool,
    /// The text of headings, which may be on any line; empty if there are none.
    pub(crate) heading_text: &'static str,
    /// The number of the first column in error messages.
    pub(crate) first_column: usize,
    /// The decimal separator, point or comma; the other one separates thousands.
    pub(crate) point: u8,
    /// Whether a last line without line end is bad.
    pub(crate) needs_line_ends: bool,
    pub(crate) note: Option<String>,
    pub(crate) device_name: Vec<u8>,
}

impl ColumnLayout {
    pub(crate) fn new(separator: Separator, columns: &[Column], ops: OpNames) -> ColumnLayout {
        ColumnLayout {
            separator,
            columns: columns.to_vec(),
            ops,
            open_ended: false,
            heading: false,
            heading_text: "",
            first_column: 1,
            point: b'.',
            needs_line_ends: false,
            note: None,
            device_name: Vec::new(),
        }
    }

    /// Whether a column names the streams of writes.
    pub(crate) fn names_streams(&self) -> bool {
        self.columns.contains(&Column::Stream)
    }

    /// More fields may follow the declared ones.
    pub(crate) fn open_ended(self) -> ColumnLayout {
        ColumnLayout { open_ended: true, ..self }
    }

    /// The first line is a heading.
    pub(crate) fn with_heading(self) -> ColumnLayout {
        ColumnLayout { heading: true, ..self }
    }

    /// Lines with this text, in upper or lower case, are headings.
    pub(crate) fn with_headings_like(self, heading_text: &'static str) -> ColumnLayout {
        ColumnLayout { heading_text, ..self }
    }

    /// Error messages give the first column this number.
    pub(crate) fn numbered_from(self, first_column: usize) -> ColumnLayout {
        ColumnLayout { first_column, ..self }
    }

    /// Requests whose operation is blank are skipped for this reason.
    pub(crate) fn skipping_blank_ops(mut self, reason: &'static str) -> ColumnLayout {
        if let OpNames::Words(words) = &mut self.ops {
            words.blank = Some(reason);
        }
        self
    }

    /// Numbers are written as `1.024,5` instead of `1024.5`.
    pub(crate) fn with_decimal_comma(self) -> ColumnLayout {
        ColumnLayout { point: b',', ..self }
    }

    /// Every line has a line end; a last one without it is bad.
    pub(crate) fn with_line_ends(self) -> ColumnLayout {
        ColumnLayout { needs_line_ends: true, ..self }
    }

    /// A note that users of the trace may want to know.
    pub(crate) fn with_note(self, note: impl Into<String>) -> ColumnLayout {
        ColumnLayout { note: Some(note.into()), ..self }
    }
}
