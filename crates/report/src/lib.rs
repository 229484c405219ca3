//! Results that people look at: figures as data, and a page that draws them.
//!
//! ```text
//! results, rows, traces ────▶ Figure (Vega-Lite spec, caption, table) ──▶ Page ──▶ an HTML file
//! ```
//! * [`figure`] a figure: what is drawn, what it shows, the numbers beside it
//! * [`runs`]   figures of results side by side: time by cause, latencies, merges, wear, the course
//! * [`traces`] figures of traces side by side: where writes go, when they come back, sizes
//! * [`curves`] figures of rows, measured and published, over the parameter that varies
//! * [`drawings`] what plans draw of their rows, claims or not
//! * [`sweeps`] the page of a sweep: its claims, judged and drawn
//! * [`papers`] the pages of papers: every claim with its verdict, and all experiments
//! * [`plans`]  what captions say of the runs of a plan
//! * [`words`]  columns of results, in words with units
//! * [`page`]   sections of text, tables and figures as one self-contained HTML file
//!
//! A figure is one definition for page, notebook and print: its spec carries its data and names no
//! colour of its own, so that whoever draws it may choose light or dark. The page needs no network:
//! the library that draws is inside it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod curves;
pub mod drawings;
pub mod figure;
pub mod page;
pub mod papers;
pub mod plans;
pub mod runs;
pub mod sweeps;
pub mod traces;
pub mod words;

pub use figure::{Figure, Table};
pub use page::{Link, Page, Section};
