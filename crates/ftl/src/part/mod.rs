//! What schemes share. A part knows the chip and the contract, never a scheme.

pub mod age_index;
pub mod bits;
pub mod block_associative;
pub mod block_pool;
pub mod cached_map;
pub mod frontier;
pub mod fully_associative;
pub mod isolation_area;
pub mod kind;
pub mod log_map;
pub mod log_mount;
pub mod merge;
pub mod min_tree;
pub mod page_map;
pub mod prefetch;
pub mod random_log;
pub mod recency;
pub mod recovery;
pub mod rmw;
pub mod scan;
pub mod sequential_block;
pub mod trim_log;
pub mod victims;
