//! What one more block would earn for either part of a log, by what each has just let go.
//!
//! ```text
//! sequential log  [2] [7]     let go lately: 5, 9, 1         a run that goes on in 9: two more
//!                                                            blocks would have saved its merge
//! random log      last victim [5 1 5 9]                      5 and 1 were written since: of its
//!                                                            two data blocks one more block of
//!                                                            log would have saved one
//! ```
//! Both are counted in the same coin, merges of one data block that would not have been: Np copies
//! and an erase (LAST eq. 2). For the random log it is an associated data block of which all pages
//! in the victim were written again, or trimmed, before the next victim was taken; that long it
//! would have stayed with one more block. For the sequential log it is a block merged before it was
//! full whose run then went on: merging it copied the rest in, and going on copies in what is
//! missing, together again Np pages. A *ghost* remembers where it ended. With n more blocks the
//! latest n ghosts would still be in the log, so a hit at depth d counts for every n ≥ d; what n
//! blocks earn is divided by n, and the best n speaks. (With only the first ghost, several streams
//! that take turns would never show what two more blocks would earn.)
//!
//! A part that earns more by growing than the other one takes a block from it. That what the other
//! one loses is what it would have earned is an approximation: if it lost more, its own ghosts will
//! say so, and it gets the block back.

use nand::{Geometry, Lpn};

use super::merge_costs::MergeCosts;
use crate::part::log::log_map::{Lbn, LogMap};

/// How many ghosts are remembered.
pub const GHOSTS: usize = 16;

/// A logical block whose sequential log block was merged before it was full.
#[derive(Clone, Copy, Debug)]
struct Ghost {
    lbn: Lbn,
    /// Where the block ended.
    end: u32,
}

/// Which part of the log should have a block more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The sequential log.
    Sequential,
    /// The random log.
    Random,
    /// Neither earns more than the other.
    Stay,
}

/// What was earned since the last advice, and the ghosts.
#[derive(Clone, Debug)]
pub struct Earnings {
    /// The latest last.
    ghosts: Vec<Ghost>,
    /// Ghosts that were hit, by depth; the latest has depth 0.
    hits: [u64; GHOSTS],
    /// The pages that were valid in the last random victim, ascending.
    victim: Vec<Lpn>,
    /// Data blocks that need not have been merged with random victims.
    saved: u64,
}

impl Earnings {
    /// Nothing yet, on blocks of so many pages.
    pub fn new(pages_per_block: u32) -> Earnings {
        Earnings {
            ghosts: Vec::with_capacity(GHOSTS),
            hits: [0; GHOSTS],
            victim: Vec::with_capacity(pages_per_block as usize),
            saved: 0,
        }
    }

    /// The block of a logical block was merged for lack of room before it was full.
    pub fn let_go(&mut self, lbn: Lbn, end: u32) {
        if self.ghosts.len() == GHOSTS {
            self.ghosts.remove(0);
        }
        self.ghosts.push(Ghost { lbn, end });
    }

    /// A logical block is given a sequential log block, for a run that starts at `offset`.
    pub fn comes(&mut self, lbn: Lbn, offset: u32) {
        let Some(at) = self.ghosts.iter().rposition(|ghost| ghost.lbn == lbn) else { return };
        let depth = self.ghosts.len() - 1 - at;
        let ghost = self.ghosts.remove(at);
        self.hits[depth] += u64::from(ghost.end <= offset);
    }

    /// A random victim is about to be merged; these pages are valid in it, ascending.
    pub fn takes(&mut self, geometry: &Geometry, map: &LogMap<MergeCosts>, pages: &[Lpn]) {
        let is_home = |lpn: &Lpn| map.is_home(geometry, *lpn);
        let blocks = self.victim.chunk_by(|one, other| map.lbn_of(*one) == map.lbn_of(*other));
        self.saved += blocks.filter(|pages| !pages.iter().any(is_home)).count() as u64;
        self.victim.clear();
        self.victim.extend_from_slice(pages);
    }

    /// Which part should grow, by what was earned since the last time.
    pub fn advise(&mut self) -> Advice {
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
        let mut earnings = Earnings::new(8);
        hits.iter().rev().for_each(|&(lbn, end, _)| earnings.let_go(lbn, end));
        hits.iter().for_each(|&(lbn, _, offset)| earnings.comes(lbn, offset));
        earnings.saved = saved;
        earnings
    }

    #[test]
    fn a_ghost_is_hit_by_a_run_that_goes_on() {
        assert_eq!(earnings(&[(3, 4, 4)], 0).advise(), Advice::Sequential);
        assert_eq!(earnings(&[(3, 4, 6)], 0).advise(), Advice::Sequential, "or leaves a gap");
        assert_eq!(earnings(&[(3, 4, 3)], 0).advise(), Advice::Stay, "this one starts anew");
        assert_eq!(earnings(&[(3, 4, 4)], 1).advise(), Advice::Stay);
        assert_eq!(earnings(&[(3, 4, 4)], 2).advise(), Advice::Random);
    }

    #[test]
    fn what_several_blocks_earn_is_divided_among_them() {
        // Four streams that take turns: each is found fourth. Four blocks more would save them all.
        let mut turns = Earnings::new(8);
        (0..4).for_each(|lbn| turns.let_go(lbn, 2));
        for _ in 0..3 {
            for lbn in 0..4 {
                turns.comes(lbn, 2);
                turns.let_go(lbn, 2);
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
    fn only_so_many_ghosts_are_remembered() {
        let mut earnings = Earnings::new(8);
        (0..=GHOSTS as Lbn).for_each(|lbn| earnings.let_go(lbn, 1));
        earnings.comes(0, 1);
        assert_eq!(earnings.advise(), Advice::Stay);
        earnings.comes(1, 1);
        assert_eq!(earnings.advise(), Advice::Sequential);
        assert_eq!(earnings.advise(), Advice::Stay, "advice is about what came since the last");
    }
}
