//! Trace formats: one file for each, and the machinery that they share.
//!
//! ```text
//! lines or records ─▶ the format's parser ─▶ Parsed ─▶ Normalizer ─▶ requests
//! ```
//!
//! The parser of a format implements `TraceParser`, which turns a line or a record into a
//! `Parsed`. Most text formats need no code for this, because they consist of columns: they declare
//! a `ColumnLayout`. Only blktrace, which has records of various sizes in several files, has a
//! reader of its own.
//!
//! * [`formats`]: the list of formats, by family
//! * [`format`](mod@format): the declaration of a format
//! * `five_numbers`: units of traces of five numbers a line
//! * `parser`: the loop over the lines or records of a trace
//! * `text`: heads of traces, and the parser of columns
//! * `records`: the numbers in a record of a binary trace
//! * `encoding`: byte-order marks
//! * `parsed`: what a format's parser delivers
//! * `normalize`: checks, the clock of the trace, counts of skipped requests
//! * `doubts`: signs that a trace is misread
//! * `devices`: numbers for the names of devices
//! * `streams`: numbers for the names of streams
//! * `block_layer`: shared by the formats of the Linux block layer, blkparse and blktrace
//! * `cache_object`: shared by the formats of libCacheSim

pub(crate) mod block_layer;
pub(crate) mod cache_object;
pub(crate) mod devices;
pub(crate) mod doubts;
pub(crate) mod encoding;
pub(crate) mod five_numbers;
pub mod format;
pub mod formats;
pub(crate) mod normalize;
pub(crate) mod parsed;
pub(crate) mod parser;
pub(crate) mod records;
pub(crate) mod streams;
pub(crate) mod text;
