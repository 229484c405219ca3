//! Columns by their heading: the settings of csv that a heading with usual names suggests.
//!
//! ```text
//! timestamp,rw_flag,sector,size
//! 159273.751646,R,29880920,16      csv:columns=time.s+op+off.sectors+len.sectors,header=true
//! ```
//!
//! Names say what a column means, and often its unit. Where they do not, the first values decide:
//! bytes are multiples of 512, and Unix times have a known number of digits. Other times may be in
//! any unit that makes a usual number of requests a second, so each of those is offered. This is a
//! guess, so it is shown to the user and never used without asking.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::parse::block_layer::rwbs;
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::{TraceHead, is_digits, unquoted};

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Time,
    Op,
    Offset,
    Length,
    Device,
    Stream,
}

impl Meaning {
    /// The word in `columns=`.
    fn word(self) -> &'static str {
        match self {
            Meaning::Time => "time",
            Meaning::Op => "op",
            Meaning::Offset => "off",
            Meaning::Length => "len",
            Meaning::Device => "dev",
            Meaning::Stream => "stream",
        }
    }
}

/// Usual names without units, in lower case; words are joined by `_`.
static NAMES: &[(Meaning, &str)] = &[
    (
        Meaning::Time,
        "time timestamp ts arrival arrival_time issue_time request_time init_time start \
         start_time datetime",
    ),
    (
        Meaning::Op,
        "op rw rw_flag rwflag rwbs iotype io_type type opcode operation opname command cmd \
         request_type direction is_read is_write",
    ),
    (
        Meaning::Offset,
        "offset off byte_offset min_offset start_offset address addr pos position lba lbn lsn \
         start_lba sector start_sector sector_number block blkno block_number",
    ),
    (
        Meaning::Length,
        "size len length bytes count io_size request_size nbytes sectors nr_sectors nsectors \
         num_sectors sector_count blocks nblocks bcount",
    ),
    (
        Meaning::Device,
        "device dev devno device_id disk disknumber disk_number volume volume_id volumeid \
         storagevolumeid lun asu",
    ),
    (Meaning::Stream, "stream stream_id streamid placement placement_id write_hint"),
];

/// Words for units at the end of names, and the units as `columns=` writes them.
static UNITS: &[(&str, &str)] = &[
    ("s sec secs seconds", "s"),
    ("ms msec msecs", "ms"),
    ("us µs usec usecs", "us"),
    ("ns nsec nsecs", "ns"),
    ("b byte bytes", "bytes"),
    ("sectors", "sectors"),
];

/// Parts of names of columns that count sectors.
const SECTOR_NAMES: [&str; 6] = ["sector", "block", "blkno", "lba", "lbn", "lsn"];

/// Separators and their names in `sep=`. Of those that separate equally many names, the last wins.
static SEPARATORS: [(u8, &str); 4] =
    [(b' ', "blank"), (b'\t', "tab"), (b';', "semicolon"), (b',', "comma")];

/// The settings of csv that fit the heading of a trace, if it has one with usual names: one for
/// each unit that times may have. Without a column of operations there are two of each, as only the
/// user knows what the requests are.
pub(crate) fn recipes(head: &TraceHead) -> Vec<String> {
    suggested(head).unwrap_or_default()
}

/// What a heading with usual names says of each column, as in `columns=`: with a unit if the name
/// states it, and `_` if the name is not known. Empty if there is no such heading.
pub(crate) fn stated(head: &TraceHead) -> Vec<String> {
    let Some(sheet) = Sheet::of(head).filter(|_| suggested(head).is_some()) else {
        return Vec::new();
    };
    let column = |name: &String| match known(name) {
        None => String::from("_"),
        Some((meaning, None)) => String::from(meaning.word()),
        Some((meaning, Some(unit))) => format!("{}.{unit}", meaning.word()),
    };
    sheet.names.iter().map(column).collect()
}

fn suggested(head: &TraceHead) -> Option<Vec<String>> {
    let sheet = Sheet::of(head)?;
    let (mut columns, mut options, mut hexadecimal) = (Vec::new(), Vec::new(), Vec::new());
    let (mut taken, mut times) = (Vec::new(), None);
    for (index, name) in sheet.names.iter().enumerate() {
        let known = known(name).filter(|(meaning, _)| !taken.contains(meaning));
        let Some((meaning, unit)) = known else {
            columns.push(String::from("_"));
            continue;
        };
        taken.push(meaning);
        let values = sheet.values(index);
        columns.push(match meaning {
            Meaning::Time => {
                times = Some((index, TimeUnits::of(unit, &values, sheet.rows.len())));
                String::new()
            }
            Meaning::Op => operations(name, &values, &mut options)?.to_owned(),
            Meaning::Offset | Meaning::Length => {
                address(meaning.word(), name, unit, &values, &mut hexadecimal)
            }
            Meaning::Device | Meaning::Stream => String::from(meaning.word()),
        });
    }
    if !taken.contains(&Meaning::Op)
        && let Some(index) = (0..columns.len()).find(|&at| columns[at] == "_" && sheet.is_op(at))
    {
        taken.push(Meaning::Op);
        columns[index] = operations("", &sheet.values(index), &mut options)?.into();
    }
    let needed = [Meaning::Offset, Meaning::Length];
    if !needed.iter().all(|meaning| taken.contains(meaning)) {
        return None;
    }
    if !hexadecimal.is_empty() {
        options.push(format!("hex={}", hexadecimal.join("+")));
    }
    if sheet.has_decimal_comma() {
        options.push(String::from("decimal=comma"));
    }
    options.push(String::from("header=true"));
    let ops = if taken.contains(&Meaning::Op) { &[""][..] } else { &[",as=write", ",as=read"] };
    let recipes = |op: &'static &str| {
        let recipes = sheet.recipes(&columns, times.as_ref(), &options).into_iter();
        recipes.map(move |recipe| recipe + op)
    };
    Some(ops.iter().flat_map(recipes).collect())
}

// ---- the sheet -------------------------------------------------------------------------------

/// Lines that are examined if the values show what the columns mean.
const VALUE_LINES: usize = 256;

/// The heading and the lines below it.
pub(super) struct Sheet<'a> {
    separator: (u8, &'static str),
    /// The fields of the heading, and the names that they stand for.
    pub(super) first: Vec<&'a [u8]>,
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<&'a [u8]>>,
}

impl<'a> Sheet<'a> {
    fn of(head: &TraceHead<'a>) -> Option<Sheet<'a>> {
        let lines = head.whole_lines().collect();
        Sheet::separated_as(0, lines)
    }

    /// The same if the first line need not be a heading: the second one has the separators.
    pub(super) fn of_values(head: &TraceHead<'a>) -> Option<Sheet<'a>> {
        Sheet::separated_as(1, head.whole_lines().take(VALUE_LINES).collect())
    }

    fn separated_as(example: usize, lines: Vec<&'a [u8]>) -> Option<Sheet<'a>> {
        let example = lines.get(example)?;
        // Between quoted names there may be blanks as well.
        let is_named = |field: &&&[u8]| field.iter().any(u8::is_ascii_alphanumeric);
        let count = |&(separator, _): &(u8, &str)| {
            fields(example, separator).iter().filter(is_named).count()
        };
        let separator = SEPARATORS.into_iter().max_by_key(count)?;
        let first = fields(lines[0], separator.0);
        let name = |field: &[u8]| {
            let name = String::from_utf8_lossy(field).to_lowercase();
            let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join("_")
        };
        let names = first.iter().copied().map(name).collect();
        let rows = lines[1..].iter().map(|line| fields(line, separator.0)).collect();
        Some(Sheet { separator, first, names, rows })
    }

    /// The different values of a column.
    fn values(&self, index: usize) -> BTreeSet<&'a [u8]> {
        let values = self.rows.iter().filter_map(|row| row.get(index).copied());
        values.filter(|value| !value.is_empty()).collect()
    }

    /// Whether a column consists of words for operations, reads or writes among them.
    fn is_op(&self, index: usize) -> bool {
        let values = self.values(index);
        let is_word = |value: &&[u8]| Field::new(value).number().is_none();
        let moves_data = |value: &&[u8]| matches!(value, [b'R' | b'r' | b'W' | b'w', ..]);
        values.iter().all(is_word)
            && values.iter().any(moves_data)
            && operations("", &values, &mut Vec::new()).is_some()
    }

    /// Whether numbers are written as `1,5`, which is possible if commas do not separate fields.
    fn has_decimal_comma(&self) -> bool {
        let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
        let decimal = |field: &&[u8]| field.contains(&b',') && field.iter().all(digit);
        self.rows.iter().flatten().any(decimal)
    }

    /// The whole texts for `--format`, one for each unit that the column of times may have.
    pub(super) fn recipes(
        &self,
        columns: &[String],
        times: Option<&(usize, TimeUnits)>,
        options: &[String],
    ) -> Vec<String> {
        let Some((index, TimeUnits(units))) = times else {
            return vec![self.recipe(columns, options)];
        };
        let mut columns = columns.to_vec();
        let mut recipe = |unit: &&str| {
            columns[*index] = format!("time.{unit}");
            self.recipe(&columns, options)
        };
        units.iter().map(&mut recipe).collect()
    }

    /// A text for `--format`. Columns without a meaning at the end need not be listed.
    fn recipe(&self, columns: &[String], options: &[String]) -> String {
        let used = columns.iter().rposition(|column| column != "_").map_or(0, |last| last + 1);
        let mut listed = columns[..used].join("+");
        if used < columns.len() {
            listed += "+_...";
        }
        let separator = match self.separator.1 {
            "comma" => String::new(),
            name => format!("sep={name},"),
        };
        let options: String = options.iter().map(|option| format!(",{option}")).collect();
        format!("csv:{separator}columns={listed}{options}")
    }
}

/// The fields of a line without blanks and quotes around them.
fn fields(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let all = line.split(|&byte| byte == separator).map(unquoted);
    match separator {
        b' ' => all.filter(|field| !field.is_empty()).collect(),
        _ => all.collect(),
    }
}

// ---- one column ------------------------------------------------------------------------------

/// The meaning of a column of this name, and the unit that the name ends with.
fn known(name: &str) -> Option<(Meaning, Option<&'static str>)> {
    let lists = |names: &str, name: &str| names.split(' ').any(|known| known == name);
    let meaning = |name: &str| {
        NAMES.iter().find(|(_, names)| lists(names, name)).map(|(meaning, _)| *meaning)
    };
    if let Some(meaning) = meaning(name) {
        return Some((meaning, None));
    }
    let (bare, word) = name.rsplit_once('_')?;
    let (_, unit) = UNITS.iter().find(|(words, _)| lists(words, word))?;
    let is_time = is_time_unit(unit);
    let fits = |meaning: &Meaning| match meaning {
        Meaning::Time => is_time,
        Meaning::Offset | Meaning::Length => !is_time,
        Meaning::Op | Meaning::Device | Meaning::Stream => false,
    };
    Some((meaning(bare).filter(fits)?, Some(unit)))
}

/// The unit of time that is a word of a name, such as `elapsed_usecs_d`.
pub(super) fn named_time_unit(name: &str) -> Option<&'static str> {
    let unit = |word| UNITS.iter().find(|(words, _)| words.split(' ').any(|known| known == word));
    let mut units = name.split('_').filter_map(unit).map(|(_, unit)| *unit);
    units.find(|unit| is_time_unit(unit))
}

fn is_time_unit(unit: &str) -> bool {
    matches!(unit, "s" | "ms" | "us" | "ns")
}

/// The units that the times of a column may have, the most likely first.
pub(super) struct TimeUnits(Vec<&'static str>);

/// Rates in requests per second that are usual.
static USUAL_RATES: RangeInclusive<f64> = 0.1..=1e5;

impl TimeUnits {
    /// `named` is the unit that the column's name states; `rows` is the number of requests.
    pub(super) fn of(
        named: Option<&'static str>,
        values: &BTreeSet<&[u8]>,
        rows: usize,
    ) -> TimeUnits {
        if let Some(unit) = named.or_else(|| evident_time_unit(values)) {
            return TimeUnits(vec![unit]);
        }
        let is_decimal = values.iter().any(|value| has_decimals(value));
        let units = match is_decimal {
            true => &[("s", 1.0), ("ms", 1e3)][..],
            false => &[("us", 1e6), ("s", 1.0), ("ms", 1e3), ("ns", 1e9)],
        };
        let numbers = || values.iter().filter_map(|value| decimal(value));
        let span = numbers().fold(0.0, f64::max) - numbers().fold(f64::INFINITY, f64::min);
        let is_usual = |per_second: f64| {
            let rate = (rows as f64 - 1.0) / span * per_second;
            USUAL_RATES.contains(&rate)
        };
        let rivals = units[1..].iter().filter(|(_, per_second)| is_usual(*per_second));
        TimeUnits(units[..1].iter().chain(rivals).map(|(unit, _)| *unit).collect())
    }
}

/// The unit of times that are dates, Unix times or ticks of Windows.
fn evident_time_unit(values: &BTreeSet<&[u8]>) -> Option<&'static str> {
    let all_have = |digits| {
        values.iter().all(|value| {
            let whole = value.split(|byte| matches!(byte, b'.' | b',')).next();
            whole.is_some_and(|whole| is_digits(whole, digits, digits))
        })
    };
    match () {
        () if values.iter().any(|value| value.contains(&b':')) => Some("date"),
        () if all_have(10) => Some("s"),
        () if all_have(13) => Some("ms"),
        () if all_have(16) => Some("us"),
        // Windows counts ticks of 100 ns since 1601.
        () if all_have(18) => Some("ticks"),
        () if all_have(19) => Some("ns"),
        () => None,
    }
}

fn has_decimals(value: &[u8]) -> bool {
    value.iter().any(|byte| matches!(byte, b'.' | b','))
}

/// A number with a decimal point or comma.
fn decimal(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.replace(',', ".").parse().ok()
}

/// The word for an offset or length, whose unit is in its name or follows from its values.
pub(super) fn address(
    column: &'static str,
    name: &str,
    unit: Option<&'static str>,
    values: &BTreeSet<&[u8]>,
    hexadecimal: &mut Vec<&'static str>,
) -> String {
    let digits = |value: &[u8]| {
        let text = std::str::from_utf8(value).ok()?;
        match text.strip_prefix("0x") {
            Some(text) => u64::from_str_radix(text, 16).ok(),
            None => Field::new(value)
                .whole_number(b'.')
                .or_else(|| text.replace(['.', ','], "").parse::<u64>().ok()),
        }
    };
    if values.iter().any(|value| value.starts_with(b"0x")) {
        hexadecimal.push(column);
    }
    let counts_sectors = SECTOR_NAMES.iter().any(|part| name.contains(part));
    let whole = values.iter().filter_map(|value| digits(value)).all(|n| n.is_multiple_of(512));
    let guess = || if counts_sectors || !whole { "sectors" } else { "bytes" };
    format!("{column}.{}", unit.unwrap_or_else(guess))
}

/// The word for the column of operations: `op`, or `rwbs`. Adds the words for operations that are
/// not understood anyway. `None` if a value cannot be an operation.
pub(super) fn operations(
    name: &str,
    values: &BTreeSet<&[u8]>,
    options: &mut Vec<String>,
) -> Option<&'static str> {
    let one_letter = values.iter().all(|value| value.len() == 1);
    if !one_letter && values.iter().all(|value| rwbs(value).is_some()) {
        return Some("rwbs");
    }
    let mut words: [(&str, Vec<&str>); 4] =
        [("reads", vec![]), ("writes", vec![]), ("trims", vec![]), ("flushes", vec![])];
    for value in values {
        let word = std::str::from_utf8(value).ok()?;
        words[kind(name, &word.to_ascii_lowercase())?].1.push(word);
    }
    let known = |word: &&str| {
        let usual = ["r", "read", "w", "write", "d", "t", "trim", "discard", "f", "flush"];
        usual.contains(&word.to_ascii_lowercase().as_str())
    };
    if !words.iter().flat_map(|(_, words)| words).all(known) {
        let given = words.iter().filter(|(_, words)| !words.is_empty());
        options.extend(given.map(|(key, words)| format!("{key}={}", words.join("+"))));
    }
    Some("op")
}

/// The operation of a word in lower case: 0 read, 1 write, 2 trim, 3 flush.
fn kind(name: &str, word: &str) -> Option<usize> {
    let digit = usize::from(name == "is_read");
    match word {
        "0" => Some(digit),
        "1" => Some(1 - digit),
        // Commands of SCSI.
        "28" | "0x28" | "88" | "0x88" => Some(0),
        "2a" | "0x2a" | "8a" | "0x8a" => Some(1),
        "d" | "t" => Some(2),
        "f" => Some(3),
        _ if word.contains("trim") || word.contains("discard") || word.contains("unmap") => Some(2),
        _ if word.contains("flush") || word.contains("sync") => Some(3),
        _ if word.contains("write") || word == "w" || word.starts_with("wr") => Some(1),
        _ if word.contains("read") || word == "r" || word.starts_with("rd") => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_with_usual_names_give_recipes() {
        let cases = [
            (
                "timestamp,rw_flag,sector,size\n159273.75,R,29880920,16\n",
                "csv:columns=time.s+op+off.sectors+len.sectors,header=true",
            ),
            (
                "\"Time (us)\",\"IO Type\",\"Offset\",\"Size (B)\",\"QD\"\n5,\"READ\",4096,512,1\n",
                "csv:columns=time.us+op+off.bytes+len.bytes+_...,header=true",
            ),
            (
                "id;start_time_s;op;lba;bytes\n1;1,5;WriteX;0x10;0x200\n2;2,5;ReadX;0x20;0x400\n",
                "csv:sep=semicolon,columns=_+time.s+op+off.sectors+len.bytes,\
                 reads=ReadX,writes=WriteX,hex=off+len,decimal=comma,header=true",
            ),
            (
                "ts dev is_read lbn nr_sectors latency\n1577808144360767 a 0 7 8 9\n",
                "csv:sep=blank,columns=time.us+dev+op+off.sectors+len.sectors+_...,\
                 writes=0,header=true",
            ),
            (
                "time_ns\trwbs\toffset\tlen\n12\tWS\t1024\t512\n",
                "csv:sep=tab,columns=time.ns+rwbs+off.bytes+len.bytes,header=true",
            ),
            (
                "when,start_time,op,offset,size\n1,2025-03-04T10:11:12Z,W,1024.0,512\n",
                "csv:columns=_+time.date+op+off.bytes+len.bytes,header=true",
            ),
            (
                "time_us,op,offset,size,stream_id\n12,W,1024,512,3\n",
                "csv:columns=time.us+op+off.bytes+len.bytes+stream,header=true",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(recipes(&TraceHead::new(text.as_bytes())), [expected], "{text}");
        }
    }

    #[test]
    fn operations_are_known_by_their_words_if_the_name_of_their_column_is_not() {
        let text = b"  UID   PID D    BLOCK   SIZE       COMM PATHNAME\n\
              0     3 W  6498797    512    fsflush <none>\n\
            100 15795 R    35904   6144        tar /usr/bin/eject\n";
        let expected = "csv:sep=blank,columns=_+_+op+off.sectors+len.bytes+_...,header=true";
        assert_eq!(recipes(&TraceHead::new(text)), [expected]);
    }

    #[test]
    fn every_unit_that_times_may_have_is_offered() {
        let units = |name: &str, step: &str| -> Vec<String> {
            let row = |n: u32| format!("{n}{step},W,512,512\n");
            let text = format!("{name},op,offset,size\n") + &(1..30).map(row).collect::<String>();
            let found = recipes(&TraceHead::new(text.as_bytes()));
            let unit = |text: &String| text.split(['.', '+']).nth(1).map(String::from);
            found.iter().filter_map(unit).collect()
        };
        assert_eq!(units("time", ".125"), ["s", "ms"]);
        assert_eq!(units("time_s", ".125"), ["s"], "the name states it");
        assert_eq!(units("time", "0000.5"), ["s", "ms"], "a request every 10,000 s, or every 10 s");
        assert_eq!(units("time", ""), ["us", "s", "ms"]);
        assert_eq!(units("time", "000000"), ["us", "ns"]);
        let unix = b"time,op,offset,size\n1577808000.25,W,0,512\n1577808000.5,R,0,512\n";
        assert_eq!(recipes(&TraceHead::new(unix)).len(), 1);
    }

    #[test]
    fn other_texts_give_none() {
        let texts = [
            "",
            "some,text\n1,2\n",
            "time,op,offset\n1,R,2\n",
            "time,op,offset,size\n1,maybe,2,3\n",
        ];
        for text in texts {
            assert!(recipes(&TraceHead::new(text.as_bytes())).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_heading_without_operations_gives_a_recipe_for_each() {
        let found = recipes(&TraceHead::new(b"time_us,offset,size\n10,0,4096\n"));
        let columns = "csv:columns=time.us+off.bytes+len.bytes,header=true";
        assert_eq!(found, [format!("{columns},as=write"), format!("{columns},as=read")]);
    }
}
