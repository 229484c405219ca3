//! General data structures over small numbers. They know nothing of flash.

pub mod bit_set;
pub mod min_tree;
pub mod observed;
pub mod prefetch;
pub mod recency;
pub mod sample;
pub(crate) mod slot_table;
pub mod stack_distances;
