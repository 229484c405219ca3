//! superblock and lsb, count for count and bit for bit: the paper's own examples read from the
//! spare areas, cases by hand, and naive models.

mod device;
mod lsb;
mod lsb_model;
mod sheets;
mod superblock;
mod superblock_model;
mod tight;
