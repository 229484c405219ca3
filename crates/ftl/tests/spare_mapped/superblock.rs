//! superblock, cases counted by hand. Blocks have four pages, and each page is a group. At first,
//! logical block n is in block n. One erased block stays in reserve.

use nand::{ChipModel, Mode};
use spec::Spec;

use crate::device::Real;

/// A filled device; the fill is not counted.
fn filled(params: &str, logical: u32, extra: u32) -> Real {
    let mut real = Real::new(&format!("superblock:{params}"), 4, logical, extra, Mode::Stamps);
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
fn updates_of_all_logical_blocks_share_a_block() {
    let mut real = filled("blocks=4", 4, 2);
    [0, 5, 10, 15].into_iter().for_each(|page| real.write(page, 1));
    assert_eq!([0, 5, 10, 15].map(|page| real.place(page)), [(4, 0), (4, 1), (4, 2), (4, 3)]);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]));
}

#[test]
fn a_dead_block_of_the_superblock_is_erased_when_it_needs_a_block() {
    let mut real = filled("blocks=4", 4, 2);
    real.write(0, 4);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]), "nothing is erased when a block dies");
    real.write(4, 1);
    assert_eq!(work(&real), ([0, 1], [1, 0, 0]));
}

#[test]
fn all_dead_blocks_of_the_superblock_are_erased_together() {
    let mut real = filled("blocks=4", 4, 3);
    real.write(0, 8);
    real.write(8, 1);
    assert_eq!(work(&real), ([0, 2], [2, 0, 0]));
    assert_eq!(real.ftl.report().free_blocks, 2);
}

#[test]
fn without_free_pages_two_blocks_are_merged() {
    let mut real = filled("blocks=4", 4, 2);
    [0, 4, 8, 12].into_iter().for_each(|page| real.write(page, 1));
    // Each of blocks 0 to 3 has three valid pages. Blocks 0 and 1 are copied to block 5, then to
    // block 0.
    real.write(1, 1);
    assert_eq!(work(&real), ([6, 2], [0, 0, 1]));
    assert_eq!([5, 6, 7].map(|page| real.place(page)), [(5, 3), (0, 0), (0, 1)]);
    assert_eq!(real.place(1), (0, 2));
}

#[test]
fn a_superblock_at_its_maximum_collects_although_many_blocks_are_free() {
    let mut real = filled("blocks=1,physical=2", 2, 4);
    real.write(0, 1);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]));
    // Three pages are free, and block 0 has three valid ones: this is the last opportunity.
    real.write(0, 1);
    assert_eq!(work(&real), ([3, 1], [0, 1, 0]));
    assert_eq!(real.ftl.report().free_blocks, 3);
}

#[test]
fn a_superblock_at_its_maximum_waits_while_its_emptiest_block_fits() {
    let mut real = filled("blocks=1,physical=2", 2, 4);
    real.write(0, 2);
    // After the first page, three pages were free and three valid, so the second one needed a
    // collection.
    assert_eq!(work(&real), ([3, 1], [0, 1, 0]));
    let mut real = filled("blocks=1,physical=3", 2, 4);
    real.write(0, 2);
    real.write(2, 2);
    real.write(0, 1);
    // Three blocks. Block 0 is dead, but nothing happens while a page is free.
    real.write(0, 3);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]));
    real.write(3, 1);
    assert_eq!(work(&real), ([0, 1], [1, 0, 0]), "page 3 is still in block 2");
}

#[test]
fn with_seven_logical_blocks_every_block_is_collected_for_one_page() {
    let mut real = filled("blocks=7", 7, 3);
    real.write(0, 1);
    assert_eq!(work(&real), ([0, 0], [0, 0, 0]), "eight blocks, none of which had a dead page");
    real.write(1, 1);
    assert_eq!(work(&real), ([3, 1], [0, 1, 0]));
}

#[test]
fn a_superblock_without_update_blocks_collects_over_the_device() {
    let mut real = filled("blocks=1", 3, 2);
    real.write(0, 2);
    // The pool is at its reserve, and superblock 1 has no block beyond its logical one. Block 0 has
    // two valid pages, and its superblock has two free ones.
    real.write(4, 1);
    assert_eq!(work(&real), ([2, 1], [0, 1, 0]));
    assert_eq!((real.place(2), real.place(4)), ((3, 2), (4, 0)));
}

#[test]
fn over_the_device_an_open_block_is_closed_for_a_full_merge() {
    let mut real = filled("blocks=1", 3, 2);
    real.write(0, 1);
    real.write(0, 1);
    // Block 0 has three valid pages, but only two are free.
    real.write(4, 1);
    assert_eq!(work(&real), ([4, 2], [0, 0, 1]));
    assert_eq!(real.utilisation(), [0, 0, 1, 0, 1], "two pages of the open block are lost");
    assert_eq!(real.nand.array().lost_pages(), 2);
    assert_eq!((real.place(0), real.place(4)), ((4, 3), (0, 0)));
}

#[test]
fn a_dead_open_block_is_a_victim_with_open_victims() {
    for (params, copies_and_erases, merges) in
        [("blocks=1", [3, 2], [1, 1, 0]), ("blocks=1,open_victims=true", [0, 2], [2, 0, 0])]
    {
        let mut real = filled(params, 3, 2);
        real.write(0, 1);
        real.trim(0, 4);
        real.write(4, 1);
        assert_eq!(work(&real), ([0, 1], [1, 0, 0]), "block 0 is erased; it was dead");
        // Block 3 holds one page, which is dead. Block 1 has three valid pages, and three pages
        // beside it are free.
        real.write(8, 1);
        assert_eq!(work(&real), (copies_and_erases, merges), "{params}");
    }
}

#[test]
fn a_miss_reads_a_spare_area_for_each_group() {
    let mut real = filled("blocks=4,map_cache=1", 4, 2);
    real.read(0, 8);
    assert_eq!(real.counts().spare_reads, 8);
    real.read(4, 2);
    assert_eq!(real.counts().spare_reads, 8, "logical block 1 is cached");
    real.write(0, 8);
    assert_eq!(real.counts().spare_reads, 16);
    assert_eq!((real.figure("map_cache_hits"), real.figure("map_cache_misses")), (1.0, 4.0));
}

#[test]
fn a_trim_of_the_newest_page_copies_the_lowest_remaining_one() {
    let mut real = filled("blocks=4", 4, 2);
    real.trim(3, 1);
    assert_eq!(real.counts().map_copies, 1, "page 0 is copied, because 3 carried the PMD");
    real.trim(1, 1);
    assert_eq!(real.counts().map_copies, 1, "no other page depends on 1");
    real.trim(0, 1);
    assert_eq!(real.counts().map_copies, 2, "2");
    real.trim(2, 1);
    assert_eq!(real.counts().map_copies, 2, "no page is left");
    assert_eq!(real.figure("trim_copies"), 2.0);
}

#[test]
fn ram_is_a_directory_entry_per_block_and_98_bytes_per_cached_one() {
    let ram = Real::new("superblock", 64, 16, 3, Mode::Count).ftl.report().ram;
    assert_eq!((ram.map, ram.cache), (4 * 16, 48 * 98));
}

#[test]
fn impossible_settings_are_refused() {
    let refusal = |ftl: &str, chip: &str, extra: u32| {
        let chip = ChipModel::from_spec(&Spec::parse(chip).unwrap()).unwrap();
        let choice = ftl::Choice::from_spec(&Spec::parse(ftl).unwrap()).unwrap();
        choice.check(&chip, 1000, extra).unwrap_err().to_string()
    };
    assert_eq!(
        refusal("superblock", "slc-lsb:pages_per_block=128", 9),
        "superblock: a page needs 7·24 + 4·(3+7) + 32·(3+7) = 528 bits; a spare area has room for \
         352"
    );
    assert!(refusal("superblock:blocks=8", "slc-lsb", 9).contains("blocks=8; 1 to 7 are possible"));
    let physical = refusal("superblock:physical=4", "slc-lsb", 9);
    assert_eq!(physical, "superblock: physical=4 of 4; 5 to 8 are possible");
    let few = refusal("superblock", "slc-lsb", 1);
    assert_eq!(few, "superblock needs at least 2 extra blocks, this device has 1");
}
