//! The base of page-granular schemes: a map with an entry for each page, and the choice of victims.

pub mod page_map;
pub mod victims;
