//! Columns listed by words, in the order of a line and joined by `+`:
//!
//! ```text
//! a line of SPC      0,20941264,8192,W,0.551706
//! its columns        dev+off.sectors+len.bytes+op+time.s+_...
//! ```
//!
//! The formats with fixed columns are declared by such lists, and `--format csv:columns=` takes
//! one; the format `csv` explains the words.

use spec::Error;

use crate::parse::text::column_layout::{
    AddressUnit, Column, ColumnLayout, OpNames, Separator, TimeUnit,
};
use crate::request::{Op, SECTOR_BYTES};

/// The columns of a list.
pub(crate) struct ColumnList {
    pub(crate) columns: Vec<Column>,
    /// Whether more fields may follow.
    pub(crate) open_ended: bool,
}

impl ColumnList {
    /// Parses a list; `hex` names the columns whose numbers are hexadecimal.
    pub(crate) fn parse(text: &str, hex: &str) -> spec::Result<ColumnList> {
        let mut words: Vec<&str> = text.split('+').collect();
        let open_ended = matches!(words.last(), Some(&("_..." | "_…")));
        if open_ended {
            words.pop();
        }
        let columns = words.into_iter().map(|word| column(word, hex)).collect::<spec::Result<_>>();
        Ok(ColumnList { columns: columns?, open_ended })
    }
}

impl ColumnLayout {
    /// The layout of lines with the columns of a list.
    pub(crate) fn listed(
        separator: Separator,
        list: &str,
        ops: OpNames,
    ) -> spec::Result<ColumnLayout> {
        let ColumnList { columns, open_ended } = ColumnList::parse(list, "")?;
        Ok(ColumnLayout { open_ended, ..ColumnLayout::new(separator, columns, ops) })
    }

    /// What to give as `--format` to read lines of this layout as csv; `None` if csv cannot.
    pub(crate) fn as_csv(&self) -> Option<String> {
        let has_rwbs = self.ops == OpNames::Rwbs;
        let mut words = Vec::new();
        for column in &self.columns {
            words.push(word(column, has_rwbs)?);
        }
        words.extend(self.open_ended.then(|| String::from("_...")));
        let separator = match self.separator {
            Separator::Byte(b',') => "",
            Separator::Byte(b';') => "sep=semicolon,",
            Separator::Byte(b'\t') => "sep=tab,",
            Separator::Byte(_) => return None,
            Separator::Blanks => "sep=blank,",
        };
        let mut spec = format!("csv:{separator}columns={}", words.join("+"));
        spec += &self.op_keys();
        let hex: Vec<&str> = self.columns.iter().filter_map(hexadecimal).collect();
        spec += &if hex.is_empty() { String::new() } else { format!(",hex={}", hex.join("+")) };
        spec += if self.point == b',' { ",decimal=comma" } else { "" };
        spec += if self.heading { ",header=true" } else { "" };
        spec += match self.only_op {
            Some(Op::Read) => ",as=read",
            Some(_) => ",as=write",
            None => "",
        };
        Some(spec)
    }

    /// The keys of csv for the names of operations, unless csv knows the names.
    fn op_keys(&self) -> String {
        let words = match &self.ops {
            _ if self.only_op.is_some() => return String::new(),
            OpNames::Words(words) => words,
            OpNames::ZeroWrites | OpNames::FlagBit => return String::from(",reads=1,writes=0"),
            OpNames::Rwbs => return String::new(),
        };
        let keys = ["reads", "writes", "trims", "flushes"].into_iter().zip(Op::ALL);
        let is_usual = |word: &str, op| match word.to_ascii_lowercase().as_str() {
            "d" | "discard" => op == Op::Trim,
            word => Op::of_name(word.as_bytes()) == Some(op),
        };
        let key = |(key, op): (&str, Op)| {
            let listed = words.listed(op);
            let usual = listed.split('+').all(|word| word.is_empty() || is_usual(word, op));
            if usual { String::new() } else { format!(",{key}={listed}") }
        };
        keys.map(key).collect()
    }
}

/// The word for a column; `None` if there is none.
fn word(column: &Column, has_rwbs: bool) -> Option<String> {
    Some(match column {
        Column::Time(unit) => format!("time.{}", time_word(*unit)?),
        Column::Op => String::from(if has_rwbs { "rwbs" } else { "op" }),
        Column::Offset(unit) => format!("off.{}", address_word(unit.bytes)),
        Column::Length(unit) => format!("len.{}", address_word(unit.bytes)),
        Column::Device => String::from("dev"),
        Column::Stream => String::from("stream"),
        Column::Ignored => String::from("_"),
    })
}

fn time_word(unit: TimeUnit) -> Option<&'static str> {
    match unit {
        TimeUnit::Nanoseconds { power } => {
            TIME_UNITS.iter().find(|(_, known)| *known == power).map(|(word, _)| *word)
        }
        TimeUnit::Picoseconds => None,
        TimeUnit::Date => Some("date"),
    }
}

fn address_word(bytes: u64) -> String {
    match bytes {
        1 => String::from("bytes"),
        SECTOR_BYTES => String::from("sectors"),
        4096 => String::from("pages"),
        bytes => format!("blocks:{bytes}"),
    }
}

fn hexadecimal(column: &Column) -> Option<&'static str> {
    match column {
        Column::Offset(AddressUnit { hexadecimal: true, .. }) => Some("off"),
        Column::Length(AddressUnit { hexadecimal: true, .. }) => Some("len"),
        _ => None,
    }
}

fn column(word: &str, hex: &str) -> spec::Result<Column> {
    let (name, unit) = word.split_once('.').unwrap_or((word, ""));
    let hexadecimal = hex.split('+').any(|column| column == name);
    let address = || Ok(AddressUnit { bytes: unit_bytes(word, unit)?, hexadecimal });
    match (name, unit) {
        ("time", _) => Ok(Column::Time(time_unit(word, unit)?)),
        ("off", _) => Ok(Column::Offset(address()?)),
        ("len", _) => Ok(Column::Length(address()?)),
        ("op" | "rwbs", "") => Ok(Column::Op),
        ("dev", "") => Ok(Column::Device),
        ("stream", "") => Ok(Column::Stream),
        ("_", "") => Ok(Column::Ignored),
        _ => Err(malformed(
            word,
            "a column: time.UNIT, op, rwbs, off.UNIT, len.UNIT, dev, stream, _, or at the end _...",
        )),
    }
}

/// Units of time and their powers of ten in nanoseconds; a tick is the 100 ns of Windows.
const TIME_UNITS: [(&str, u8); 5] = [("s", 9), ("ms", 6), ("us", 3), ("ticks", 2), ("ns", 0)];

fn time_unit(word: &str, unit: &str) -> spec::Result<TimeUnit> {
    match TIME_UNITS.iter().find(|(name, _)| *name == unit) {
        Some(&(_, power)) => Ok(TimeUnit::Nanoseconds { power }),
        // Only MQSim has it.
        None if unit == "ps" => Ok(TimeUnit::Picoseconds),
        None if unit == "date" => Ok(TimeUnit::Date),
        None => Err(malformed(word, "`time.` with s, ms, us, ns, ticks (of 100 ns) or date")),
    }
}

fn unit_bytes(word: &str, unit: &str) -> spec::Result<u64> {
    let refused = || malformed(word, "followed by .bytes, .sectors, .pages or .blocks:SIZE");
    match unit {
        "bytes" => Ok(1),
        "sectors" => Ok(SECTOR_BYTES),
        "pages" => Ok(4096),
        _ => {
            let size = unit.strip_prefix("blocks:").ok_or_else(refused)?;
            Some(spec::parse_size(size)?).filter(|&bytes| bytes > 0).ok_or_else(refused)
        }
    }
}

fn malformed(word: &str, form: &str) -> Error {
    Error::Malformed { text: word.to_owned(), form: form.to_owned() }
}
