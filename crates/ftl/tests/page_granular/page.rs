//! page against a naive model, with every victim policy.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, Real, SEED, step};
use crate::naive_victims::{NaiveVictims, params, settings};

struct NaivePage {
    np: usize,
    /// The pages programmed in each block.
    blocks: Vec<Vec<usize>>,
    free: Vec<usize>,
    l2p: Vec<Option<(usize, usize)>>,
    /// The open blocks of the host and of garbage collection. With one frontier, they are the same
    /// block.
    open: [Option<usize>; 2],
    frontiers: usize,
    victims: NaiveVictims,
    clock: u64,
    counts: Counts,
}

impl NaivePage {
    fn new(spec: &str, np: usize, blocks: usize) -> NaivePage {
        let params = params(spec);
        NaivePage {
            np,
            blocks: vec![Vec::new(); blocks],
            free: (0..blocks).collect(),
            l2p: vec![None; LOGICAL_BLOCKS as usize * np],
            open: [None; 2],
            frontiers: params.count("frontiers") as usize,
            victims: NaiveVictims::new(params, np, SEED),
            clock: 0,
            counts: Counts::default(),
        }
    }

    fn has_room(&self, who: usize) -> bool {
        self.open[who].is_some_and(|block| self.blocks[block].len() < self.np)
    }

    fn take(&mut self, who: usize) {
        let block = self.free.remove(0);
        self.victims.open(block);
        self.open[who] = Some(block);
    }

    fn append(&mut self, who: usize, lpn: usize) {
        let block = self.open[who].unwrap();
        self.l2p[lpn] = Some((block, self.blocks[block].len()));
        self.blocks[block].push(lpn);
        if self.blocks[block].len() == self.np {
            self.victims.close(block, self.clock);
        }
    }

    fn collect(&mut self) {
        let NaivePage { victims, blocks, l2p, .. } = self;
        let count = |block: usize| valid(blocks, l2p, block).len();
        let victim = victims.choose(self.clock, count).unwrap();
        let gc = self.frontiers - 1;
        for lpn in valid(&self.blocks, &self.l2p, victim) {
            if !self.has_room(gc) {
                self.take(gc);
            }
            self.append(gc, lpn);
            self.counts.copies += 1;
        }
        self.blocks[victim].clear();
        for open in self.open.iter_mut().filter(|open| **open == Some(victim)) {
            *open = None;
        }
        self.victims.release(victim);
        self.free.push(victim);
        self.counts.erases += 1;
    }

    fn write(&mut self, lpn: usize, partial: bool) {
        while !self.has_room(0) {
            if self.free.len() > 1 { self.take(0) } else { self.collect() }
        }
        self.counts.rmw += u64::from(partial && self.l2p[lpn].is_some());
        self.clock += 1;
        self.append(0, lpn);
        self.counts.host += 1;
    }
}

/// The valid pages of a block.
fn valid(blocks: &[Vec<usize>], l2p: &[Option<(usize, usize)>], block: usize) -> Vec<usize> {
    let pages = blocks[block].iter().enumerate();
    pages.filter(|&(at, &lpn)| l2p[lpn] == Some((block, at))).map(|(_, &lpn)| lpn).collect()
}

#[test]
fn page_counts_as_the_naive_model_counts() {
    for setting in settings() {
        for (frontiers, extra, np) in [(1, 2, 4), (1, 3, 8), (2, 3, 4), (2, 5, 6)] {
            let spec = format!("page:{setting},frontiers={frontiers}");
            let mut real = Real::new(&spec, "sequential", np, extra);
            let mut naive = NaivePage::new(&spec, np, (LOGICAL_BLOCKS + extra) as usize);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            for round in 0..3000 {
                let step = step(&mut rng, np);
                step.run_on(&mut real);
                for at in 0..step.pages {
                    match step.trim {
                        true => naive.l2p[step.first + at] = None,
                        false => naive.write(step.first + at, step.is_partial(at)),
                    }
                }
                assert_eq!(real.counts(), naive.counts, "{spec}, Np {np}, step {round}");
            }
            assert!(naive.counts.copies > 1000 && naive.counts.rmw > 100, "{:?}", naive.counts);
        }
    }
}
