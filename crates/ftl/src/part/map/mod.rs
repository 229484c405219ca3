//! The common basis of all maps: the entries of pages, the free blocks, and the block being filled.

pub mod block_pool;
pub mod flat_map;
pub mod frontier;
pub mod lost_data;
pub mod rmw;
