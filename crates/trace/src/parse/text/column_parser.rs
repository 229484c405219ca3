//! The parser of all formats that declare a [`ColumnLayout`]: a loop over the columns of a line.
//!
//! The loop is compiled twice, once for a separator byte and once for blanks. Quoted fields that
//! contain separators or quotes are rare; lines with such fields are parsed by the csv crate, which
//! is slower.

use crate::parse::block_layer::{op_of, rwbs};
use crate::parse::devices::Devices;
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::{LineEnds, TraceParser};
use crate::parse::text::column_layout::{
    AddressUnit, Column, ColumnLayout, OpNames, Separator, TimeUnit,
};
use crate::parse::text::date::date_ns;
use crate::parse::text::field::Field;
use crate::parse::text::split::{Blanks, Delimiter, Split};
use crate::parse::text::swar;
use crate::parse::text::trace_head::{is_heading, unquoted};
use crate::request::{Flags, Op};

const TIME: ParseError =
    ParseError::new("the time, is not a decimal number such as 0.551706, or exceeds 584 years");
/// The errors of decimal and of hexadecimal offsets.
static OFFSETS: [ParseError; 2] = [
    ParseError::new("the offset, is not a whole number such as 4096"),
    ParseError::new("the offset, is not a hexadecimal number such as 0x1000"),
];
static LENGTHS: [ParseError; 2] = [
    ParseError::new("the length, is not a whole number such as 4096"),
    ParseError::new("the length, is not a hexadecimal number such as 0x1000"),
];
const OP: ParseError = ParseError::new("the operation, is not a known word");
const OP_NUMBER: ParseError = ParseError::new("the operation, is not a number");
const OP_RWBS: ParseError = ParseError::new("the operation, is not RWBS, F?(D|W|R|N)F?A?S?M?");
const MISSING: ParseError = ParseError::new("which this format requires, is missing");
const FURTHER: ParseError =
    ParseError::new("the last one of this format, is followed by more fields");
const QUOTES: ParseError = ParseError::new("the quotes on this line are not balanced");
const UNTIMED: &str = "The columns have no times: the requests are in the order of their lines, \
                       without a rate, and `--replay open` issues all at once.";
const NO_DATA: &str = "no data";
const OFFSET_BEYOND: ParseError = ParseError::new("the offset exceeds 64 bits in bytes");
const LENGTH_BEYOND: ParseError = ParseError::new("the length exceeds 64 bits in bytes");

impl TraceParser for ColumnLayout {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        if self.at_start && self.starts_with_heading(line) {
            return Ok(Parsed::Other);
        }
        let mut fields = ParsedFields::new();
        match self.fields(line, &mut fields) {
            Ok(true) => self.line(&fields, devices),
            Ok(false) => self.quoted_line(line, devices),
            Err(error) => self.heading_or(error, line),
        }
    }

    fn line_ends(&self) -> LineEnds {
        self.line_ends
    }

    fn notes(&self) -> Vec<String> {
        let has_times = self.columns.iter().any(|column| matches!(column, Column::Time(_)));
        let untimed = (!has_times).then(|| String::from(UNTIMED));
        self.note.iter().cloned().chain(untimed).collect()
    }

    fn csv_spec(&self) -> Option<String> {
        self.as_csv()
    }

    fn has_unix_times(&self) -> bool {
        self.unix_times
    }

    fn has_streams(&self) -> bool {
        self.columns.contains(&Column::Stream)
    }
}

impl ColumnLayout {
    /// Reads the fields of a line. False if a quoted field needs the csv crate.
    #[inline]
    fn fields<'a>(&self, line: &'a [u8], fields: &mut ParsedFields<'a>) -> ParseResult<bool> {
        match self.separator {
            Separator::Byte(byte) => self.fields_separated_by(line, fields, byte),
            Separator::Blanks => self.fields_separated_by(line, fields, Blanks),
        }
    }

    /// The same, compiled for one kind of separator.
    #[inline(always)]
    fn fields_separated_by<'a, B: Delimiter>(
        &self,
        line: &'a [u8],
        fields: &mut ParsedFields<'a>,
        separator: B,
    ) -> ParseResult<bool> {
        let mut split = Split::new(line, separator);
        let mut quotes = 0;
        for (index, column) in self.columns.iter().enumerate() {
            let Some(mut field) = split.next() else { return Err(self.at(&MISSING, index)) };
            if !B::BLANKS {
                match plain(field, &mut quotes) {
                    Some(inner) => field = inner,
                    None => return Ok(false),
                }
            }
            match fields.read(column, field, self) {
                Ok(()) => {}
                Err(_) if quotes > 0 => return Ok(false),
                Err(error) => return Err(self.at(error, index)),
            }
        }
        // With other quotes, inside or after fields, the fields may end elsewhere.
        if quotes > 0 && quotes != swar::count(line, b'"') {
            return Ok(false);
        }
        if !self.open_ended && !split.rest().trim_ascii().is_empty() {
            return Err(self.at(&FURTHER, self.columns.len() - 1));
        }
        Ok(true)
    }

    /// The time on a line; for formats that split lines themselves.
    #[inline]
    pub(crate) fn time_ns(&self, line: &[u8]) -> ParseResult<u64> {
        let mut fields = ParsedFields::new();
        match self.fields(line, &mut fields)? {
            true => Ok(fields.time_ns),
            false => Err(QUOTES),
        }
    }

    /// Whether the first line is a heading: it is declared to be one, or has names in place of all
    /// columns.
    #[cold]
    fn starts_with_heading(&mut self, line: &[u8]) -> bool {
        self.at_start = line.trim_ascii().is_empty();
        let is_separator = |byte: &u8| match self.separator {
            Separator::Byte(separator) => *byte == separator,
            Separator::Blanks => matches!(byte, b' ' | b'\t'),
        };
        let fields = || line.split(is_separator).map(unquoted).filter(|field| !field.is_empty());
        let is_name = |field: &[u8]| field[0].is_ascii_alphabetic() && field.len() > 1;
        let has_names = fields().count() >= self.columns.len() && fields().all(is_name);
        !self.at_start && (self.heading || has_names)
    }

    /// Returns the error of a line, unless the line is a heading.
    #[cold]
    fn heading_or(&self, error: ParseError, line: &[u8]) -> ParseResult {
        let alike = !self.heading_text.is_empty() && is_heading(line, self.heading_text);
        if alike { Ok(Parsed::Other) } else { Err(error) }
    }

    /// The error with the number of its column; `index` counts the columns of the layout from 0.
    #[cold]
    fn at(&self, error: &ParseError, index: usize) -> ParseError {
        error.in_column(self.first_column + index)
    }

    /// Parses a line with quotes, which may be a heading.
    #[cold]
    fn quoted_line(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let parsed = self.quoted_request(line, devices);
        parsed.or_else(|error| self.heading_or(error, line))
    }

    /// Parses a line with the csv crate.
    fn quoted_request(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let Separator::Byte(separator) = self.separator else { return Err(QUOTES) };
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).delimiter(separator).trim(csv::Trim::All).flexible(true);
        let mut record = csv::ByteRecord::new();
        let read = builder.from_reader(line).read_byte_record(&mut record);
        if !read.map_err(|_| QUOTES)? {
            return Err(QUOTES);
        }
        let mut fields = ParsedFields::new();
        for (index, column) in self.columns.iter().enumerate() {
            let field = record.get(index).ok_or_else(|| self.at(&MISSING, index))?;
            let read = fields.read(column, Field::new(field), self);
            read.map_err(|error| self.at(error, index))?;
        }
        // A single separator at the end of the line is ignored, as in lines without quotes.
        let mut further = record.iter().skip(self.columns.len());
        let more =
            further.next().is_some_and(|field| !field.is_empty()) || further.next().is_some();
        if more && !self.open_ended {
            return Err(self.at(&FURTHER, self.columns.len() - 1));
        }
        self.line(&fields, devices)
    }

    /// The request that the fields of a line describe.
    #[inline(always)]
    fn line(&mut self, fields: &ParsedFields, devices: &mut Devices) -> ParseResult {
        let requested = match fields.op {
            RequestedOp::Op(op) => Some(op),
            RequestedOp::Letter(letter) => op_of(letter, fields.flags, fields.length),
            RequestedOp::Nothing if self.only_op.is_some() => self.only_op,
            RequestedOp::Nothing => return Ok(Parsed::Skip(fields.reason)),
        };
        let Some(op) = requested else { return Ok(Parsed::Skip(NO_DATA)) };
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { fields.range()? };
        let device = match fields.device_columns {
            0 => devices.index(b"0")?,
            1 => devices.index(fields.device[0])?,
            _ => {
                self.device_name.clear();
                self.device_name.extend_from_slice(fields.device[0]);
                self.device_name.push(b',');
                self.device_name.extend_from_slice(fields.device[1]);
                devices.index(&self.device_name)?
            }
        };
        let stream = match op {
            Op::Write if !fields.stream.is_empty() => devices.streams.number(fields.stream)?,
            _ => 0,
        };
        let (ticks, flags) = (fields.time_ns, fields.flags);
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream }))
    }
}

// ---- one field -------------------------------------------------------------------------------

/// The fields read so far from a line.
struct ParsedFields<'a> {
    time_ns: u64,
    op: RequestedOp,
    flags: Flags,
    /// The reason to skip the request, if `op` is [`RequestedOp::Nothing`].
    reason: &'static str,
    offset: u64,
    length: u64,
    offset_unit: u64,
    length_unit: u64,
    /// The error for a missing offset or length, which only a flush may lack.
    absent: Option<&'static ParseError>,
    device: [&'a [u8]; 2],
    device_columns: usize,
    /// The name of the stream; empty if there is none.
    stream: &'a [u8],
}

/// The operation that a line requests. Two bytes, which are copied at once: a larger value is
/// written in pieces, and reading it as a whole right after that stalls the processor.
#[derive(Clone, Copy)]
enum RequestedOp {
    Op(Op),
    /// The letter of an RWBS word, whose meaning depends on flags and length.
    Letter(u8),
    Nothing,
}

impl<'a> ParsedFields<'a> {
    #[inline]
    fn new() -> ParsedFields<'a> {
        ParsedFields {
            time_ns: 0,
            op: RequestedOp::Nothing,
            flags: Flags::empty(),
            reason: NO_DATA,
            offset: 0,
            length: 0,
            offset_unit: 1,
            length_unit: 1,
            absent: None,
            device: [b""; 2],
            device_columns: 0,
            stream: b"",
        }
    }

    /// Reads one field. The error is returned by reference, because one by value would occupy the
    /// registers that the loop needs.
    #[inline(always)]
    fn read(
        &mut self,
        column: &Column,
        field: Field<'a>,
        layout: &ColumnLayout,
    ) -> Result<(), &'static ParseError> {
        match *column {
            Column::Time(unit) => {
                self.time_ns = match time(unit, field, layout.point) {
                    Some(time_ns) => time_ns,
                    None => other_time(unit, field, layout.point).ok_or(&TIME)?,
                };
            }
            Column::Offset(unit) => {
                self.offset_unit = unit.bytes;
                match address(unit, field, layout.point) {
                    Some(offset) => self.offset = offset,
                    None => self.offset = self.other_address(field, unit, layout, &OFFSETS)?,
                }
            }
            Column::Length(unit) => {
                self.length_unit = unit.bytes;
                match address(unit, field, layout.point) {
                    Some(length) => self.length = length,
                    None => self.length = self.other_address(field, unit, layout, &LENGTHS)?,
                }
            }
            Column::Op => self.read_op(field, layout)?,
            Column::Device => self.name_device(field.bytes()),
            Column::Stream => self.stream = field.bytes(),
            Column::Ignored => {}
        }
        Ok(())
    }

    /// An address in another notation. An empty field is not an error yet, since a flush needs no
    /// address.
    #[cold]
    fn other_address(
        &mut self,
        field: Field,
        unit: AddressUnit,
        layout: &ColumnLayout,
        errors: &'static [ParseError; 2],
    ) -> Result<u64, &'static ParseError> {
        if !unit.hexadecimal
            && let Some(number) = field.whole_number(layout.point)
        {
            return Ok(number);
        }
        let error = &errors[usize::from(unit.hexadecimal)];
        self.absent.get_or_insert(error);
        if field.is_empty() { Ok(0) } else { Err(error) }
    }

    #[inline]
    fn name_device(&mut self, name: &'a [u8]) {
        // A layout has at most two such columns.
        self.device[self.device_columns.min(1)] = name;
        self.device_columns += 1;
    }

    #[inline(always)]
    fn read_op(&mut self, field: Field, layout: &ColumnLayout) -> Result<(), &'static ParseError> {
        self.op = match &layout.ops {
            OpNames::Words(words) => match words.find(field.bytes()) {
                Some(op) => RequestedOp::Op(op),
                None => {
                    self.reason = layout.blank_op.filter(|_| field.is_empty()).ok_or(&OP)?;
                    RequestedOp::Nothing
                }
            },
            OpNames::ZeroWrites => match field.number().ok_or(&OP_NUMBER)? {
                0 => RequestedOp::Op(Op::Write),
                _ => RequestedOp::Op(Op::Read),
            },
            OpNames::FlagBit => match field.hexadecimal().ok_or(&OP_NUMBER)? & 1 {
                0 => RequestedOp::Op(Op::Write),
                _ => RequestedOp::Op(Op::Read),
            },
            OpNames::Rwbs => {
                let (letter, flags) = rwbs(field.bytes()).ok_or(&OP_RWBS)?;
                self.flags = flags;
                RequestedOp::Letter(letter)
            }
        };
        Ok(())
    }

    /// Offset and length in bytes.
    #[inline]
    fn range(&self) -> ParseResult<(u64, u64)> {
        if let Some(error) = self.absent {
            return Err(*error);
        }
        let offset = self.offset.checked_mul(self.offset_unit).ok_or(OFFSET_BEYOND)?;
        let length = self.length.checked_mul(self.length_unit).ok_or(LENGTH_BEYOND)?;
        Ok((offset, length))
    }
}

/// A time in nanoseconds.
#[inline(always)]
fn time(unit: TimeUnit, field: Field, point: u8) -> Option<u64> {
    match unit {
        TimeUnit::Nanoseconds { power } => field.decimal(usize::from(power), point),
        TimeUnit::Picoseconds => field.decimal(0, point).map(|picoseconds| picoseconds / 1000),
        TimeUnit::Date => date_ns(field.bytes()),
    }
}

/// A time in another notation, such as `1.5e-05`.
#[cold]
fn other_time(unit: TimeUnit, field: Field, point: u8) -> Option<u64> {
    match unit {
        TimeUnit::Nanoseconds { power } => field.scientific(power.into(), point),
        TimeUnit::Picoseconds => field.scientific(-3, point),
        TimeUnit::Date => None,
    }
}

/// A whole number of units.
#[inline(always)]
fn address(unit: AddressUnit, field: Field, point: u8) -> Option<u64> {
    if unit.hexadecimal {
        return field.hexadecimal();
    }
    match point {
        b'.' => field.number(),
        _ => field.grouped_number(b'.'),
    }
}

/// A field without surrounding blanks and quotes; the quotes are counted. `None` if it has a quote
/// at one end only.
#[inline(always)]
fn plain<'a>(field: Field<'a>, quotes: &mut usize) -> Option<Field<'a>> {
    match field.bytes() {
        [b'"', .., b'"'] => {
            *quotes += 2;
            Some(field.unquoted())
        }
        bytes @ ([0..=b'"', ..] | [.., 0..=b' ']) => {
            let (inner, quoted) = trimmed(bytes)?;
            *quotes += 2 * usize::from(quoted);
            Some(Field::new(inner))
        }
        _ => Some(field),
    }
}

/// A field without surrounding blanks and quotes, and whether it has quotes.
#[cold]
fn trimmed(field: &[u8]) -> Option<(&[u8], bool)> {
    match field.trim_ascii() {
        [b'"', inner @ .., b'"'] => Some((inner.trim_ascii(), true)),
        [b'"', ..] => None,
        field => Some((field, false)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layout() -> ColumnLayout {
        let list = "time.s+op+dev+off.sectors+len.sectors";
        ColumnLayout::listed(Separator::Byte(b','), list, OpNames::of("R", "W")).unwrap()
    }

    proptest! {
        /// Lines with blanks before a quote are left out: this parser ignores such blanks, while
        /// the csv crate then takes the quote literally.
        #[test]
        fn quotes_are_read_as_the_csv_crate_reads_them(
            line in "\"[0-9]{1,2}\",\"?[RW]\"?( ?,([0-9a]{0,3}|\"([0-9a ,]|\"\"){0,3}\")){3} ?,?",
        ) {
            let read = layout().parse(line.as_bytes(), &mut Devices::default());
            let by_csv = layout().quoted_line(line.as_bytes(), &mut Devices::default());
            prop_assert_eq!(read.ok(), by_csv.ok(), "{}", line);
        }
    }
}
