//! Pages and blocks of a chip. Only a [`Geometry`] does arithmetic on their numbers.

use spec::named_enum;

use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::error::{Error, Result};
use crate::spare::HEADER_BYTES;

/// Bytes of a sector, the unit of host addresses.
pub const SECTOR_BYTES: u32 = 512;

named_enum! {
    /// The order in which the pages of an erased block may be programmed.
    pub enum ProgramOrder: "program order" {
        /// Any order (small-block chips).
        Any = "any",
        /// Ascending order; pages may be skipped, but then stay unused (large-block SLC).
        Ascending = "ascending",
        /// Page k only after page k−1 (MLC, TLC, QLC, and the chip of LSB §II.A).
        Sequential = "sequential",
    }
}

/// Which pages of a block share cells.
///
/// Cells of several bits belong to several pages, which are programmed one after the other:
///
/// ```text
/// bits 2, distance 2      page    0 1 2 3 4 5 6 7
///                         cells   a b a b c d c d       page 2 is the upper page of page 0
/// ```
/// The first page of a cell is its *lower* page, the others are *upper* pages. An interrupted
/// program of an upper page can destroy the pages of the same cells that were programmed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Bits of a cell: pages that share it.
    pub bits: u32,
    /// Pages from one page of a cell to its next one.
    pub distance: u32,
}

impl Pairing {
    /// One bit per cell: no pages share cells.
    pub const NONE: Pairing = Pairing { bits: 1, distance: 1 };

    /// The offsets of the pages that share the cells of the page at `offset` and precede it.
    pub fn lower_pages(self, offset: u32) -> impl Iterator<Item = u32> {
        let level = offset % (self.bits * self.distance) / self.distance;
        (1..=level).map(move |up| offset - up * self.distance)
    }
}

/// Pages, blocks and spare bytes of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    page_bytes: u32,
    spare_bytes: u32,
    pages_per_block: u32,
    blocks: u32,
    order: ProgramOrder,
    pairing: Pairing,
    /// Units that work at the same time.
    dies: u32,
    /// log₂(pages_per_block) if that is whole: it saves a division in every simulated write.
    shift: Option<u32>,
    /// The mask of a whole page, which every simulated write needs too.
    full_mask: SectorMask,
}

impl Geometry {
    /// A larger page would have more sectors than a [`SectorMask`] has bits.
    pub const PAGE_BYTES_MAX: u32 = 64 * SECTOR_BYTES;
    /// FTLs keep the number of valid pages of a block in 15 bits.
    pub const PAGES_PER_BLOCK_MAX: u32 = (1 << 15) - 1;
    /// Far more dies than a drive has.
    pub const DIES_MAX: u32 = 1 << 12;

    /// A geometry, if such a chip can exist.
    ///
    /// # Errors
    /// The page size is no multiple of 512 B or above 32 KiB, the spare area is too small for the
    /// header, there are no blocks, fewer than 2 or more than 32,767 pages per block, or more pages
    /// than 32 bits can number.
    pub fn new(
        page_bytes: u32,
        spare_bytes: u32,
        pages_per_block: u32,
        blocks: u32,
        order: ProgramOrder,
    ) -> Result<Geometry> {
        let refuse = |why: String| Err(Error::ImpossibleChip(why));
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            return refuse(format!("a page of {page_bytes} B is no multiple of {SECTOR_BYTES} B"));
        }
        if page_bytes > Self::PAGE_BYTES_MAX {
            return refuse(format!("a page of {page_bytes} B is above {} B", Self::PAGE_BYTES_MAX));
        }
        let header = HEADER_BYTES as u32;
        if spare_bytes < header {
            return refuse(format!(
                "a spare area of {spare_bytes} B cannot hold the header of {header} B"
            ));
        }
        if !(2..=Self::PAGES_PER_BLOCK_MAX).contains(&pages_per_block) {
            let most = Self::PAGES_PER_BLOCK_MAX;
            return refuse(format!("{pages_per_block} pages per block; 2 to {most} are possible"));
        }
        if blocks == 0 {
            return refuse("it has no blocks".into());
        }
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        if pages >= u64::from(Lpn::SYSTEM.0) {
            return refuse(format!(
                "{pages} pages are more than 32-bit page numbers can count; take larger pages"
            ));
        }
        let shift = pages_per_block.is_power_of_two().then(|| pages_per_block.trailing_zeros());
        let pairing = Pairing::NONE;
        let full_mask = u64::MAX >> (64 - page_bytes / SECTOR_BYTES);
        Ok(Geometry {
            page_bytes,
            spare_bytes,
            pages_per_block,
            blocks,
            order,
            pairing,
            dies: 1,
            shift,
            full_mask,
        })
    }

    /// The same with pages that share cells.
    ///
    /// # Errors
    /// The number of bits per cell is impossible, a block has fewer pages than a cell, or the
    /// distance is zero.
    pub fn with_pairing(self, pairing: Pairing) -> Result<Geometry> {
        let refuse = |why: &str| Err(Error::ImpossibleChip(why.into()));
        let pages = self.pages_per_block;
        if !(1..=4).contains(&pairing.bits) {
            return refuse("cells have 1 to 4 bits");
        }
        if pages < pairing.bits {
            let bits = pairing.bits;
            return refuse(&format!("{pages} pages per block, fewer than the {bits} of one cell"));
        }
        if !(1..=Self::PAGES_PER_BLOCK_MAX).contains(&pairing.distance) {
            return refuse("pages that share cells are at least one page apart");
        }
        Ok(Geometry { pairing, ..self })
    }

    /// The same on several dies: block n is on die n modulo their number. Each die works through
    /// its operations in order, but which die is how far is not known before all are
    /// [idle](crate::Nand::wait).
    ///
    /// # Errors
    /// There is no die, or there are more than [`DIES_MAX`](Self::DIES_MAX); or there are several,
    /// and the pages of a block may be programmed in any order.
    pub fn with_dies(self, dies: u32) -> Result<Geometry> {
        if dies > 1 && self.order == ProgramOrder::Any {
            let why = "a chip with several dies programs the pages of a block in ascending order";
            return Err(Error::ImpossibleChip(why.into()));
        }
        if !(1..=Self::DIES_MAX).contains(&dies) {
            let why = format!("{dies} dies; 1 to {} are possible", Self::DIES_MAX);
            return Err(Error::ImpossibleChip(why));
        }
        Ok(Geometry { dies, ..self })
    }

    /// The same with more blocks, which have the numbers behind the last one.
    ///
    /// # Errors
    /// There are more pages than 32 bits can number.
    pub(crate) fn with_more_blocks(&self, blocks: u32) -> Result<Geometry> {
        let Geometry { page_bytes, spare_bytes, pages_per_block, order, .. } = *self;
        let all = self.blocks.saturating_add(blocks);
        Geometry::new(page_bytes, spare_bytes, pages_per_block, all, order)?;
        Ok(Geometry { blocks: all, ..*self })
    }

    /// Bytes of a page's data area.
    #[inline]
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }
    /// Bytes of a page's spare area.
    #[inline]
    pub fn spare_bytes(&self) -> u32 {
        self.spare_bytes
    }
    /// Bytes of a spare area that are left for the scheme.
    pub fn scheme_bytes(&self) -> u32 {
        self.spare_bytes - HEADER_BYTES as u32
    }
    /// Pages per block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }
    /// Blocks of the chip.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Pages of the chip.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.blocks * self.pages_per_block
    }
    /// Bytes of a block's data areas.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.page_bytes) * u64::from(self.pages_per_block)
    }
    /// Sectors per page.
    #[inline]
    pub fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES
    }
    /// The order in which a block's pages may be programmed.
    #[inline]
    pub fn program_order(&self) -> ProgramOrder {
        self.order
    }

    /// Which pages of a block share cells.
    pub fn pairing(&self) -> Pairing {
        self.pairing
    }

    /// Dies, which work at the same time.
    #[inline]
    pub fn dies(&self) -> u32 {
        self.dies
    }

    /// The die of a block.
    #[inline]
    pub fn die_of(&self, block: BlockId) -> u32 {
        block.0 % self.dies
    }

    /// Pages of a block that is used with one bit per cell.
    pub fn slc_pages(&self) -> u32 {
        self.pages_per_block / self.pairing.bits
    }

    /// The mask that covers a whole page.
    #[inline]
    pub fn full_mask(&self) -> SectorMask {
        self.full_mask
    }

    /// The block that holds a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(match self.shift {
            Some(shift) => ppn.0 >> shift,
            None => ppn.0 / self.pages_per_block,
        })
    }

    /// A page's number inside its block.
    #[inline]
    pub fn offset_of(&self, ppn: Ppn) -> u32 {
        ppn.0 - self.first_page(self.block_of(ppn)).0
    }

    /// Page 0 of a block.
    #[inline]
    pub fn first_page(&self, block: BlockId) -> Ppn {
        Ppn(block.0 * self.pages_per_block)
    }

    /// Page `offset` of a block.
    #[inline]
    pub fn page(&self, block: BlockId, offset: u32) -> Ppn {
        debug_assert!(offset < self.pages_per_block);
        Ppn(block.0 * self.pages_per_block + offset)
    }

    /// The page numbers of a block, as indices.
    #[inline]
    pub(crate) fn span(&self, block: BlockId) -> core::ops::Range<usize> {
        let first = self.first_page(block).0 as usize;
        first..first + self.pages_per_block as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_and_offset_are_inverse_to_page() {
        for pages_per_block in [64, 48] {
            let g = Geometry::new(2048, 64, pages_per_block, 10, ProgramOrder::Ascending).unwrap();
            for page in 0..g.pages() {
                let (block, offset) = (g.block_of(Ppn(page)), g.offset_of(Ppn(page)));
                assert_eq!(g.page(block, offset), Ppn(page));
            }
        }
    }

    #[test]
    fn upper_pages_have_lower_pages() {
        let lower = |bits, distance, offset| -> Vec<u32> {
            Pairing { bits, distance }.lower_pages(offset).collect()
        };
        assert_eq!(
            [0, 1, 2, 3].map(|offset| lower(2, 2, offset)),
            [vec![], vec![], vec![0], vec![1]]
        );
        assert_eq!(lower(2, 2, 6), [4]);
        assert_eq!([3, 4, 5].map(|offset| lower(3, 1, offset)), [vec![], vec![3], vec![4, 3]]);
        assert_eq!(lower(1, 1, 7), []);
    }

    #[test]
    fn impossible_geometries_say_why() {
        let why = |page, spare, per_block, blocks| {
            Geometry::new(page, spare, per_block, blocks, ProgramOrder::Any)
                .unwrap_err()
                .to_string()
        };
        assert!(why(1000, 64, 64, 8).contains("multiple of 512"));
        assert!(why(0, 64, 64, 8).contains("multiple of 512"));
        assert!(why(65536, 64, 64, 8).contains("above 32768 B"));
        assert!(why(2048, 8, 64, 8).contains("spare area of 8 B"));
        assert!(why(2048, 64, 1, 8).contains("2 to 32767"));
        assert!(why(2048, 64, 64, 0).contains("no blocks"));
        let dies = |order, dies| {
            let geometry = Geometry::new(2048, 64, 64, 8, order).unwrap();
            geometry.with_dies(dies).unwrap_err().to_string()
        };
        assert!(dies(ProgramOrder::Any, 2).contains("ascending order"));
        assert!(dies(ProgramOrder::Sequential, 0).contains("1 to 4096"));
        assert!(why(512, 64, 4096, 2_000_000).contains("32-bit"));
    }

    #[test]
    fn a_full_mask_has_one_bit_per_sector() {
        let mask = |page| {
            Geometry::new(page, 64, 64, 8, ProgramOrder::Any).unwrap().full_mask().count_ones()
        };
        assert_eq!([mask(512), mask(2048), mask(32768)], [1, 4, 64]);
    }
}
