//! The rule of `threshold=auto`: from which request size on LAST's sequential log pays.
//!
//! ```text
//! class      up to 4 KiB    8 KiB    16 KiB    32 KiB    64 KiB    larger
//!            random       │ sequential
//!                         └ threshold: between 4 and 64 KiB
//!
//! in one of SAMPLE logical blocks     the next class below is sequential too
//! in another one of SAMPLE            the next class above is random too
//! ```
//! Requests are classed by size. A *piece* is the part of a request in one logical block and one
//! log block. When a log block is merged, its pieces are settled: they are counted for their
//! classes, with what the merge cost. The unit is the merge of a data block, Np copies.
//!
//! * A sequential block is charged to the largest class among its pieces, because without the
//!   smaller ones it would have been merged all the same. A switch merge and a dead block cost
//!   nothing, a partial merge the share of pages that it copies, a full merge 1. Pages that are
//!   copied in to continue a block cost their share too, on account of the class that continues.
//! * A random block charges 1 for each data block that its merge rewrites, to the class of the
//!   first of the pages concerned. Pieces that were rewritten before cost nothing.
//!
//! So each class has a cost per piece in each log. The samples give both costs of the two classes
//! next to the threshold; all other logical blocks follow the winner. (Qureshi et al. 2007 let
//! cache policies duel in this way.) After every log·Np pages written to the log, the threshold
//! moves past one class, if that class costs more than `FACTOR` times as much where it is as in
//! the other log. A class without `LEAST` pieces settled is passed over.
//!
//! A piece that leaves the sequential log also tears the blocks of larger ones, which no account
//! shows. So it needs a reason to leave: as long as nothing is known, a piece is `ASSUMED` to
//! cost a quarter in the random log. This is so if every second piece is rewritten before its
//! merge, and every second merge is shared with another piece. The assumption weighs as much as
//! `LEAST` pieces.
//!
//! The parameters follow from the error of an average. `LEAST` pieces give a cost of one half
//! within a fifth, which `FACTOR` exceeds. `MOST` pieces count; then all are halved, so that old
//! ones fade. A sample costs one part in `SAMPLE` of what the worse decision costs. `SAMPLE` is a
//! prime, so that file systems, which lay things out by powers of two, do not fall into step with
//! it.

use crate::contract::{Run, Violation, ensure};
use crate::part::log::log_map::Lbn;
use crate::part::log::merge::MergePlan;

/// Number of classes; the first one is always random, the last one always sequential.
const CLASSES: usize = 6;
/// The largest request of the first class, in bytes.
const FIRST_BYTES: u64 = 4096;
/// One logical block in this number is in a sample.
const SAMPLE: Lbn = 257;
/// By how much the costs must differ.
const FACTOR: f64 = 1.5;
/// What a piece costs in the random log as long as nothing is known.
const ASSUMED: f64 = 0.25;
/// Number of pieces from which a cost counts.
const LEAST: f64 = 32.0;
/// Number of pieces of an account from which it is halved.
const MOST: f64 = 65536.0;
/// Marks the first page of a piece in the random log.
const STARTS: u8 = 0x80;
/// The class of pages that a mount found: not known.
const UNKNOWN: u8 = 0x7f;

/// What the settled pieces of a class cost in one log.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    pieces: f64,
    /// In merges of a data block.
    cost: f64,
}

impl Account {
    fn add(&mut self, pieces: f64, cost: f64) {
        (self.pieces, self.cost) = (self.pieces + pieces, self.cost + cost);
        if self.pieces > MOST {
            (self.pieces, self.cost) = (self.pieces / 2.0, self.cost / 2.0);
        }
    }

    /// The cost per piece, if enough are settled.
    fn per_piece(&self) -> Option<f64> {
        (self.pieces >= LEAST).then(|| self.cost / self.pieces)
    }
}

/// The threshold, and what it follows from.
#[derive(Clone, Debug)]
pub struct AutoThreshold {
    /// The first sequential class.
    first: usize,
    sequential: [Account; CLASSES],
    random: [Account; CLASSES],
    /// The pieces of each sequential log block by class, by logical block.
    pieces: Vec<[u16; CLASSES]>,
    /// The class of each page of the random log, by seats, with `STARTS`.
    classes: Vec<u8>,
    pages_per_block: u32,
    interval: u32,
    /// Pages to be written to the log until the threshold may move.
    left: u32,
}

impl AutoThreshold {
    /// The initial threshold, for `logical_blocks` logical blocks and `log_blocks` log blocks.
    pub fn new(logical_blocks: u32, log_blocks: u32, pages_per_block: u32) -> AutoThreshold {
        let interval = log_blocks * pages_per_block;
        AutoThreshold {
            first: 1,
            sequential: [Account::default(); CLASSES],
            random: [Account::default(); CLASSES],
            pieces: vec![[0; CLASSES]; logical_blocks as usize],
            classes: vec![UNKNOWN; interval as usize],
            pages_per_block,
            interval,
            left: interval,
        }
    }

    /// The threshold in force, in bytes.
    pub fn bytes(&self) -> u64 {
        FIRST_BYTES << (self.first - 1)
    }

    /// Bytes of RAM for `log_blocks` blocks: the class of each page, and pieces by class.
    pub fn ram_bytes(&self) -> u64 {
        let classes = self.classes.len() as u64;
        classes + classes / u64::from(self.pages_per_block) * 2 * CLASSES as u64
    }

    /// The threshold for a run that begins in a logical block, in bytes.
    pub fn bytes_for(&self, lbn: Lbn) -> u64 {
        let first = match lbn % SAMPLE {
            0 => self.below().unwrap_or(self.first),
            1 => self.above().map_or(self.first, |class| class + 1),
            _ => self.first,
        };
        FIRST_BYTES << (first - 1)
    }

    /// The next class below the threshold that has pieces.
    fn below(&self) -> Option<usize> {
        (1..self.first).rev().find(|&class| self.random[class].per_piece().is_some())
    }

    /// The next class above the threshold that has pieces.
    fn above(&self) -> Option<usize> {
        (self.first..CLASSES - 1).find(|&class| self.sequential[class].per_piece().is_some())
    }

    // ---- Accounts -------------------------------------------------------------------------------

    /// Records that `pages` pages of a request were written to a block of the sequential log, after
    /// others had to be copied in.
    pub fn wrote_sequential(&mut self, lbn: Lbn, request_bytes: u64, copied: u32) {
        let class = class_of(request_bytes);
        let pieces = &mut self.pieces[lbn as usize][class];
        *pieces = pieces.saturating_add(1);
        self.sequential[class].add(0.0, f64::from(copied) / f64::from(self.pages_per_block));
    }

    /// Settles the sequential block of a logical block, which was merged as planned.
    pub fn settle_sequential(&mut self, lbn: Lbn, plan: MergePlan) {
        let pieces = core::mem::take(&mut self.pieces[lbn as usize]).map(f64::from);
        let cost = match plan {
            MergePlan::Switch | MergePlan::Dead => 0.0,
            MergePlan::Partial { from } => 1.0 - f64::from(from) / f64::from(self.pages_per_block),
            MergePlan::Full => 1.0,
        };
        let Some(largest) = pieces.iter().rposition(|&pieces| pieces > 0.0) else { return };
        for (account, pieces) in self.sequential.iter_mut().zip(pieces) {
            account.add(pieces, 0.0);
        }
        self.sequential[largest].add(0.0, cost);
    }

    /// Records that page `index` of a run was written to the random log, at a place among the
    /// seats.
    pub fn wrote_random(&mut self, run: &Run, index: u32, place: usize) {
        let pages = self.pages_per_block;
        let is_first = run.first.plus(index).0.is_multiple_of(pages);
        let starts = index == 0 || is_first || place.is_multiple_of(pages as usize);
        self.classes[place] = class_of(run.request_bytes) as u8 | if starts { STARTS } else { 0 };
    }

    /// Settles the pieces of a random block in these places.
    pub fn settle_random(&mut self, places: core::ops::Range<usize>) {
        for &class in self.classes[places].iter().filter(|&&class| class & STARTS != 0) {
            self.random[usize::from(class & !STARTS)].add(1.0, 0.0);
        }
    }

    /// Charges the merge of a data block to the class of the page in a place.
    pub fn charge_random(&mut self, place: usize) {
        if self.classes[place] != UNKNOWN {
            self.random[usize::from(self.classes[place] & !STARTS)].add(0.0, 1.0);
        }
    }

    /// Checks that only logical blocks with a sequential log block have pieces there.
    ///
    /// # Errors
    /// The first that has pieces without one.
    pub fn audit(&self, serves: impl Fn(Lbn) -> bool) -> core::result::Result<(), Violation> {
        for (lbn, pieces) in (0..).zip(&self.pieces) {
            let is_empty = pieces.iter().all(|&pieces| pieces == 0);
            ensure!(is_empty || serves(lbn), "LBN {lbn} has no sequential block for {pieces:?}");
        }
        Ok(())
    }

    // ---- The rule -------------------------------------------------------------------------------

    /// Counts pages written to the log. Moves the threshold when the interval ends.
    pub fn count(&mut self, pages: u32) {
        self.left = self.left.saturating_sub(pages);
        if self.left == 0 {
            self.left = self.interval;
            self.decide();
        }
    }

    fn decide(&mut self) {
        if let Some(class) = self.above() {
            let sequential = self.sequential[class].per_piece().unwrap_or(0.0);
            if sequential > FACTOR * self.random_cost(class) {
                self.first = class + 1;
                return;
            }
        }
        if let Some(class) = self.below() {
            let sequential = self.sequential[class].per_piece();
            if sequential.is_some_and(|cost| self.random_cost(class) > FACTOR * cost) {
                self.first = class;
            }
        }
    }

    /// What a piece of a class costs in the random log. The assumption counts like `LEAST` pieces.
    fn random_cost(&self, class: usize) -> f64 {
        let Account { pieces, cost } = self.random[class];
        (cost + LEAST * ASSUMED) / (pieces + LEAST)
    }
}

/// The class of a request.
fn class_of(request_bytes: u64) -> usize {
    let larger = |class: &usize| request_bytes > FIRST_BYTES << class;
    (0..CLASSES - 1).take_while(larger).count()
}

#[cfg(test)]
mod tests {
    use nand::{Data, Lpn};

    use super::*;

    /// 300 logical blocks; eight log blocks of four pages.
    fn auto() -> AutoThreshold {
        AutoThreshold::new(300, 8, 4)
    }

    /// Merges a hundred sequential blocks that these requests, sizes in KiB, filled. Returns the
    /// threshold at the end of the interval, in KiB.
    fn merge_sequential(auto: &mut AutoThreshold, requests: &[u64], plan: MergePlan) -> u64 {
        for _ in 0..100 {
            requests.iter().for_each(|kib| auto.wrote_sequential(5, kib << 10, 0));
            auto.settle_sequential(5, plan);
        }
        end(auto)
    }

    /// Merges a hundred random blocks of four requests each, `valid` of which are still valid.
    fn merge_random(auto: &mut AutoThreshold, kib: u64, valid: usize) -> u64 {
        for _ in 0..100 {
            let request_bytes = kib << 10;
            let run = Run { request_bytes, ..Run::whole(Lpn(1), 1, 512, Data::None) };
            (0..4).for_each(|place| auto.wrote_random(&run, 0, place));
            auto.settle_random(0..4);
            (0..valid).for_each(|place| auto.charge_random(place));
        }
        end(auto)
    }

    fn end(auto: &mut AutoThreshold) -> u64 {
        let before = auto.bytes();
        auto.count(31);
        assert_eq!(auto.bytes(), before, "the interval has one more page");
        auto.count(1);
        auto.bytes() >> 10
    }

    #[test]
    fn lone_requests_raise_the_threshold_and_streams_do_not() {
        let lone = MergePlan::Partial { from: 1 };
        assert_eq!(merge_sequential(&mut auto(), &[8], MergePlan::Switch), 4);
        assert_eq!(merge_sequential(&mut auto(), &[8], MergePlan::Dead), 4);
        assert_eq!(merge_sequential(&mut auto(), &[8], lone), 8);
        assert_eq!(merge_sequential(&mut auto(), &[16], lone), 16, "8 KiB is passed over");
        assert_eq!(merge_sequential(&mut auto(), &[128], lone), 4, "the largest stay");
    }

    #[test]
    fn a_merge_is_charged_to_the_largest_of_its_requests() {
        assert_eq!(merge_sequential(&mut auto(), &[8, 128], MergePlan::Full), 4);
        assert_eq!(merge_sequential(&mut auto(), &[128, 8], MergePlan::Full), 4);
    }

    #[test]
    fn the_random_log_must_be_cheaper_by_the_factor() {
        // A sequential piece costs 3/4; a random one as many quarters as are valid.
        for (valid, expected) in [(1, 8), (3, 4), (4, 4)] {
            let mut auto = auto();
            merge_random(&mut auto, 8, valid);
            let threshold = merge_sequential(&mut auto, &[8], MergePlan::Partial { from: 1 });
            assert_eq!(threshold, expected, "{valid} of 4 are valid");
        }
    }

    #[test]
    fn a_low_cost_is_no_reason_to_leave_for_an_unknown_log() {
        let last_page = MergePlan::Partial { from: 3 };
        assert_eq!(merge_sequential(&mut auto(), &[8], last_page), 4);
        let mut auto = auto();
        merge_random(&mut auto, 8, 0);
        assert_eq!(merge_sequential(&mut auto, &[8], last_page), 8, "now it is known to be cheap");
    }

    #[test]
    fn the_threshold_returns_when_the_sample_below_it_costs_less() {
        let mut auto = auto();
        assert_eq!(merge_sequential(&mut auto, &[8], MergePlan::Partial { from: 1 }), 8);
        assert_eq!(merge_random(&mut auto, 8, 2), 8, "1/2 is not more than 3/4");
        for _ in 0..6 {
            merge_sequential(&mut auto, &[8], MergePlan::Switch);
        }
        assert_eq!(auto.bytes(), 4096);
    }

    #[test]
    fn samples_try_the_next_class_with_pieces() {
        let mut auto = auto();
        assert_eq!([0, 1, 2].map(|lbn| auto.bytes_for(lbn)), [4096; 3], "nothing is known");
        merge_sequential(&mut auto, &[8], MergePlan::Partial { from: 1 });
        merge_random(&mut auto, 8, 1);
        merge_sequential(&mut auto, &[32], MergePlan::Switch);
        assert_eq!([0, 1, 2].map(|lbn| auto.bytes_for(lbn)), [4096, 32768, 8192]);
        assert_eq!([257, 258].map(|lbn| auto.bytes_for(lbn)), [4096, 32768]);
    }
}
