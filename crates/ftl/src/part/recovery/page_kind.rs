//! Kinds of pages: one byte in the header of every spare area (SPEC.md lists the values).
//!
//! A mount must not derive the role of a block from kinds alone, because they go stale: a merge can
//! turn a log block into a data block without programming it. So a mount relies first on where
//! pages are and on their versions.

/// No page. This value is never programmed.
pub const NONE: u8 = 0;
/// A page that the host wrote.
pub const DATA: u8 = 1;
/// Padding: a page programmed only because the chip requires pages to be programmed in sequence.
pub const PAD: u8 = 2;
/// Tombstones: see [`trim_log`](super::trim_log).
pub const TOMBSTONES: u8 = 3;
/// A translation page: map entries of consecutive logical pages (dftl).
pub const TRANSLATION: u8 = 4;
/// Sectors of several logical pages (sector log).
pub const SECTORS: u8 = 8;
/// Trimmed pages of which the log holds sectors (sector log).
pub const SECTOR_TRIMS: u8 = 9;
/// A host page that was carried over from one log block to another (faster).
pub const CARRIED: u8 = DATA | 1 << 4;
/// A host page in the isolation area (faster).
pub const ISOLATED: u8 = DATA | 2 << 4;
/// A host page that was written to the hot partition of the log (last).
pub const HOT: u8 = DATA | 1 << 4;
/// A host page whose spare area holds the page table (PT) of its group (superblock, lsb).
pub const TABLE: u8 = DATA | 1 << 4;
/// A host page whose spare area holds the page middle directory (PMD) of its logical block
/// (superblock, lsb).
pub const DIRECTORY: u8 = DATA | 2 << 4;
/// A wide PMD page: its entries are full page numbers (lsb).
pub const WIDE_DIRECTORY: u8 = DATA | 3 << 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_values_of_the_specification() {
        assert_eq!([NONE, DATA, PAD, TOMBSTONES, TRANSLATION], [0, 1, 2, 3, 4]);
        assert_eq!([SECTORS, SECTOR_TRIMS], [8, 9]);
        assert_eq!([CARRIED, ISOLATED, HOT], [17, 33, 17]);
        assert_eq!([TABLE, DIRECTORY, WIDE_DIRECTORY], [17, 33, 49]);
    }
}
