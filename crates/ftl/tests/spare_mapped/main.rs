//! Tests of superblock and lsb: the paper's own examples, read from the spare areas bit by bit;
//! cases counted by hand; and naive models, compared in every count.

#[path = "../common/mod.rs"]
mod common;
mod device;
mod lsb;
mod lsb_model;
mod sheets;
mod superblock;
mod superblock_model;
mod tight;
