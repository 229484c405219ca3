//! Plain data structures: they know numbers, not flash.

pub mod bits;
pub mod min_tree;
pub mod prefetch;
pub mod recency;
