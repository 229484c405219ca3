//! How logical blocks of lsb are divided into groups, the layout of spare areas that follows from
//! it, and the chips whose spare areas have room for it.

use nand::{ChipModel, Geometry};

use crate::contract::Durability;
use crate::part::recovery::pair_shelter;
use crate::part::spare::spare_sheet::{BLOCK_BITS, EntryFormat, PBMT_MAX, SpareSheet, WideSheet};

/// Bytes of the header of a spare area.
const HEADER_BYTES: u32 = nand::spare::HEADER_BYTES as u32;

/// Number of bits that distinguish `things` things.
pub fn bits_for(things: u32) -> u32 {
    things.next_power_of_two().trailing_zeros()
}

/// How logical blocks are divided into groups, and the layout of spare areas (LSB §III.C).
#[derive(Clone, Copy, Debug)]
pub struct GroupLayout {
    /// Groups per logical block: the paper's N.
    pub groups: u32,
    /// Pages per group, possibly fewer in the last one: the paper's G.
    pub group_pages: u32,
    /// Layout of a PT page.
    pub table: SpareSheet,
    /// Layout of a PMD page.
    pub directory: SpareSheet,
    /// Layout of a wide PMD page, if the page numbers of the device are short enough for it.
    pub wide: Option<WideSheet>,
}

impl GroupLayout {
    /// The layout for blocks of `pages_per_block` pages in `groups` groups. 0 groups stands for the
    /// paper's choice: 8 at 64 pages, otherwise the power of two at or above the square root.
    pub fn new(pages_per_block: u32, groups: u32) -> GroupLayout {
        let groups = match groups {
            0 => 1 << bits_for(pages_per_block).div_ceil(2),
            groups => groups.min(pages_per_block),
        };
        let group_pages = pages_per_block.div_ceil(groups);
        let groups = pages_per_block.div_ceil(group_pages);
        let offset_bits = bits_for(pages_per_block);
        let entries = |count, indices| EntryFormat {
            count,
            index_bits: bits_for(indices),
            this: indices - 1,
        };
        let sheet = |flag, pbmt, directory, table| SpareSheet {
            flag: Some(flag),
            pbmt,
            directory,
            table,
            offset_bits,
        };
        let table = entries(group_pages, group_pages);
        let through = (entries(groups, groups), entries(group_pages, groups + 1));
        GroupLayout {
            groups,
            group_pages,
            table: sheet(false, group_pages - 1, EntryFormat::NONE, table),
            directory: sheet(true, groups, through.0, through.1),
            wide: None,
        }
    }

    /// The layout for a device, whose size decides whether wide PMD pages fit, beside what a copy
    /// in the shelter needs.
    pub fn on(geometry: &Geometry, groups: u32, durability: Durability) -> GroupLayout {
        let layout = GroupLayout::new(geometry.pages_per_block(), groups);
        let shelter = pair_shelter::spare_bytes(geometry, durability);
        let most = geometry.scheme_bytes().saturating_sub(shelter) * 8;
        let wide = layout.wide_on(geometry);
        GroupLayout { wide: Some(wide).filter(|wide| wide.bits() <= most), ..layout }
    }

    fn wide_on(&self, geometry: &Geometry) -> WideSheet {
        let page_bits = bits_for(geometry.pages());
        WideSheet { groups: self.groups, pages: self.group_pages, page_bits }
    }

    /// The largest number of bytes of a page. If a cut can destroy pages that share cells, a mount
    /// must be able to write wide PMD pages.
    pub fn bytes(geometry: &Geometry, groups: u32, durability: Durability) -> u32 {
        let layout = GroupLayout::new(geometry.pages_per_block(), groups);
        let wide_bits = match pair_shelter::spare_bytes(geometry, durability) {
            0 => 0,
            _ => layout.wide_on(geometry).bits(),
        };
        layout.table.bits().max(layout.directory.bits()).max(wide_bits).div_ceil(8)
    }

    /// Explains why this layout does not fit the spare areas of a chip; none if it fits.
    pub fn refuses(&self, chip: &ChipModel) -> Option<String> {
        let most = (chip.spare_bytes - HEADER_BYTES) * 8;
        if self.groups > PBMT_MAX as u32 || self.group_pages > PBMT_MAX as u32 {
            let (n, g) = (self.groups, self.group_pages);
            return Some(format!(
                "{n} groups of {g} pages; at most {PBMT_MAX} of {PBMT_MAX} are possible"
            ));
        }
        let (table, directory) = (self.table.bits(), self.directory.bits());
        (table.max(directory) > most).then(|| {
            let fitting = GroupLayout::fitting(chip);
            format!(
                "{}, {}; a spare area has room for {most}; {fitting}",
                self.sum_of_table(),
                self.sum_of_directory()
            )
        })
    }

    /// The bits of a PT page: inequality (1) of the paper.
    fn sum_of_table(&self) -> String {
        let (g, index, offset) =
            (self.group_pages, self.table.table.index_bits, self.table.offset_bits);
        format!(
            "a PT page needs {}·{BLOCK_BITS} + {g}·({index}+{offset}) + 1 = {} bits",
            g - 1,
            self.table.bits()
        )
    }

    /// The bits of a PMD page: inequality (2) of the paper.
    fn sum_of_directory(&self) -> String {
        let (n, g, sheet) = (self.groups, self.group_pages, &self.directory);
        let (to_page, to_group) = (sheet.table.index_bits, sheet.directory.index_bits);
        format!(
            "a PMD page {n}·{BLOCK_BITS} + {g}·({to_page}+{o}) + {n}·({to_group}+{o}) + 1 = {}",
            sheet.bits(),
            o = sheet.offset_bits
        )
    }

    /// Says which numbers of groups fit a chip.
    fn fitting(chip: &ChipModel) -> String {
        let np = chip.pages_per_block;
        let most = (chip.spare_bytes - HEADER_BYTES) * 8;
        let fits = |groups: &u32| {
            let layout = GroupLayout::new(np, *groups);
            let is_small = layout.groups.max(layout.group_pages) <= PBMT_MAX as u32;
            is_small && layout.table.bits().max(layout.directory.bits()) <= most
        };
        let fitting: Vec<String> =
            (0..=bits_for(np)).map(|bit| 1 << bit).filter(fits).map(|n| n.to_string()).collect();
        match fitting.is_empty() {
            true => format!("no number of groups fits {np} pages per block"),
            false => format!("groups={} would fit", fitting.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::{Pairing, ProgramOrder};

    fn wide_bits(pages_per_block: u32, blocks: u32) -> Option<u32> {
        let order = ProgramOrder::Sequential;
        let geometry = Geometry::new(2048, 64, pages_per_block, blocks, order).unwrap();
        wide_bits_on(&geometry, Durability::Full)
    }

    fn wide_bits_on(geometry: &Geometry, durability: Durability) -> Option<u32> {
        GroupLayout::on(geometry, 0, durability).wide.map(|wide| wide.bits())
    }

    #[test]
    fn wide_pages_leave_room_for_the_bytes_of_the_shelter() {
        let geometry = Geometry::new(2048, 64, 64, 1 << 19, ProgramOrder::Sequential).unwrap();
        let pairs = geometry.with_pairing(Pairing { bits: 2, distance: 4 }).unwrap();
        assert_eq!(wide_bits_on(&pairs, Durability::Full), None, "350 of 352 - 72 bits");
        assert_eq!(wide_bits_on(&pairs, Durability::Paper), Some(350));
    }

    #[test]
    fn wide_pages_fit_if_page_numbers_are_short_enough() {
        assert_eq!(wide_bits(64, 1 << 10), Some(14 * 16));
        assert_eq!(wide_bits(64, 1 << 19), Some(14 * 25), "64 GiB: 350 of 352 bits");
        assert_eq!(wide_bits(64, (1 << 19) + 1), None, "14·26 bits are too many");
        assert_eq!(wide_bits(4, 9), Some((1 + 1) * 6), "two groups of two");
    }
}
