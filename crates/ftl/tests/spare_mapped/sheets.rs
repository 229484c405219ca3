//! The contents of spare areas, bit by bit: the examples of the paper's Fig. 4 to 7, and sizes.
//!
//! These tests do not use the scheme's own encoder: they decode the bytes as SPEC.md describes
//! them.

use nand::{BlockId, Mode};

use crate::device::Real;

/// A page, given by its block and its number in the block.
type Place = (u32, u32);

/// The number stored in `bits` bits from bit `at` on, the lowest bit first.
pub fn field(bytes: &[u8], at: usize, bits: usize) -> u32 {
    let bit = |n: usize| u32::from(bytes[n / 8]) >> (n % 8) & 1;
    (0..bits).map(|n| bit(at + n) << n).sum()
}

/// The decoded contents of a spare area. Each entry names a block, by its index in the PBMT or as
/// "this block", and a page with six bits.
struct Sheet {
    pbmt: Vec<u32>,
    groups: Vec<Place>,
    pages: Vec<Place>,
}

/// Decodes block numbers from bit `at` on, then entries with indices of the given numbers of bits.
fn sheet(bytes: &[u8], at: usize, pbmt: usize, own: u32, lists: [(usize, usize, u32); 2]) -> Sheet {
    let numbers: Vec<u32> = (0..pbmt).map(|n| field(bytes, at + 24 * n, 24)).collect();
    let mut at = at + 24 * pbmt;
    let mut taken = 0;
    let [groups, pages] = lists.map(|(count, index_bits, this)| {
        let mut entry = || {
            let (index, page) = (field(bytes, at, index_bits), field(bytes, at + index_bits, 6));
            at += index_bits + 6;
            if index == this {
                return (own, page);
            }
            taken = taken.max(index as usize + 1);
            (numbers[index as usize], page)
        };
        (0..count).map(|_| entry()).collect()
    });
    assert_eq!(at.div_ceil(8), bytes.len());
    Sheet { pbmt: numbers[..taken].to_vec(), groups, pages }
}

fn bytes(real: &Real, (block, page): Place) -> Vec<u8> {
    let ppn = real.nand.geometry().page(BlockId(block), page);
    real.nand.array().peek_spare(ppn).unwrap().unwrap().1.to_vec()
}

/// A PMD page of 8 groups of 8: flag 1, 8 numbers, 8 entries of 3 + 6 bits, 8 of 4 + 6.
fn directory(real: &Real, at: Place) -> Sheet {
    let bytes = bytes(real, at);
    assert_eq!((bytes.len(), bytes[0] & 1), (44, 1), "345 bits, a PMD page");
    sheet(&bytes, 1, 8, at.0, [(8, 3, 7), (8, 4, 8)])
}

/// A PT page: flag 0, 7 numbers, 8 entries of 3 + 6 bits.
fn table(real: &Real, at: Place) -> Sheet {
    let bytes = bytes(real, at);
    assert_eq!((bytes.len(), bytes[0] & 1), (31, 0), "241 bits, a PT page");
    sheet(&bytes, 1, 7, at.0, [(0, 0, 0), (8, 3, 7)])
}

/// lsb on the paper's chip, with superblocks of 16 logical blocks and many free blocks.
fn lsb() -> Real {
    Real::new("lsb:blocks=16", 64, 16, 40, Mode::Stamps)
}

/// Fills the open block with pages of other logical blocks, 5 and up.
fn fill_block(real: &mut Real, from: &mut u32) {
    let (_, last) = last_place(real);
    let pages = 63 - last;
    if pages > 0 {
        real.write(*from, pages);
        *from += pages.next_multiple_of(64);
        *from %= 16 * 64;
        *from = (*from).max(5 * 64);
    }
}

fn last_place(real: &Real) -> Place {
    let geometry = real.nand.geometry();
    let pages = (0..geometry.blocks()).flat_map(|block| (0..64).map(move |page| (block, page)));
    let found = pages.filter_map(|(block, page)| {
        let ppn = geometry.page(BlockId(block), page);
        Some((real.nand.array().peek_spare(ppn).unwrap()?.0.sequence, (block, page)))
    });
    found.max().unwrap().1
}

/// Logical block 0 is in block 0. Then pages 40 and 41 are rewritten elsewhere, and that block is
/// filled up.
fn before_figure_4() -> (Real, u32) {
    let mut real = lsb();
    let mut from = 5 * 64;
    real.write(0, 64);
    real.write(40, 2);
    fill_block(&mut real, &mut from);
    (real, from)
}

#[test]
fn figure_4_a_write_of_pages_9_and_10() {
    let (mut real, _) = before_figure_4();
    real.write(9, 2);
    let (pt, pmd) = (real.place(9), real.place(10));
    let (block, elsewhere) = (pmd.0, real.place(41));
    assert_eq!((pt, pmd), ((block, 0), (block, 1)));
    let directory = directory(&real, pmd);
    // The last page of each group maps the group. Page 10 maps its own group, and the PMD page 41
    // maps group 5.
    let mut groups: Vec<Place> = (0..8).map(|group| (0, 8 * group + 7)).collect();
    (groups[1], groups[5]) = (pmd, elsewhere);
    assert_eq!(directory.groups, groups);
    // All pages of the group of page 10, except page 10 itself, are found through page 9.
    let mut pages = vec![pt; 8];
    pages[2] = pmd;
    assert_eq!(directory.pages, pages);
    let table = table(&real, pt);
    let mut pages: Vec<Place> = (8..16).map(|page| (0, page)).collect();
    (pages[1], pages[2]) = (pt, pt);
    assert_eq!(table.pages, pages, "page 10 follows, so its entry names this PT page");
    assert_eq!(directory.pbmt, [0, elsewhere.0]);
    assert_eq!(table.pbmt, [0], "three block numbers in all");
}

/// The roles of pages, by their spare areas: `-` none, `T` PT page, `D` PMD page.
fn roles(real: &Real, pages: core::ops::RangeInclusive<u32>) -> String {
    let role = |page: u32| match bytes(real, real.place(page)).as_slice() {
        [] => '-',
        [first, ..] if first & 1 == 0 => 'T',
        _ => 'D',
    };
    pages.map(role).collect()
}

#[test]
fn figure_5_which_pages_become_pt_and_pmd_pages() {
    let mut real = lsb();
    real.write(5, 2);
    assert_eq!(roles(&real, 5..=6), "TD");
    real.write(5, 5);
    assert_eq!(roles(&real, 5..=9), "--TTD");
    real.write(64, 3);
    assert_eq!(roles(&real, 64..=66), "-TD");
    real.write(60, 8);
    assert_eq!(
        roles(&real, 60..=67),
        "--TD--TD",
        "two portions, divided between the logical blocks"
    );
    real.write(71, 2);
    assert_eq!(roles(&real, 71..=72), "TD", "each page is the only one written in its group");
}

#[test]
fn figure_6_a_single_page_refers_directly_to_the_pmd_page_before_it() {
    let (mut real, _) = before_figure_4();
    real.write(9, 2);
    real.write(12, 1);
    let (old_pmd, pt, pmd) = (real.place(10), real.place(9), real.place(12));
    let directory = directory(&real, pmd);
    let mut pages = vec![pt; 8];
    (pages[2], pages[4]) = (old_pmd, pmd);
    assert_eq!(directory.pages, pages);
    assert_eq!(directory.groups[1], pmd);
    assert_eq!(
        directory.pbmt.len(),
        2,
        "no further block number is needed: 10 is in the same block"
    );
    assert_eq!(real.figure("miw"), 0.0);
}

#[test]
fn figure_7_a_mapping_induced_write() {
    let mut real = lsb();
    let mut from = 5 * 64;
    real.write(0, 64);
    // Seven groups, whose pages written last are in seven blocks.
    for group in [0, 2, 3, 4, 5, 6, 7] {
        real.write(8 * group, 2);
        fill_block(&mut real, &mut from);
    }
    // Page 8 is the PT page; then 15, the PMD page, refers to 9 directly.
    real.write(8, 2);
    fill_block(&mut real, &mut from);
    let (old_table, nine) = (real.place(8), real.place(9));
    real.write(15, 1);
    let before = directory(&real, real.place(15));
    assert_eq!(
        before.pbmt.len(),
        8,
        "seven block numbers are for the groups, one is for pages 8 and 9"
    );
    assert_eq!((before.pages[0], before.pages[1], before.pages[4]), (old_table, nine, old_table));
    fill_block(&mut real, &mut from);
    real.forget_counts();
    // The blocks of 8 and 15 and seven others: nine numbers.
    real.write(10, 1);
    let (pt, pmd) = (real.place(8), real.place(10));
    assert_eq!(
        (pt, pmd),
        ((pmd.0, 0), (pmd.0, 1)),
        "8 is copied to the next page, then 10 is written"
    );
    assert_eq!((real.figure("miw"), real.counts().map_copies), (1.0, 1));
    let after = directory(&real, pmd);
    let mut pages = vec![pt; 8];
    pages[2] = pmd;
    assert_eq!(after.pages, pages, "all others are found through page 8, none directly");
    let table = table(&real, pt);
    assert_eq!((table.pages[0], table.pages[1], table.pages[7]), (pt, nine, real.place(15)));
    assert_eq!(table.pages[2], pt, "page 10 is about to be written");
    // The next page refers to 10 directly; the one after that would need nine numbers again.
    real.write(11, 1);
    fill_block(&mut real, &mut from);
    real.write(13, 1);
    assert_eq!(real.figure("miw"), 1.0);
    fill_block(&mut real, &mut from);
    real.write(14, 1);
    assert_eq!(real.figure("miw"), 2.0);
}

#[test]
fn an_overwritten_pt_page_is_not_used_any_more() {
    let mut real = lsb();
    let mut from = 5 * 64;
    real.write(0, 64);
    for group in [0, 2, 3, 4, 5, 6, 7] {
        real.write(8 * group, 2);
        fill_block(&mut real, &mut from);
    }
    real.write(8, 2);
    fill_block(&mut real, &mut from);
    // The PT page 8 is overwritten. Page 9 and the others are in two further blocks, so the lowest
    // valid page of the group, 9, is copied as the new PT page.
    real.forget_counts();
    real.write(8, 1);
    assert_eq!((real.figure("miw"), real.counts().map_copies), (1.0, 1));
    let (pt, pmd) = (real.place(9), real.place(8));
    assert_eq!((pt.1, pmd.1), (0, 1));
    assert_eq!(directory(&real, pmd).pages[3], pt);
    assert_eq!(table(&real, pt).pages[3], (0, 11));
}

#[test]
fn sizes_equal_those_of_the_paper() {
    let real = lsb();
    let bits = ["groups", "group_pages", "pmd_bits", "pt_bits"].map(|name| real.figure(name));
    assert_eq!(bits, [8.0, 8.0, 345.0, 241.0]);
    // This size is not in the paper: fourteen page numbers of twelve bits each, because there are
    // 56 · 64 pages.
    assert_eq!(real.figure("wide_pmd_bits"), 168.0);
    let superblock = Real::new("superblock", 64, 16, 8, Mode::Count);
    assert_eq!(superblock.figure("spare_bits"), 348.0);
    // A spare area of 64 bytes has room for 44 bytes of entries: 352 bits.
    let left = (superblock.nand.geometry().spare_bytes() - 20) * 8;
    assert_eq!(left, 352);
}

/// superblock: 7 block numbers, 4 group entries and 16 page entries of 3 + 6 bits each; index 7
/// means this block.
#[test]
fn every_page_of_a_superblock_carries_pmd_and_pt() {
    let mut real = Real::new("superblock", 64, 16, 8, Mode::Stamps);
    real.write(0, 4 * 64);
    real.write(20, 1);
    real.write(3, 1);
    let own = real.place(3);
    assert_eq!((real.place(20), own), ((4, 0), (4, 1)));
    let found = bytes(&real, own);
    assert_eq!(found.len(), 44, "348 bits");
    let found = sheet(&found, 0, 7, own.0, [(4, 3, 7), (16, 3, 7)]);
    assert_eq!(found.groups, [(4, 1), (4, 0), (0, 47), (0, 63)]);
    let mut pages: Vec<Place> = (0..16).map(|page| (0, page)).collect();
    pages[3] = own;
    assert_eq!(found.pages, pages);
    assert_eq!(found.pbmt, [0]);
}
