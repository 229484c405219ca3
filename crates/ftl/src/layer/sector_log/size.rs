//! The size of a sector log, in flash and in DRAM.

use nand::ChipModel;
use spec::Params;

pub(super) const SECTOR_BYTES: u64 = nand::geometry::SECTOR_BYTES as u64;

/// How a log is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorLogSize {
    /// Blocks of the log.
    pub blocks: u32,
    /// Bytes that the map may grow to, if a buffer pays for it.
    pub map_bytes_max: Option<u64>,
}

impl SectorLogSize {
    /// The log of this size on a chip of such pages, below a buffer of so many bytes.
    pub fn of(
        params: &Params,
        page_bytes: u32,
        pages_per_block: u32,
        buffer_bytes: Option<u64>,
    ) -> SectorLogSize {
        let page_bytes = u64::from(page_bytes);
        let blocks = params.size("size").div_ceil(page_bytes * u64::from(pages_per_block));
        // A page stays in the buffer, and one is the page buffer.
        let map_bytes_max = buffer_bytes.map(|bytes| bytes.saturating_sub(2 * page_bytes));
        SectorLogSize { blocks: blocks.min(u64::from(u32::MAX)) as u32, map_bytes_max }
    }

    /// Why no log can be laid out like this.
    pub fn refused(&self, chip: &ChipModel) -> Option<String> {
        let sectors_per_page = u64::from(chip.page_bytes) / SECTOR_BYTES;
        let pages = u64::from(self.blocks) * u64::from(chip.pages_per_block);
        if pages * sectors_per_page >= u64::from(u32::MAX) {
            return Some("its sectors are more than 32-bit numbers can count".into());
        }
        // A page of the log may hold as many pages of the host's as it has sectors.
        let least = 4 * pages.next_power_of_two() + sectors_per_page * (8 + 4 * sectors_per_page);
        let most = self.map_bytes_max.filter(|&most| self.blocks > 0 && most < least)?;
        Some(format!(
            "its map takes {least} bytes at least, and the buffer has {most} left beside a page \
             of its own and the log's page buffer"
        ))
    }
}
