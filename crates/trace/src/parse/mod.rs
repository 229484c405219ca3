//! Trace formats: one file for each, and the machinery that they share.
//!
//! ```text
//! lines or records ─▶ the format's parser ─▶ Parsed ─▶ Normalizer ─▶ requests
//! ```
//!
//! The parser of a text format implements `LineParser`, which turns a line into a `Parsed`. Most
//! text formats need no code for this, because they consist of columns: they declare a
//! `ColumnLayout`. The parser of a binary format implements `RecordParser`; only blktrace, which
//! has records of various sizes in several files, has a reader of its own.
//!
//! * [`formats`]: the list of formats, by family
//! * [`format`](mod@format): the declaration of a format
//! * `five_numbers`: units of traces of five numbers a line
//! * `text`: the loop over the lines of a trace, and the parser of columns
//! * `records`: the loop over the records of a binary trace
//! * `parsed`: what a format's parser delivers
//! * `normalize`: checks, the clock of the trace, counts of skipped requests
//! * `devices`: numbers for the names of devices
//! * `streams`: numbers for the names of streams
//! * `block_layer`: shared by the formats of the Linux block layer, blkparse and blktrace
//! * `cache_object`: shared by the formats of libCacheSim

pub(crate) mod block_layer;
pub(crate) mod cache_object;
pub(crate) mod devices;
pub(crate) mod five_numbers;
pub mod format;
pub mod formats;
pub(crate) mod normalize;
pub(crate) mod parsed;
pub(crate) mod records;
pub(crate) mod streams;
pub(crate) mod text;
