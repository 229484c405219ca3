//! Estimates what one more block would save for each part of LAST's log, from the blocks that each
//! part has recently merged.
//!
//! ```text
//! sequential log  [2] [7]     recently let go: 5, 9, 1      a run continues in 9: two more blocks
//!                                                           would have saved the merge of 9
//! random log      last victim [5 1 5 9]                     5 and 1 were rewritten since: one more
//!                                                           block would have saved one of the two
//!                                                           merges
//! ```
//! Savings of both parts are counted in the same unit: merges of one data block that would not have
//! been necessary. Such a merge costs Np copies and an erase (LAST eq. 2).
//!
//! * In the random log: a data block counts if all its pages in a victim were rewritten or trimmed
//!   before the next victim was taken. With one more block the victim would have stayed until then,
//!   and this merge would have been saved.
//! * In the sequential log: a block counts if it was merged before it was full and its run
//!   continued afterwards. The merge copied the rest of the data block in; when the run continued,
//!   the pages before it had to be copied in again. Together these are Np copies. A *ghost*
//!   remembers where such a block ended.
//!
//! With n more blocks the latest n ghosts would still have been in the log. So a hit at depth d
//! counts for every n ≥ d. The saving of n blocks is divided by n, and the best n counts. (If only
//! the latest ghost counted, several streams that take turns would never show what two more blocks
//! would save.)
//!
//! The part that would save more by growing takes a block from the other. This assumes that the
//! other part loses as much by shrinking as it would have saved by growing, which is an
//! approximation. If it loses more, its own ghosts will show that, and it gets the block back.

use nand::Lpn;

use crate::part::log::log_map::{Lbn, LogMap};
use crate::scheme::last::merge_costs::MergeCosts;
use crate::scheme::last::random_partition::LEAST_RANDOM;

/// Maximum number of ghosts.
pub const GHOSTS: usize = 16;
/// Sizes change in steps of one `STEP`-th of the log.
const STEP: u32 = 256;

/// A logical block whose sequential log block was merged before it was full.
#[derive(Clone, Copy, Debug)]
struct Ghost {
    lbn: Lbn,
    /// The end of the block when it was merged.
    end: u32,
}

/// Which part of the log should get one more block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advice {
    /// The sequential log.
    Sequential,
    /// The random log.
    Random,
    /// Neither: both would save the same.
    Stay,
}

/// The savings since the last advice, and the ghosts.
#[derive(Clone, Debug)]
pub struct Earnings {
    /// The ghosts, the latest last.
    ghosts: Vec<Ghost>,
    /// Number of hits by depth; the latest ghost has depth 0.
    hits: [u64; GHOSTS],
    /// The pages that were valid in the last random victim, ascending.
    victim: Vec<Lpn>,
    /// Saved merges of the random log.
    saved: u64,
    log_blocks: u32,
    interval: u32,
    /// Pages to be written to the log until sizes are re-evaluated.
    left: u32,
}

impl Earnings {
    /// No savings and no ghosts, for `log_blocks` log blocks.
    pub fn new(log_blocks: u32, pages_per_block: u32) -> Earnings {
        let interval = log_blocks * pages_per_block;
        Earnings {
            ghosts: Vec::with_capacity(GHOSTS),
            hits: [0; GHOSTS],
            victim: Vec::with_capacity(pages_per_block as usize),
            saved: 0,
            log_blocks,
            interval,
            left: interval,
        }
    }

    /// Records that the sequential log block of a logical block was merged, for lack of room,
    /// before it was full.
    pub fn note_merged(&mut self, lbn: Lbn, end: u32) {
        if self.ghosts.len() == GHOSTS {
            self.ghosts.remove(0);
        }
        self.ghosts.push(Ghost { lbn, end });
    }

    /// Records that a logical block gets a sequential log block, for a run that starts at `offset`.
    pub fn note_opened(&mut self, lbn: Lbn, offset: u32) {
        let Some(at) = self.ghosts.iter().rposition(|ghost| ghost.lbn == lbn) else { return };
        let depth = self.ghosts.len() - 1 - at;
        let ghost = self.ghosts.remove(at);
        self.hits[depth] += u64::from(ghost.end <= offset);
    }

    /// Records that a random victim is about to be merged; `pages` are its valid pages, ascending.
    pub fn note_victim(&mut self, map: &LogMap<MergeCosts>, pages: &[Lpn]) {
        let is_home = |lpn: &Lpn| map.is_home(*lpn);
        let blocks = self.victim.chunk_by(|one, other| map.lbn_of(*one) == map.lbn_of(*other));
        self.saved += blocks.filter(|pages| !pages.iter().any(is_home)).count() as u64;
        self.victim.clear();
        self.victim.extend_from_slice(pages);
    }

    /// Pages to be written to the log until sizes are re-evaluated.
    #[inline]
    pub fn pages_left(&self) -> u32 {
        self.left
    }

    /// Counts pages written to the log, at most [those left](Self::pages_left). When the interval
    /// ends, returns the new size of the sequential log.
    #[inline]
    pub fn resize(&mut self, pages: u32, sequential_blocks: u32) -> Option<u32> {
        self.left -= pages;
        (self.left == 0).then(|| self.next_size(sequential_blocks))
    }

    /// Begins the next interval. Returns the size of the sequential log in it.
    #[cold]
    fn next_size(&mut self, sequential_blocks: u32) -> u32 {
        self.left = self.interval;
        let step = (self.log_blocks / STEP).max(1);
        match self.advise() {
            Advice::Sequential => {
                (sequential_blocks + step).min(self.log_blocks - LEAST_RANDOM as u32)
            }
            Advice::Random => sequential_blocks.saturating_sub(step).max(1),
            Advice::Stay => sequential_blocks,
        }
    }

    /// Which part should grow, according to the savings since the last advice.
    fn advise(&mut self) -> Advice {
        let hits = core::mem::replace(&mut self.hits, [0; GHOSTS]);
        let saved = core::mem::take(&mut self.saved);
        let mut sum = 0;
        let sums = hits.map(|hits| {
            sum += hits;
            sum
        });
        let surplus = |(blocks, sum): (u64, u64)| sum as i64 - (saved * blocks) as i64;
        match (1..).zip(sums).map(surplus).max() {
            Some(best) if best > 0 => Advice::Sequential,
            Some(best) if best < 0 => Advice::Random,
            _ => Advice::Stay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earnings(hits: &[(Lbn, u32, u32)], saved: u64) -> Earnings {
        let mut earnings = Earnings::new(8, 8);
        hits.iter().rev().for_each(|&(lbn, end, _)| earnings.note_merged(lbn, end));
        hits.iter().for_each(|&(lbn, _, offset)| earnings.note_opened(lbn, offset));
        earnings.saved = saved;
        earnings
    }

    #[test]
    fn a_run_that_continues_hits_the_ghost() {
        assert_eq!(earnings(&[(3, 4, 4)], 0).advise(), Advice::Sequential);
        assert_eq!(earnings(&[(3, 4, 6)], 0).advise(), Advice::Sequential, "it may leave a gap");
        assert_eq!(
            earnings(&[(3, 4, 3)], 0).advise(),
            Advice::Stay,
            "this run starts before the ghost's end"
        );
        assert_eq!(earnings(&[(3, 4, 4)], 1).advise(), Advice::Stay);
        assert_eq!(earnings(&[(3, 4, 4)], 2).advise(), Advice::Random);
    }

    #[test]
    fn the_saving_of_several_blocks_is_divided_by_their_number() {
        // Four streams take turns, so each ghost is hit at depth 3. Four more blocks would save all
        // merges.
        let mut turns = Earnings::new(8, 8);
        (0..4).for_each(|lbn| turns.note_merged(lbn, 2));
        for _ in 0..3 {
            for lbn in 0..4 {
                turns.note_opened(lbn, 2);
                turns.note_merged(lbn, 2);
            }
        }
        assert_eq!(turns.hits[..5], [0, 0, 0, 12, 0]);
        let mut with = |saved| {
            turns.hits[3] = 12;
            turns.saved = saved;
            turns.advise()
        };
        assert_eq!(with(2), Advice::Sequential);
        assert_eq!(with(3), Advice::Stay);
        assert_eq!(with(4), Advice::Random);
    }

    #[test]
    fn the_number_of_ghosts_is_limited() {
        let mut earnings = Earnings::new(8, 8);
        (0..=GHOSTS as Lbn).for_each(|lbn| earnings.note_merged(lbn, 1));
        earnings.note_opened(0, 1);
        assert_eq!(earnings.advise(), Advice::Stay);
        earnings.note_opened(1, 1);
        assert_eq!(earnings.advise(), Advice::Sequential);
        assert_eq!(
            earnings.advise(),
            Advice::Stay,
            "advice counts savings since the last advice only"
        );
    }
}
