//! Layers above a scheme: cases counted by hand above an FTL that records its calls, and naive
//! models.

#[path = "../common/mod.rs"]
mod common;
mod device;
mod elastic;
mod lost_data;
mod naive_buffer;
mod naive_log;
mod naive_partitioner;
mod partitioner;
mod recorder;
mod sector_log;
mod write_buffer;
