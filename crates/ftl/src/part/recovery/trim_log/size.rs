//! The size of a trim log: how many system blocks a device needs.

use nand::{ChipModel, Geometry, Pairing};

use super::SEGMENTS;
use super::page::{voids_per_page, window};
use crate::contract::Durability;
use crate::part::recovery::pair_shelter;

/// Number of system blocks that a device of this size needs.
pub fn system_blocks(chip: &ChipModel, logical_blocks: u32, durability: Durability) -> u32 {
    TrimLogSize::on(chip, logical_blocks).system_blocks(durability)
}

/// The number of blocks for which a device of this size can list void pages: in the worst case
/// every block has a range of its own in a checkpoint, which must fit into a segment with its seal.
pub fn blocks_max(chip: &ChipModel, logical_blocks: u32) -> u64 {
    let size = TrimLogSize::on(chip, logical_blocks);
    let pages = u64::from(size.segment_blocks()) * u64::from(size.usable);
    pages.saturating_sub(size.windows() + 1) * voids_per_page(size.page_bytes) as u64
}

/// What the size of a trim log depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrimLogSize {
    page_bytes: u32,
    /// Pages of a block: blocks of the log are used with one bit per cell.
    usable: u32,
    pages_per_block: u32,
    pairing: Pairing,
    logical_blocks: u64,
    logical_pages: u64,
}

impl TrimLogSize {
    fn on(chip: &ChipModel, logical_blocks: u32) -> TrimLogSize {
        let shape = [chip.page_bytes, chip.pages_per_block];
        TrimLogSize::new(shape, chip.pairing, logical_blocks)
    }

    /// The size on a chip of this geometry.
    pub fn of(geometry: &Geometry, logical_blocks: u32) -> TrimLogSize {
        let shape = [geometry.page_bytes(), geometry.pages_per_block()];
        TrimLogSize::new(shape, geometry.pairing(), logical_blocks)
    }

    fn new(
        [page_bytes, pages_per_block]: [u32; 2],
        pairing: Pairing,
        logical_blocks: u32,
    ) -> TrimLogSize {
        let logical_blocks = logical_blocks.into();
        let logical_pages = logical_blocks * u64::from(pages_per_block);
        let usable = pages_per_block / pairing.bits;
        TrimLogSize { page_bytes, usable, pages_per_block, pairing, logical_blocks, logical_pages }
    }

    /// Number of system blocks.
    pub fn system_blocks(&self, durability: Durability) -> u32 {
        match durability {
            Durability::Paper => 0,
            Durability::Full => {
                let shelter = pair_shelter::blocks(self.pages_per_block, self.pairing, durability);
                SEGMENTS as u32 * self.segment_blocks() + shelter
            }
        }
    }

    /// Blocks of a segment: it holds the largest possible checkpoint and as much again for records.
    pub fn segment_blocks(&self) -> u32 {
        let voids = (2 * self.logical_blocks).div_ceil(voids_per_page(self.page_bytes) as u64);
        (2 * (self.windows() + voids)).div_ceil(u64::from(self.usable)) as u32
    }

    fn windows(&self) -> u64 {
        self.logical_pages.div_ceil(u64::from(window(self.page_bytes)))
    }
}
