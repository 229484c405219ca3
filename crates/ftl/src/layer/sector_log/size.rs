//! The size of a sector log, in flash and in DRAM.

use nand::ChipModel;
use spec::Params;

pub(super) const SECTOR_BYTES: u64 = nand::geometry::SECTOR_BYTES as u64;

/// Size of a log: its blocks in flash and the limit of its map in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorLogSize {
    /// Number of blocks.
    pub blocks: u32,
    /// Maximum size of the map in bytes, if a write buffer pays for it.
    pub map_bytes_max: Option<u64>,
}

impl SectorLogSize {
    /// The size of a log on a chip with these pages, below a write buffer of `buffer_bytes`.
    pub fn of(
        params: &Params,
        page_bytes: u32,
        pages_per_block: u32,
        buffer_bytes: Option<u64>,
    ) -> SectorLogSize {
        let page_bytes = u64::from(page_bytes);
        let blocks = params.size("size").div_ceil(page_bytes * u64::from(pages_per_block));
        // The write buffer keeps at least one page, and one more is the page buffer.
        let map_bytes_max = buffer_bytes.map(|bytes| bytes.saturating_sub(2 * page_bytes));
        SectorLogSize { blocks: blocks.min(u64::from(u32::MAX)) as u32, map_bytes_max }
    }

    /// Explains why a log of this size is not possible; none if it is.
    pub fn refused(&self, chip: &ChipModel) -> Option<String> {
        let sectors_per_page = u64::from(chip.page_bytes) / SECTOR_BYTES;
        let pages = u64::from(self.blocks) * u64::from(chip.pages_per_block);
        if pages * sectors_per_page >= u64::from(u32::MAX) {
            return Some("it has more sectors than 32-bit numbers can count".into());
        }
        // The sectors of a log page may all belong to different logical pages.
        let least = 4 * pages.next_power_of_two() + sectors_per_page * (8 + 4 * sectors_per_page);
        let most = self.map_bytes_max.filter(|&most| self.blocks > 0 && most < least)?;
        Some(format!(
            "its map takes at least {least} bytes, and the buffer has {most} left beside a page \
             of its own and the log's page buffer"
        ))
    }
}
