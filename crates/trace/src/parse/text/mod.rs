//! The machinery of text formats.
//!
//! * `column_layout`: the declaration of a format that consists of columns
//! * `column_list`: columns listed by words, as `time.s+op+off.sectors`
//! * `column_parser`: the parser of all such formats
//! * `date`: dates as times
//! * `split`: the fields of a line
//! * `field`: one field; numbers in all notations
//! * `trace_head`: the beginning of a trace, by which its format is detected
//! * `swar`: searching bytes and reading digits eight bytes at a time

pub(crate) mod column_layout;
pub(crate) mod column_list;
mod column_parser;
pub(crate) mod date;
pub(crate) mod field;
pub(crate) mod split;
mod swar;
pub(crate) mod trace_head;
