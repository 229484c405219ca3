//! lsb, cases counted by hand. Unless stated otherwise, a block has four pages in two groups of
//! two. Logical block 0 is in block 0, and logical block 1 in block 1. There are three extra
//! blocks, of which two stay erased.

use nand::{BlockId, ChipModel, Lpn, Mode};
use spec::Spec;

use crate::device::Real;

/// A filled device; the fill is not counted.
fn filled(params: &str, logical: u32, extra: u32) -> Real {
    let mut real = Real::new(&format!("lsb:{params}"), 4, logical, extra, Mode::Stamps);
    real.write(0, 4 * logical);
    real.forget_counts();
    real
}

/// Copies and erases of garbage collection; dead blocks, partial merges and full merges.
fn work(real: &Real) -> ([u64; 2], [u64; 3]) {
    let counts = real.counts();
    ([counts.copies, counts.erases], real.merges())
}

#[test]
fn a_dead_block_is_erased() {
    let mut real = filled("blocks=2", 2, 3);
    real.write(0, 4);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]), "nothing is erased when a block dies");
    real.write(4, 4);
    assert_eq!(work(&real), ([0, 1], [1, 0, 0]));
    assert_eq!(real.ftl.report().free_blocks, 2);
}

#[test]
fn valid_pages_go_to_free_pages_of_their_superblock() {
    let mut real = filled("blocks=2", 2, 3);
    real.write(0, 2);
    // Block 0 has two valid pages, and the open block two free ones. Writing four pages needs a
    // block.
    real.write(4, 4);
    assert_eq!(work(&real), ([2, 1], [0, 1, 0]));
    assert_eq!((real.place(2), real.place(3)), ((2, 2), (2, 3)));
}

#[test]
fn room_for_a_possible_induced_write_is_made_even_if_none_follows() {
    let mut real = filled("blocks=2", 2, 3);
    real.write(0, 2);
    real.write(2, 1);
    // Only page 3 is valid in block 0. One page is free, but two are needed.
    real.write(4, 4);
    assert_eq!(
        work(&real),
        ([4, 2], [0, 0, 1]),
        "page 3 is copied, then 0 to 2 out of the open block"
    );
    assert_eq!([3, 0, 1, 2].map(|page| real.place(page)), [(3, 0), (3, 1), (3, 2), (3, 3)]);
    assert_eq!(real.figure("miw"), 0.0);
}

#[test]
fn free_pages_of_a_closed_block_are_lost() {
    let mut real = filled("blocks=2", 2, 3);
    (0..3).for_each(|page| real.write(page, 1));
    // One page is free, but page 3 might take two.
    real.write(3, 1);
    assert_eq!(work(&real), ([4, 2], [0, 0, 1]));
    assert_eq!(real.nand.array().lost_pages(), 1);
    assert_eq!(real.utilisation(), [0, 0, 0, 1, 1], "the open block was left with a free page");
    assert_eq!(real.place(3), (4, 0));
}

#[test]
fn a_portion_that_ends_alone_in_its_group_needs_one_more_page() {
    let mut real = filled("blocks=2", 2, 3);
    real.write(4, 1);
    // Three pages are free, but 0 to 2 might take four.
    real.write(0, 3);
    assert_eq!(work(&real), ([3, 1], [0, 1, 0]));
    // Two complete groups need exactly their number of pages.
    let mut real = filled("blocks=2", 2, 3);
    real.write(4, 2);
    real.write(0, 2);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]));
}

#[test]
fn superblocks_of_one_block_collect_from_each_other() {
    let mut real = filled("blocks=1", 3, 3);
    real.write(0, 2);
    // Superblock 1 needs a block. Superblock 0 has two free pages for its two valid ones.
    real.write(4, 2);
    assert_eq!(work(&real), ([2, 1], [0, 1, 0]));
    assert_eq!((real.place(2), real.place(4)), ((3, 2), (4, 0)));
}

#[test]
fn a_superblock_without_free_pages_is_passed_over() {
    let mut real = filled("blocks=1", 3, 4);
    real.write(0, 2);
    real.write(0, 2);
    real.write(4, 1);
    // Blocks 0 and 3 have two dead pages each, but superblock 0 has no free page. Block 1 has one
    // dead page, and superblock 1 has free pages for 5, 6 and 7. No write can be induced, because 6
    // and 7 are a complete group.
    real.write(8, 1);
    assert_eq!(work(&real), ([3, 1], [0, 1, 0]));
    assert_eq!(real.place(5), (4, 1));
}

#[test]
fn ties_go_to_the_lowest_block() {
    let mut real = filled("blocks=4", 4, 4);
    real.write(4, 4);
    real.write(0, 4);
    real.write(8, 4);
    assert_eq!(work(&real), ([0, 1], [1, 0, 0]));
    let erased = |block| real.nand.owners(BlockId(block)).iter().all(|&o| Lpn(o) == Lpn::NONE);
    assert!(erased(0) && !erased(1), "block 1 died first, but block 0 is the lowest");
}

#[test]
fn a_full_merge_empties_the_two_with_most_dead_pages() {
    let mut real = filled("blocks=4", 4, 3);
    // Two dead pages in block 2, one in block 0, one in block 1; the open block is full.
    real.write(8, 2);
    real.write(0, 1);
    // An induced write is possible, so the page of block 1 needs a block: block 2 has two valid
    // pages, and one page is free.
    real.write(4, 1);
    assert_eq!(
        work(&real),
        ([5, 2], [0, 0, 1]),
        "two pages of block 2 and three of block 0 are copied"
    );
    assert_eq!([10, 11].map(|page| real.place(page)), [(4, 3), (5, 0)]);
    assert_eq!([1, 2, 3].map(|page| real.place(page)), [(5, 1), (5, 2), (5, 3)]);
    assert_eq!(real.place(4), (6, 0));
}

#[test]
fn a_request_looks_up_each_logical_block_once() {
    let mut real = filled("blocks=2,map_cache=1", 2, 3);
    real.read(0, 8);
    // Each map is in two spare areas. Page 1 knows group 0; page 3, the PMD page, knows both
    // groups. Page 2 is the PT page of group 1, but no page is found through it.
    assert_eq!(real.counts().spare_reads, 4);
    real.read(4, 4);
    real.write(6, 1);
    assert_eq!(real.counts().spare_reads, 4, "logical block 1 is cached and stays cached");
    assert_eq!((real.figure("map_cache_hits"), real.figure("map_cache_misses")), (2.0, 2.0));
    real.write(0, 1);
    assert_eq!(real.counts().spare_reads, 6, "the miss reads the map as it was before the write");
}

#[test]
fn a_load_reads_a_pt_page_only_if_others_are_found_through_it() {
    // Groups of four pages: 4 to 7 of a block of eight.
    let mut real = Real::new("lsb:blocks=2,groups=2,map_cache=1", 8, 2, 3, Mode::Stamps);
    real.write(0, 16);
    real.forget_counts();
    // The PMD page 7 knows 4 and 5 through the PT page 6; page 3 knows group 0.
    real.read(0, 1);
    assert_eq!(real.counts().spare_reads, 3);
    // Page 5, written alone, knows 4 and 6 through 6, and 7 directly.
    real.write(5, 1);
    real.read(8, 1);
    real.forget_counts();
    real.read(0, 1);
    assert_eq!(real.counts().spare_reads, 3, "the spare areas of 5, 6 and 3 are read");
}

#[test]
fn unmapped_logical_blocks_are_not_looked_up() {
    let mut real = Real::new("lsb:map_cache=1", 4, 3, 3, Mode::Stamps);
    real.write(0, 1);
    real.read(4, 8);
    real.trim(4, 8);
    assert_eq!(real.figure("map_cache_misses"), 1.0, "only the write misses");
    assert_eq!(real.counts().spare_reads, 0, "the miss found nothing to read");
}

#[test]
fn a_trim_of_a_pt_page_copies_the_lowest_remaining_page() {
    let mut real = filled("blocks=2", 2, 3);
    real.trim(1, 1);
    assert_eq!(real.counts().map_copies, 1, "page 1 held the map entry of page 0");
    real.trim(2, 2);
    assert_eq!(real.counts().map_copies, 1, "page 0 is the PMD page; no page of group 1 is left");
    real.trim(0, 1);
    assert_eq!(real.counts().map_copies, 1, "no page of the logical block is left");
    real.trim(7, 1);
    assert_eq!(real.counts().map_copies, 2, "page 7 was a PMD page; only 6 is left of its group");
    assert_eq!((real.figure("trim_copies"), real.figure("miw")), (2.0, 0.0));
}

#[test]
fn ram_is_a_directory_entry_per_block_and_300_bytes_per_cached_one() {
    let ram = Real::new("lsb", 64, 16, 3, Mode::Count).ftl.report().ram;
    assert_eq!((ram.map, ram.cache), (4 * 16, 16 * 300));
}

fn refusal(ftl: &str, chip: &str, extra: u32) -> String {
    let chip = ChipModel::from_spec(&Spec::parse(chip).unwrap()).unwrap();
    let choice = ftl::Choice::from_spec(&Spec::parse(ftl).unwrap()).unwrap();
    choice.check(&chip, 1000, extra).unwrap_err().to_string()
}

#[test]
fn entries_that_do_not_fit_are_refused_with_the_sum() {
    assert_eq!(
        refusal("lsb", "slc-lsb:pages_per_block=128", 9),
        "lsb: a PT page needs 7·24 + 8·(3+7) + 1 = 249 bits, a PMD page 16·24 + 8·(5+7) + \
         16·(4+7) + 1 = 657; a spare area has room for 352; no number of groups fits 128 pages per \
         block"
    );
    assert_eq!(
        refusal("lsb:groups=4", "slc-lsb", 9),
        "lsb: a PT page needs 15·24 + 16·(4+6) + 1 = 521 bits, a PMD page 4·24 + 16·(3+6) + \
         4·(2+6) + 1 = 273; a spare area has room for 352; groups=8 would fit"
    );
    assert_eq!(
        refusal("lsb", "slc-lsb", 2),
        "lsb needs at least 3 extra blocks, this device has 2"
    );
    assert!(refusal("lsb:blocks=0", "slc-lsb", 9).contains("blocks=0; 1 to 2^24 are possible"));
    for chip in ["mlc-k9gag", "tlc-3d", "qlc-3d", "slc-lsb:pages_per_block=32"] {
        let chip = ChipModel::from_spec(&Spec::parse(chip).unwrap()).unwrap();
        let choice = ftl::Choice::from_spec(&Spec::parse("lsb").unwrap()).unwrap();
        choice.check(&chip, 1000, 3).unwrap();
    }
}
