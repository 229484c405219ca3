//! Tests of faster: second chances, isolation, progressive merges.

use ftl::part::recovery::page_kind;
use ftl::scheme::faster::pace::Pace;
use ftl::{Choice, Metric};
use nand::{Cause, ChipModel, Lpn, PageState, Ppn};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

use crate::device::{Counts, Mortal, ORDERS, Real, step, survives_two_cuts};
use crate::naive_fast::{Merge, NaiveFast, Rules, Sequential, Uses};

/// A form of faster, read as its paper's text, on a filled `ascending` device of four logical
/// blocks. It has one RW block, plus the extra blocks beyond what the form needs.
fn faster(params: &str, extra: u32) -> Real {
    Real::filled(&paper(params), "ascending", [4, extra])
}

/// faster as its paper's text, with other parameters.
fn paper(params: &str) -> String {
    format!("faster:as=paper{params}")
}

fn figure(real: &Real, name: &str) -> u64 {
    match real.figure(name) {
        Metric::Count(count) => count,
        other => panic!("{other:?}"),
    }
}

fn associated(real: &Real) -> (Vec<u64>, Vec<u64>) {
    match real.figure("rw_associated_blocks") {
        Metric::Counts(random) => (real.counts().merges.associated_blocks, random),
        other => panic!("{other:?}"),
    }
}

const NO_MERGES: [u64; 4] = [0, 0, 0, 0];

// ---- Second chances, counted by hand ------------------------------------------------------------

#[test]
fn valid_pages_of_a_victim_are_carried_to_a_new_head_and_host_writes_follow() {
    let mut real = faster("", 4);
    real.write_each(&[1, 5, 5, 5]);
    assert_eq!(real.cost(), (0, 0, NO_MERGES), "nothing is reclaimed before the room is needed");
    real.write(9, 1);
    assert_eq!(
        real.cost(),
        (2, 1, NO_MERGES),
        "1 and the last 5 are copied; an erase, but no merge"
    );
    assert_eq!(figure(&real, "second_chances"), 2);
    real.write(13, 1);
    assert_eq!(real.cost(), (2, 1, NO_MERGES), "the head is [1 5 9 13]");
    real.write(2, 1);
    assert_eq!(figure(&real, "isolated_pages"), 2, "1 and 5 are on their second visit");
    assert_eq!(figure(&real, "second_chances"), 4, "9 and 13 are on their first visit");
    assert_eq!(real.cost(), (6, 2, NO_MERGES));
}

#[test]
fn a_host_write_clears_the_mark() {
    let mut real = faster("", 4);
    // 1 and 5 are carried to [1 5 . .]; then the host rewrites both.
    real.write_each(&[1, 5, 5, 5, 5, 1, 9]);
    assert_eq!(real.cost(), (4, 2, NO_MERGES));
    assert_eq!(figure(&real, "second_chances"), 4);
    assert_eq!(figure(&real, "second_chances_saved"), 2);
    assert_eq!(figure(&real, "isolated_pages"), 0);
}

#[test]
fn a_victim_without_valid_pages_is_dead_as_in_fast() {
    let mut real = faster("", 4);
    real.write_each(&[1, 2, 3, 1]);
    real.trim(1, 3);
    real.write(2, 1);
    assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]));
}

#[test]
fn a_head_full_of_carried_pages_is_reclaimed_in_its_turn() {
    let mut real = faster("", 4);
    real.write_each(&[1, 5, 9, 13, 2]);
    assert_eq!(
        real.cost(),
        (8, 2, NO_MERGES),
        "the pages are carried to a head, which they fill, and then isolated"
    );
    // With two RW blocks the other one is next.
    let mut real = faster("", 5);
    real.write_each(&[1, 5, 9, 13, 2, 2, 2, 2, 6]);
    assert_eq!(
        real.cost(),
        (5, 2, NO_MERGES),
        "all pages of the first block and one of the second are carried"
    );
    assert_eq!(figure(&real, "isolated_pages"), 0);
}

// ---- Isolation, counted by hand -----------------------------------------------------------------

#[test]
fn one_data_block_is_merged_before_each_host_page() {
    let mut real = faster("", 4);
    real.write_each(&[1, 5, 9, 13, 2]);
    let gauges = real.ftl.report().gauges;
    assert_eq!(gauges, [("log_blocks", 3.0), ("rw_blocks", 1.0), ("isolation_fill", 1.0)]);
    real.write(3, 1);
    assert_eq!(real.cost(), (12, 3, NO_MERGES), "LBN 0 is merged, with its page 2 that is in RW");
    real.write(3, 2);
    assert_eq!(
        real.cost(),
        (20, 5, NO_MERGES),
        "LBN 1 and 2 are merged, one for each page of the run"
    );
    assert_eq!(figure(&real, "merged_progressively_pages"), 3);
    assert_eq!(real.ftl.report().gauges[2], ("isolation_fill", 0.25));
    real.write(3, 1);
    assert_eq!(real.cost(), (24, 6, NO_MERGES), "LBN 3 is merged; then no page is isolated");
    real.write(3, 1);
    assert_eq!(real.cost(), (25, 7, NO_MERGES), "the last 3 of [2 3 3 3] is carried");
}

#[test]
fn merges_precede_pages_written_at_home_or_to_the_stream_too() {
    let mut real = Real::new("faster:as=paper", "ascending", 4, [5, 4]);
    real.write(0, 17);
    real.write_each(&[1, 5, 9, 13, 2]);
    assert_eq!((real.cost(), real.counts().in_place), ((8, 2, NO_MERGES), 17));
    real.write(17, 1);
    assert_eq!((real.cost(), real.counts().in_place), ((12, 3, NO_MERGES), 18));
    real.write(0, 1);
    assert_eq!(real.cost(), (16, 4, NO_MERGES), "a merge precedes the page written to SW");
}

#[test]
fn after_a_progressive_merge_the_page_may_be_written_at_home() {
    let mut real = faster("", 4);
    real.write_each(&[1, 5, 9, 13, 2]);
    real.trim(3, 1);
    real.write(3, 1);
    assert_eq!(real.cost(), (11, 3, NO_MERGES), "LBN 0 is merged without its page 3");
    assert_eq!(real.counts().in_place, 1);
}

#[test]
fn last_visits_are_isolated_before_the_others_are_carried() {
    let mut real = faster("", 4);
    real.write_each(&[1, 5, 9, 9, 13]);
    assert_eq!(real.cost(), (3, 1, NO_MERGES));
    real.write(2, 1);
    assert_eq!(real.cost(), (7, 2, NO_MERGES), "1, 5 and 9 are isolated, then 13 is carried");
    // RW [13 2 6 14]; the merges of LBN 0 and 1 take 2 and 6 out of it.
    real.write_each(&[6, 14]);
    assert_eq!(real.cost(), (15, 4, NO_MERGES));
    real.write(10, 1);
    assert_eq!(real.cost(), (21, 6, NO_MERGES), "LBN 2 is merged, 13 isolated, 14 carried");
    assert_eq!(figure(&real, "isolated_pages"), 4, "one isolation block holds all of them");
}

#[test]
fn an_empty_isolation_block_waits_and_counts_as_one_merge() {
    let mut real = faster("", 4);
    real.write_each(&[1, 5, 9, 13, 2, 3, 3, 3, 3]);
    assert_eq!(real.cost(), (25, 7, NO_MERGES), "the isolation block is empty, but still there");
    // RW [3 3 6 7]. Pages 3, 6 and 7 of the next victim are carried, and isolated on the next
    // visit.
    real.write_each(&[6, 7]);
    assert_eq!(real.cost(), (25, 7, NO_MERGES));
    real.write(10, 1);
    assert_eq!(real.cost(), (28, 8, NO_MERGES), "the head is [3 6 7 10]");
    real.write(10, 1);
    assert_eq!(
        real.cost(),
        (32, 10, [0, 0, 1, 0]),
        "3 are isolated, 1 is carried, two blocks are erased"
    );
    assert_eq!(
        associated(&real),
        (vec![0, 0, 0, 0, 1], vec![]),
        "the merge counts for no victim of RW"
    );
}

#[test]
fn an_isolation_block_without_merges_counts_as_dead() {
    let mut real = faster(",merges_per_write=0", 4);
    real.write_each(&[1, 5, 9, 13, 2, 1, 5, 9]);
    real.trim(13, 1);
    real.write(6, 1);
    // [2 1 5 9] is carried completely, then isolated completely. The isolation block is full and
    // has no valid page left.
    assert_eq!(real.cost(), (16, 5, [0, 0, 0, 1]));
    assert_eq!(figure(&real, "merged_by_force_pages"), 0);
}

#[test]
fn a_full_area_is_merged_by_force_which_may_empty_the_victim() {
    let mut real = faster(",merges_per_write=0", 4);
    real.write_each(&[1, 5, 9, 13, 2, 6, 10, 14]);
    assert_eq!(real.cost(), (8, 2, NO_MERGES), "nothing is merged unless it must be");
    real.write(3, 1);
    assert_eq!(real.cost(), (28, 9, [0, 0, 1, 0]));
    assert_eq!(associated(&real), (vec![0, 0, 0, 0, 1], vec![]));
    assert_eq!(figure(&real, "merged_by_force_pages"), 4);
    assert_eq!(figure(&real, "isolated_pages"), 4, "2, 6, 10 and 14 were merged instead");
}

#[test]
fn more_isolation_blocks_are_reclaimed_one_by_one() {
    let mut real = faster(",merges_per_write=0,isolation_blocks=2", 5);
    real.write_each(&[1, 5, 1, 5, 9, 13, 2, 6]);
    // [1 5 9 13] → 1, 5 isolated; [9 13 2 6] → 9, 13 isolated; [2 6 3 7] …
    real.write_each(&[3, 7]);
    assert_eq!(figure(&real, "isolated_pages"), 4);
    real.write_each(&[10, 14]);
    assert_eq!(figure(&real, "isolated_pages"), 6, "2 and 6 are in a second isolation block");
    assert_eq!(real.cost().2, NO_MERGES);
    // [3 7 10 14] → 3 and 7 fill it; [10 14 11 15] finds both full.
    real.write_each(&[11, 15]);
    let before = real.cost();
    real.write(3, 1);
    let after = real.cost();
    assert_eq!(
        (after.0 - before.0, after.1 - before.1),
        (16, 6),
        "LBN 0 to 3 are merged, with their pages 10 and 14"
    );
    assert_eq!(after.2, [0, 0, 1, 0]);
    assert_eq!(figure(&real, "merged_by_force_pages"), 8);
}

#[test]
fn several_data_blocks_may_be_merged_before_a_page() {
    let mut real = faster(",merges_per_write=3", 4);
    real.write_each(&[1, 5, 9, 13, 2, 3]);
    assert_eq!(real.cost(), (20, 5, NO_MERGES));
    real.write(3, 1);
    assert_eq!(real.cost(), (24, 6, NO_MERGES));
}

// ---- Rules beyond the paper, counted by hand ----------------------------------------------------

#[test]
fn a_victim_below_the_threshold_is_carried_whole_again_and_again() {
    for (threshold, isolated) in [("0%", 1), ("50%", 0), ("25%", 1)] {
        let mut real = faster(&format!(",threshold={threshold}"), 4);
        // The head is [1 5 9 9]; then only 1 is valid.
        real.write_each(&[1, 5, 5, 5, 9, 9]);
        real.trim(5, 5);
        real.write(2, 1);
        assert_eq!(real.cost(), (3, 2, NO_MERGES), "{threshold}: 1 is copied a second time");
        assert_eq!(figure(&real, "isolated_pages"), isolated, "{threshold}");
        assert_eq!(figure(&real, "second_chances"), 3 - isolated, "{threshold}");
    }
    // Half of the pages are not below half.
    let mut real = faster(",threshold=50%", 4);
    real.write_each(&[1, 5, 5, 5, 9, 9]);
    real.trim(9, 1);
    real.write(2, 1);
    assert_eq!(figure(&real, "isolated_pages"), 2, "1 and 5");
}

#[test]
fn a_wholly_valid_victim_is_marked_in_place_once() {
    let mut real = faster(",mark_in_place=true", 5);
    real.write_each(&[1, 5, 9, 13, 2, 6, 10, 14, 3]);
    assert_eq!(real.cost(), (4, 1, NO_MERGES), "both are marked, then the first is isolated");
    assert_eq!(figure(&real, "second_chances"), 8);
    assert_eq!(figure(&real, "isolated_pages"), 4);
    let mut real = faster(",mark_in_place=true", 4);
    real.write_each(&[1, 5, 9, 9, 3]);
    assert_eq!(real.cost(), (3, 1, NO_MERGES), "a stale page: the others are copied");
}

#[test]
fn carried_pages_may_have_blocks_of_their_own() {
    let mut real = faster(",carried=own", 5);
    real.write_each(&[1, 5, 5, 5, 9, 9, 9, 9, 13]);
    assert_eq!(real.cost(), (3, 2, NO_MERGES), "both victims are carried to [1 5 9 _]");
    real.write_each(&[13, 13, 13, 2]);
    assert_eq!(real.cost(), (4, 3, NO_MERGES), "the block [1 5 9 13] is full");
    real.write_each(&[2, 2, 2]);
    assert_eq!(figure(&real, "isolated_pages"), 0);
    real.write(6, 1);
    assert_eq!(figure(&real, "isolated_pages"), 4, "it is the oldest block now");
}

#[test]
fn late_merging_waits_until_two_blocks_of_the_area_are_not_full() {
    let mut real = faster(",merge=late,isolation_blocks=4", 7);
    real.write_each(&[1, 5, 9, 13, 2, 6, 10, 14]);
    assert_eq!(real.cost(), (8, 2, NO_MERGES), "one block of the area is full");
    real.write(3, 1);
    assert_eq!(real.cost(), (16, 4, NO_MERGES), "two are, but this write reclaimed");
    real.write(3, 1);
    assert_eq!(real.cost(), (20, 5, NO_MERGES), "LBN 0 is merged after the page");
    assert_eq!(figure(&real, "merged_progressively_pages"), 2, "1 and 2");
    real.write_each(&[3, 3]);
    assert_eq!(real.cost(), (28, 7, NO_MERGES), "LBN 1 and 2");
    real.write(5, 1);
    assert_eq!(real.cost(), (29, 8, NO_MERGES), "this write reclaimed: the last 3 was carried");
    real.write(5, 1);
    assert_eq!(real.cost(), (33, 9, NO_MERGES), "LBN 3");
}

#[test]
fn late_merging_leaves_out_writes_that_merge_a_stream() {
    let mut real = faster(",merge=late", 4);
    real.write_each(&[1, 5, 9, 13, 2]);
    assert_eq!(figure(&real, "merged_progressively_pages"), 0, "this write reclaimed");
    real.write(0, 1);
    assert_eq!(figure(&real, "merged_progressively_pages"), 1, "LBN 0 is merged with page 0");
    real.write(4, 1);
    assert_eq!(figure(&real, "merged_progressively_pages"), 1, "the stream was merged");
    real.write(6, 1);
    assert_eq!(figure(&real, "merged_progressively_pages"), 2);
}

/// The number of pages of the host up to the next merge.
fn pages_until_due(pace: &mut Pace) -> usize {
    (1..).find(|_| pace.is_due()).unwrap()
}

#[test]
fn the_pace_grows_when_the_area_is_crowded_and_shrinks_when_it_is_nearly_empty() {
    // Interval and base begin with 4 pages. They are looked at after each 10 pages.
    let mut pace = Pace::new(16, 80);
    let intervals = |pace: &mut Pace| [pages_until_due(pace), pages_until_due(pace)];
    assert_eq!(intervals(&mut pace), [8, 8]);
    pace.tune(9, 1);
    assert_eq!(intervals(&mut pace), [8, 8], "the period has not passed");
    pace.tune(1, 1);
    assert_eq!(intervals(&mut pace), [10, 10], "one block is full");
    pace.tune(10, 2);
    assert_eq!(intervals(&mut pace), [10, 10], "two are, and the area was not crowded");
    pace.note_crowded();
    pace.tune(10, 0);
    assert_eq!(intervals(&mut pace), [10, 10], "no block is full, so it is not the time");
    pace.tune(1, 2);
    assert_eq!(intervals(&mut pace), [6, 6], "the base of 4 pages has shrunk");
    pace.tune(10, 2);
    assert_eq!(intervals(&mut pace), [6, 6], "crowded once is counted once");
    for (base, due) in [(2, 4), (1, 2), (3, 6)] {
        pace.note_crowded();
        pace.tune(10, 3);
        assert_eq!(pages_until_due(&mut pace), due, "base {base}; from 1 it goes back to 4 first");
    }
}

#[test]
fn paced_merges_come_before_the_area_is_nearly_full() {
    let merged_by = |params: &str| {
        let mut real = faster(&format!("{params},isolation_blocks=6"), 9);
        real.write_each(&[1, 5, 9, 13, 2, 6, 10, 14, 3]);
        assert_eq!(figure(&real, "isolated_pages"), 8, "two blocks of the area are full");
        let mut merged = |_| {
            real.write(3, 1);
            figure(&real, "merged_progressively_pages")
        };
        (1..=14).map(&mut merged).collect::<Vec<u64>>()
    };
    assert_eq!(merged_by(",merge=late"), [0; 14]);
    // The log beside the area has 8 pages, so the interval is looked at after each. The pages 2, 6,
    // 10 and 14 found one full block, and it grew from 1 to 5. Of the 14 pages that follow, the
    // 4th, 7th, 10th and 13th reclaim a block; the 14th is the tenth that counts.
    let paced = [&[0; 13][..], &[2]].concat();
    assert_eq!(merged_by(",merge=paced"), paced, "1 and 2, of LBN 0");
}

/// A filled device with blocks of eight pages. The host wrote page 31 last.
fn by_run() -> Real {
    let mut real = Real::new(&paper(",sequential=run"), "ascending", 8, [4, 5]);
    real.write(0, 32);
    real.nand.reset_tally();
    real.ftl.reset_report();
    real
}

#[test]
fn the_sixth_consecutive_page_opens_the_block_for_streams() {
    let mut real = by_run();
    real.write_each(&[8, 0, 24]);
    assert_eq!(real.cost(), (0, 0, NO_MERGES), "single writes at offset 0 go to RW");
    real.write(9, 3);
    real.write(12, 2);
    assert_eq!(real.cost(), (0, 0, NO_MERGES), "five pages are no stream");
    real.write(14, 1);
    assert_eq!(real.cost(), (6, 0, NO_MERGES), "8 to 13 are copied; 14 follows");
    real.write(15, 1);
    assert_eq!(real.cost(), (6, 1, [1, 0, 0, 0]), "the full block is switched at once");
    real.write(16, 8);
    assert_eq!(real.cost(), (6, 2, [2, 0, 0, 0]), "the run goes on at offset 0");
}

#[test]
fn the_former_stream_is_merged_before_a_run_opens_another() {
    let mut real = by_run();
    real.write(17, 6);
    assert_eq!(real.cost(), (6, 0, NO_MERGES));
    real.write(9, 6);
    assert_eq!(real.cost(), (6 + 1 + 6, 1, [0, 1, 0, 0]), "page 23 completes LBN 2");
}

#[test]
fn other_pages_of_the_owner_go_to_the_random_log() {
    let mut real = by_run();
    // SW [8 … 14 _]; the run 0 … 6 of LBN 0 opens no block until its sixth page.
    real.write(9, 6);
    real.write(8, 6);
    assert_eq!(real.cost(), (6, 0, NO_MERGES), "a run over the owner's pages opens nothing");
    real.write(15, 1);
    assert_eq!(real.cost(), (6 + 8, 2, [0, 0, 1, 0]), "8 to 13 were stale in SW");
}

#[test]
fn a_run_behind_an_unmapped_page_opens_nothing() {
    let mut real = by_run();
    real.trim(8, 1);
    real.write(9, 7);
    assert_eq!(real.cost(), (0, 0, NO_MERGES), "page 8 cannot be copied");
}

// ---- With one of the switches off, counted by hand ----------------------------------------------

#[test]
fn without_isolation_last_visits_are_merged_before_the_rest_is_carried() {
    let mut real = faster(",isolation=false", 3);
    real.write_each(&[1, 5, 9, 13, 2]);
    assert_eq!(real.cost(), (20, 6, [0, 0, 1, 0]));
    assert_eq!(associated(&real), (vec![0, 0, 0, 0, 1], vec![0, 0, 0, 0, 1]));
    let mut real = faster(",isolation=false", 3);
    real.write_each(&[1, 5, 9, 9, 13, 2]);
    assert_eq!(real.cost(), (16, 5, [0, 0, 1, 0]), "13 is carried");
    let mut real = faster(",isolation=false", 3);
    real.write_each(&[1, 5, 5, 5, 2, 6, 9]);
    assert_eq!(real.cost(), (10, 4, [0, 0, 1, 0]), "2 and 6 were merged together with 1 and 5");
    assert_eq!(figure(&real, "second_chances"), 2);
}

#[test]
fn without_second_chance_every_valid_page_is_isolated() {
    let mut real = faster(",second_chance=false", 4);
    real.write_each(&[1, 5, 9, 9, 2]);
    assert_eq!(real.cost(), (3, 1, NO_MERGES));
    assert_eq!(figure(&real, "isolated_pages"), 3);
    assert_eq!(figure(&real, "second_chances"), 0);
    real.write(3, 1);
    assert_eq!(real.cost(), (7, 2, NO_MERGES));
}

#[test]
fn with_both_switches_off_faster_equals_fast() {
    for order in ["any", "ascending", "sequential"] {
        for (extra, np) in [(3, 4), (6, 3)] {
            let form = "faster:as=paper,second_chance=false,isolation=false,isolation_blocks=2";
            let mut real = Real::new(form, order, np, [12, extra]);
            let mut fast = Beside(Real::new("fast", order, np, [12, extra]));
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(10);
            for round in 0..3000 {
                step(&mut rng, &mut real, &mut fast);
                assert_eq!(real.counts(), fast.0.counts(), "{order}, step {round}");
                assert_eq!(real.nand.tally(), fast.0.nand.tally(), "{order}, step {round}");
                let name = "rw_associated_blocks";
                assert_eq!(real.figure(name), fast.0.figure(name), "{order}, step {round}");
            }
            assert!(fast.0.counts().merges.full > 100);
        }
    }
}

/// Another device that takes the same steps.
struct Beside(Real);

impl crate::device::Model for Beside {
    fn shape(&self) -> (usize, usize) {
        let pages_per_block = self.0.nand.geometry().pages_per_block();
        let pages = self.0.logical_blocks * pages_per_block;
        (pages as usize, pages_per_block as usize)
    }

    fn write(&mut self, pages: core::ops::Range<usize>, ends_in_part: bool) {
        let mask = if ends_in_part { 0b0011 } else { 0b1111 };
        self.0.write_masked(pages.start as u32, pages.len() as u32, mask);
    }

    fn trim(&mut self, pages: core::ops::Range<usize>) {
        self.0.trim(pages.start as u32, pages.len() as u32);
    }
}

/// Each reading, and the same rules one by one. A parameter that is given wins.
const READINGS: [(&str, &str); 4] = [
    (
        "as=paper",
        "as=firmware,threshold=0%,mark_in_place=false,isolation_blocks=1,merge=eager,\
         sequential=offset0",
    ),
    ("as=table2", "as=paper,threshold=50%,isolation_blocks=8%,merge=late,sequential=run"),
    (
        "as=firmware",
        "as=paper,threshold=50%,mark_in_place=true,isolation_blocks=20%,merge=paced,sequential=run",
    ),
    ("as=firmware,carried=shared", "as=firmware"),
];

#[test]
fn a_reading_is_a_set_of_rules() {
    for (reading, rules) in READINGS {
        // A fifth of 29 log blocks is an area in which merges can come before it is nearly full.
        let shape = [12, 30];
        let mut real = Real::new(&format!("faster:{reading}"), "ascending", 4, shape);
        let mut other = Beside(Real::new(&format!("faster:{rules}"), "ascending", 4, shape));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(13);
        for round in 0..3000 {
            step(&mut rng, &mut real, &mut other);
            assert_eq!(real.counts(), other.0.counts(), "{reading}, step {round}");
        }
    }
}

// ---- Limits -------------------------------------------------------------------------------------

#[test]
fn the_isolation_area_is_taken_from_the_extra_blocks() {
    let chip = ChipModel::from_spec(&Spec::parse("slc-last").unwrap()).unwrap();
    // A share of the log is rounded up: of 19 log blocks, 90% are 18.
    let forms = [
        ("as=paper", 4),
        ("isolation_blocks=3", 6),
        ("isolation=false,isolation_blocks=3", 3),
        ("isolation_blocks=8%", 4),
        ("isolation_blocks=50%", 5),
        ("isolation_blocks=90%", 21),
        ("isolation_blocks=90%,carried=own", 31),
        ("isolation=false,carried=own", 4),
    ];
    for (params, least) in forms {
        let choice = Choice::from_spec(&Spec::parse(&format!("faster:{params}")).unwrap()).unwrap();
        let error = choice.check(&chip, 100, least - 1).unwrap_err().to_string();
        assert!(error.starts_with(&format!("faster needs at least {least} extra")), "{error}");
        choice.check(&chip, 100, least).unwrap();
    }
}

#[test]
fn impossible_rules_are_refused_with_the_reason() {
    let chip = ChipModel::from_spec(&Spec::parse("slc-last").unwrap()).unwrap();
    let refused = |params: &str| {
        let choice = Choice::from_spec(&Spec::parse(&format!("faster:{params}")).unwrap()).unwrap();
        choice.check(&chip, 100, 10).unwrap_err().to_string()
    };
    let none = "faster: isolation_blocks is 0; without an area say isolation=false";
    assert_eq!(refused("isolation_blocks=0"), none);
    assert_eq!(refused("isolation_blocks=0%"), none);
    assert_eq!(
        refused("isolation_blocks=100%"),
        "faster: isolation_blocks=100%; the log needs other blocks too, so the share must be below \
         100%"
    );
    assert_eq!(refused("threshold=101%"), "faster: threshold=101%; 0% to 100% are possible");
    let error = Choice::from_spec(&Spec::parse("faster:sequential=true").unwrap()).unwrap_err();
    assert!(error.to_string().contains("is not one of `run`, `offset0`, `false`"), "{error}");
}

#[test]
fn ram_is_the_block_map_and_the_map_of_the_log() {
    let ram = |form: &str| Real::new(form, "ascending", 16, [10, 6]).ftl.report().ram;
    assert_eq!(ram("faster:as=paper").map, 4 * 10 + 4 * 16 * 5);
    let host_run = ram("faster:as=paper,sequential=run").other - ram("faster:as=paper").other;
    assert_eq!(host_run, 8, "the page that continues the run, and its length");
    let pace = ram("faster:as=paper,merge=paced").other - ram("faster:as=paper").other;
    assert_eq!(pace, size_of::<Pace>() as u64);
}

#[test]
fn without_a_sequential_block_writes_at_offset_0_go_to_the_random_log() {
    let costs = ["", ",sequential=false"].map(|params| {
        let mut real = faster(params, 4);
        real.write_each(&[0, 4, 8, 12]);
        assert_eq!(real.ftl.report().gauges[0], ("log_blocks", 3.0), "one block is kept clean");
        real.cost()
    });
    let partial_merges = 3;
    assert_eq!(costs[0], (3 * partial_merges, partial_merges, [0, partial_merges, 0, 0]));
    assert_eq!(costs[1], (0, 0, NO_MERGES));
}

// ---- The naive model ----------------------------------------------------------------------------

/// A drawn form of faster, the rules that it follows, and its extra blocks.
fn drawn(below: &mut impl FnMut(usize) -> usize, np: usize) -> (String, Rules, usize) {
    let mut is = || below(2) == 0;
    let (second_chance, mark_in_place, own_blocks) = (is() || is(), is(), is());
    let (has_area, in_percent) = (is() || is(), is());
    let (size, percent) = (1 + below(4), 5 + below(60));
    let (threshold, merges_per_write) = ([0, 50, 50, 30, 100][below(5)], below(3));
    let merge = [Merge::Late, Merge::Eager, Merge::Paced, Merge::Paced][below(4)];
    let ways = [Sequential::Run, Sequential::Run, Sequential::Offset0, Sequential::Never];
    let sequential = ways[below(4)];
    let area = |log_blocks: usize| match (has_area, in_percent) {
        (false, _) => 0,
        (true, false) => size,
        (true, true) => (percent * log_blocks).div_ceil(100),
    };
    let others = 2 + usize::from(own_blocks);
    let least = (2..).find(|&log_blocks| area(log_blocks) + others <= log_blocks).unwrap();
    let log_blocks = least + below(4);
    let rules = Rules {
        second_chance,
        threshold: (threshold * np).div_ceil(100),
        mark_in_place,
        own_blocks,
        isolation_blocks: area(log_blocks),
        merge,
        merges_per_write,
        sequential,
    };
    let blocks = if in_percent { format!("{percent}%") } else { size.to_string() };
    let carried = if own_blocks { "own" } else { "shared" };
    let merge = format!("{merge:?}").to_lowercase();
    let streams = match sequential {
        Sequential::Run => "run",
        Sequential::Offset0 => "offset0",
        Sequential::Never => "false",
    };
    let form = format!(
        "faster:second_chance={second_chance},threshold={threshold}%,mark_in_place={mark_in_place},\
         carried={carried},isolation={has_area},isolation_blocks={blocks},merge={merge},\
         merges_per_write={merges_per_write},sequential={streams}"
    );
    (form, rules, 1 + log_blocks)
}

#[test]
fn faster_counts_as_the_naive_model_counts() {
    const LOGICAL: usize = 12;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
    let mut below = |bound: usize| rng.next_u32() as usize % bound;
    let mut uses = Uses::default();
    for _ in 0..150 {
        let (order, np) = (ORDERS[below(3)], [3, 4, 6, 8][below(4)]);
        let (form, rules, extra) = drawn(&mut below, np);
        let mut real = Real::new(&form, order, np as u32, [LOGICAL as u32, extra as u32]);
        let mut naive = NaiveFast::new(rules, order, np, [LOGICAL, extra]);
        agree(&form, &mut real, &mut naive, below(1000) as u64);
        uses.stream_copies += naive.uses.stream_copies;
        uses.carried_whole += naive.uses.carried_whole;
        uses.marked += naive.uses.marked;
        uses.postponed += naive.uses.postponed;
        uses.paced += naive.uses.paced;
        uses.tuned += naive.uses.tuned;
        uses.passed += naive.uses.passed;
    }
    let Uses { stream_copies, carried_whole, marked, postponed, paced, tuned, passed } = uses;
    let counts = [stream_copies, carried_whole, marked, postponed, paced, tuned, passed];
    assert!(counts.iter().all(|&n| n > 100), "{uses:?}");
}

fn agree(form: &str, real: &mut Real, naive: &mut NaiveFast, seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let order = real.nand.geometry().program_order();
    for round in 0..1000 {
        step(&mut rng, real, naive);
        assert_eq!(real.counts(), naive.counts, "{form}, {order:?}, step {round}");
        assert_eq!(associated(real).1, naive.rw_associated, "{form}, {order:?}, step {round}");
        let moved = figure(real, "second_chances") + figure(real, "isolated_pages");
        assert_eq!(moved, naive.moved, "{form}, {order:?}, step {round}");
        assert_eq!(figure(real, "second_chances_saved"), naive.saved, "{form}, step {round}");
    }
    let Counts { merges, copies, .. } = &naive.counts;
    assert!(merges.full + merges.dead > 0 && *copies > 300, "{form}: {:?}", naive.counts);
}

// ---- Power cuts ---------------------------------------------------------------------------------

/// The interrupted reclaims: the writes before, the write that causes the reclaim, and the number
/// of operations to cut.
const RECLAIMS: [(&str, &str, &[u32], u32, u64); 7] = [
    ("carry", "", &[1, 5, 5, 6], 2, 6),
    ("isolate and carry", "", &[1, 5, 9, 9, 6], 2, 8),
    ("merge progressively", "", &[1, 5, 9, 9, 6, 2], 10, 7),
    ("merge last visits, carry", ",isolation=false", &[1, 5, 5, 9, 6], 10, 16),
    ("by force", ",merges_per_write=0", &[1, 5, 9, 2, 6, 10, 3, 7], 11, 26),
    ("open by a run", ",sequential=run,isolation=false", &[1, 2, 3, 4, 5], 6, 4),
    // The block of carried pages [1 5 _ _] takes 9 and 10, a new one takes 11.
    ("fill own blocks", ",carried=own,isolation=false", &[1, 5, 5, 5, 6, 9, 10, 11], 2, 6),
];

#[test]
fn a_reclaim_survives_two_cuts() {
    for (what, form, writes, page, cuts) in RECLAIMS {
        let form = paper(form);
        let tried = survives_two_cuts(what, (&form, [3, 4]), (writes, page), [cuts + 4, 12]);
        assert_eq!(tried, (cuts + 4) * 12 * 64, "{what}");
    }
}

/// Marks and isolation survive a power cycle at any point.
#[test]
fn marks_survive_a_power_cycle() {
    // RW [1 5 9 6]; the first three were carried.
    let mut device = Mortal::new("faster:as=paper", "ascending", [3, 4], &[1, 5, 9, 9, 6]);
    device.mount(None).unwrap();
    device.write(2, 1, 3).unwrap();
    assert_eq!(figure(&device.real, "isolated_pages"), 3);
    assert_eq!(figure(&device.real, "second_chances"), 1);
    let gauges = device.real.ftl.report().gauges;
    assert_eq!(gauges, [("log_blocks", 3.0), ("rw_blocks", 1.0), ("isolation_fill", 0.75)]);
    device.mount(None).unwrap();
    assert_eq!(device.real.ftl.report().gauges, gauges);
    device.real.nand.reset_tally();
    device.write(10, 1, 3).unwrap();
    // LBN 0 is merged first. Both blocks are closed, so 6 needs room in the area: LBN 1 and 2 are
    // merged by force.
    assert_eq!(figure(&device.real, "merged_progressively_pages"), 1);
    assert_eq!(figure(&device.real, "merged_by_force_pages"), 2);
    assert_eq!(device.real.cost(), (12, 5, [0, 0, 1, 0]));
    assert_eq!(associated(&device.real).0, [0, 0, 0, 1]);
    assert_eq!(device.found()[..3], [1, 2, 3]);
}

/// Marks in place are in RAM only. A mount visits the pages as if the host had written them lately.
#[test]
fn marks_in_place_are_forgotten_by_a_mount() {
    let writes = [1, 5, 9, 13, 2, 6, 10, 14, 3];
    let form = paper(",mark_in_place=true,merges_per_write=0");
    let mut device = Mortal::new(&form, "ascending", [4, 5], &writes);
    assert_eq!(figure(&device.real, "second_chances"), 8);
    device.mount(None).unwrap();
    device.write(7, 1, 3).unwrap();
    // [2 6 10 14] is marked once more; of the closed block [3 _ _ _], 3 is carried.
    assert_eq!(figure(&device.real, "second_chances"), 4 + 1);
    assert_eq!(figure(&device.real, "isolated_pages"), 0);
    assert_eq!(device.found()[..4], [1, 2, 2, 2]);
    device.real.ftl.audit(&device.real.nand).unwrap();
}

/// All blocks of the area are closed after a mount, so merges are due.
#[test]
fn a_nearly_full_area_is_merged_after_a_mount() {
    let writes = [1, 5, 9, 13, 2, 6, 10, 14, 3];
    let form = paper(",merge=late,isolation_blocks=4");
    let mut device = Mortal::new(&form, "ascending", [4, 7], &writes);
    let fill = device.real.ftl.report().gauges[2];
    assert_eq!(fill, ("isolation_fill", 0.5));
    device.mount(None).unwrap();
    assert_eq!(device.real.ftl.report().gauges[2], fill);
    device.write(7, 1, 2).unwrap();
    assert_eq!(figure(&device.real, "merged_progressively_pages"), 0, "this write reclaimed");
    device.write(7, 1, 3).unwrap();
    assert_eq!(figure(&device.real, "merged_progressively_pages"), 2, "1 and 2");
    assert_eq!(device.found()[..8], [1, 2, 2, 2, 1, 2, 2, 3]);
}

/// The SW block that a run has opened is a log block after a mount, with its copies.
#[test]
fn a_stream_that_a_run_opened_is_found_by_a_mount() {
    let form = paper(",sequential=run,isolation=false");
    let mut device = Mortal::new(&form, "ascending", [3, 4], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(device.real.nand.tally().copies(Cause::Merge), 2, "4 and 5");
    device.mount(None).unwrap();
    assert_eq!(device.real.ftl.report().gauges[1], ("rw_blocks", 2.0), "[1 2 3 _] and [4 5 6 _]");
    assert_eq!(device.found(), [1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1]);
}

/// A mount treats the SW block as a random log block, so there is one random log block too many.
/// The oldest one is then merged, regardless of its marks. Otherwise carried pages would enlarge
/// the log further.
#[test]
fn surplus_blocks_that_a_mount_finds_are_merged_as_in_fast() {
    // RW [1 5 9 1], SW [0].
    let mut device = Mortal::new("faster:as=paper", "ascending", [3, 4], &[1, 5, 9, 1, 0]);
    device.mount(None).unwrap();
    device.real.nand.reset_tally();
    assert_eq!(device.real.ftl.report().gauges[1], ("rw_blocks", 2.0));
    device.write(8, 1, 3).unwrap();
    assert_eq!(device.real.cost(), (12, 4, [0, 0, 1, 0]));
    assert_eq!(figure(&device.real, "second_chances"), 0);
    device.write(1, 1, 3).unwrap();
    assert_eq!(device.real.cost(), (12, 5, [0, 0, 1, 1]), "the block with page 0 is dead");
}

/// A device may be mounted with a smaller isolation area. Surplus isolation blocks become random
/// log blocks, and their pages are on their last visit there.
#[test]
fn surplus_isolation_blocks_join_the_random_log() {
    let faster = |blocks| paper(&format!(",isolation_blocks={blocks},merges_per_write=0"));
    // Isolation [1 5 9 6] [2 10 11 _], RW [7 3 _ _].
    let writes = [1, 5, 9, 9, 6, 2, 10, 11, 7, 3];
    let mut device = Mortal::new(&faster(2), "ascending", [3, 5], &writes);
    let found = device.found();
    let gauges = device.real.ftl.report().gauges;
    assert_eq!(gauges, [("log_blocks", 4.0), ("rw_blocks", 1.0), ("isolation_fill", 0.875)]);
    device.real.choice = Choice::from_spec(&Spec::parse(&faster(1)).unwrap()).unwrap();
    device.mount(None).unwrap();
    let gauges = device.real.ftl.report().gauges;
    assert_eq!(gauges, [("log_blocks", 4.0), ("rw_blocks", 2.0), ("isolation_fill", 1.0)]);
    assert_eq!(device.found(), found);
    // The area is full, so its pages are merged by force, which takes 2, 10 and 11 out of the log
    // too.
    device.write(1, 1, 3).unwrap();
    assert_eq!(figure(&device.real, "merged_by_force_pages"), 4);
    assert_eq!(figure(&device.real, "isolated_pages"), 0);
    assert_eq!(device.found()[..3], [1, 3, 2]);
}

/// Pages lose their marks in flash when they are merged: otherwise a later mount might take a data
/// block for an isolation block.
#[test]
fn merged_pages_lose_their_marks() {
    // 1, 5 and 9 are isolated, 6 carried; the last write merges LBN 0.
    let mut device = Mortal::new("faster:as=paper", "ascending", [3, 4], &[1, 5, 9, 9, 6, 2, 10]);
    let nand = &mut device.real.nand;
    let mut copies = Vec::new();
    for ppn in (0..nand.geometry().pages()).map(Ppn) {
        if let PageState::Programmed(spare) = nand.read_spare(ppn, Cause::Meta).unwrap() {
            copies.push(spare);
        }
    }
    copies.sort_by_key(|spare| spare.sequence);
    let kinds = [1, 5, 6].map(|lpn| {
        let newest = copies.iter().rfind(|spare| spare.owner == Lpn(lpn));
        newest.expect("it was written").kind
    });
    assert_eq!(kinds, [page_kind::DATA, page_kind::ISOLATED, page_kind::CARRIED]);
}
