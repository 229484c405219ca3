//! The bytes of the file. `SPEC.md` defines them.

pub(crate) mod block_table;
pub(crate) mod bytes;
pub(crate) mod checksum;
pub(crate) mod health_code;
pub(crate) mod journal;
pub mod layout;
pub(crate) mod page_codec;
pub(crate) mod superblock;
