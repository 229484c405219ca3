//! page against a naive model. Random victims draw from a generator, so there is nothing to
//! compare.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, Real, step};

struct Block {
    owners: Vec<Option<usize>>,
    opened: u64,
    last_program: u64,
}

struct NaivePage {
    policy: &'static str,
    np: usize,
    blocks: Vec<Block>,
    free: Vec<usize>,
    l2p: Vec<Option<(usize, usize)>>,
    /// The host's open block, and garbage collection's; one and the same with one frontier.
    open: [Option<usize>; 2],
    frontiers: usize,
    clock: u64,
    openings: u64,
    counts: Counts,
}

impl NaivePage {
    fn new(policy: &'static str, frontiers: usize, np: usize, blocks: usize) -> NaivePage {
        let block = || Block { owners: Vec::new(), opened: 0, last_program: 0 };
        NaivePage {
            policy,
            np,
            blocks: (0..blocks).map(|_| block()).collect(),
            free: (0..blocks).collect(),
            l2p: vec![None; LOGICAL_BLOCKS as usize * np],
            open: [None; 2],
            frontiers,
            clock: 0,
            openings: 0,
            counts: Counts::default(),
        }
    }

    fn has_room(&self, who: usize) -> bool {
        self.open[who].is_some_and(|block| self.blocks[block].owners.len() < self.np)
    }

    fn take(&mut self, who: usize) {
        let block = self.free.remove(0);
        self.openings += 1;
        self.blocks[block].opened = self.openings;
        self.open[who] = Some(block);
    }

    fn append(&mut self, who: usize, lpn: usize) {
        let block = self.open[who].unwrap();
        self.blocks[block].owners.push(Some(lpn));
        self.l2p[lpn] = Some((block, self.blocks[block].owners.len() - 1));
        self.blocks[block].last_program = self.clock;
    }

    fn valid(&self, block: usize) -> Vec<usize> {
        let owners = self.blocks[block].owners.iter().enumerate();
        let valid = owners
            .filter_map(|(at, owner)| owner.filter(|&lpn| self.l2p[lpn] == Some((block, at))));
        valid.collect()
    }

    fn victim(&self) -> usize {
        let full = (0..self.blocks.len()).filter(|&b| self.blocks[b].owners.len() == self.np);
        match self.policy {
            "fifo" => full.min_by_key(|&block| self.blocks[block].opened).unwrap(),
            "greedy" => full.min_by_key(|&block| (self.valid(block).len(), block)).unwrap(),
            _ => {
                let score = |block: usize| {
                    let (v, np) = (self.valid(block).len() as f64, self.np as f64);
                    let age = (self.clock - self.blocks[block].last_program) as f64;
                    if v == 0.0 { f64::INFINITY } else { age * (np - v) / (2.0 * v) }
                };
                let candidates = full.filter(|&block| self.valid(block).len() < self.np);
                candidates.reduce(|a, b| if score(b) > score(a) { b } else { a }).unwrap()
            }
        }
    }

    fn collect(&mut self) {
        let victim = self.victim();
        let gc = self.frontiers - 1;
        for lpn in self.valid(victim) {
            if !self.has_room(gc) {
                self.take(gc);
            }
            self.append(gc, lpn);
            self.counts.copies += 1;
        }
        self.blocks[victim].owners.clear();
        for open in self.open.iter_mut().filter(|open| **open == Some(victim)) {
            *open = None;
        }
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

#[test]
fn page_counts_as_the_naive_model_counts() {
    for policy in ["greedy", "fifo", "cost_benefit"] {
        for (frontiers, extra, np) in [(1, 2, 4), (1, 3, 8), (2, 3, 4), (2, 5, 6)] {
            let spec = format!("page:victim={policy},frontiers={frontiers}");
            let mut real = Real::new(&spec, "sequential", np, extra);
            let blocks = (LOGICAL_BLOCKS + extra) as usize;
            let mut naive = NaivePage::new(policy, frontiers, np, blocks);
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
