//! Trace formats: one file a format, and the machinery they share.
//!
//! A text format implements `LineParser`: a line in, a `Line` out; most of them are a mere
//! declaration of columns. A binary one implements `RecordParser`, but for blktrace, whose records
//! have different sizes and come from several files. Everything else is common: where lines come
//! from, times that never go back, overflow of addresses, bad lines, skips by reason.
//!
//! * `formats`: all formats, a file each, by family
//! * `format`: what a format declares of itself
//! * `trace_head`: the first lines, for telling formats apart
//! * `text`: the loop over all lines of a trace, and what takes a line apart
//! * `records`: the loop over all records of a binary trace
//! * `parsed`: what both loops get from a format's parser
//! * `normalize`: checks, the clock, skips by reason
//! * `devices`: device names become dense numbers
//! * `block_layer`: what blkparse's text and blktrace's records have in common

pub(crate) mod block_layer;
pub(crate) mod devices;
pub mod format;
pub mod formats;
pub(crate) mod normalize;
pub(crate) mod parsed;
pub(crate) mod records;
pub(crate) mod text;
pub(crate) mod trace_head;
