//! Columns: what most text formats have in common, so that a format is a small declaration.
//!
//! ```text
//! 5265.313 0 6357144 8 0                                                      a line of DiskSim's
//! [Time(MILLISECONDS), Device, Offset(SECTORS), Length(SECTORS), Op] between Separator::Blanks,
//! with OpNames::FlagBit                                                           what it declares
//! ```
//!
//! A layout says what separates fields, what each one means and in which unit, and how operations
//! are named. One loop over the columns reads every such format (`fields`); what a user writes as
//! `--format csv:columns=…` becomes the same layout.

use crate::request::{Op, SECTOR_BYTES};

/// What a column of a format means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// When the request came.
    Time(TimeUnit),
    /// What it asks for, named as [`OpNames`] says.
    Op,
    /// Where it starts.
    Offset(AddressUnit),
    /// How long it is.
    Length(AddressUnit),
    /// To which device it goes; two such columns name it together.
    Device,
    /// Nothing of interest.
    Ignored,
}

/// A unit of time: ten to the `power` nanoseconds, or picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// 10^0 to 10^9 ns.
    Nanoseconds { power: u8 },
    /// Thousandths of a nanosecond; what is left over is dropped.
    Picoseconds,
}

pub(crate) const SECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 9 };
pub(crate) const MILLISECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 6 };
pub(crate) const MICROSECONDS: TimeUnit = TimeUnit::Nanoseconds { power: 3 };
/// 100 ns, as Windows counts.
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

/// What stands between fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// This byte, once; blanks around it do not matter.
    Byte(u8),
    /// Blanks and tabs, as many as there are.
    Blanks,
}

/// How operations are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpNames {
    /// By these words, whatever their case.
    Words(OpWords),
    /// 0 is a write, any other number a read.
    ZeroWrites,
    /// A hexadecimal number whose lowest bit is set for reads.
    FlagBit,
    /// As blkparse does, with all flags.
    Rwbs,
}

/// Words for operations; those of a single byte are looked up in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpWords {
    letters: Box<[Option<Op>; 256]>,
    words: Vec<(Vec<u8>, Op)>,
    /// Why requests without a word are left out; `None`: they are errors.
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

/// What a format's lines look like.
#[derive(Debug, Clone)]
pub(crate) struct ColumnLayout {
    pub(crate) separator: Separator,
    pub(crate) columns: Vec<Column>,
    pub(crate) ops: OpNames,
    /// Whether fields may follow those declared.
    pub(crate) open_ended: bool,
    /// Whether the next line is a heading.
    pub(crate) heading: bool,
    /// The text of headings, wherever they stand; empty: there are none.
    pub(crate) heading_text: &'static str,
    /// The number of the first column.
    pub(crate) first_column: usize,
    /// What a decimal fraction begins with; thousands are set off by the other one.
    pub(crate) point: u8,
    pub(crate) note: Option<&'static str>,
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
            note: None,
            device_name: Vec::new(),
        }
    }

    /// Further fields may follow.
    pub(crate) fn open_ended(self) -> ColumnLayout {
        ColumnLayout { open_ended: true, ..self }
    }

    /// The first line is a heading.
    pub(crate) fn with_heading(self) -> ColumnLayout {
        ColumnLayout { heading: true, ..self }
    }

    /// Lines of this text, whatever its case, are headings.
    pub(crate) fn with_headings_like(self, heading_text: &'static str) -> ColumnLayout {
        ColumnLayout { heading_text, ..self }
    }

    /// The first column is not the first of the line.
    pub(crate) fn numbered_from(self, first_column: usize) -> ColumnLayout {
        ColumnLayout { first_column, ..self }
    }

    /// Requests whose operation is blank are left out for this reason.
    pub(crate) fn skipping_blank_ops(mut self, reason: &'static str) -> ColumnLayout {
        if let OpNames::Words(words) = &mut self.ops {
            words.blank = Some(reason);
        }
        self
    }

    /// `1.024,5` instead of `1024.5`.
    pub(crate) fn with_decimal_comma(self) -> ColumnLayout {
        ColumnLayout { point: b',', ..self }
    }

    /// What users of the trace may want to know.
    pub(crate) fn with_note(self, note: &'static str) -> ColumnLayout {
        ColumnLayout { note: Some(note), ..self }
    }
}
