//! Ranges of bytes, sectors and pages.

use std::ops::Range;

/// Bytes of a sector.
pub const SECTOR: u64 = nand::geometry::SECTOR_BYTES as u64;

/// The sectors that a range touches.
pub fn outward(offset: u64, bytes: u64) -> Range<u64> {
    offset / SECTOR * SECTOR..(offset + bytes).div_ceil(SECTOR) * SECTOR
}

/// The whole units of `unit` bytes in a range; empty if there is none.
pub fn inward(offset: u64, bytes: u64, unit: u64) -> Range<u64> {
    let start = offset.div_ceil(unit) * unit;
    start..start.max((offset + bytes) / unit * unit)
}
