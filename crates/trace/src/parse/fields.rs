//! One loop over the columns of a line, for every format that is a declaration of columns.
//!
//! The loop is compiled once for a separating byte and once for blanks. A field in quotes is read
//! up to its closing one; a line with more than that to it, blanks or quotes within quotes, which
//! is rare, takes a slow way through the csv crate.

use super::blkparse::{op_of, rwbs};
use super::columns::{Column, Layout, Ops, Separator, TimeUnit, Unit};
use super::cursor::Cursor;
use super::devices::Devices;
use super::{Fault, Line, LineParser, Record};
use crate::request::{Flags, Op};

const TIME: Fault =
    Fault::new("the time, is not a decimal number such as 0.551706 below 584 years");
const OFFSET: Fault = Fault::new("the offset, is not a whole number such as 4096");
const LENGTH: Fault = Fault::new("the length, is not a whole number such as 4096");
const HEX_OFFSET: Fault = Fault::new("the offset, is not a hexadecimal number such as 0x1000");
const HEX_LENGTH: Fault = Fault::new("the length, is not a hexadecimal number such as 0x1000");
const OP: Fault = Fault::new("the operation, is none of the known words");
const OP_NUMBER: Fault = Fault::new("the operation, is not a number whose value tells it");
const OP_RWBS: Fault = Fault::new("the operation, is not RWBS, F?(D|W|R|N)F?A?S?M?");
const MISSING: Fault = Fault::new("and those behind it are missing");
const NOT_SEPARATED: Fault = Fault::new("does not end where the next one should begin");
const FURTHER: Fault = Fault::new("the last one of this format, is followed by more");
const QUOTES: Fault = Fault::new("the quotes on this line do not pair");
const NO_DATA: &str = "no data";
const OFFSET_BEYOND: Fault = Fault::new("the offset exceeds 64 bits in bytes");
const LENGTH_BEYOND: Fault = Fault::new("the length exceeds 64 bits in bytes");

impl LineParser for Layout {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Line, Fault> {
        if self.heading && !line.trim_ascii().is_empty() {
            self.heading = false;
            return Ok(Line::Other);
        }
        let mut fields = Fields::new();
        match self.fields(line, &mut fields) {
            Ok(true) => self.line(&fields, devices),
            Ok(false) => self.quoted_line(line, devices),
            Err(fault) => self.heading_or(fault, line),
        }
    }

    fn note(&self) -> Option<String> {
        self.note.map(str::to_owned)
    }
}

impl Layout {
    /// Reads a line by its columns; false if the quotes of a field are not simple.
    #[inline]
    fn fields<'a>(&self, line: &'a [u8], fields: &mut Fields<'a>) -> Result<bool, Fault> {
        match self.separator {
            Separator::Byte(byte) => self.fields_between(line, fields, byte),
            Separator::Blanks => self.fields_between(line, fields, Blanks),
        }
    }

    /// The same for a separator that is known when this is compiled to be of one kind.
    #[inline(always)]
    fn fields_between<'a>(
        &self,
        line: &'a [u8],
        fields: &mut Fields<'a>,
        between: impl Between,
    ) -> Result<bool, Fault> {
        let mut cursor = Cursor::new(line);
        between.trim(&mut cursor);
        for (index, &column) in self.columns.iter().enumerate() {
            if index > 0 && !self.step(&mut cursor, between, index)? {
                return Err(self.at(MISSING, index));
            }
            if between.is_quoted(&cursor) {
                match self.quoted_field(column, &mut cursor, fields, between) {
                    Some(()) => continue,
                    None => return Ok(false),
                }
            }
            let read = fields.read(column, &mut cursor, self, between);
            read.map_err(|fault| self.at(fault, index))?;
        }
        let count = self.columns.len();
        let more = self.step(&mut cursor, between, count)? && !cursor.rest().is_empty();
        if more && !self.open_ended {
            return Err(self.at(FURTHER, count - 1));
        }
        Ok(true)
    }

    /// Reads a field in quotes, the closing one included; none if it is not as simple as that.
    #[inline(never)]
    fn quoted_field<'a>(
        &self,
        column: Column,
        cursor: &mut Cursor<'a>,
        fields: &mut Fields<'a>,
        between: impl Between,
    ) -> Option<()> {
        cursor.byte(b'"')?;
        let starts_blank = cursor.rest().first().is_some_and(u8::is_ascii_whitespace);
        fields.read(column, cursor, self, Quote).ok().filter(|()| !starts_blank)?;
        cursor.byte(b'"')?;
        cursor.rest().first().is_none_or(|&byte| between.ends(byte)).then_some(())
    }

    /// Goes on to the next field; false at the end of the line.
    #[inline(always)]
    fn step(
        &self,
        cursor: &mut Cursor,
        between: impl Between,
        columns_read: usize,
    ) -> Result<bool, Fault> {
        match between.step(cursor) {
            Some(()) => Ok(true),
            None if cursor.rest().is_empty() => Ok(false),
            None => Err(self.at(NOT_SEPARATED, columns_read - 1)),
        }
    }

    /// The time on a line; for formats that take lines apart themselves.
    #[inline]
    pub(crate) fn time_ns(&self, line: &[u8]) -> Result<u64, Fault> {
        let mut fields = Fields::new();
        match self.fields(line, &mut fields)? {
            true => Ok(fields.time_ns),
            false => Err(QUOTES),
        }
    }

    /// A line that is no request may still be a heading.
    #[cold]
    fn heading_or(&self, fault: Fault, line: &[u8]) -> Result<Line, Fault> {
        let heading = self.heading_text.as_bytes();
        let alike = !heading.is_empty() && line.trim_ascii().eq_ignore_ascii_case(heading);
        if alike { Ok(Line::Other) } else { Err(fault) }
    }

    /// The fault with its column's number, the columns of the layout counted from 0.
    #[cold]
    fn at(&self, fault: Fault, index: usize) -> Fault {
        fault.in_column(self.first_column + index)
    }

    /// Reads a line with quotes by way of the csv crate.
    #[cold]
    fn quoted_line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Line, Fault> {
        let Separator::Byte(separator) = self.separator else { return Err(QUOTES) };
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).delimiter(separator).trim(csv::Trim::All).flexible(true);
        let mut record = csv::ByteRecord::new();
        let read = builder.from_reader(line).read_byte_record(&mut record);
        if !read.map_err(|_| QUOTES)? {
            return Err(QUOTES);
        }
        let mut fields = Fields::new();
        for (index, &column) in self.columns.iter().enumerate() {
            let field = record.get(index).ok_or_else(|| self.at(MISSING, index))?;
            let mut cursor = Cursor::new(field);
            match column {
                Column::Device => fields.name_device(field),
                Column::Op => {
                    fields.read_op(field, &self.ops).map_err(|fault| self.at(fault, index))?
                }
                Column::Ignored => cursor.skip(field.len()),
                _ => {
                    let read = fields.read(column, &mut cursor, self, separator);
                    read.map_err(|fault| self.at(fault, index))?;
                    cursor.end().ok_or_else(|| self.at(NOT_SEPARATED, index))?;
                }
            }
        }
        // A separator at the end means nothing, here as elsewhere.
        let mut further = record.iter().skip(self.columns.len());
        let more =
            further.next().is_some_and(|field| !field.is_empty()) || further.next().is_some();
        if more && !self.open_ended {
            return Err(self.at(FURTHER, self.columns.len() - 1));
        }
        self.line(&fields, devices)
    }

    /// What the fields of a line amount to.
    #[inline]
    fn line(&mut self, fields: &Fields, devices: &mut Devices) -> Result<Line, Fault> {
        let asked = match fields.op {
            Asked::Op(op) => Some(op),
            Asked::Letter(letter) => op_of(letter, fields.flags, fields.length),
            Asked::Nothing => return Ok(Line::Skip(fields.reason)),
        };
        let Some(op) = asked else { return Ok(Line::Skip(NO_DATA)) };
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
        let (ticks, flags) = (fields.time_ns, fields.flags);
        Ok(Line::Record(Record { ticks, offset, bytes, device, op, flags }))
    }
}

// ---- one field -------------------------------------------------------------------------------

/// What has been read of a line.
struct Fields<'a> {
    time_ns: u64,
    op: Asked,
    flags: Flags,
    /// Why nothing is asked for, if so.
    reason: &'static str,
    offset: u64,
    length: u64,
    offset_unit: u64,
    length_unit: u64,
    /// An address that is missing, which only a flush may lack.
    absent: Option<Fault>,
    device: [&'a [u8]; 2],
    device_columns: usize,
}

/// What a line asks for. Two bytes, which are copied at once: larger ones were in pieces, and a
/// processor waits when it reads across what it has just written in pieces.
#[derive(Clone, Copy)]
enum Asked {
    Op(Op),
    /// A letter of RWBS, which means different things with and without a length.
    Letter(u8),
    Nothing,
}

impl<'a> Fields<'a> {
    #[inline]
    fn new() -> Fields<'a> {
        Fields {
            time_ns: 0,
            op: Asked::Nothing,
            flags: Flags::NONE,
            reason: NO_DATA,
            offset: 0,
            length: 0,
            offset_unit: 1,
            length_unit: 1,
            absent: None,
            device: [b""; 2],
            device_columns: 0,
        }
    }

    /// Reads one field, up to where it ends by itself.
    #[inline(always)]
    fn read(
        &mut self,
        column: Column,
        cursor: &mut Cursor<'a>,
        layout: &Layout,
        between: impl Between,
    ) -> Result<(), Fault> {
        match column {
            Column::Time(unit) => self.time_ns = time(unit, cursor, layout.point).ok_or(TIME)?,
            Column::Offset(unit) => {
                self.offset_unit = unit.bytes;
                match address(unit, cursor, layout.point) {
                    Some(offset) => self.offset = offset,
                    None => {
                        self.lacks(if unit.hexadecimal { HEX_OFFSET } else { OFFSET }, cursor)?
                    }
                }
            }
            Column::Length(unit) => {
                self.length_unit = unit.bytes;
                match address(unit, cursor, layout.point) {
                    Some(length) => self.length = length,
                    None => {
                        self.lacks(if unit.hexadecimal { HEX_LENGTH } else { LENGTH }, cursor)?
                    }
                }
            }
            Column::Op => self.read_op(between.field(cursor), &layout.ops)?,
            Column::Device => self.name_device(between.field(cursor)),
            Column::Ignored => _ = between.field(cursor),
        }
        Ok(())
    }

    /// An empty field is no fault yet, as flushes have no addresses.
    #[cold]
    fn lacks(&mut self, fault: Fault, cursor: &Cursor) -> Result<(), Fault> {
        let empty = matches!(cursor.rest(), [] | [b',' | b';' | b'\t', ..]);
        self.absent.get_or_insert(fault);
        if empty { Ok(()) } else { Err(fault) }
    }

    #[inline]
    fn name_device(&mut self, name: &'a [u8]) {
        // Layouts have at most two such columns.
        self.device[self.device_columns.min(1)] = name;
        self.device_columns += 1;
    }

    #[inline(always)]
    fn read_op(&mut self, word: &[u8], ops: &Ops) -> Result<(), Fault> {
        self.op = match ops {
            Ops::Words(words) => match words.find(word) {
                Some(op) => Asked::Op(op),
                None => {
                    self.reason = words.blank.filter(|_| word.is_empty()).ok_or(OP)?;
                    Asked::Nothing
                }
            },
            // One digit, as a rule.
            Ops::ZeroWrites => match word {
                b"0" => Asked::Op(Op::Write),
                [b'1'..=b'9'] => Asked::Op(Op::Read),
                _ => match Cursor::new(word).whole(Cursor::number).ok_or(OP_NUMBER)? {
                    0 => Asked::Op(Op::Write),
                    _ => Asked::Op(Op::Read),
                },
            },
            Ops::FlagBit => {
                match Cursor::new(word).whole(Cursor::hexadecimal).ok_or(OP_NUMBER)? & 1 {
                    0 => Asked::Op(Op::Write),
                    _ => Asked::Op(Op::Read),
                }
            }
            Ops::Rwbs => {
                let (letter, flags) = rwbs(word).ok_or(OP_RWBS)?;
                self.flags = flags;
                Asked::Letter(letter)
            }
        };
        Ok(())
    }

    /// Offset and length in bytes.
    #[inline]
    fn range(&self) -> Result<(u64, u64), Fault> {
        if let Some(fault) = self.absent {
            return Err(fault);
        }
        let offset = self.offset.checked_mul(self.offset_unit).ok_or(OFFSET_BEYOND)?;
        let length = self.length.checked_mul(self.length_unit).ok_or(LENGTH_BEYOND)?;
        Ok((offset, length))
    }
}

/// A time in nanoseconds.
#[inline(always)]
fn time(unit: TimeUnit, cursor: &mut Cursor, point: u8) -> Option<u64> {
    match unit {
        TimeUnit::Nanoseconds { power } => cursor.decimal(usize::from(power), point),
        TimeUnit::Picoseconds => cursor.decimal(0, point).map(|picoseconds| picoseconds / 1000),
    }
}

/// A whole number of units.
#[inline(always)]
fn address(unit: Unit, cursor: &mut Cursor, point: u8) -> Option<u64> {
    if unit.hexadecimal {
        return cursor.hexadecimal();
    }
    match point {
        b'.' => cursor.number(),
        _ => cursor.grouped_number(b'.'),
    }
}

// ---- between fields --------------------------------------------------------------------------

/// What stands between fields, as a type, so that the loop over columns is compiled for each.
trait Between: Copy {
    /// Whether this byte ends a field.
    fn ends(self, byte: u8) -> bool;

    /// Leaves out blanks that mean nothing.
    fn trim(self, cursor: &mut Cursor);

    /// Goes on to the next field; `None` at the end of the line or where a field does not end.
    fn step(self, cursor: &mut Cursor) -> Option<()>;

    /// Whether a quoted field begins.
    fn is_quoted(self, cursor: &Cursor) -> bool;

    /// The bytes of the next field, blanks behind it left out.
    #[inline(always)]
    fn field<'a>(self, cursor: &mut Cursor<'a>) -> &'a [u8] {
        let rest = cursor.rest();
        let length = rest.iter().position(|&byte| self.ends(byte)).unwrap_or(rest.len());
        cursor.skip(length);
        let field = &rest[..length];
        if field.last() == Some(&b' ') { field.trim_ascii_end() } else { field }
    }
}

/// [`Separator::Byte`].
impl Between for u8 {
    #[inline(always)]
    fn ends(self, byte: u8) -> bool {
        byte == self
    }

    #[inline(always)]
    fn trim(self, cursor: &mut Cursor) {
        cursor.blanks_but(self == b'\t');
    }

    #[inline(always)]
    fn step(self, cursor: &mut Cursor) -> Option<()> {
        self.trim(cursor);
        cursor.byte(self)?;
        self.trim(cursor);
        Some(())
    }

    #[inline(always)]
    fn is_quoted(self, cursor: &Cursor) -> bool {
        cursor.rest().first() == Some(&b'"')
    }
}

/// The end of a field in quotes.
#[derive(Clone, Copy)]
struct Quote;

impl Between for Quote {
    #[inline(always)]
    fn ends(self, byte: u8) -> bool {
        byte == b'"'
    }

    fn trim(self, _: &mut Cursor) {}

    fn step(self, _: &mut Cursor) -> Option<()> {
        None
    }

    fn is_quoted(self, _: &Cursor) -> bool {
        false
    }
}

/// [`Separator::Blanks`].
#[derive(Clone, Copy)]
struct Blanks;

impl Between for Blanks {
    #[inline(always)]
    fn ends(self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t')
    }

    #[inline(always)]
    fn trim(self, cursor: &mut Cursor) {
        cursor.blanks();
    }

    #[inline(always)]
    fn step(self, cursor: &mut Cursor) -> Option<()> {
        let before = cursor.rest().len();
        cursor.blanks();
        let after = cursor.rest().len();
        (after < before && after > 0).then_some(())
    }

    #[inline(always)]
    fn is_quoted(self, _: &Cursor) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::columns::{SECONDS, SECTORS, Words};
    use super::*;

    fn layout() -> Layout {
        let address = [Column::Offset(SECTORS), Column::Length(SECTORS)];
        let columns = [Column::Time(SECONDS), Column::Op, Column::Device, address[0], address[1]];
        let words = Words::new([(&b"R"[..], Op::Read), (b"W", Op::Write)]);
        Layout::new(Separator::Byte(b','), &columns, Ops::Words(words))
    }

    proptest! {
        /// Blanks before a quote apart, which here mean nothing and there end its meaning.
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
