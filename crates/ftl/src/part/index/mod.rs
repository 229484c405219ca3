//! General data structures over small numbers. They know nothing of flash.

pub mod bit_set;
pub mod min_tree;
pub mod prefetch;
pub mod recency;
