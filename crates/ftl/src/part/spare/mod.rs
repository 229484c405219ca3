//! Schemes that keep their map in spare areas: superblock and lsb.

pub mod bit_fields;
pub mod block_heaps;
pub mod map_cache;
pub mod page_groups;
pub mod spare_map;
pub mod spare_mapped;
pub mod spare_mount;
pub mod spare_sheet;
pub mod spare_writer;
pub mod superblocks;
pub mod waiting_pages;
