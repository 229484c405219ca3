//! Mounts of every scheme under every layer: the memory that they take.

mod device;
mod flash;
mod heap;
mod memory;
