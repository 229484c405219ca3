//! Plain data structures: they know numbers, not flash.

pub mod bit_set;
pub mod min_tree;
pub mod prefetch;
pub mod recency;
