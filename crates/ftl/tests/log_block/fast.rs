//! Tests of fast.

use ftl::{Choice, Metric, MissCosts, Run};
use nand::{ChipModel, Data, Lpn};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

use crate::device::{Mortal, PAGE_BYTES, Real, TIMING, step, survives_two_cuts};
use crate::naive_fast::{FAST, NaiveFast};

/// fast on a filled `ascending` device of four logical blocks.
fn fast(extra: u32) -> Real {
    Real::filled("fast", "ascending", [4, extra])
}

fn rw_associated(real: &Real) -> Vec<u64> {
    match real.figure("rw_associated_blocks") {
        Metric::Counts(counts) => counts,
        other => panic!("{other:?}"),
    }
}

// ---- The random log, counted by hand ------------------------------------------------------------

#[test]
fn a_victim_costs_a_full_merge_of_each_associated_data_block() {
    let mut real = fast(3);
    real.write_each(&[1, 5, 9, 13]);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]), "nothing is merged before the room is needed");
    real.write(2, 1);
    assert_eq!(real.cost(), (16, 5, [0, 0, 1, 0]));
    assert_eq!(real.counts().merges.associated_blocks, [0, 0, 0, 0, 1]);
    assert_eq!(rw_associated(&real), [0, 0, 0, 0, 1]);
}

#[test]
fn stale_pages_of_a_victim_cost_nothing() {
    let mut real = fast(3);
    real.write_each(&[1, 1, 1, 1, 2]);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    let mut real = fast(3);
    real.write_each(&[1, 5, 5, 5, 2]);
    assert_eq!(real.cost(), (8, 3, [0, 0, 1, 0]));
    assert_eq!(rw_associated(&real), [0, 0, 1]);
    assert_eq!(real.figure("mean_rw_associated_blocks"), Metric::Real(2.0));
}

#[test]
fn two_pages_of_one_data_block_are_one_associated_block() {
    let mut real = fast(3);
    real.write_each(&[1, 2, 3, 5, 6]);
    assert_eq!(real.cost(), (8, 3, [0, 0, 1, 0]));
    assert_eq!(rw_associated(&real), [0, 0, 1]);
}

#[test]
fn the_block_allocated_first_is_reclaimed_dead_or_not() {
    let mut real = fast(4);
    real.write_each(&[1, 5, 9, 13, 2, 3, 2, 3]);
    real.trim(2, 2);
    real.write(6, 1);
    assert_eq!(real.cost(), (14, 5, [0, 0, 1, 0]), "the second block is dead and waits");
    real.write_each(&[6, 6, 6]);
    assert_eq!(real.cost().1, 5);
    real.write(6, 1);
    assert_eq!(real.cost(), (14, 6, [0, 0, 1, 1]));
}

#[test]
fn a_merge_takes_the_newest_pages_from_all_log_blocks() {
    let mut real = fast(4);
    // RW [1 5 5 5] [2 6 9 d], SW [0]; the merge of LBN 0 and LBN 1 empties SW and half the second.
    real.write_each(&[1, 5, 5, 5, 2, 6, 9, 13, 0]);
    real.write(10, 1);
    assert_eq!(real.cost(), (8, 3, [0, 0, 1, 0]));
    real.write_each(&[10, 10, 10, 10]);
    assert_eq!(real.cost(), (16, 6, [0, 0, 2, 0]), "9 and 13 were its only valid pages");
    assert_eq!(rw_associated(&real), [0, 0, 2]);
    real.write(4, 1);
    assert_eq!(real.cost(), (16, 7, [0, 0, 2, 1]), "SW was dead, but waited for its turn");
}

// ---- The sequential block, counted by hand ------------------------------------------------------

#[test]
fn a_full_stream_is_switched_by_the_next_one() {
    let mut real = fast(3);
    real.write_each(&[0, 1, 2, 3]);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]), "nothing is merged before the room is needed");
    real.write(4, 1);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
}

#[test]
fn a_partial_merge_takes_newer_pages_from_elsewhere() {
    let mut real = fast(3);
    real.write_each(&[3, 0, 1, 4]);
    assert_eq!(real.cost(), (2, 1, [0, 1, 0, 0]));
    real.write_each(&[5, 7, 7, 7]);
    assert_eq!(real.cost().1, 1, "5 was appended to SW");
    real.write(7, 1);
    assert_eq!(
        real.cost(),
        (6, 3, [0, 1, 1, 0]),
        "3 is at home already; only the block of 7 is merged"
    );
}

#[test]
fn a_stale_page_makes_the_merge_of_a_stream_full() {
    let mut real = fast(3);
    real.write_each(&[0, 1, 1, 4]);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    assert_eq!(real.counts().merges.associated_blocks, [0, 1]);
    assert_eq!(rw_associated(&real), [0; 0], "this was not a victim of the random log");
    assert_eq!(real.figure("mean_rw_associated_blocks"), Metric::Real(0.0));
}

#[test]
fn a_stream_without_valid_pages_is_only_erased() {
    let mut real = fast(3);
    real.write_each(&[0, 1]);
    real.trim(0, 2);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]));
    real.write(4, 1);
    assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]));
}

#[test]
fn a_full_stream_waits_for_the_next_one_and_other_writes_go_to_the_random_log() {
    let mut real = fast(3);
    real.write_each(&[0, 1, 2, 3, 1, 2, 3, 1]);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]));
    real.write(0, 1);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]), "1, 2 and 3 were stale in SW");
}

#[test]
fn offset_0_opens_a_new_block_for_its_present_owner_too() {
    let mut real = fast(3);
    real.write_each(&[0, 1, 0]);
    assert_eq!(real.cost(), (2, 1, [0, 1, 0, 0]));
    real.write_each(&[1, 2, 3, 4]);
    assert_eq!(real.cost(), (2, 2, [1, 1, 0, 0]));
}

#[test]
fn the_next_page_in_order_is_appended_even_if_earlier_ones_are_stale() {
    let mut real = fast(3);
    // RW takes 1; 2 and 3 are appended to SW.
    real.write_each(&[0, 1, 1, 2, 3, 5, 5, 5]);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]));
    real.write(4, 1);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    // The same after a merge has emptied SW: only 2 is valid there.
    let mut real = fast(3);
    real.write_each(&[0, 1, 3, 3, 3, 3, 5, 2]);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    real.write(4, 1);
    assert_eq!(real.cost(), (8, 4, [0, 0, 2, 0]));
}

#[test]
fn a_page_out_of_order_leaves_the_stream_unchanged() {
    let mut real = fast(3);
    real.write_each(&[0, 2, 1, 2, 3, 4]);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]), "2 was stale in RW, not in SW");
}

// ---- Runs, homes, limits ------------------------------------------------------------------------

#[test]
fn a_run_is_handled_page_by_page() {
    let mut real = fast(3);
    real.write(0, 8);
    assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
    real.write(2, 4);
    assert_eq!(
        real.cost(),
        (0, 2, [2, 0, 0, 0]),
        "2 and 3 go to RW; 4 opens an SW block, 5 is appended to it"
    );
    real.write(5, 3);
    real.write(8, 1);
    assert_eq!(
        real.cost(),
        (4, 4, [2, 0, 1, 0]),
        "5 goes to RW, 6 and 7 go to SW, where 5 is stale"
    );
}

#[test]
fn a_run_larger_than_the_random_log_reclaims_as_it_goes() {
    let mut real = fast(3);
    real.write(1, 3);
    real.write(5, 3);
    assert_eq!(
        real.cost(),
        (8, 3, [0, 0, 1, 0]),
        "the victim held 1, 2, 3 and 5; 6 and 7 are in the log"
    );
}

#[test]
fn a_page_is_written_at_home_if_a_merge_has_erased_its_home() {
    // SW [0 1] with 0 trimmed: its merge leaves the home of 0 erased. Other program orders cannot
    // go back to it.
    for (order, in_place) in [("any", 1), ("ascending", 0), ("sequential", 0)] {
        let mut real = Real::filled("fast", order, [4, 3]);
        real.write_each(&[0, 1]);
        real.trim(0, 1);
        real.write(0, 1);
        assert_eq!(real.cost(), (3, 2, [0, 0, 1, 0]), "{order}");
        assert_eq!(real.counts().in_place, in_place, "{order}");
    }
    // The same with a victim of the random log. Page 3 was trimmed; any chip allows it to be
    // programmed next.
    for order in ["any", "ascending", "sequential"] {
        let mut real = Real::filled("fast", order, [4, 3]);
        real.write_each(&[1, 1, 1, 1]);
        real.trim(3, 1);
        real.write(3, 1);
        assert_eq!(real.cost(), (3, 2, [0, 0, 1, 0]), "{order}");
        assert_eq!(real.counts().in_place, 1, "{order}");
    }
}

#[test]
fn a_first_write_in_place_comes_before_the_stream() {
    let mut real = Real::new("fast", "ascending", 4, [4, 3]);
    real.write_each(&[0, 1, 2]);
    assert_eq!(real.counts().in_place, 3);
    real.write_each(&[0, 3]);
    assert_eq!(real.counts().in_place, 4, "3 has never been written");
    real.write_each(&[1, 4]);
    assert_eq!(
        real.counts().in_place,
        5,
        "the page has offset 0, but its home is erased: SW stays [0 1]"
    );
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]));
}

#[test]
fn holes_are_padded_and_a_missing_data_block_is_not_erased() {
    let mut real = Real::new("fast", "sequential", 4, [4, 3]);
    real.write_each(&[2, 2, 6, 6, 3]);
    assert_eq!(real.cost(), (2, 1, [0, 0, 1, 0]));
    assert_eq!((real.counts().padding, real.counts().in_place), (4, 1));
}

#[test]
fn part_of_a_page_costs_one_read_of_its_newest_version() {
    let mut real = fast(3);
    [1, 0, 1].iter().for_each(|&page| real.write_masked(page, 1, 0b0011));
    real.trim(9, 1);
    real.write_masked(9, 1, 0b0011);
    assert_eq!(real.counts().rmw, 3, "a trimmed page has no newest version");
}

#[test]
fn two_extra_blocks_are_too_few() {
    let choice = Choice::from_spec(&Spec::parse("fast").unwrap()).unwrap();
    let chip = ChipModel::from_spec(&Spec::parse("slc-last").unwrap()).unwrap();
    let error = choice.check(&chip, 100, 2).unwrap_err();
    assert_eq!(error.to_string(), "fast needs at least 3 extra blocks, this device has 2");
    choice.check(&chip, 100, 3).unwrap();
}

#[test]
fn ram_is_the_block_map_and_the_map_of_the_log() {
    let real = Real::new("fast", "ascending", 16, [10, 4]);
    assert_eq!(real.ftl.report().ram.map, 4 * 10 + 4 * 16 * 3);
}

// ---- A budget for the map of the log ------------------------------------------------------------

/// Bytes of the map of this number of log blocks.
fn budget(log_blocks: u64) -> u64 {
    log_blocks * 4 * 4
}

#[test]
fn a_smaller_budget_reclaims_at_once_and_only_then() {
    let mut real = fast(5);
    real.write_each(&[1, 1, 1, 1, 5, 5, 5, 5, 9]);
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, budget(4)).unwrap();
    assert_eq!(real.cost().1, 0, "SW and three RW blocks");
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, budget(3) + 15).unwrap();
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 0).unwrap();
    assert_eq!(real.cost(), (8, 4, [0, 0, 2, 0]), "one RW block is always allowed");
    assert_eq!(real.ftl.report().ram.map, 4 * 4 + budget(2));
    assert_eq!(real.ftl.report().gauges, [("log_blocks", 2.0), ("rw_blocks", 1.0)]);
    real.ftl.audit(&real.nand).unwrap();
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, u64::MAX).unwrap();
    real.write_each(&[9, 9, 9, 13, 13, 13, 13, 14]);
    assert_eq!(real.cost().1, 4, "the log has all its blocks again");
    assert_eq!(real.ftl.report().gauges, [("log_blocks", 4.0), ("rw_blocks", 3.0)]);
}

/// A device with a smaller budget counts as a device with fewer extra blocks.
#[test]
fn a_budget_acts_like_fewer_extra_blocks() {
    let mut large = fast(7);
    large.ftl.resizable_map().unwrap().resize(&mut large.nand, budget(3)).unwrap();
    let mut small = fast(4);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for round in 0..2000 {
        let (first, pages) = (rng.next_u32() % 16, 1 + rng.next_u32() % 5);
        large.write(first, pages.min(16 - first));
        small.write(first, pages.min(16 - first));
        assert_eq!(large.counts(), small.counts(), "round {round}");
    }
    assert!(small.counts().merges.full > 100);
}

// ---- The naive model ----------------------------------------------------------------------------

#[test]
fn fast_counts_as_the_naive_model_counts() {
    const LOGICAL: u32 = 12;
    for order in ["any", "ascending", "sequential"] {
        for (extra, np) in [(3, 4), (5, 4), (4, 6), (8, 3), (4, 2)] {
            let mut real = Real::new("fast", order, np, [LOGICAL, extra]);
            let shape = [LOGICAL as usize, extra as usize];
            let mut naive = NaiveFast::new(FAST, order, np as usize, shape);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
            for round in 0..3000 {
                if round % 100 == 99 {
                    let log_blocks = rng.next_u32() % extra;
                    let bytes = u64::from(log_blocks) * 4 * u64::from(np);
                    real.ftl.resizable_map().unwrap().resize(&mut real.nand, bytes).unwrap();
                    naive.set_log_blocks(log_blocks as usize);
                }
                step(&mut rng, &mut real, &mut naive);
                assert_eq!(real.counts(), naive.counts, "{order}, Np {np}, step {round}");
                assert_eq!(rw_associated(&real), naive.rw_associated, "{order}, step {round}");
            }
            let merges = &naive.counts.merges;
            let kinds = [merges.switch, merges.partial, merges.full, merges.dead];
            assert!(kinds.iter().all(|&n| n > 3) && naive.counts.rmw > 100, "{kinds:?}");
        }
    }
}

/// The costs of adaptive partitioning (Table IV), computed from two lists of victims: the victims
/// since the last call, and all victims.
fn costs(recent: &[[u64; 5]], all: &[[u64; 5]], np: u32) -> MissCosts {
    let [read, program, erase] =
        [TIMING.read_ns, TIMING.program_ns, TIMING.erase_ns].map(|ns| ns as f64);
    let alive: Vec<f64> = recent
        .iter()
        .filter(|victim| victim[1] > 0)
        .map(|victim| victim[0] as f64 / victim[1] as f64)
        .collect();
    let pages_per_merge = match alive.len() {
        0 => 1.0,
        victims => alive.iter().sum::<f64>() / victims as f64,
    };
    let took = |&[_, _, copies, padding, erases]: &[u64; 5]| {
        copies as f64 * (read + program) + padding as f64 * program + erases as f64 * erase
    };
    let reclaim = all.iter().map(took).sum::<f64>() / all.len().max(1) as f64;
    MissCosts {
        map_read_ns: 0.0,
        map_write_ns: (f64::from(np) * (read + program) + erase) / pages_per_merge,
        buffer_read_ns: read,
        buffer_write_ns: program + reclaim / f64::from(np),
    }
}

#[test]
fn a_watched_log_counts_the_same_and_records_what_the_naive_model_records() {
    for (order, extra, np) in [("any", 5, 4), ("ascending", 3, 4), ("sequential", 8, 3)] {
        let mut real = Real::new("fast", order, np, [12, extra]);
        real.ftl.resizable_map().unwrap().watch();
        let mut naive = NaiveFast::new(FAST, order, np as usize, [12, extra as usize]);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let (mut events, mut asked) = (Vec::new(), 0);
        for round in 0..3000 {
            step(&mut rng, &mut real, &mut naive);
            if round % 300 == 299 {
                let log_blocks = rng.next_u32() % extra;
                let bytes = u64::from(log_blocks) * 4 * u64::from(np);
                real.ftl.resizable_map().unwrap().resize(&mut real.nand, bytes).unwrap();
                naive.set_log_blocks(log_blocks as usize);
            }
            assert_eq!(real.counts(), naive.counts, "{order}, Np {np}, step {round}");
            real.ftl.resizable_map().unwrap().take_events(&mut events);
            assert_eq!(events, naive.events, "{order}, Np {np}, step {round}");
            events.clear();
            naive.events.clear();
            if round % 70 == 69 {
                let expected = costs(&naive.victims[asked..], &naive.victims, np);
                let (found, same) =
                    (real.ftl.resizable_map().unwrap().miss_costs(), |a: f64, b: f64| {
                        (a / b - 1.0).abs() < 1e-9
                    });
                assert!(same(found.map_write_ns, expected.map_write_ns), "{found:?} {expected:?}");
                let (page, other) = (found.buffer_write_ns, expected.buffer_write_ns);
                assert!(same(page, other), "{found:?} {expected:?}");
                assert_eq!((found.map_read_ns, found.buffer_read_ns), (0.0, 10.0));
                asked = naive.victims.len();
            }
        }
        assert!(asked > 300, "{asked} victims");
    }
}

// ---- Merges that a power cut interrupts ---------------------------------------------------------

/// The interrupted merges: the writes before, the write that causes the merge, and the number of
/// operations to cut.
const MERGES: [(&str, &[u32], u32, u64); 5] = [
    ("victim", &[1, 5, 5, 6], 2, 12),
    ("victim with pages in SW", &[0, 1, 5, 2, 6, 3], 9, 12),
    ("switch", &[0, 1, 2, 3], 4, 6),
    ("partial", &[3, 0, 1], 4, 6),
    ("full", &[0, 1, 1], 4, 8),
];

#[test]
fn a_merge_survives_two_cuts() {
    for (kind, writes, page, cuts) in MERGES {
        let tried = survives_two_cuts(kind, ("fast", [3, 3]), (writes, page), [cuts + 4, 12]);
        assert_eq!(tried, (cuts + 4) * 12 * 64, "{kind}");
    }
}

/// A mount makes all log blocks random log blocks, and reclaims none before it must.
#[test]
fn log_blocks_are_found_by_a_mount() {
    // RW [1 5 9 1] and SW [0]: two blocks, of which RW may have one.
    let mut device = Mortal::new("fast", "ascending", [3, 3], &[1, 5, 9, 1, 0]);
    device.mount(None).unwrap();
    device.real.nand.reset_tally();
    let rw_blocks = device.real.ftl.report().gauges[1];
    assert_eq!(rw_blocks, ("rw_blocks", 2.0));
    assert_eq!(device.real.cost().2, [0, 0, 0, 0]);
    device.write(8, 1, 3).unwrap();
    assert_eq!(
        device.real.cost(),
        (12, 4, [0, 0, 1, 0]),
        "the oldest block is merged, so that there is room for SW"
    );
    device.write(1, 1, 3).unwrap();
    assert_eq!(device.real.cost(), (12, 5, [0, 0, 1, 1]), "the block with page 0 is dead");
    assert_eq!(device.found()[..3], [2, 3, 1]);
}

// ---- A law --------------------------------------------------------------------------------------

/// The law for uniform random single-page writes over B data blocks, with a random log of L pages.
/// After a data block was merged, one of its pages enters the log after B writes on average, and is
/// reclaimed L writes later. So a victim is associated with Np / (1 + L/B) data blocks on average.
fn law(np: u32, rw_blocks: u32, logical: u32) -> f64 {
    let (np, window) = (f64::from(np), f64::from(rw_blocks * np));
    np / (1.0 + window / f64::from(logical))
}

/// The same law with the merges of the SW block, which the first one neglects. One of Np writes
/// opens an SW block, and its merge removes its data block from the random log. For a given block
/// this happens with rate s = 1 / ((Np − 1) B) per write to that log. So a data block stays in the
/// random log for all L writes with probability q = exp(−s L), and for (1 − q) / s writes on
/// average.
fn law_with_streams(np: u32, rw_blocks: u32, logical: u32) -> f64 {
    let (np, window, logical) = (f64::from(np), f64::from(rw_blocks * np), f64::from(logical));
    let rate = 1.0 / ((np - 1.0) * logical);
    let survives = (-rate * window).exp();
    np * survives / (1.0 + (1.0 - survives) / rate / logical)
}

/// The mean number of associated data blocks of a victim in the steady state.
fn mean_associated(np: u32, rw_blocks: u32, logical: u32) -> f64 {
    let mut real = Real::new("fast", "ascending", np, [logical, rw_blocks + 2]);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let write = |real: &mut Real, lpn, pages| {
        let run = Run::whole(Lpn(lpn), pages, PAGE_BYTES, Data::None);
        real.ftl.write_run(&mut real.nand, &run).unwrap();
    };
    let (pages, warm) = (logical * np, 4 * (logical + rw_blocks * np));
    write(&mut real, 0, pages);
    for round in 0..warm + 600 * np {
        if round == warm {
            real.ftl.reset_report();
        }
        write(&mut real, rng.next_u32() % pages, 1);
    }
    match real.figure("mean_rw_associated_blocks") {
        Metric::Real(mean) => mean,
        other => panic!("{other:?}"),
    }
}

/// Claim T4 for L far below B·Np (1 % of it).
#[test]
fn uniform_random_writes_associate_as_many_data_blocks_as_the_law_says() {
    for (np, rw_blocks, logical) in [(64, 30, 3000), (128, 40, 4000)] {
        let (found, law) = (mean_associated(np, rw_blocks, logical), law(np, rw_blocks, logical));
        assert!((found / law - 1.0).abs() < 0.02, "Np {np}: {found} for {law}");
    }
}

/// Claim T4 for L between 3 % and 15 % of B·Np, where the merges of streams must be included.
#[test]
fn streams_take_data_blocks_out_of_the_random_log() {
    for rw_blocks in [30, 50, 100, 150] {
        let found = mean_associated(64, rw_blocks, 1000);
        let law = law_with_streams(64, rw_blocks, 1000);
        assert!((found / law - 1.0).abs() < 0.02, "{rw_blocks} RW blocks: {found} for {law}");
    }
}
