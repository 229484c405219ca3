//! Layout of map entries in a spare area. Entries take few bits, because they share block numbers
//! (LSB §II.C).
//!
//! ```text
//! PBMT      [17][903][ - ][ - ]       block numbers of 24 bits each, allocated on demand
//! entries   (1, 5) (this, 2) …        index of the block, or "this block"; offset in the block
//! ```
//! A *page table* (PT) says where the pages of a group are. A *page middle directory* (PMD) says,
//! for each group of a logical block, which page is its carrier. An entry is an index into the
//! *PBMT* and an offset; the highest index means the block of the spare area itself. If the entry
//! of *another* page or group points at the page that carries the entry, that page or group is
//! unmapped.
//!
//! ```text
//! bits   flag   PBMT × 24   directory × (index + offset)   table × (index + offset)
//! ```
//! The entries of a *wide* PMD page (ours) do not share block numbers: see [`WideSheet`].

use nand::{BlockId, Geometry, Ppn};

use crate::part::spare::bit_fields::{BitWriter, number_at};

/// Bits of a block number.
pub const BLOCK_BITS: u32 = 24;
/// Maximum number of block numbers in a PBMT.
pub const PBMT_MAX: usize = 64;

/// Format of a list of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryFormat {
    /// Number of entries.
    pub count: u32,
    /// Bits per index.
    pub index_bits: u32,
    /// The index that means "this block". Lower indexes refer to the PBMT.
    pub this: u32,
}

impl EntryFormat {
    /// No entries.
    pub const NONE: EntryFormat = EntryFormat { count: 0, index_bits: 0, this: 0 };
}

/// Layout of the map entries in a spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareSheet {
    /// The bit that tells a PMD page (1) from a PT page (0), if the scheme has both.
    pub flag: Option<bool>,
    /// Block numbers in the PBMT.
    pub pbmt: u32,
    /// Entries of the groups.
    pub directory: EntryFormat,
    /// Entries of the pages.
    pub table: EntryFormat,
    /// Bits of a page's offset in its block.
    pub offset_bits: u32,
}

impl SpareSheet {
    /// Number of bits.
    pub fn bits(&self) -> u32 {
        self.table_at() + self.table.count * (self.table.index_bits + self.offset_bits)
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    fn pbmt_at(&self) -> u32 {
        u32::from(self.flag.is_some())
    }

    fn directory_at(&self) -> u32 {
        self.pbmt_at() + self.pbmt * BLOCK_BITS
    }

    fn table_at(&self) -> u32 {
        self.directory_at() + self.directory.count * (self.directory.index_bits + self.offset_bits)
    }

    /// Whether the PBMT has room for all blocks to which these entries refer, if the page is in
    /// `block`.
    pub fn fits(
        &self,
        geometry: &Geometry,
        block: BlockId,
        directory: impl Iterator<Item = Ppn>,
        table: impl Iterator<Item = Ppn>,
    ) -> bool {
        let mut pbmt = Pbmt::new(self.pbmt, block);
        // Two loops: a chain of iterators would take twice as long.
        for ppn in directory {
            if pbmt.index_of(geometry.block_of(ppn)).is_none() {
                return false;
            }
        }
        for ppn in table {
            if pbmt.index_of(geometry.block_of(ppn)).is_none() {
                return false;
            }
        }
        true
    }

    /// Composes the entries of the page `own`; they must fit. Missing entries point at the page
    /// itself.
    pub fn compose(
        &self,
        geometry: &Geometry,
        own: Ppn,
        directory: impl Iterator<Item = Ppn>,
        table: impl Iterator<Item = Ppn>,
        bytes: &mut Vec<u8>,
    ) {
        bytes.clear();
        bytes.resize(self.bytes(), 0);
        let mut pbmt = Pbmt::new(self.pbmt, geometry.block_of(own));
        if let Some(flag) = self.flag {
            BitWriter::new(bytes, 0).push(flag.into(), 1);
        }
        let mut writer = BitWriter::new(bytes, self.directory_at());
        self.write_entries(geometry, own, self.directory, directory, &mut pbmt, &mut writer);
        self.write_entries(geometry, own, self.table, table, &mut pbmt, &mut writer);
        let mut writer = BitWriter::new(bytes, self.pbmt_at());
        pbmt.taken().iter().for_each(|block| writer.push(block.0, BLOCK_BITS));
    }

    fn write_entries(
        &self,
        geometry: &Geometry,
        own: Ppn,
        format: EntryFormat,
        entries: impl Iterator<Item = Ppn>,
        pbmt: &mut Pbmt,
        writer: &mut BitWriter,
    ) {
        let all = entries.chain(core::iter::repeat(own));
        for ppn in all.take(format.count as usize) {
            let index = match pbmt.index_of(geometry.block_of(ppn)) {
                Some(THIS) => format.this,
                Some(index) => index,
                None => panic!("the entries of {own:?} refer to more than {} blocks", self.pbmt),
            };
            assert!(index <= format.this, "{own:?}: an entry cannot hold index {index}");
            writer.push(index, format.index_bits);
            writer.push(geometry.offset_of(ppn), self.offset_bits);
        }
    }

    /// Decodes the directory entry of a group from the spare area of the page `own`.
    pub fn group(&self, geometry: &Geometry, own: Ppn, bytes: &[u8], group: u32) -> Ppn {
        self.entry(geometry, own, bytes, self.directory_at(), self.directory, group)
    }

    /// Decodes the table entry of a page from the spare area of the page `own`.
    pub fn page(&self, geometry: &Geometry, own: Ppn, bytes: &[u8], page: u32) -> Ppn {
        self.entry(geometry, own, bytes, self.table_at(), self.table, page)
    }

    /// Decodes an entry; [`Ppn::NONE`] if no page has such an offset.
    fn entry(
        &self,
        geometry: &Geometry,
        own: Ppn,
        bytes: &[u8],
        start: u32,
        format: EntryFormat,
        which: u32,
    ) -> Ppn {
        let at = start + which * (format.index_bits + self.offset_bits);
        let index = number_at(bytes, at, format.index_bits);
        let offset = number_at(bytes, at + format.index_bits, self.offset_bits);
        let block = match index == format.this {
            true => geometry.block_of(own),
            false => self.block(bytes, index),
        };
        match offset < geometry.pages_per_block() {
            true => geometry.page(block, offset),
            false => Ppn::NONE,
        }
    }

    /// Block number `index` of the PBMT; zero if it was not allocated.
    pub fn block(&self, bytes: &[u8], index: u32) -> BlockId {
        BlockId(number_at(bytes, self.pbmt_at() + index * BLOCK_BITS, BLOCK_BITS))
    }
}

/// The page that carries a wide sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SheetPage {
    /// Its physical page.
    pub ppn: Ppn,
    /// The number of its group in the logical block.
    pub group: u32,
    /// Its number in the group.
    pub page: u32,
}

/// Layout of a wide PMD page. Its entries are full page numbers, so they can refer to any blocks.
/// Ours: the paper has no such page.
///
/// ```text
/// bits   other groups × page number   other pages × page number
/// ```
/// Both lists leave out the entry of the carrying page itself, because its place is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideSheet {
    /// Groups per logical block, including the page's own.
    pub groups: u32,
    /// Pages per group, including the page itself.
    pub pages: u32,
    /// Bits per page number.
    pub page_bits: u32,
}

impl WideSheet {
    /// Number of bits.
    pub fn bits(&self) -> u32 {
        (self.groups - 1 + self.pages - 1) * self.page_bits
    }

    /// Composes the entries of the page `own`. Missing entries point at the page itself.
    pub fn compose(
        &self,
        own: SheetPage,
        groups: impl Iterator<Item = Ppn>,
        pages: impl Iterator<Item = Ppn>,
        bytes: &mut Vec<u8>,
    ) {
        bytes.clear();
        bytes.resize(self.bits().div_ceil(8) as usize, 0);
        let mut writer = BitWriter::new(bytes, 0);
        self.write_others(own.ppn, groups, [self.groups, own.group], &mut writer);
        self.write_others(own.ppn, pages, [self.pages, own.page], &mut writer);
    }

    fn write_others(
        &self,
        own: Ppn,
        entries: impl Iterator<Item = Ppn>,
        [count, but]: [u32; 2],
        writer: &mut BitWriter,
    ) {
        let all = (0..count).zip(entries.chain(core::iter::repeat(own)));
        for (_, ppn) in all.filter(|&(at, _)| at != but) {
            writer.push(ppn.0, self.page_bits);
        }
    }

    /// Decodes the entry of a group.
    pub fn group(&self, own: SheetPage, bytes: &[u8], group: u32) -> Ppn {
        self.entry(own.ppn, bytes, 0, [group, own.group])
    }

    /// Decodes the entry of a page of the own group.
    pub fn page(&self, own: SheetPage, bytes: &[u8], page: u32) -> Ppn {
        self.entry(own.ppn, bytes, self.groups - 1, [page, own.page])
    }

    fn entry(&self, own: Ppn, bytes: &[u8], first: u32, [which, but]: [u32; 2]) -> Ppn {
        if which == but {
            return own;
        }
        let at = first + which - u32::from(which > but);
        Ppn(number_at(bytes, at * self.page_bits, self.page_bits))
    }
}

/// The index that means "this block", in a PBMT of any size.
const THIS: u32 = u32::MAX;

/// A PBMT that is being filled.
struct Pbmt {
    blocks: [BlockId; PBMT_MAX],
    len: u32,
    /// The last six bits of each of these block numbers. A block whose bit is missing here needs no
    /// search.
    marks: u64,
    most: u32,
    own: BlockId,
}

impl Pbmt {
    fn new(most: u32, own: BlockId) -> Pbmt {
        Pbmt { blocks: [BlockId(0); PBMT_MAX], len: 0, marks: 0, most, own }
    }

    fn taken(&self) -> &[BlockId] {
        &self.blocks[..self.len as usize]
    }

    /// The index of a block, which is added if necessary. None if there is no room for it.
    #[inline]
    fn index_of(&mut self, block: BlockId) -> Option<u32> {
        if block == self.own {
            return Some(THIS);
        }
        let mark = 1 << (block.0 % 64);
        if self.marks & mark != 0
            && let Some(at) = self.taken().iter().position(|&known| known == block)
        {
            return Some(at as u32);
        }
        if self.len == self.most {
            return None;
        }
        self.blocks[self.len as usize] = block;
        self.len += 1;
        self.marks |= mark;
        Some(self.len - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    /// A sheet with three block numbers, for two groups of four pages; blocks have four pages.
    fn sheet() -> (Geometry, SpareSheet) {
        let geometry = Geometry::new(512, 64, 4, 100, ProgramOrder::Any).unwrap();
        let directory = EntryFormat { count: 2, index_bits: 1, this: 1 };
        let table = EntryFormat { count: 4, index_bits: 2, this: 3 };
        (geometry, SpareSheet { flag: Some(true), pbmt: 3, directory, table, offset_bits: 2 })
    }

    #[test]
    fn entries_share_block_numbers_that_are_allocated_on_demand() {
        let (geometry, sheet) = sheet();
        assert_eq!(sheet.bits(), 1 + 3 * 24 + 2 * 3 + 4 * 4);
        let own = Ppn(4 * 7 + 2);
        let (directory, table) = ([Ppn(4 * 90 + 1), own], [Ppn(91), Ppn(4 * 90), Ppn(28), Ppn(88)]);
        let mut bytes = vec![0xFF; 3];
        let entries = (directory.into_iter(), table.into_iter());
        assert!(sheet.fits(&geometry, BlockId(7), entries.0, entries.1));
        sheet.compose(&geometry, own, directory.into_iter(), table.into_iter(), &mut bytes);
        assert_eq!(bytes.len(), 12);
        assert_eq!(bytes[0] & 1, 1, "the flag");
        let blocks = [0, 1, 2].map(|index| sheet.block(&bytes, index).0);
        assert_eq!(blocks, [90, 22, 0], "7 is this block; the third number is not needed");
        for group in 0..2 {
            let found = sheet.group(&geometry, own, &bytes, group);
            assert_eq!(found, directory[group as usize]);
        }
        for page in 0..4 {
            assert_eq!(sheet.page(&geometry, own, &bytes, page), table[page as usize]);
        }
    }

    #[test]
    fn missing_entries_point_at_the_page_itself() {
        let (geometry, sheet) = sheet();
        let (own, mut bytes) = (Ppn(13), Vec::new());
        let none = core::iter::empty;
        sheet.compose(&geometry, own, none(), none(), &mut bytes);
        assert!((0..4).all(|page| sheet.page(&geometry, own, &bytes, page) == own));
        assert!((0..2).all(|group| sheet.group(&geometry, own, &bytes, group) == own));
    }

    /// Three groups of four pages, page numbers of nine bits.
    const WIDE: WideSheet = WideSheet { groups: 3, pages: 4, page_bits: 9 };

    #[test]
    fn a_wide_sheet_may_refer_to_a_different_block_in_each_entry() {
        assert_eq!(WIDE.bits(), (2 + 3) * 9);
        let own = SheetPage { ppn: Ppn(300), group: 1, page: 2 };
        let (groups, pages) = ([Ppn(0), own.ppn, Ppn(511)], [Ppn(17), Ppn(401), own.ppn, Ppn(258)]);
        let mut bytes = vec![0xFF; 2];
        WIDE.compose(own, groups.into_iter(), pages.into_iter(), &mut bytes);
        assert_eq!(bytes.len(), 6, "45 bits");
        let numbers = [0, 1, 2, 3, 4].map(|at| number_at(&bytes, 9 * at, 9));
        assert_eq!(numbers, [0, 511, 17, 401, 258]);
        assert_eq!([0, 1, 2].map(|group| WIDE.group(own, &bytes, group)), groups);
        assert_eq!([0, 1, 2, 3].map(|page| WIDE.page(own, &bytes, page)), pages);
    }

    #[test]
    fn missing_entries_of_a_wide_sheet_point_at_the_page_itself() {
        let own = SheetPage { ppn: Ppn(300), group: 0, page: 0 };
        let mut bytes = Vec::new();
        let pages = [own.ppn, Ppn(5)];
        WIDE.compose(own, core::iter::empty(), pages.into_iter(), &mut bytes);
        let found = [0, 1, 2, 3].map(|page| WIDE.page(own, &bytes, page).0);
        assert_eq!(found, [300, 5, 300, 300], "a short group");
        assert!((0..3).all(|group| WIDE.group(own, &bytes, group) == own.ppn));
    }

    #[test]
    fn more_blocks_than_pbmt_entries_do_not_fit() {
        let (geometry, sheet) = sheet();
        let pages = |blocks: &[u32]| -> Vec<Ppn> { blocks.iter().map(|&b| Ppn(4 * b)).collect() };
        let fits = |directory, table| {
            let (directory, table) = (pages(directory), pages(table));
            sheet.fits(&geometry, BlockId(9), directory.into_iter(), table.into_iter())
        };
        assert!(fits(&[1, 2, 3], &[2, 1, 9]));
        assert!(!fits(&[1, 2, 3], &[4]) && !fits(&[1, 2, 3, 4], &[]));
    }
}
