//! Columns by their values: the settings of csv for a text whose heading, if any, does not say what
//! its columns mean.
//!
//! ```text
//! IO-0 3.410 0 138970490 768 1
//! IO-1 6.204 0 71636258 1408 0
//! IO-2 13.04 0 158558882 128 1      csv:sep=blank,columns=_+time.s+_+off.sectors+len.sectors+op
//! ```
//!
//! Operations are words, or 0 and 1. Times never fall, offsets do, and are the largest of the other
//! numbers. The length is beside the offset. Where either may be the offset, both readings are
//! shown. All this is a guess, so it is shown to the user with what the requests would do, and
//! never used without asking.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::parse::doubts;
use crate::parse::formats::custom::csv::heading::{
    Sheet, TimeUnits, address, named_time_unit, operations,
};
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::TraceHead;
use crate::request::SECTOR_BYTES;

/// The fewest lines below the first one, which may be a heading, that show which numbers fall.
const ROWS_MIN: usize = 3;

/// Requests that have the same time, on average, at most.
const REPEATS_MAX: usize = 16;

/// The settings of csv that fit the values of a trace, if they show an offset and a length. There
/// are several if the values leave open which requests are reads, which number is the offset, or in
/// which unit times are.
pub(crate) fn recipes(head: &TraceHead) -> Vec<String> {
    suggested(head).unwrap_or_default()
}

fn suggested(head: &TraceHead) -> Option<Vec<String>> {
    let sheet = Sheet::of_values(head).filter(|sheet| sheet.rows.len() >= ROWS_MIN)?;
    let count = sheet.rows[0].len();
    sheet.rows.iter().all(|row| row.len() == count).then_some(())?;
    let columns: Vec<Column> = (0..count).map(|index| Column::of(&sheet, index)).collect();
    let mut recipes = Vec::new();
    for meanings in Meanings::of(&columns) {
        let choices: &[(&str, Option<&str>)] = match meanings.op {
            Some(op) if columns[op].is_bit() => &[("is_write", None), ("is_read", None)],
            Some(_) => &[("", None)],
            None => &[("", Some("as=write")), ("", Some("as=read"))],
        };
        for &(op_name, choice) in choices {
            recipes.extend(meanings.recipes(&sheet, &columns, op_name, choice)?);
        }
    }
    Some(recipes)
}

/// Which column is what.
struct Meanings {
    op: Option<usize>,
    time: Option<usize>,
    offset: usize,
    length: usize,
}

impl Meanings {
    fn of(columns: &[Column]) -> Vec<Meanings> {
        let (op, time) = (op_column(columns), time_column(columns));
        let is_free = |index: usize| Some(index) != op && Some(index) != time;
        let ranges = range_columns(columns, is_free).into_iter();
        ranges.map(|(offset, length)| Meanings { op, time, offset, length }).collect()
    }

    /// The settings of csv, one for each unit of time. `op_name` says what 0 and 1 mean as
    /// operations.
    fn recipes(
        &self,
        sheet: &Sheet,
        columns: &[Column],
        op_name: &str,
        choice: Option<&str>,
    ) -> Option<Vec<String>> {
        let Meanings { op, time, offset, length } = *self;
        let is_heading = sheet.first.len() != columns.len() || whole(sheet.first[offset]).is_none();
        let (mut options, mut hexadecimal) = (Vec::new(), Vec::new());
        let mut words = vec![String::from("_"); columns.len()];
        words[length] = address("len", "", None, &columns[length].values, &mut hexadecimal);
        // Offsets in bytes have lengths in bytes; few offsets are multiples of 512 by chance.
        let unit = (words[length] == "len.sectors").then_some("sectors");
        words[offset] = address("off", "", unit, &columns[offset].values, &mut hexadecimal);
        let times = time.map(|time| {
            let named = sheet.names.get(time).and_then(|name| named_time_unit(name));
            let named = named.filter(|_| is_heading);
            (time, TimeUnits::of(named, &columns[time].values, sheet.rows.len()))
        });
        if let Some(op) = op {
            words[op] = operations(op_name, &columns[op].values, &mut options)?.into();
        }
        let heading = is_heading.then_some("header=true");
        options.extend(choice.into_iter().chain(heading).map(String::from));
        Some(sheet.recipes(&words, times.as_ref(), &options))
    }
}

/// The values of a column.
struct Column<'a> {
    values: BTreeSet<&'a [u8]>,
    /// In the order of the lines, if all are whole numbers.
    whole: Option<Vec<u64>>,
    /// Whether all are numbers that never fall and often rise.
    rises: bool,
}

impl<'a> Column<'a> {
    fn of(sheet: &Sheet<'a>, index: usize) -> Column<'a> {
        let values = || sheet.rows.iter().map(move |row| row[index]);
        let distinct: BTreeSet<&[u8]> = values().collect();
        let numbers: Option<Vec<u64>> = values().map(whole).collect();
        let seconds = || values().map(|value| Field::new(value).decimal(9, b'.'));
        let in_order = numbers.clone().or_else(|| seconds().collect());
        let often = distinct.len() > 1 && distinct.len() * REPEATS_MAX >= sheet.rows.len();
        let rises = often && in_order.is_some_and(|all| all.is_sorted());
        Column { values: distinct, whole: numbers, rises }
    }

    /// Whether the values are 0 and 1.
    fn is_bit(&self) -> bool {
        self.values.iter().eq([b"0", b"1"].iter())
    }

    /// Whether the values are words for operations.
    fn is_op(&self) -> bool {
        self.whole.is_none() && operations("", &self.values, &mut Vec::new()).is_some()
    }

    fn has_decimals(&self) -> bool {
        self.whole.is_none()
    }

    fn is_offset(&self) -> bool {
        let varies = !self.rises && self.values.len() > 1;
        self.whole.is_some() && varies && self.in_bytes(self.largest()) <= doubts::PEBIBYTE
    }

    /// Whether the numbers could be lengths. A trim may be very long, so the median counts.
    fn is_length(&self) -> bool {
        let Some(mut lengths) = self.whole.clone().filter(|all| !all.contains(&0)) else {
            return false;
        };
        let middle = lengths.len() / 2;
        let (_, median, _) = lengths.select_nth_unstable(middle);
        self.in_bytes(*median) <= doubts::LONG_BYTES
    }

    /// A number of the column in bytes, by the unit that the column is taken to have.
    fn in_bytes(&self, number: u64) -> u64 {
        let word = address("off", "", None, &self.values, &mut Vec::new());
        number.saturating_mul(if word == "off.sectors" { SECTOR_BYTES } else { 1 })
    }

    fn largest(&self) -> u64 {
        self.whole.iter().flatten().copied().max().unwrap_or(0)
    }
}

fn whole(value: &[u8]) -> Option<u64> {
    Field::new(value).number()
}

/// The column of words for operations, or else the last one of 0 and 1.
fn op_column(columns: &[Column]) -> Option<usize> {
    let words = columns.iter().position(Column::is_op);
    words.or_else(|| columns.iter().rposition(Column::is_bit))
}

/// The first column with decimals that rises, or else the rising one with the largest numbers:
/// times are larger than numbers of lines.
fn time_column(columns: &[Column]) -> Option<usize> {
    let rising = || (0..columns.len()).filter(|&index| columns[index].rises);
    let decimal = rising().find(|&index| columns[index].has_decimals());
    decimal.or_else(|| rising().max_by_key(|&index| columns[index].largest()))
}

/// The column of offsets, the one with the largest numbers, and beside it that of lengths. If the
/// two may be exchanged, both ways: first with the smaller lengths, or else with the length behind
/// the offset.
fn range_columns(columns: &[Column], is_free: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut offsets: Vec<usize> = (0..columns.len()).filter(|&at| is_free(at)).collect();
    offsets.retain(|&at| columns[at].is_offset());
    offsets.sort_by_key(|&at| Reverse(columns[at].largest()));
    let is_pair = |&(_, length): &(usize, usize)| {
        length < columns.len() && is_free(length) && columns[length].is_length()
    };
    let beside = |&at: &usize| [Some((at, at + 1)), at.checked_sub(1).map(|before| (at, before))];
    let pairs: Vec<_> = offsets.iter().flat_map(beside).flatten().filter(is_pair).collect();
    let Some(&(offset, length)) = pairs.first() else { return Vec::new() };
    let mut ways: Vec<_> = [(offset, length), (length, offset)]
        .into_iter()
        .filter(|way| pairs.contains(way))
        .collect();
    let largest = |at: usize| columns[at].largest();
    ways.sort_by_key(|&(offset, length)| (largest(length) > largest(offset), length < offset));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_show_columns_that_no_heading_names() {
        let cases: [(&str, &[&str]); 5] = [
            (
                "IO-0 3.4 0 138970490 768 1\nIO-1 6.2 0 71636258 1408 0\n\
                 IO-2 9.1 0 158558882 1280 1\nIO-3 9.5 0 4096 128 1\n",
                &[
                    "csv:sep=blank,columns=_+time.s+_+off.sectors+len.sectors+op,reads=0,writes=1",
                    "csv:sep=blank,columns=_+time.ms+_+off.sectors+len.sectors+op,reads=0,writes=1",
                    "csv:sep=blank,columns=_+time.s+_+off.sectors+len.sectors+op,reads=1,writes=0",
                    "csv:sep=blank,columns=_+time.ms+_+off.sectors+len.sectors+op,reads=1,writes=0",
                ],
            ),
            (
                "PID,EVENT,RD,WHERE,NUM\n11,Q,WS,20608,1\n12,Q,WS,116,1\n12,Q,RM,7,1\n9,Q,WS,9,1\n",
                &["csv:columns=_+_+rwbs+off.sectors+len.sectors,header=true"],
            ),
            (
                "$ snoop | grep sdb\n0.1 a 7 sdb R 80000 4096 0.2\n0.2 a 7 sdb W 80 4096 0.1\n\
                 0.3 a 8 sdb W 8 8192 0.3\n0.4 b 7 sdb R 80008 4096 0.2\n",
                &[
                    "csv:sep=blank,columns=time.s+_+_+_+op+off.sectors+len.bytes+_...,header=true",
                    "csv:sep=blank,columns=time.ms+_+_+_+op+off.sectors+len.bytes+_...,header=true",
                ],
            ),
            (
                "n,elapsed.usecs,op,tick,seq,lba,n\n1,1.5,RD_IN,88888888888888888,7777777,80000,8\n\
                 2,2.5,WR_IN,88888888888888887,7777778,16,8\n\
                 3,3.5,WR_IN,88888888888888889,7777776,80000,8\n\
                 4,4.5,WR_IN,88888888888888890,7777779,90,4\n",
                &["csv:columns=_+time.us+op+_+_+off.sectors+len.sectors,reads=RD_IN,writes=WR_IN,\
                    header=true"],
            ),
            (
                "1577808144360761;4096;512\n1577808144360767;0;512\n\
                 1577808144360767;8192;1024\n1577808144360769;512;512\n",
                &[
                    "csv:sep=semicolon,columns=time.us+off.bytes+len.bytes,as=write",
                    "csv:sep=semicolon,columns=time.us+off.bytes+len.bytes,as=read",
                ],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(recipes(&TraceHead::new(text.as_bytes())), expected, "{text}");
        }
    }

    #[test]
    fn lengths_may_exceed_all_offsets() {
        let found = |text: &str| recipes(&TraceHead::new(text.as_bytes()));
        let text = "0.1 W 0 128\n0.2 W 16 128\n0.3 W 8 256\n0.4 W 0 64\n";
        let csv = |range: &str| format!("csv:sep=blank,columns=time.s+op+{range}");
        let expected = csv("off.sectors+len.sectors");
        assert_eq!(found(text)[0], expected, "an offset of 0 is no length");
        assert!(found(text).iter().all(|recipe| recipe.ends_with("off.sectors+len.sectors")));
        let text = text.replace(" 0 ", " 24 ");
        let either = found(&text);
        assert!(either.contains(&expected), "{either:?}");
        assert!(either.contains(&csv("len.sectors+off.sectors")), "{either:?}");
        let beside_others = "7 4194304 131072 1571000000.031 12 99\n\
             9 0 8388608 1571000000.041 12 99\n\
             7 262144 65536 1571000001.5 12 98\n8 131072 65536 1571000002.5 11 99\n";
        let expected = "csv:sep=blank,columns=_+off.bytes+len.bytes+time.s+_...,as=write";
        assert_eq!(found(beside_others)[0], expected);
    }

    #[test]
    fn offsets_of_lengths_in_sectors_are_sectors() {
        let text = "0.1,W,2048,8\n0.2,R,4096,16\n0.3,W,512,8\n0.4,W,1024,8\n";
        let found = recipes(&TraceHead::new(text.as_bytes()));
        assert_eq!(found[0], "csv:columns=time.s+op+off.sectors+len.sectors");
    }

    #[test]
    fn few_lines_words_and_ragged_lines_show_nothing() {
        let texts = [
            "",
            "1 W 8 4\n2 R 4 4\n3 W 6 4\n",
            "the quick fox\nthe lazy dog\nno numbers here\nat all anywhere\n",
            "1 W 8 4\n2 R 4 4\n3 W 6 4\n4 W 6\n5 W 8 8\n",
            "7 7 7\n7 7 7\n7 7 7\n7 7 7\n",
        ];
        for text in texts {
            assert!(recipes(&TraceHead::new(text.as_bytes())).is_empty(), "{text}");
        }
    }
}
