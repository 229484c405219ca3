//! Text traces: the loop over lines, and what takes a line apart.
//!
//! * `lines`: the loop over all lines of a trace
//! * `column_layout`, `column_parser`: formats that are a declaration of columns, and the loop over
//!   them
//! * `split`: a line taken apart into fields
//! * `field`: one of them: numbers in all their notations
//! * `swar`: eight bytes at a time, for both

pub(crate) mod column_layout;
mod column_parser;
pub(crate) mod field;
pub(crate) mod lines;
pub(crate) mod split;
mod swar;
