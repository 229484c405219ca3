//! The base of page-granular schemes: a map with an entry for each page, the choice of victims, and
//! pages that a policy places.

pub mod block_classes;
pub mod page_map;
pub mod placed;
pub mod reclaim_units;
pub mod victims;
