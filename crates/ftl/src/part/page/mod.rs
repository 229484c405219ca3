//! Page-granular schemes: a map with an entry a page, and victims of garbage collection.

pub mod page_map;
pub mod victims;
