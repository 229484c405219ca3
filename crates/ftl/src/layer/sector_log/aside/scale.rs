//! How much smaller a miniature is than its device.
//!
//! ```text
//! device             [ 128 pages ] [ 128 pages ] [ 128 pages ] …    8,280 blocks
//! miniature 1 : 32   [16] [16] [16] …                               2,070 blocks, 8 times shorter
//! ```
//! The blocks of a miniature are shorter rather than few. Pages that were written together often
//! die together. A long block takes long to be filled with the pages of a sample, so it would mix
//! pages of different fates, and garbage collection would copy pages that the device never copies.

/// Blocks that a miniature has at least, if the device has as many. With fewer, garbage collection
/// would have too little choice.
const BLOCKS_MIN: u32 = 256;
/// Blocks that the log of a miniature has at least. It is cleaned block by block, so between 1/16
/// of it and nothing is free.
const LOG_BLOCKS_MIN: u32 = 16;
/// Pages that a block of a miniature has at least, if it is smaller than a block of the device. The
/// fewer pages a block has, the more its number of valid pages depends on chance.
const BLOCK_PAGES_MIN: u32 = 16;

/// How much smaller a miniature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Pages of the device for one page of the miniature.
    pub pages: u32,
    /// How many times shorter its blocks are.
    pub block: u32,
}

impl Scale {
    /// The largest scale at which a miniature of a device with so many blocks has enough of them.
    pub fn largest(blocks: u32, log_blocks: u32) -> u32 {
        (blocks / BLOCKS_MIN).min(log_blocks / LOG_BLOCKS_MIN).max(1)
    }

    /// A scale of at most `pages`, with blocks that are as short as possible.
    pub fn new(pages: u32, pages_per_block: u32) -> Scale {
        let fits = |block: &u32| {
            pages_per_block.is_multiple_of(*block) && pages_per_block / block >= BLOCK_PAGES_MIN
        };
        let block = (1..=pages).rev().find(fits).unwrap_or(1);
        Scale { pages: pages / block * block, block }
    }

    /// A number of blocks, scaled.
    pub fn blocks(self, blocks: u32) -> u32 {
        let fewer = self.pages / self.block;
        (blocks + fewer / 2) / fewer
    }

    /// A number of pages of a block, scaled.
    pub fn block_pages(self, pages: u32) -> u32 {
        (pages + self.block / 2) / self.block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_shorter_before_they_become_fewer() {
        let scaled = |pages, pages_per_block| {
            let scale = Scale::new(pages, pages_per_block);
            (scale.pages, scale.block_pages(pages_per_block), scale.blocks(8280))
        };
        assert_eq!(scaled(32, 128), (32, 16, 2070));
        assert_eq!(scaled(12, 128), (8, 16, 8280), "a multiple of the factor of the blocks");
        assert_eq!(scaled(5, 32), (4, 16, 4140));
        assert_eq!(scaled(7, 4), (7, 4, 1183), "short blocks stay as they are");
        assert_eq!(scaled(3, 48), (3, 16, 8280));
        assert_eq!(scaled(6, 100), (5, 20, 8280), "a factor of the pages of a block");
        assert_eq!(scaled(1, 128), (1, 128, 8280));
    }

    #[test]
    fn a_scale_leaves_enough_blocks() {
        assert_eq!(Scale::largest(8280, 652), 32);
        assert_eq!(Scale::largest(1024, 652), 4);
        assert_eq!(Scale::largest(8280, 33), 2);
        assert_eq!(Scale::largest(100, 5), 1);
    }
}
