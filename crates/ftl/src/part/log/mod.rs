//! Log-block schemes: data blocks, log blocks and merges.

pub mod block_associative;
pub mod block_observer;
pub mod fully_associative;
pub mod log_map;
pub mod log_mount;
pub mod merge;
pub mod random_log;
pub mod sequential_block;
pub mod tied_logs;
