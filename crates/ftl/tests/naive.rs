//! The schemes against naive models of them, count for count.
//!
//! The models know the counting rules and no data structure: they search all blocks for a victim
//! and recount what they need. Random victims draw from a generator, so there is nothing to
//! compare.

use ftl::{Choice, Device, Durability, Ftl, Run};
use nand::{BlockId, Cause, Chip, Data, Lpn, Mode, Nand, Op};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

const PAGE_BYTES: u32 = 2048;
const LOGICAL_BLOCKS: u32 = 12;

/// What both sides count.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Counts {
    host: u64,
    copies: u64,
    padding: u64,
    erases: u64,
    rmw: u64,
}

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

/// `block`: where each logical block's pages stand, by the program order's name.
struct NaiveBlock {
    order: &'static str,
    np: usize,
    /// Slots of each data block: erased (none), programmed and dead (false), or live (true).
    data: Vec<Option<Vec<Option<bool>>>>,
    counts: Counts,
}

impl NaiveBlock {
    fn write(&mut self, lbn: usize, pages: std::ops::Range<usize>, partial: &[usize]) {
        let np = self.np;
        let sequential = self.order == "sequential";
        self.counts.host += pages.len() as u64;
        let slots = self.data[lbn].get_or_insert_with(|| vec![None; np]);
        let top = slots.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let in_place = match self.order {
            "any" => pages.clone().all(|at| slots[at].is_none()),
            "ascending" => pages.start >= top,
            _ => pages.start == top || top == 0,
        };
        if in_place {
            if sequential {
                (top..pages.start).for_each(|at| slots[at] = Some(false));
                self.counts.padding += (pages.start - top) as u64;
            }
        } else {
            self.counts.rmw += partial.iter().filter(|&&at| slots[at] == Some(true)).count() as u64;
            let kept: Vec<usize> =
                (0..np).filter(|at| slots[*at] == Some(true) && !pages.contains(at)).collect();
            let end = kept.iter().copied().chain([pages.end - 1]).max().unwrap() + 1;
            let written = |at: &usize| kept.contains(at) || pages.contains(at);
            let mut fresh = vec![None; np];
            for (at, slot) in fresh.iter_mut().enumerate().take(end) {
                if written(&at) {
                    *slot = Some(true);
                } else if sequential {
                    *slot = Some(false);
                    self.counts.padding += 1;
                }
            }
            *slots = fresh;
            self.counts.copies += kept.len() as u64;
            self.counts.erases += 1;
        }
        pages.for_each(|at| slots[at] = Some(true));
    }
}

/// The real scheme on a device of the same shape.
struct Real {
    nand: Nand,
    ftl: Box<dyn Ftl>,
}

impl Real {
    fn new(ftl: &str, order: &str, np: usize, extra: u32) -> Real {
        let spec = format!("slc-lsb:program_order={order},pages_per_block={np}");
        let chip = Chip::from_spec(&Spec::parse(&spec).unwrap()).unwrap();
        let geometry = chip.geometry(LOGICAL_BLOCKS + extra).unwrap();
        let mut nand = Nand::new(geometry, Mode::Count);
        let choice = Choice::from_spec(&Spec::parse(ftl).unwrap()).unwrap();
        let blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
        let device = Device {
            params: &choice.params,
            logical_blocks: LOGICAL_BLOCKS,
            blocks: &blocks,
            durability: Durability::Paper,
            seed: 0,
        };
        let ftl = choice.mount(&mut nand, &device).unwrap();
        Real { nand, ftl }
    }

    fn counts(&self) -> Counts {
        let tally = self.nand.tally();
        let own = |op| tally.count(op, Cause::Gc) + tally.count(op, Cause::Merge);
        let copies = tally.copies_total();
        Counts {
            host: tally.count(Op::Program, Cause::Host),
            copies,
            padding: own(Op::Program) - copies,
            erases: own(Op::Erase),
            rmw: tally.count(Op::Read, Cause::Rmw),
        }
    }
}

/// A random step: a run with perhaps partial ends, or now and then a trim.
struct Step {
    trim: bool,
    first: usize,
    pages: usize,
    head: u64,
    tail: u64,
}

fn step(rng: &mut Xoshiro256PlusPlus, np: usize) -> Step {
    let mut below = |bound: usize| rng.next_u32() as usize % bound;
    let capacity = LOGICAL_BLOCKS as usize * np;
    // Half of the steps go to an eighth of the space.
    let first = if below(2) == 0 { below(capacity / 8) } else { below(capacity) };
    let pages = if below(4) == 0 { 1 + below(3 * np) } else { 1 + below(2) };
    let pages = pages.min(capacity - first);
    let mut mask = || if below(4) == 0 { 0b0011 } else { 0b1111 };
    let (head, tail) = (mask(), mask());
    let tail = if pages == 1 { head } else { tail };
    Step { trim: below(10) == 0, first, pages, head, tail }
}

impl Step {
    fn is_partial(&self, at: usize) -> bool {
        at == 0 && self.head != 0b1111 || at + 1 == self.pages && self.tail != 0b1111
    }

    fn run_on(&self, real: &mut Real) {
        let (first, pages) = (Lpn(self.first as u32), self.pages as u32);
        if self.trim {
            return real.ftl.trim(&mut real.nand, first, pages).unwrap();
        }
        let whole = Run::whole(first, pages, PAGE_BYTES, Data::None);
        let run = Run { head: self.head, tail: self.tail, ..whole };
        real.ftl.write(&mut real.nand, &run).unwrap();
        real.ftl.audit(&real.nand).unwrap();
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

#[test]
fn block_counts_as_the_naive_model_counts() {
    for order in ["any", "ascending", "sequential"] {
        for (extra, np) in [(1, 4), (2, 6)] {
            let mut real = Real::new("block", order, np, extra);
            let data = vec![None; LOGICAL_BLOCKS as usize];
            let mut naive = NaiveBlock { order, np, data, counts: Counts::default() };
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
            for round in 0..3000 {
                let step = step(&mut rng, np);
                step.run_on(&mut real);
                let mut at = 0;
                while at < step.pages {
                    let (lbn, start) = ((step.first + at) / np, (step.first + at) % np);
                    let end = np.min(start + step.pages - at);
                    if step.trim {
                        let slots = naive.data[lbn].iter_mut().flat_map(|s| &mut s[start..end]);
                        slots.filter(|slot| slot.is_some()).for_each(|slot| *slot = Some(false));
                    } else {
                        let partial: Vec<usize> =
                            (start..end).filter(|o| step.is_partial(at + o - start)).collect();
                        naive.write(lbn, start..end, &partial);
                    }
                    at += end - start;
                }
                assert_eq!(real.counts(), naive.counts, "{order}, Np {np}, step {round}");
            }
            assert!(naive.counts.copies > 1000 && naive.counts.rmw > 100, "{:?}", naive.counts);
        }
    }
}
