//! Reports: figures as data, and HTML pages that draw them.
//!
//! ```text
//! results, rows, traces ──▶ Figure (Vega-Lite spec, caption, table) ──▶ HtmlPage ──▶ HTML file
//! ```
//! * [`figure`]        a figure: what it shows, its spec, its numbers
//! * `curves`          curves of several runs: a few in one view, more in panels
//! * [`runs`]          figures that compare results: cost, times of requests, merges, wear
//! * [`traces`]        figures of traces: load over time, locality of writes, request sizes
//! * [`charts`]        charts of the rows of a sweep over the parameter that varies
//! * [`plan_figures`]  the figures that a plan asks for
//! * [`sweep_page`]    the page of a sweep with its claims
//! * [`paper_pages`]   the pages of papers with all claims and experiments
//! * [`sizing`]        the page of a sizing: write amplification against over-provisioning
//! * [`bound`]         the page of a bound: what placement could achieve
//! * [`life`]          the page of lives: a load until the flash is worn out
//! * [`captions`]      sentences that captions have in common
//! * [`axis_labels`]   the columns of results in words, with units
//! * [`number_format`] numbers as text
//! * [`html_page`]     text, tables and figures as one self-contained HTML file
//!
//! The same figure is used for a page, a notebook and print. Its spec contains its data and sets no
//! colours for text or background, so it can be drawn light or dark. A page needs no network,
//! because it contains the libraries that draw the figures.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod axis_labels;
pub mod bound;
pub mod captions;
pub mod charts;
mod curves;
pub mod figure;
pub mod html_page;
pub mod life;
pub mod number_format;
pub mod paper_pages;
pub mod plan_figures;
pub mod runs;
pub mod sizing;
pub mod sweep_page;
pub mod traces;
