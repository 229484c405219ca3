//! Statistics of a trace.
//!
//! * [`survey`]: counts of requests, flags, bytes and pages; first pass
//! * [`locality`]: skew, write intervals, sequentiality; second pass
//! * [`example_pages`]: a hot, a warm and a cold page, and their write intervals; third pass
//! * [`load`]: reads, writes and bytes over time, a pass of its own
//! * `page_history`: number and times of the writes of each page
//! * [`page_set`]: compact sets of pages
//! * [`request_sizes`]: requests by size
//! * [`volume_figures`]: figures by which volumes are chosen
//! * [`stratified_sample`]: a bounded sample of a long sequence

pub mod density;
pub mod example_pages;
pub mod load;
pub mod locality;
pub(crate) mod page_history;
pub mod page_set;
pub mod request_sizes;
pub mod stratified_sample;
pub mod survey;
pub mod volume_figures;
