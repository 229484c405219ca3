//! Tests of bast and fmax.

use core::ops::Range;

use ftl::{Choice, Error, Run};
use nand::{ChipModel, Data, Lpn, Mode, Nand};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

use crate::device::{Counts, Model, Mortal, PAGE_BYTES, Real, mount, step, survives_two_cuts};
use crate::homes::Homes;

/// The schemes in which a log block serves one data block.
const BLOCK_ASSOCIATIVE: [&str; 2] = ["bast", "fmax"];

/// Both block-associative schemes, on a filled `ascending` device with one log block.
fn each(check: impl Fn(Real)) {
    BLOCK_ASSOCIATIVE.iter().for_each(|ftl| check(Real::filled(ftl, "ascending", [3, 2])));
}

// ---- Counted by hand ----------------------------------------------------------------------------

#[test]
fn a_full_block_in_order_is_switched_by_the_next_write() {
    each(|mut real| {
        real.write_each(&[0, 1, 2, 3]);
        assert_eq!(
            real.cost(),
            (0, 0, [0, 0, 0, 0]),
            "nothing is merged before the room is needed"
        );
        real.write(0, 1);
        assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
        real.write_each(&[1, 2, 3]);
        assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
    });
}

#[test]
fn the_start_of_a_block_is_merged_partially() {
    each(|mut real| {
        real.write_each(&[0, 1, 4]);
        assert_eq!(real.cost(), (2, 1, [0, 1, 0, 0]));
    });
}

#[test]
fn pages_out_of_order_are_merged_fully() {
    each(|mut real| {
        real.write_each(&[1, 4]);
        assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
        assert_eq!(real.counts().merges.associated_blocks, [0, 1]);
    });
}

#[test]
fn a_log_block_without_valid_pages_is_only_erased() {
    each(|mut real| {
        real.write_each(&[1, 2]);
        real.trim(0, 3);
        assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]), "nothing is erased when a block dies");
        real.write(4, 1);
        assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]));
    });
}

#[test]
fn a_full_log_block_is_merged_when_its_own_data_block_needs_room() {
    each(|mut real| {
        real.write_each(&[1, 1, 1, 1]);
        assert_eq!(real.cost().1, 0);
        real.write(1, 1);
        assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    });
}

#[test]
fn a_page_written_twice_breaks_the_order() {
    each(|mut real| {
        real.write_each(&[0, 1, 1, 4]);
        assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    });
}

#[test]
fn a_trim_in_a_block_in_order_makes_the_merge_full_and_is_not_copied() {
    each(|mut real| {
        real.write_each(&[0, 1, 2, 3]);
        real.trim(3, 1);
        real.write(4, 1);
        assert_eq!(real.cost(), (3, 2, [0, 0, 1, 0]));
    });
}

#[test]
fn pages_that_a_merge_left_erased_are_written_in_place() {
    each(|mut real| {
        real.trim(2, 2);
        real.write_each(&[0, 1, 4]);
        assert_eq!(real.cost(), (0, 1, [0, 1, 0, 0]), "a partial merge with nothing to copy");
        real.write_each(&[3]);
        assert_eq!(real.counts().in_place, 1);
        real.write_each(&[2]);
        assert_eq!(real.counts().in_place, 1, "no page is written in place below programmed pages");
    });
}

#[test]
fn a_run_is_handled_page_by_page() {
    each(|mut real| {
        real.write(0, 8);
        assert_eq!(real.cost(), (0, 1, [1, 0, 0, 0]));
        real.write(0, 8);
        assert_eq!(real.cost(), (0, 3, [3, 0, 0, 0]));
        real.write(2, 4);
        assert_eq!(real.cost(), (4, 6, [4, 0, 1, 0]), "2 and 3 are not in order; 4 and 5 follow");
    });
}

#[test]
fn part_of_a_page_costs_one_read_of_its_newest_version() {
    each(|mut real| {
        real.write_masked(1, 1, 0b0011);
        real.write_masked(5, 1, 0b0011);
        real.trim(8, 1);
        real.write_masked(8, 1, 0b0011);
        assert_eq!(real.counts().rmw, 2, "a trimmed page has no newest version");
    });
}

#[test]
fn a_write_protects_a_log_block_in_bast_but_not_in_fmax() {
    // Two log blocks: [0 0] of LBN 0, which was written last, and [4] of LBN 1.
    let costs = [("bast", (3, 1, [0, 1, 0, 0])), ("fmax", (4, 2, [0, 0, 1, 0]))];
    for (ftl, cost) in costs {
        let mut real = Real::filled(ftl, "ascending", [3, 3]);
        real.write_each(&[0, 4, 0, 8]);
        assert_eq!(real.cost(), cost, "{ftl}");
    }
}

#[test]
fn erased_homes_come_first_if_the_chip_allows_it() {
    // Pages 1, 0 and 2 of a logical block that was never written. How many are written in place?
    for (order, in_place) in [("any", 3), ("ascending", 2), ("sequential", 1)] {
        for ftl in BLOCK_ASSOCIATIVE {
            let mut real = Real::new(ftl, order, 4, [3, 2]);
            real.write_each(&[1, 0, 2]);
            assert_eq!(real.counts().in_place, in_place, "{ftl}, {order}");
        }
    }
}

#[test]
fn on_a_sequential_chip_the_next_page_of_a_block_is_written_in_place() {
    for ftl in BLOCK_ASSOCIATIVE {
        let mut real = Real::new(ftl, "sequential", 4, [3, 2]);
        real.write_each(&[1, 0, 1]);
        assert_eq!(real.counts().in_place, 2, "{ftl}: page 1 first went to the log");
        real.write(5, 1);
        assert_eq!(real.cost(), (0, 1, [0, 0, 0, 1]), "{ftl}: its log block is dead");
    }
}

#[test]
fn a_data_block_that_does_not_exist_yet_is_not_erased_and_holes_are_padded() {
    for ftl in BLOCK_ASSOCIATIVE {
        let mut real = Real::new(ftl, "sequential", 4, [3, 2]);
        real.write_each(&[2, 5]);
        assert_eq!(real.cost(), (1, 1, [0, 0, 1, 0]), "{ftl}");
        assert_eq!(real.counts().padding, 2, "{ftl}");
        real.write(3, 1);
        assert_eq!(real.counts().in_place, 1, "{ftl}: after the pages merged");
    }
}

#[test]
fn one_extra_block_is_too_few() {
    for ftl in BLOCK_ASSOCIATIVE {
        let choice = Choice::from_spec(&Spec::parse(ftl).unwrap()).unwrap();
        let chip = ChipModel::from_spec(&Spec::parse("slc-last").unwrap()).unwrap();
        let error = choice.check(&chip, 100, 1).unwrap_err();
        let words = format!("{ftl} needs at least 2 extra blocks, this device has 1");
        assert_eq!(error.to_string(), words);
        choice.check(&chip, 100, 2).unwrap();
    }
}

#[test]
fn ram_is_the_block_map_and_the_map_of_the_log() {
    let real = Real::new("bast", "ascending", 16, [10, 4]);
    assert_eq!(real.ftl.report().ram.map, 4 * 10 + 4 * 16 * 3);
}

// ---- Naive models -------------------------------------------------------------------------------

/// Where the newest version of a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Nowhere,
    Home,
    Slot(usize),
}

struct NaiveLog {
    lbn: usize,
    /// The offset that was written to each slot.
    slots: Vec<usize>,
    allocated: u64,
    written: u64,
}

struct NaiveAssociative {
    fmax: bool,
    np: usize,
    log_blocks: usize,
    homes: Homes,
    newest: Vec<At>,
    logs: Vec<NaiveLog>,
    clock: u64,
    counts: Counts,
}

impl NaiveAssociative {
    fn new(ftl: &str, order: &'static str, np: usize, [logical, extra]: [usize; 2]) -> Self {
        NaiveAssociative {
            fmax: ftl == "fmax",
            np,
            log_blocks: extra - 1,
            homes: Homes::new(order, np, logical),
            newest: vec![At::Nowhere; logical * np],
            logs: Vec::new(),
            clock: 0,
            counts: Counts::default(),
        }
    }

    fn write_page(&mut self, lpn: usize, partial: bool) {
        let (lbn, offset) = (lpn / self.np, lpn % self.np);
        self.clock += 1;
        let at = loop {
            if self.homes.take(lpn) {
                self.homes.program(lpn);
                self.counts.in_place += 1;
                break At::Home;
            }
            match self.logs.iter().position(|log| log.lbn == lbn) {
                Some(own) if self.logs[own].slots.len() < self.np => {
                    self.logs[own].slots.push(offset);
                    self.logs[own].written = self.clock;
                    break At::Slot(self.logs[own].slots.len() - 1);
                }
                Some(own) => self.merge(own),
                None if self.logs.len() < self.log_blocks => {
                    let (allocated, written) = (self.clock, self.clock);
                    self.logs.push(NaiveLog { lbn, slots: Vec::new(), allocated, written });
                }
                None => {
                    let age = |log: &NaiveLog| if self.fmax { log.allocated } else { log.written };
                    let victim = (0..self.logs.len()).min_by_key(|&n| age(&self.logs[n]));
                    self.merge(victim.unwrap());
                }
            }
        };
        self.counts.rmw += u64::from(partial && self.newest[lpn] != At::Nowhere);
        self.newest[lpn] = at;
        self.counts.host += 1;
    }

    fn merge(&mut self, victim: usize) {
        let NaiveLog { lbn, slots, .. } = self.logs.remove(victim);
        let base = lbn * self.np;
        let valid = |slot: usize| self.newest[base + slots[slot]] == At::Slot(slot);
        let any = (0..slots.len()).any(valid);
        let in_order = (0..slots.len()).all(|slot| slots[slot] == slot && valid(slot));
        self.counts.erases += 1;
        if !any {
            self.counts.merges.dead += 1;
            return;
        }
        // If the log block is in order, only the old data block is erased; otherwise the log block
        // too.
        self.counts.erases -= u64::from(in_order);
        let held = if in_order { slots.len() } else { 0 };
        let mapped = |offset: &usize| self.newest[base + offset] != At::Nowhere;
        let copied: Vec<usize> = (held..self.np).filter(mapped).collect();
        self.homes.renew(lbn, held, &copied, &mut self.counts);
        let merges = &mut self.counts.merges;
        match (in_order, slots.len() == self.np) {
            (true, true) => merges.switch += 1,
            (true, false) => merges.partial += 1,
            (false, _) => {
                merges.full += 1;
                merges.associated_blocks.resize(2, 0);
                merges.associated_blocks[1] += 1;
            }
        }
        for newest in &mut self.newest[base..base + self.np] {
            *newest = if *newest == At::Nowhere { At::Nowhere } else { At::Home };
        }
    }
}

impl Model for NaiveAssociative {
    fn shape(&self) -> (usize, usize) {
        (self.newest.len(), self.np)
    }

    fn write(&mut self, pages: Range<usize>, ends_in_part: bool) {
        for lpn in pages.clone() {
            let at_end = lpn == pages.start || lpn + 1 == pages.end;
            self.write_page(lpn, at_end && ends_in_part);
        }
    }

    fn trim(&mut self, pages: Range<usize>) {
        self.newest[pages].fill(At::Nowhere);
    }
}

#[test]
fn block_associative_schemes_count_as_the_naive_model_counts() {
    const LOGICAL: u32 = 12;
    for ftl in BLOCK_ASSOCIATIVE {
        for order in ["any", "ascending", "sequential"] {
            for (extra, np) in [(2, 4), (4, 4), (3, 6), (7, 3)] {
                let mut real = Real::new(ftl, order, np, [LOGICAL, extra]);
                let shape = [LOGICAL as usize, extra as usize];
                let mut naive = NaiveAssociative::new(ftl, order, np as usize, shape);
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
                for round in 0..3000 {
                    step(&mut rng, &mut real, &mut naive);
                    let (real, naive) = (real.counts(), &naive.counts);
                    assert_eq!(&real, naive, "{ftl}, {order}, Np {np}, step {round}");
                }
                let Counts { copies, rmw, merges, .. } = &naive.counts;
                let kinds = [merges.switch, merges.partial, merges.full, merges.dead];
                assert!(kinds.iter().all(|&n| n > 3) && *copies > 1000 && *rmw > 100, "{kinds:?}");
            }
        }
    }
}

/// Thrashing: a write to one of B data blocks finds a log block with probability K/B.
#[test]
fn uniform_random_writes_merge_as_often_as_they_miss_the_log() {
    const LOGICAL: u32 = 600;
    const WRITES: u32 = 60_000;
    for ftl in BLOCK_ASSOCIATIVE {
        for log_blocks in [6, 60, 120] {
            let mut real = Real::new(ftl, "ascending", 8, [LOGICAL, log_blocks + 1]);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
            let write = |real: &mut Real, lpn, pages| {
                let run = Run::whole(Lpn(lpn), pages, PAGE_BYTES, Data::None);
                real.ftl.write_run(&mut real.nand, &run).unwrap();
            };
            write(&mut real, 0, LOGICAL * 8);
            for round in 0..5000 + WRITES {
                if round == 5000 {
                    real.ftl.reset_report();
                }
                write(&mut real, rng.next_u32() % (LOGICAL * 8), 1);
            }
            let (_, _, kinds) = real.cost();
            let merges = kinds.iter().sum::<u64>() as f64 / f64::from(WRITES);
            let law = 1.0 - f64::from(log_blocks) / f64::from(LOGICAL);
            let off = (merges / law - 1.0).abs();
            assert!(off < 0.01, "{ftl}, {log_blocks} log blocks: {merges} merges per write, {law}");
        }
    }
}

// ---- Merges that a power cut interrupts ---------------------------------------------------------

/// The interrupted merges: the state of the log block when page 8 needs room.
const MERGES: [(&str, &[u32]); 3] =
    [("full", &[1, 3]), ("partial", &[0, 1]), ("switch", &[0, 1, 2, 3])];

#[test]
fn a_merge_survives_two_cuts() {
    for (kind, writes) in MERGES {
        let tried = survives_two_cuts(kind, ("bast", [3, 2]), (writes, 8), [10, 14]);
        assert_eq!(tried, 140 * 64, "{kind}");
    }
}

/// After a clean power cycle the log is as before, except that open blocks are closed.
#[test]
fn log_blocks_are_found_by_a_mount() {
    for ftl in BLOCK_ASSOCIATIVE {
        let mut device = Mortal::new(ftl, "ascending", [3, 2], &[0, 1, 2, 3]);
        device.mount(None).unwrap();
        device.real.nand.reset_tally();
        device.write(4, 1, 3).unwrap();
        assert_eq!(device.real.cost().2.iter().sum::<u64>(), 0, "{ftl}: the log block is data now");
        let mut device = Mortal::new(ftl, "ascending", [3, 2], &[1]);
        device.mount(None).unwrap();
        device.write(1, 1, 3).unwrap();
        assert_eq!(device.real.cost().2, [0, 0, 1, 0], "{ftl}: the log block is closed");
        assert_eq!(device.found()[1], 3);
    }
}

/// Flash that another scheme has written is refused with a sentence.
#[test]
fn flash_of_another_scheme_is_refused() {
    let mut real = Real::with_mode("page", "ascending", 4, [3, 3], Mode::Stamps);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    for _ in 0..200 {
        let run = Run::whole(Lpn(rng.next_u32() % 12), 1, PAGE_BYTES, Data::Stamp(1));
        real.ftl.write_run(&mut real.nand, &run).unwrap();
    }
    for ftl in BLOCK_ASSOCIATIVE {
        let mut nand = Nand::power_up(real.nand.array().try_clone().unwrap());
        let choice = Choice::from_spec(&Spec::parse(ftl).unwrap()).unwrap();
        let refused = mount(&choice, &mut nand, 3)
            .err()
            .expect("a block holds pages of three logical blocks");
        assert!(matches!(refused, Error::Unmountable(_)), "{refused}");
        assert!(refused.to_string().contains("logical blocks, not one"), "{refused}");
    }
}
