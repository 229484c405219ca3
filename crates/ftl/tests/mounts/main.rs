//! Mounts of every scheme under every layer: the memory that they take, and which pages are mapped
//! before and after them.

#[path = "../common/mod.rs"]
mod common;
mod device;
mod extents;
mod flash;
mod heap;
mod memory;
