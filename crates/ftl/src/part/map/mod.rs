//! What lies below every map: entries of pages, free blocks, blocks being filled.

pub mod block_pool;
pub mod flat_map;
pub mod frontier;
pub mod rmw;
