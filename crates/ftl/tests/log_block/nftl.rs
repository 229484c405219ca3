//! Tests of nftl.

use std::collections::VecDeque;
use std::ops::Range;

use ftl::{Metric, Run};
use nand::{Cause, Data, Lpn, Op, OpSink, Operation, Sink};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Model, Mortal, ORDERS, PAGE_BYTES, Real, step, survives_two_cuts};
use crate::power::survives_many_power_cycles;

fn filled(extra: u32) -> Real {
    Real::filled("nftl", "ascending", [3, extra])
}

/// Reads pages. Returns the number of spare areas that this took.
fn read(real: &mut Real, first: u32, pages: u32) -> u64 {
    let before = real.nand.tally().count(Op::SpareRead, Cause::Map);
    let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
    real.ftl.read(&mut real.nand, &run, &mut Sink::None).unwrap();
    real.nand.tally().count(Op::SpareRead, Cause::Map) - before
}

// ---- Counted by hand ----------------------------------------------------------------------------

#[test]
fn a_full_replacement_block_is_folded_by_the_next_write_to_its_logical_block() {
    let mut real = filled(2);
    real.write_each(&[1, 1, 2, 1]);
    assert_eq!(real.cost(), (0, 0, [0, 0, 0, 0]), "nothing is folded before the room is needed");
    real.write(2, 1);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]));
    assert_eq!(real.counts().merges.associated_blocks, [0, 1]);
    assert_eq!(real.figure("merged_log_pages"), Metric::Count(4));
}

#[test]
fn a_logical_block_rewritten_in_order_is_copied_like_any_other() {
    let mut real = filled(2);
    real.write_each(&[0, 1, 2, 3, 0]);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]), "there is no switch merge");
    let mut real = filled(2);
    real.write_each(&[0, 1, 4]);
    assert_eq!(real.cost(), (4, 2, [0, 0, 1, 0]), "there is no partial merge");
}

#[test]
fn the_least_recently_written_replacement_block_is_folded_when_none_is_left() {
    let mut real = filled(3);
    real.write_each(&[0, 4, 0, 8]);
    assert_eq!(read(&mut real, 0, 1), 1, "LBN 0 still has its replacement block");
    assert_eq!(read(&mut real, 4, 1), 0, "LBN 1 was folded");
    assert_eq!(real.ftl.report().gauges, [("replacement_blocks", 2.0)]);
}

#[test]
fn trimmed_pages_are_not_copied_and_a_dead_replacement_block_is_only_erased() {
    let mut real = filled(2);
    real.write_each(&[1, 2]);
    real.trim(3, 1);
    real.write(4, 1);
    assert_eq!(real.cost(), (3, 2, [0, 0, 1, 0]));
    real.trim(4, 1);
    real.write(8, 1);
    assert_eq!(real.cost(), (3, 3, [0, 0, 1, 1]));
}

#[test]
fn a_look_up_reads_the_replacement_block_backwards_as_far_as_the_page() {
    let mut real = filled(2);
    assert_eq!(read(&mut real, 0, 12), 0, "there is no replacement block");
    real.write_each(&[1, 2, 1]);
    assert_eq!(read(&mut real, 1, 1), 1, "the page was written last");
    assert_eq!(read(&mut real, 2, 1), 2);
    assert_eq!(
        read(&mut real, 0, 1),
        3,
        "the primary block holds it, so all spare areas were read"
    );
    assert_eq!(read(&mut real, 0, 12), 3 + 1 + 2 + 3, "each page is looked up separately");
    let counts = ["look_ups", "replacement_hits"].map(|name| real.figure(name));
    assert_eq!(counts, [27, 4].map(Metric::Count));
    assert_eq!(real.figure("spare_reads_per_look_up"), Metric::Real(15.0 / 27.0));
}

#[test]
fn part_of_a_page_is_completed_from_its_newest_copy_which_is_looked_up() {
    let mut real = filled(2);
    real.write_each(&[1, 2]);
    real.write_masked(1, 1, 0b0011);
    assert_eq!(real.counts().rmw, 1);
    assert_eq!(real.nand.tally().count(Op::SpareRead, Cause::Map), 2);
    real.write_masked(4, 1, 0b0011);
    assert_eq!(real.counts().rmw, 2);
    assert_eq!(real.nand.tally().count(Op::SpareRead, Cause::Map), 2, "it was folded first");
}

#[test]
fn pages_that_are_not_mapped_are_not_looked_up() {
    let mut real = filled(2);
    real.write_each(&[1, 2]);
    real.trim(0, 2);
    assert_eq!(read(&mut real, 0, 2), 0);
    real.write_masked(0, 1, 0b0011);
    assert_eq!(real.counts().rmw, 0);
    assert_eq!(read(&mut real, 0, 1), 1);
}

#[test]
fn erased_places_come_first_as_far_as_the_chip_allows() {
    // Pages 1, 0 and 2 of a logical block that was never written. How many are written in place?
    for (order, in_place) in [("any", 3), ("ascending", 2), ("sequential", 0)] {
        let mut real = Real::new("nftl", order, 4, [3, 2]);
        real.write_each(&[1, 0, 2]);
        assert_eq!(real.counts().in_place, in_place, "{order}");
    }
}

#[test]
fn on_a_sequential_chip_nothing_goes_in_place_beside_a_replacement_block() {
    let mut real = Real::new("nftl", "sequential", 4, [3, 2]);
    real.write_each(&[0, 2, 1]);
    assert_eq!(real.counts().in_place, 1, "it would be behind its copy in the replacement block");
    real.write(6, 1);
    assert_eq!(real.cost(), (3, 2, [0, 0, 1, 0]));
    real.write(3, 1);
    assert_eq!(real.counts().in_place, 2, "after the fold it is the next page");
}

#[test]
fn ram_is_two_block_maps() {
    let real = Real::new("nftl", "ascending", 16, [10, 4]);
    assert_eq!(real.ftl.report().ram.map, (4 + 4) * 10);
    assert_eq!(real.ftl.report().ram.other, 10 * 3);
}

// ---- Naive model --------------------------------------------------------------------------------

/// NFTL on flash that is a list of blocks. The model has no map of pages: it finds each page by
/// looking at the owners of programmed pages. It lists every operation.
struct Naive {
    order: &'static str,
    np: usize,
    replacements_max: usize,
    /// The owner of each programmed page; padding has none.
    flash: Vec<Vec<Option<Option<usize>>>>,
    free: VecDeque<usize>,
    primary: Vec<Option<usize>>,
    /// Replacement blocks, the least recently written first, with their logical block.
    replacements: Vec<(usize, usize)>,
    is_mapped: Vec<bool>,
    operations: Vec<(Op, Cause, usize)>,
    folds: usize,
}

impl Naive {
    fn new(order: &'static str, np: usize, [logical, extra]: [usize; 2]) -> Naive {
        Naive {
            order,
            np,
            replacements_max: extra - 1,
            flash: vec![vec![None; np]; logical + extra],
            free: (0..logical + extra).collect(),
            primary: vec![None; logical],
            replacements: Vec::new(),
            is_mapped: vec![false; logical * np],
            operations: Vec::new(),
            folds: 0,
        }
    }

    fn replacement(&self, lbn: usize) -> Option<usize> {
        self.replacements.iter().find(|(owner, _)| *owner == lbn).map(|&(_, block)| block)
    }

    fn filled(&self, block: usize) -> usize {
        self.flash[block].iter().filter(|page| page.is_some()).count()
    }

    fn program(&mut self, block: usize, offset: usize, owner: Option<usize>, cause: Cause) {
        assert_eq!(self.flash[block][offset].replace(owner), None);
        self.operations.push((Op::Program, cause, block * self.np + offset));
    }

    fn erase(&mut self, block: usize) {
        self.flash[block].fill(None);
        self.free.push_back(block);
        self.operations.push((Op::Erase, Cause::Merge, block));
    }

    /// Where the newest copy of a mapped page is, and the pages whose spare areas say so.
    fn find(&self, lpn: usize) -> (usize, Vec<usize>) {
        let mut looked_at = Vec::new();
        if let Some(block) = self.replacement(lpn / self.np) {
            for slot in (0..self.filled(block)).rev() {
                looked_at.push(block * self.np + slot);
                if self.flash[block][slot] == Some(Some(lpn)) {
                    return (block * self.np + slot, looked_at);
                }
            }
        }
        let (block, offset) = (self.primary[lpn / self.np].unwrap(), lpn % self.np);
        assert_eq!(self.flash[block][offset], Some(Some(lpn)));
        (block * self.np + offset, looked_at)
    }

    /// Reads a mapped page.
    fn read_page(&mut self, lpn: usize, cause: Cause) {
        if self.is_mapped[lpn] {
            let (at, looked_at) = self.find(lpn);
            let spares = looked_at.into_iter().map(|page| (Op::SpareRead, Cause::Map, page));
            self.operations.extend(spares.chain([(Op::Read, cause, at)]));
        }
    }

    /// Whether a page goes in place if it is written now.
    fn goes_in_place(&self, lpn: usize) -> bool {
        let (lbn, offset) = (lpn / self.np, lpn % self.np);
        let erased = vec![None; self.np];
        let primary = self.primary[lbn].map_or(&erased, |block| &self.flash[block]);
        match self.order {
            "any" => primary[offset].is_none(),
            "ascending" => primary[offset..].iter().all(Option::is_none),
            _ => {
                let is_next = primary.iter().take_while(|page| page.is_some()).count() == offset;
                is_next && self.replacement(lbn).is_none()
            }
        }
    }

    fn write_page(&mut self, lpn: usize, partial: bool) {
        let (lbn, offset) = (lpn / self.np, lpn % self.np);
        let (block, offset) = loop {
            if self.goes_in_place(lpn) {
                let free = &mut self.free;
                break (
                    *self.primary[lbn].get_or_insert_with(|| free.pop_front().unwrap()),
                    offset,
                );
            }
            match self.replacement(lbn) {
                Some(block) if self.filled(block) < self.np => break (block, self.filled(block)),
                Some(_) => self.fold(lbn),
                None if self.replacements.len() == self.replacements_max => {
                    self.fold(self.replacements[0].0);
                }
                None => self.replacements.push((lbn, self.free.pop_front().unwrap())),
            }
        };
        if partial {
            self.read_page(lpn, Cause::Rmw);
        }
        self.program(block, offset, Some(lpn), Cause::Host);
        self.is_mapped[lpn] = true;
        if self.replacement(lbn) == Some(block) {
            self.replacements.retain(|&(owner, _)| owner != lbn);
            self.replacements.push((lbn, block));
        }
    }

    fn fold(&mut self, lbn: usize) {
        self.folds += 1;
        let old = self.replacement(lbn).unwrap();
        let pages = lbn * self.np..(lbn + 1) * self.np;
        let live: Vec<_> = pages.filter(|&lpn| self.is_mapped[lpn]).collect();
        let is_in_it = |&lpn: &usize| self.find(lpn).0 / self.np == old;
        if live.iter().any(is_in_it) {
            let new = self.free.pop_front().unwrap();
            for lpn in live {
                let hole = self.filled(new)..lpn % self.np;
                if self.order == "sequential" {
                    hole.for_each(|offset| self.program(new, offset, None, Cause::Merge));
                }
                let from = self.find(lpn).0;
                self.operations.push((Op::Read, Cause::Merge, from));
                self.program(new, lpn % self.np, Some(lpn), Cause::Merge);
            }
            if let Some(old) = self.primary[lbn].replace(new) {
                self.erase(old);
            }
        }
        self.replacements.retain(|&(owner, _)| owner != lbn);
        self.erase(old);
    }
}

impl Model for Naive {
    fn shape(&self) -> (usize, usize) {
        (self.is_mapped.len(), self.np)
    }

    fn write(&mut self, pages: Range<usize>, ends_in_part: bool) {
        for lpn in pages.clone() {
            let at_end = lpn == pages.start || lpn + 1 == pages.end;
            self.write_page(lpn, at_end && ends_in_part);
        }
    }

    fn trim(&mut self, pages: Range<usize>) {
        self.is_mapped[pages].fill(false);
    }
}

/// The operations of the real scheme, page by page.
#[derive(Default)]
struct Recorder(Vec<(Op, Cause, usize)>);

impl OpSink for Recorder {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        let mut push = |op, place: u32| self.0.push((op, cause, place as usize));
        match *operation {
            Operation::Read { ppn, .. } => push(Op::Read, ppn.0),
            Operation::SpareRead { ppn, .. } => push(Op::SpareRead, ppn.0),
            Operation::Program { first, owners } => {
                (first.0..).zip(owners).for_each(|(ppn, _)| push(Op::Program, ppn));
            }
            Operation::Copy { from, to, .. } => {
                for (to, from) in (to.0..).zip(from) {
                    push(Op::Read, from.0);
                    push(Op::Program, to);
                }
            }
            Operation::Erase { block } => push(Op::Erase, block.0),
        }
    }
}

/// The operations since the last call.
fn operations(real: &mut Real) -> Vec<(Op, Cause, usize)> {
    let recorder = real.nand.sink_mut::<Recorder>().expect("it was attached");
    std::mem::take(&mut recorder.0)
}

/// Compares every operation of every call. Finally it reads all pages, which shows the final map.
#[test]
fn nftl_does_what_the_naive_model_does() {
    const LOGICAL: u32 = 12;
    for order in ORDERS {
        for (extra, np) in [(2, 4), (4, 4), (3, 6), (7, 3)] {
            let mut real = Real::new("nftl", order, np, [LOGICAL, extra]);
            real.nand.attach(Some(Box::new(Recorder::default())));
            let mut naive = Naive::new(order, np as usize, [LOGICAL, extra].map(|n| n as usize));
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut spare_reads = 0;
            for round in 0..3000 {
                step(&mut rng, &mut real, &mut naive);
                let first = rng.next_u32() % (LOGICAL * np);
                let (first, pages) = match round {
                    2999 => (0, LOGICAL * np),
                    _ => (first, (1 + rng.next_u32() % 3).min(LOGICAL * np - first)),
                };
                spare_reads += read(&mut real, first, pages);
                (first..first + pages).for_each(|lpn| naive.read_page(lpn as usize, Cause::Host));
                let (real, naive) = (operations(&mut real), naive.operations.split_off(0));
                assert_eq!(real, naive, "{order}, {extra} extra, Np {np}, step {round}");
            }
            let merges = real.ftl.report().merges.unwrap();
            assert_eq!((merges.full + merges.dead) as usize, naive.folds);
            assert!(
                merges.full > 100 && merges.dead > 3 && spare_reads > 500,
                "{spare_reads} {merges:?}"
            );
        }
    }
}

// ---- Power --------------------------------------------------------------------------------------

#[test]
fn a_fold_survives_two_cuts() {
    for writes in [&[1, 3][..], &[0, 1], &[0, 1, 2, 3]] {
        let tried = survives_two_cuts("fold", ("nftl", [3, 2]), (writes, 8), [10, 14]);
        assert_eq!(tried, 140 * 64, "{writes:?}");
    }
}

#[test]
fn random_power_cycles_lose_nothing() {
    survives_many_power_cycles("nftl");
}

/// The primary block was programmed last, and every page of both blocks is at its own offset. If
/// the mount took the primary block for the replacement block, a look-up would find an old copy of
/// page 0.
#[test]
fn a_mount_tells_a_primary_block_from_its_replacement_block() {
    for order in ["any", "ascending"] {
        let mut device = Mortal::new("nftl", order, [3, 4], &[]);
        device.real.trim(2, 2);
        // The fifth write folds LBN 0: pages 0 and 1 are in the new primary block.
        [0, 0, 0, 0, 0].iter().for_each(|&page| device.write(page, 1, 2).unwrap());
        device.write(2, 1, 3).unwrap();
        // The page programmed last is in another block, so the mount moves neither of these two
        // blocks.
        device.write(8, 1, 3).unwrap();
        device.mount(None).unwrap();
        assert_eq!(device.found()[..4], [2, 1, 3, 0], "{order}");
    }
}
