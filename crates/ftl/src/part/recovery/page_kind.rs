//! The role bytes of spare areas. Roles go stale (a log block may become a data block without a
//! program), so a mount believes positions and versions first.

/// No page; never programmed.
pub const NONE: u8 = 0;
/// A page of the host's.
pub const DATA: u8 = 1;
/// A page programmed only because the next one had to be.
pub const PAD: u8 = 2;
/// Tombstones: see [`trim_log`](super::trim_log).
pub const TOMBSTONES: u8 = 3;
/// A translation page: entries of consecutive logical pages.
pub const TRANSLATION: u8 = 4;
/// Sectors of several pages of the host's (sector log).
pub const SECTORS: u8 = 8;
/// Trims of pages whose sectors stand in the log (sector log).
pub const SECTOR_TRIMS: u8 = 9;
/// A page of the host's that was carried over from a log block once (faster).
pub const CARRIED: u8 = DATA | 1 << 4;
/// A page of the host's in the isolation area (faster).
pub const ISOLATED: u8 = DATA | 2 << 4;
/// A page of the host's, written to the hot side of a log.
pub const HOT: u8 = DATA | 1 << 4;
/// A page of the host's whose spare area says where its group's pages are (superblock, lsb).
pub const TABLE: u8 = DATA | 1 << 4;
/// A page of the host's whose spare area says which pages know the groups of its logical block.
pub const DIRECTORY: u8 = DATA | 2 << 4;
/// A PMD page that has a page number in each entry (lsb).
pub const WIDE_DIRECTORY: u8 = DATA | 3 << 4;
