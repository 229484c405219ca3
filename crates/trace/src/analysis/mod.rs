//! What can be said of a trace: counts, sizes, pages, locality.
//!
//! * [`survey`]: everything there is to count, in one pass
//! * [`locality`]: where writes go and come back to, in a second pass
//! * [`example_pages`]: pages that stand for others, and their write intervals, in a third
//! * `page_history`: when each page was written first and last, and how often
//! * [`page_set`]: the pages a trace touches
//! * [`request_sizes`]: requests by size
//! * [`stratified_sample`]: a bounded part of something long

pub mod example_pages;
pub mod locality;
pub(crate) mod page_history;
pub mod page_set;
pub mod request_sizes;
pub mod stratified_sample;
pub mod survey;
