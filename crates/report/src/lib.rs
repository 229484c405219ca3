//! Reports: figures as data, and HTML pages that draw them.
//!
//! ```text
//! results, rows, traces ──▶ Figure (Vega-Lite spec, caption, table) ──▶ HtmlPage ──▶ HTML file
//! ```
//! * [`figure`]        a figure: what it shows, its spec, its numbers
//! * `curves`          curves of several runs: a few in one view, more in panels
//! * [`runs`]          figures that compare results: cost, times of requests, merges, wear, volumes
//! * [`traces`]        figures of traces: load over time, locality of writes, request sizes
//! * `names`           names beside points and at the ends of curves, none over another
//! * [`charts`]        charts of the rows of a sweep over the parameter that varies
//! * [`plan_figures`]  the figures that a plan asks for
//! * [`headline`]      what came out, in one or two sentences
//! * [`pages`]         the pages: sweeps, papers, sizings, bounds, lives
//! * [`colours`]       the colour of each FTL
//! * [`captions`]      sentences that captions have in common
//! * [`axis_labels`]   the columns of results in words, with units
//! * [`number_format`] numbers as text
//! * [`drawing`]       how figures are drawn: on pages, and as files for papers
//! * [`html_page`]     text, tables and figures as one self-contained HTML file
//!
//! The same figure is used for a page, a notebook and print. Its spec contains its data and sets no
//! colours for text or background, so it can be drawn light or dark. A page needs no network,
//! because it contains the libraries that draw the figures.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod axis_labels;
pub mod captions;
pub mod charts;
pub mod colours;
mod curves;
pub mod drawing;
pub mod figure;
pub mod headline;
pub mod html_page;
pub mod latex;
mod names;
pub mod number_format;
pub mod pages;
pub mod plan_figures;
pub mod runs;
pub mod traces;
