//! Tests of last.

use ftl::{Choice, Error, Metric, Run};
use nand::{ChipModel, Cut, Data, Lpn, Mode, Nand, Outcome};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

use crate::device::{Mortal, ORDERS, PAGE_BYTES, Real, mount, outcomes, step};
use crate::last_model::{Form, Naive, OwnFigures};

/// A filled `ascending` device of three logical blocks of four pages. It has one sequential and two
/// random log blocks, so at most one hot and one cold block. Runs of three pages are sequential.
fn least() -> Real {
    Real::filled("last", "ascending", [3, 4])
}

/// A filled device like [`least`], with other parameters and sizes.
fn filled(ftl: &str, shape: [u32; 2]) -> Real {
    Real::filled(ftl, "ascending", shape)
}

fn figure(real: &Real, name: &str) -> u64 {
    let figures = real.ftl.report().figures;
    match figures.iter().find(|(known, _)| *known == name) {
        Some((_, Metric::Count(count))) => *count,
        other => panic!("{name}: {other:?}"),
    }
}

fn figures<const N: usize>(real: &Real, names: [&str; N]) -> [u64; N] {
    names.map(|name| figure(real, name))
}

fn by_degree(real: &Real) -> Vec<u64> {
    match real.ftl.report().figures.last() {
        Some(("rw_associated_blocks", Metric::Counts(counts))) => counts.clone(),
        other => panic!("{other:?}"),
    }
}

fn gauge(real: &Real, name: &str) -> f64 {
    let gauges = real.ftl.report().gauges;
    gauges.iter().find(|(known, _)| *known == name).unwrap().1
}

const LOCALITIES: [&str; 3] = ["sequential_pages", "hot_pages", "cold_pages"];
const VICTIMS: [&str; 3] = ["dead_hot_victims", "old_hot_victims", "cold_victims"];
const SEQUENTIAL_MERGES: [&str; 4] = [
    "sequential_switch_merges",
    "sequential_partial_merges",
    "sequential_full_merges",
    "sequential_dead_merges",
];

fn own_figures(real: &Real) -> OwnFigures {
    OwnFigures {
        localities: figures(real, LOCALITIES),
        victims: figures(real, VICTIMS),
        filled_in: figure(real, "filled_in_pages"),
        sequential_merges: figures(real, SEQUENTIAL_MERGES),
        random_merges: figures(real, ["random_full_merges", "random_dead_merges"]),
        by_degree: by_degree(real),
    }
}

// ---- Counted by hand: detector ------------------------------------------------------------------

#[test]
fn requests_larger_than_the_threshold_are_sequential() {
    for (ftl, pages, expected) in [
        ("last", 2, [0, 0, 2]),
        ("last", 3, [3, 0, 0]),
        ("last:threshold=2KiB", 2, [2, 0, 0]),
        ("last:threshold=8KiB", 4, [0, 0, 4]),
    ] {
        let mut real = filled(ftl, [3, 4]);
        real.write(0, pages);
        assert_eq!(figures(&real, LOCALITIES), expected, "{ftl}, {pages} pages");
    }
}

#[test]
fn the_detector_uses_the_size_of_the_request_and_ignores_single_pages() {
    for (pages, request_bytes, expected) in
        [(2, 4096, [0, 0, 2]), (2, 4097, [2, 0, 0]), (1, 1 << 20, [0, 0, 1])]
    {
        let mut real = least();
        let run = Run::whole(Lpn(4), pages, PAGE_BYTES, Data::None);
        real.ftl.write_run(&mut real.nand, &Run { request_bytes, ..run }).unwrap();
        assert_eq!(figures(&real, LOCALITIES), expected, "{pages} pages of {request_bytes} bytes");
    }
}

#[test]
fn a_sequential_run_stays_sequential_when_it_is_cut_at_a_block() {
    let mut real = least();
    real.write(3, 3);
    // LBN 0: pages 0 to 2 are copied in before 3. LBN 1: the only sequential block is switched.
    assert_eq!(figures(&real, LOCALITIES), [3, 0, 0]);
    assert_eq!(real.cost(), (3, 1, [1, 0, 0, 0]));
}

#[test]
fn erased_homes_come_before_any_log() {
    let mut real = Real::new("last", "ascending", 4, [3, 4]);
    real.write_each(&[1, 4]);
    real.write(1, 3);
    assert_eq!(real.counts().in_place, 4, "1, 4, 2 and 3 are written in place");
    assert_eq!(figures(&real, LOCALITIES), [1, 0, 0]);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]), "page 0 is unmapped and is skipped");
}

// ---- Counted by hand: the sequential log --------------------------------------------------------

#[test]
fn a_whole_block_waits_and_is_switched_when_another_needs_its_place() {
    let mut real = least();
    real.write(0, 4);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]), "nothing is merged before the room is needed");
    real.write(4, 3);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
    real.write(8, 3);
    assert_eq!(real.cost(), (1, 2, [1, 1, 0, 0]), "page 7 is copied in");
    assert_eq!(figure(&real, "sequential_switch_merges"), 1);
    assert_eq!(figure(&real, "sequential_partial_merges"), 1);
}

#[test]
fn a_run_that_starts_at_the_end_of_the_block_is_appended() {
    let mut real = filled("last:threshold=2KiB", [3, 4]);
    real.write(0, 2);
    real.write(2, 2);
    real.write(4, 2);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
}

#[test]
fn a_run_beyond_the_end_of_the_block_has_the_missing_pages_copied_in() {
    let mut real = filled("last:threshold=2KiB", [3, 4]);
    real.write(2, 2);
    assert_eq!(real.cost(), (2, 0, [0, 0, 0, 0]), "0 and 1 are copied into a new block");
    real.write(4, 2);
    assert_eq!(real.cost(), (2, 1, [1, 0, 0, 0]), "copied pages count like others");
    assert_eq!(figure(&real, "filled_in_pages"), 2);
}

#[test]
fn missing_pages_come_from_the_random_log_too() {
    let mut real = filled("last:threshold=2KiB", [3, 4]);
    real.write_each(&[1]);
    real.write(2, 2);
    assert_eq!(real.cost(), (2, 0, [0, 0, 0, 0]));
    real.write_each(&[4, 8, 9]);
    assert_eq!(real.cost().1, 0, "the cold block is full, its page 1 is stale");
    real.write_each(&[5]);
    assert_eq!(
        by_degree(&real),
        [0, 0, 1],
        "the victim is associated with LBN 1 and 2, not with LBN 0"
    );
}

#[test]
fn a_run_before_the_end_of_the_block_merges_it_first() {
    let mut real = least();
    real.write(0, 3);
    real.write(0, 3);
    assert_eq!(real.cost(), (1, 1, [0, 1, 0, 0]));
    real.write(0, 4);
    real.write(0, 4);
    assert_eq!(real.cost(), (2, 3, [1, 2, 0, 0]));
}

#[test]
fn a_page_that_went_stale_in_the_random_log_makes_the_merge_full() {
    let mut real = least();
    real.write(0, 4);
    real.write_each(&[2]);
    real.write(4, 3);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    assert_eq!(by_degree(&real), [], "it was not a random victim");
    assert_eq!(real.counts().merges.associated_blocks, [0, 1]);
    assert_eq!(figure(&real, "sequential_full_merges"), 1);
}

#[test]
fn a_sequential_block_without_valid_pages_is_only_erased() {
    let mut real = least();
    real.write(0, 3);
    real.trim(0, 3);
    real.write(4, 3);
    assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]));
    assert_eq!(figure(&real, "sequential_dead_merges"), 1);
}

#[test]
fn the_victim_is_a_whole_block_or_else_the_least_recently_written() {
    // Two sequential blocks: [0 1 2 _] and then [4 5 6 7].
    let mut real = filled("last:sequential_log=2", [4, 5]);
    real.write(0, 3);
    real.write(4, 4);
    real.write(8, 3);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]), "4 to 7 are whole");
    real.write(12, 3);
    assert_eq!(real.cost(), (1, 2, [1, 1, 0, 0]), "0 to 2 were written before 8 to 10");
    // A whole block with a page that became stale is like any other.
    let mut real = filled("last:sequential_log=2", [4, 5]);
    real.write(0, 4);
    real.write(4, 3);
    real.write_each(&[1]);
    real.write(0, 3);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]), "the run started before the end of its block");
    real.write(8, 3);
    assert_eq!(real.cost(), (5, 3, [0, 1, 1, 0]), "4 to 6 were written before 0 to 2");
}

#[test]
fn of_two_whole_blocks_the_one_allocated_first_is_the_victim() {
    let mut real = filled("last:sequential_log=2,threshold=2KiB", [4, 5]);
    real.write(0, 2);
    real.write(4, 4);
    real.write(2, 2);
    real.write(8, 2);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
    // The block of 0 to 3 was merged: no block is in the way of a run at 0.
    real.write(0, 2);
    assert_eq!(real.cost(), (0, 2, [2, 0, 0, 0]), "the block of 4 to 7 is switched");
    real.write(8, 2);
    assert_eq!(real.cost(), (2, 3, [2, 1, 0, 0]), "8 and 9 were still there");
}

#[test]
fn a_write_protects_a_sequential_block() {
    let mut real = filled("last:sequential_log=2,threshold=2KiB", [4, 5]);
    real.write(0, 2);
    real.write(4, 2);
    real.write(2, 1);
    real.write(12, 2);
    assert_eq!(real.cost(), (2, 1, [0, 1, 0, 0]), "a single page is random and protects nothing");
    let mut real = filled("last:sequential_log=2,threshold=2KiB", [4, 5]);
    real.write(0, 2);
    real.write(4, 2);
    real.write(7, 1);
    real.write(2, 2);
    real.trim(3, 1);
    real.write(12, 2);
    assert_eq!(real.cost(), (2, 1, [0, 1, 0, 0]), "LBN 1 was written less recently than LBN 0");
}

#[test]
fn a_skipped_page_that_was_written_since_is_not_lost() {
    // Page 0 is unmapped when the log block is opened; later it is written at home.
    let mut real = Real::new("last:threshold=2KiB", "any", 4, [3, 4]);
    real.write(1, 3);
    real.write(1, 3);
    real.write(0, 1);
    assert_eq!(real.counts().in_place, 4);
    real.write(1, 2);
    assert_eq!(
        real.cost(),
        (4 + 1, 2, [0, 0, 1, 0]),
        "the merge is full; then page 0 is copied in"
    );
    // If page 0 is written to the random log instead, it may stay there until the next run copies
    // it in.
    let mut real = filled("last:threshold=2KiB", [3, 4]);
    real.trim(0, 1);
    real.write(1, 3);
    real.write(0, 1);
    real.write(4, 2);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
    real.write(1, 2);
    assert_eq!(real.cost(), (2 + 1, 2, [1, 1, 0, 0]), "6 and 7 are copied, then 0");
}

#[test]
fn holes_are_padded_if_the_chip_cannot_skip_pages() {
    let mut real = Real::filled("last:threshold=2KiB", "sequential", [3, 4]);
    real.trim(0, 1);
    real.write(2, 2);
    assert_eq!((real.cost().0, real.counts().padding), (1, 1));
    real.write(4, 2);
    assert_eq!(real.cost(), (1, 1, [1, 0, 0, 0]));
}

// ---- Counted by hand: hot and cold --------------------------------------------------------------

#[test]
fn a_page_is_hot_below_a_distance_of_k() {
    // R = 2, so k starts at 4. A page that is rewritten after two others has distance 3.
    for (between, expected) in [(&[][..], 1), (&[4], 1), (&[4, 8], 1), (&[4, 8, 9], 0)] {
        let mut real = least();
        real.write(0, 1);
        real.write_each(between);
        real.write(0, 1);
        assert_eq!(figure(&real, "hot_pages"), expected, "{between:?} between");
    }
}

#[test]
fn distance_counts_pages_of_the_random_log_only() {
    let mut real = least();
    real.write(0, 1);
    real.write(4, 4);
    real.write(8, 4);
    real.write(0, 1);
    assert_eq!(figure(&real, "hot_pages"), 1);
}

#[test]
fn distance_ends_with_the_copy_in_the_random_log() {
    // Superseded by a sequential write.
    let mut real = least();
    real.write(0, 1);
    real.write(0, 3);
    real.write(0, 1);
    assert_eq!(figures(&real, LOCALITIES), [3, 0, 2]);
    // Trimmed.
    let mut real = least();
    real.write(0, 1);
    real.trim(0, 1);
    real.write(0, 1);
    assert_eq!(figures(&real, LOCALITIES), [0, 0, 2]);
    // Evicted by the merge that makes room for 5.
    let mut real = least();
    real.write_each(&[4, 8, 9, 0, 5, 0]);
    assert_eq!(figures(&real, LOCALITIES), [0, 0, 6]);
}

#[test]
fn once_hot_a_page_stays_so_until_it_is_evicted() {
    let mut real = filled("last:adapt=false", [3, 6]);
    real.write_each(&[0, 0]);
    assert_eq!(figure(&real, "hot_pages"), 1);
    // More than k = 8 other pages.
    real.write_each(&[4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(gauge(&real, "k"), 8.0);
    real.write(0, 1);
    assert_eq!(figure(&real, "hot_pages"), 2);
    assert_eq!(real.cost().1, 0);
}

#[test]
fn hot_or_cold_is_decided_before_room_is_made() {
    let mut real = least();
    real.write_each(&[0, 0, 1, 1, 4, 4, 5, 5, 2]);
    assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]), "the cold block was dead");
    // Page 2 is hot at distance 1. The hot block is full and not dead; its merge takes page 2 out
    // of the log.
    real.write(2, 1);
    assert_eq!(real.cost(), (8, 4, [0, 0, 1, 1]));
    assert_eq!(figures(&real, LOCALITIES), [0, 5, 5]);
    // So this write goes to the hot partition, and the next one too.
    real.write(2, 1);
    assert_eq!(figures(&real, LOCALITIES), [0, 6, 5]);
}

// ---- Counted by hand: victims -------------------------------------------------------------------

#[test]
fn a_random_log_block_is_merged_fully_even_if_it_is_in_order() {
    let mut real = least();
    real.write_each(&[0, 1, 2, 3]);
    real.write(4, 1);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    assert_eq!(by_degree(&real), [0, 1]);
    assert_eq!(figures(&real, VICTIMS), [0, 0, 1]);
}

#[test]
fn nothing_is_merged_before_a_partition_needs_room() {
    let mut real = least();
    real.write_each(&[0, 4, 8, 1]);
    assert_eq!(real.cost().1, 0);
    real.write(5, 1);
    assert_eq!(real.cost(), (12, 4, [0, 0, 1, 0]));
    assert_eq!(by_degree(&real), [0, 0, 0, 1]);
}

#[test]
fn a_dead_hot_block_is_taken_first_and_goes_to_the_cold_partition() {
    // R = 4. Hot: two blocks, the first dead; cold: two.
    let mut real = filled("last:adapt=false", [6, 6]);
    real.write_each(&[0, 0, 0, 0, 0]);
    assert_eq!(figures(&real, LOCALITIES), [0, 4, 1]);
    real.write(0, 1);
    assert_eq!(gauge(&real, "N_d"), 1.0);
    real.write_each(&[4, 8, 12, 16, 5, 9, 13]);
    assert_eq!((gauge(&real, "hot_blocks"), gauge(&real, "cold_blocks")), (2.0, 2.0));
    real.write(17, 1);
    assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]));
    assert_eq!(figures(&real, VICTIMS), [1, 0, 0]);
    assert_eq!((gauge(&real, "hot_blocks"), gauge(&real, "cold_blocks")), (1.0, 3.0));
}

#[test]
fn a_cold_victim_has_the_lowest_na_and_ties_go_to_the_oldest() {
    // R = 4, with all blocks but one in the cold partition: three cold blocks with Na 2, 1 and 1.
    let mut real = filled("last:adapt=false", [6, 6]);
    real.write_each(&[0, 4, 1, 5, 8, 9, 10, 11, 12, 13, 14, 15]);
    real.write(16, 1);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    assert_eq!(by_degree(&real), [0, 1]);
    // The block of LBN 2 was merged: its pages are at home when they are rewritten, not in the log.
    real.write(8, 1);
    assert_eq!(figure(&real, "hot_pages"), 0);
    real.write(12, 1);
    assert_eq!(figure(&real, "hot_pages"), 1);
}

#[test]
fn a_partition_at_its_maximum_merges_its_own_block() {
    // R = 4: the hot partition has at most two blocks, the cold partition three.
    let mut real = filled("last:adapt=false", [6, 6]);
    real.write_each(&[0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(gauge(&real, "hot_blocks"), 2.0);
    assert_eq!(real.cost().1, 0);
    real.write(0, 1);
    assert_eq!(
        real.cost(),
        (0, 1, [0, 0, 0, 1]),
        "the victim is a dead block of the same partition"
    );
    assert_eq!((gauge(&real, "hot_blocks"), gauge(&real, "cold_blocks")), (2.0, 1.0));
}

#[test]
fn a_hot_partition_at_its_maximum_without_dead_blocks_merges_its_oldest() {
    let mut real = filled("last:adapt=false", [6, 6]);
    // Eight pages become hot and stay valid.
    real.write_each(&[0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13]);
    assert_eq!(figures(&real, LOCALITIES), [0, 8, 8]);
    assert_eq!(real.cost().1, 0);
    real.write_each(&[16, 16]);
    assert_eq!(
        figures(&real, VICTIMS),
        [0, 1, 1],
        "a dead cold block is erased for the cold page 16"
    );
    assert_eq!(real.cost(), (8, 4, [0, 0, 1, 1]), "the hot victim held 0, 1, 4 and 5");
}

#[test]
fn an_old_hot_block_is_taken_before_a_cold_one() {
    // R = 4, with two blocks in each partition: a hot block with four valid pages, and an open hot
    // block.
    let mut real = filled("last:adapt=false", [8, 6]);
    real.write_each(&[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    assert_eq!(figures(&real, LOCALITIES), [0, 5, 5]);
    // Cold pages are rewritten after 24 others, with k = 8. Every fourth of these writes finds no
    // room: the fourth, the eighth and so on. The hot block is old when more than 4·4·4 pages have
    // been written since its last page, which was the eighth page of all.
    let mut taken_at = None;
    for n in 1..80 {
        real.write(8 + n % 24, 1);
        if figure(&real, "old_hot_victims") == 1 {
            taken_at.get_or_insert(n);
        }
    }
    assert_eq!(figure(&real, "hot_pages"), 5);
    assert_eq!(taken_at, Some(64), "{:?}", figures(&real, VICTIMS));
}

#[test]
fn a_full_merge_takes_pages_from_every_log() {
    let mut real = least();
    real.write(0, 3);
    real.write_each(&[3, 4, 8, 9, 5]);
    // The victim held page 3. Its merge took pages 0 to 2 from the sequential log.
    assert_eq!(real.cost(), (12, 4, [0, 0, 1, 0]));
    real.write(4, 3);
    assert_eq!(real.cost().2, [0, 0, 1, 1], "the sequential block was left without valid pages");
}

#[test]
fn part_of_a_page_costs_one_read_of_its_newest_version() {
    let mut real = least();
    real.write_masked(1, 1, 0b0011);
    real.write_masked(4, 3, 0b0011);
    real.trim(8, 1);
    real.write_masked(8, 1, 0b0011);
    assert_eq!(real.counts().rmw, 3, "page 1, and pages 4 and 6, are completed; 8 is unmapped");
}

// ---- The naive model ----------------------------------------------------------------------------

const PLAIN: Form = Form {
    spec: "last",
    extra: 4,
    np: 4,
    log: 3,
    sequential: 1,
    threshold_pages: 2,
    adapt: true,
    adaptive: false,
    streams: false,
};

const FORMS: [Form; 10] = [
    PLAIN,
    Form { extra: 6, np: 6, log: 5, ..PLAIN },
    Form { extra: 8, np: 3, log: 7, ..PLAIN },
    Form { spec: "last:sequential_log=2", extra: 7, log: 6, sequential: 2, ..PLAIN },
    Form { spec: "last:adapt=false", extra: 7, log: 6, adapt: false, ..PLAIN },
    Form { spec: "last:log=4,threshold=2KiB", extra: 7, log: 4, threshold_pages: 1, ..PLAIN },
    Form { spec: "last:detector=streams", extra: 7, log: 6, streams: true, ..PLAIN },
    Form {
        spec: "last:sequential_log=3,sequential=adaptive,threshold=2KiB",
        extra: 8,
        log: 7,
        sequential: 3,
        threshold_pages: 1,
        adaptive: true,
        ..PLAIN
    },
    Form { spec: "last:sequential=adaptive", extra: 8, log: 7, adaptive: true, ..PLAIN },
    Form {
        spec: "last:sequential=adaptive,detector=streams,adapt=false",
        extra: 10,
        np: 3,
        log: 9,
        adapt: false,
        adaptive: true,
        streams: true,
        ..PLAIN
    },
];

#[test]
fn last_counts_as_the_naive_model_counts() {
    for order in ["any", "ascending", "sequential"] {
        FORMS.iter().for_each(|&form| count_alike(form, order));
    }
}

fn count_alike(form: Form, order: &'static str) {
    const LOGICAL: u32 = 12;
    let mut real = Real::new(form.spec, order, form.np, [LOGICAL, form.extra]);
    let mut naive = Naive::new(form, order, LOGICAL as usize);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    let mut regulated = Vec::new();
    for round in 0..4000 {
        step(&mut rng, &mut real, &mut naive);
        let place = format!("{}, {order}, Np {}, step {round}", form.spec, form.np);
        assert_eq!(real.counts(), naive.counts, "{place}");
        assert_eq!(own_figures(&real), naive.figures, "{place}");
        let sizes = ["k", "hot_cap", "sequential_cap"].map(|name| gauge(&real, name) as u64);
        let expected = [naive.k, naive.hot_most as u64, naive.sequential_most as u64];
        assert_eq!(sizes, expected, "{place}");
        regulated.push(sizes);
    }
    let OwnFigures { localities, victims, sequential_merges, random_merges, .. } = naive.figures;
    let rare = [&localities[..], &victims, &sequential_merges, &random_merges].concat();
    assert!(rare.iter().all(|&count| count > 3), "{}, {order}: {rare:?}", form.spec);
    let [k, _, sequential] = [0, 1, 2].map(|n| {
        let moved = regulated.windows(2).filter(|pair| pair[0][n] != pair[1][n]);
        moved.count()
    });
    assert!(k > 0 || !form.adapt, "{}, {order}: k never moved", form.spec);
    assert_eq!(sequential > 3, form.adaptive, "{}, {order}: {sequential} times", form.spec);
}

// ---- Limits, RAM and gauges ---------------------------------------------------------------------

fn choice(ftl: &str) -> Choice {
    Choice::from_spec(&Spec::parse(ftl).unwrap()).unwrap()
}

#[test]
fn last_refuses_devices_that_are_too_small() {
    let chip = ChipModel::from_spec(&Spec::parse("slc-last").unwrap()).unwrap();
    for (ftl, needs) in [
        ("last", 4),
        ("last:log=3", 4),
        ("last:log=20", 21),
        ("last:sequential_log=5", 8),
        ("last:log=7,sequential_log=5", 8),
        ("last:log=32", 33),
    ] {
        choice(ftl).check(&chip, 100, needs).unwrap();
        let error = choice(ftl).check(&chip, 100, needs - 1).unwrap_err().to_string();
        let words =
            format!("last needs at least {needs} extra blocks, this device has {}", needs - 1);
        assert_eq!(error, words, "{ftl}");
    }
    for (ftl, words) in [
        ("last:log=2", "last: log=2 is less than 1 sequential and 2 random blocks"),
        (
            "last:log=6,sequential_log=5",
            "last: log=6 is less than 5 sequential and 2 random blocks",
        ),
    ] {
        assert_eq!(choice(ftl).check(&chip, 100, 50).unwrap_err().to_string(), words);
    }
}

#[test]
fn the_log_is_divided_as_the_parameters_say() {
    for (ftl, extra, sequential) in [
        ("last", 4, 1),
        ("last", 32, 1),
        ("last", 33, 2),
        ("last:sequential_log=7", 33, 7),
        ("last:log=64", 100, 4),
        ("last:log=64,sequential_log=7", 100, 7),
    ] {
        let real = Real::new(ftl, "ascending", 4, [10, extra]);
        let log = f64::from(if ftl.contains("log=64") { 64 } else { extra - 1 });
        assert_eq!(gauge(&real, "sequential_cap"), f64::from(sequential), "{ftl}, {extra}");
        assert_eq!(gauge(&real, "k"), (log - f64::from(sequential)) * 4.0 / 2.0, "{ftl}, {extra}");
    }
}

/// LAST §4: a device of 32 GB with a log of 512 MB, of which 32 MB are sequential, needs about 2 MB
/// for maps and 3 KB for the merge-cost table.
#[test]
fn ram_is_what_the_paper_counts() {
    let chip = ChipModel::from_spec(&Spec::parse("slc-last").unwrap()).unwrap();
    let (logical_blocks, log) = (262_144, 4096);
    let geometry = chip.geometry(logical_blocks + log + 1).unwrap();
    let ftl =
        mount(&choice("last"), &mut Nand::new(geometry, Mode::Count), logical_blocks).unwrap();
    let (random, sequential) = (u64::from(log) - 256, 256);
    let maps = 4 * u64::from(logical_blocks) + 4 * 64 * random + 4 * sequential;
    assert_eq!(ftl.report().ram.map, maps);
    assert!((maps as f64 / f64::from(1 << 20) - 1.96).abs() < 0.03, "{maps} bytes");
    let (table, dates) = (6 * random / 8, 4 * 64 * random);
    assert_eq!(ftl.report().ram.other, table + dates);
    assert!((table as f64 / 1024.0 - 3.0).abs() < 0.2, "{table} bytes");
}

#[test]
fn gauges_show_the_state_of_the_log() {
    let mut real = filled("last:adapt=false", [6, 6]);
    real.write_each(&[0, 0, 0, 0, 0, 4, 5, 8]);
    real.write(12, 3);
    let names = ["U_hot", "U_cold", "N_d", "hot_blocks", "cold_blocks", "hot_cap"];
    // Hot [0 0 0 0], with one valid page; cold [0 4 5 8].
    assert_eq!(names.map(|name| gauge(&real, name)), [0.25, 0.75, 0.0, 1.0, 1.0, 2.0]);
    assert_eq!((gauge(&real, "sequential_blocks"), gauge(&real, "sequential_cap")), (1.0, 1.0));
    real.trim(0, 9);
    let names = ["U_hot", "U_cold", "N_d"];
    assert_eq!(names.map(|name| gauge(&real, name)), [0.0, 0.0, 1.0]);
    real.ftl.reset_report();
    assert_eq!(own_figures(&real), OwnFigures::default());
    assert_eq!(gauge(&real, "hot_blocks"), 1.0, "a reset does not change gauges");
}

// ---- Beyond the paper ---------------------------------------------------------------------------

/// Copies and erases of merges caused by interleaved streams of two pages per write, with a few
/// random writes among them.
fn cost_of_streams(ftl: &str, streams: u32, pages: u32, randoms: u32) -> (u64, Real) {
    let mut real = Real::filled(ftl, "ascending", [60, 17]);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let capacity = 60 * 4;
    for turn in 0..1500 {
        for stream in 0..streams {
            let at = stream * (capacity / streams) + turn * pages % (capacity / streams);
            real.write(at / pages * pages, pages);
        }
        (0..randoms).for_each(|_| real.write(rng.next_u32() % capacity, 1));
    }
    let (copies, erases, _) = real.cost();
    (copies + erases, real)
}

#[test]
fn streams_of_small_writes_are_detected() {
    let (by_size, real) = cost_of_streams("last:sequential_log=4", 3, 1, 1);
    assert_eq!(figure(&real, "sequential_pages"), 0);
    let (by_streams, real) = cost_of_streams("last:sequential_log=4,detector=streams", 3, 1, 1);
    assert!(figure(&real, "sequential_pages") > 4000, "too few of 4,500 pages are sequential");
    assert!(2 * by_streams < by_size, "{by_streams} and {by_size} copies and erases");
}

#[test]
fn a_stream_is_sequential_once_it_is_larger_than_the_threshold() {
    let mut real = filled("last:detector=streams", [3, 4]);
    real.write_each(&[0, 1, 2, 3]);
    assert_eq!(figures(&real, LOCALITIES), [2, 0, 2], "three pages are more than 4 KiB");
    real.write_each(&[8, 4]);
    assert_eq!(
        figures(&real, LOCALITIES),
        [3, 0, 3],
        "page 4 continues the stream after 3 nevertheless"
    );
}

#[test]
fn a_sequential_log_that_saves_more_grows_to_its_best_size() {
    // Eight streams take turns. In a small sequential log each evicts another; a log that is too
    // large takes blocks from the random log.
    let cost = |more: &str| cost_of_streams(&format!("last:threshold=2KiB,{more}"), 8, 2, 1).0;
    let fixed = [1, 2, 4, 5, 6, 7, 8].map(|blocks| cost(&format!("sequential_log={blocks}")));
    let best = fixed.into_iter().min().unwrap();
    let adaptive = cost("sequential=adaptive");
    assert!(4 * best < fixed[0], "{fixed:?}: there is something to gain");
    assert!(100 * adaptive < 105 * best, "{adaptive}, and {fixed:?} with fixed sizes");
}

#[test]
fn a_sequential_log_that_saves_nothing_shrinks() {
    let mut real = filled("last:sequential_log=10,sequential=adaptive", [60, 17]);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(10);
    for _ in 0..6000 {
        real.write(rng.next_u32() % 100, 1);
    }
    assert_eq!(gauge(&real, "sequential_cap"), 1.0);
}

// ---- Merges that a power cut interrupts ---------------------------------------------------------

/// The interrupted merges: the runs before, and the run that needs room.
struct Interrupted {
    name: &'static str,
    before: &'static [(u32, u32)],
    run: (u32, u32),
}

const INTERRUPTED: [Interrupted; 7] = [
    Interrupted { name: "switch", before: &[(0, 4)], run: (4, 3) },
    Interrupted { name: "partial", before: &[(0, 3)], run: (4, 3) },
    Interrupted { name: "stale, so full", before: &[(0, 4), (2, 1)], run: (4, 3) },
    Interrupted { name: "in the way of its own run", before: &[(0, 3)], run: (0, 3) },
    Interrupted { name: "filled in", before: &[], run: (5, 3) },
    Interrupted { name: "dead", before: &[(1, 1), (1, 1), (1, 1), (1, 1), (1, 1)], run: (1, 1) },
    Interrupted { name: "random", before: &[(0, 1), (5, 1), (1, 1), (2, 1)], run: (9, 1) },
];

/// Cuts the power at every operation of a merge, and again at every operation of the mount or of
/// the same write when it is repeated. Each pair of outcomes is tried on two chips.
#[test]
fn merged_pages_survive_two_cuts() {
    for case in &INTERRUPTED {
        let (mut orders, mut tried) = (ORDERS.into_iter().cycle(), 0);
        for (one, other) in outcomes().flat_map(|o| outcomes().map(move |p| (o, p))) {
            for in_mount in [true, false] {
                let order = orders.next().expect("orders take turns");
                tried += interrupt_everywhere(case, order, [one, other], in_mount);
            }
        }
        assert!(tried > 72, "{}: only {tried} pairs of cuts", case.name);
    }
}

/// Cuts the power at every operation, and again at every operation after the power returned.
/// Returns the number of pairs of cuts.
fn interrupt_everywhere(
    case: &Interrupted,
    order: &str,
    outcomes: [Outcome; 2],
    in_mount: bool,
) -> u32 {
    let mut tried = 0;
    for first in 0.. {
        for second in 0.. {
            let cuts = [
                Cut { after: first, outcome: outcomes[0] },
                Cut { after: second, outcome: outcomes[1] },
            ];
            match interrupt_twice(case, order, cuts, in_mount) {
                [true, true] => tried += 1,
                [true, false] => break,
                [false, _] => return tried,
            }
        }
    }
    unreachable!("a write ends")
}

/// Which of the two cuts took effect.
fn interrupt_twice(case: &Interrupted, order: &str, cuts: [Cut; 2], in_mount: bool) -> [bool; 2] {
    let mut device = Mortal::durable("last", order, [3, 4], &[]);
    let mut expected = vec![1; 12];
    for &(first, pages) in case.before {
        device.write(first, pages, 2).unwrap();
        expected[first as usize..][..pages as usize].fill(2);
    }
    let (first, pages) = case.run;
    expected[first as usize..][..pages as usize].fill(3);
    device.real.nand.power().cut_after(cuts[0]);
    let struck = device.write(first, pages, 3).is_err();
    let struck_again = if in_mount {
        device.mount(Some(cuts[1])).is_err()
    } else {
        device.mount(None).unwrap();
        device.real.nand.power().cut_after(cuts[1]);
        device.write(first, pages, 3).is_err()
    };
    device.mount(None).unwrap();
    device.write(first, pages, 3).unwrap();
    device.real.ftl.audit(&device.real.nand).unwrap();
    assert_eq!(device.found(), expected, "{}, {order}, {cuts:?}, {in_mount}", case.name);
    [struck, struck_again]
}

#[test]
fn hot_pages_stay_hot_after_a_power_cycle_and_cold_ones_have_no_distance() {
    let mut device = Mortal::new("last", "ascending", [3, 6], &[1, 1, 4]);
    assert_eq!(figures(&device.real, LOCALITIES), [0, 1, 2]);
    device.mount(None).unwrap();
    device.write(1, 1, 3).unwrap();
    assert_eq!(figures(&device.real, LOCALITIES), [0, 1, 0]);
    device.write(4, 1, 3).unwrap();
    assert_eq!(figures(&device.real, LOCALITIES), [0, 1, 1]);
    device.write(4, 1, 4).unwrap();
    assert_eq!(figures(&device.real, LOCALITIES), [0, 2, 1]);
}

#[test]
fn log_blocks_keep_their_roles_after_a_power_cycle() {
    let mut device = Mortal::new("last", "ascending", [4, 6], &[]);
    device.write(8, 3, 2).unwrap();
    [1, 1, 5, 2, 3].iter().for_each(|&page| device.write(page, 1, 2).unwrap());
    device.mount(None).unwrap();
    let names = ["sequential_blocks", "hot_blocks", "cold_blocks"];
    assert_eq!(names.map(|name| gauge(&device.real, name)), [1.0, 1.0, 1.0]);
    // The log blocks are closed now. The run would have continued in the sequential block, but this
    // block must now be merged first.
    device.write(9, 3, 3).unwrap();
    assert_eq!(figures(&device.real, SEQUENTIAL_MERGES), [0, 0, 1, 0]);
    device.write(2, 1, 3).unwrap();
    assert_eq!(gauge(&device.real, "cold_blocks"), 2.0);
    assert_eq!(figure(&device.real, "padded_pages"), 0);
}

#[test]
fn the_first_interval_is_compared_with_the_log_as_mounted() {
    // R = 4, so k starts at 8. The mount finds a cold block with four valid pages.
    let mut device = Mortal::new("last", "ascending", [6, 6], &[5, 9, 13, 17]);
    device.mount(None).unwrap();
    assert_eq!((gauge(&device.real, "U_cold"), gauge(&device.real, "k")), (1.0, 8.0));
    // One more cold page, then hot ones: four of eight cold pages are valid.
    (0..16).for_each(|_| device.write(1, 1, 3).unwrap());
    assert_eq!((gauge(&device.real, "U_cold"), gauge(&device.real, "k")), (0.5, 12.0));
}

#[test]
fn a_log_larger_than_asked_for_is_refused() {
    let mut device = Mortal::new("last", "ascending", [6, 8], &[]);
    (0..16).for_each(|n| device.write(1 + 5 * n % 24, 1, 2).unwrap());
    device.write(8, 3, 2).unwrap();
    device.real.choice = choice("last:log=3");
    let refused = device.mount(None).unwrap_err();
    assert!(matches!(refused, Error::Unmountable(_)), "{refused}");
    assert!(refused.to_string().contains("more than 3 log blocks"), "{refused}");
}
