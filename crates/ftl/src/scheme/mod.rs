//! The schemes, one file each.

pub mod block;
pub mod page;
