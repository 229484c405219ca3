//! A small device, its counts, and random steps for the device and a naive model.

use ftl::{Choice, Ftl, Metric, Run};
use nand::{BlockId, Cause, ChipModel, Data, Lpn, Mode, Nand, Op, Sink};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{self, blocks, choice, config};

pub const PAGE_BYTES: u32 = 2048;

/// The counts that scheme and model share.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub struct Counts {
    pub host: u64,
    /// Pages moved by garbage collection.
    pub copies: u64,
    pub erases: u64,
    /// Pages copied for the map.
    pub map_copies: u64,
    pub spare_reads: u64,
    pub rmw: u64,
}

/// Numbers of dead blocks erased, of partial merges, and of full merges.
pub type Merges = [u64; 3];

/// The real scheme on a device of the same shape.
pub struct Real {
    pub nand: Nand,
    pub ftl: Box<dyn Ftl>,
    choice: Choice,
    chip: ChipModel,
    logical: u32,
    writes: u32,
}

impl Real {
    pub fn new(ftl: &str, np: usize, logical: u32, extra: u32, mode: Mode) -> Real {
        let spec = format!("slc-lsb:pages_per_block={np}");
        let chip = common::chip(&spec);
        let geometry = chip.geometry(logical + extra).unwrap();
        let mut nand = Nand::new(geometry, mode);
        let choice = choice(ftl);
        choice.check(&chip, logical, extra).unwrap();
        let ftl = mounted(&mut nand, &choice, &chip, logical);
        Real { nand, ftl, choice, chip, logical, writes: 0 }
    }

    /// Power off and on.
    pub fn remount(&mut self) {
        self.nand.power().cycle();
        self.mount();
    }

    pub fn mount(&mut self) {
        self.ftl = mounted(&mut self.nand, &self.choice, &self.chip, self.logical);
        self.ftl.audit(&self.nand).unwrap();
    }

    fn run(&mut self, first: u32, pages: u32) -> Run<'static> {
        self.writes += 1;
        let data = match self.nand.array().mode() {
            Mode::Count => Data::None,
            _ => Data::Stamp(self.writes),
        };
        Run::whole(Lpn(first), pages, PAGE_BYTES, data)
    }

    /// A run of whole pages without data.
    pub fn whole(first: u32, pages: u32) -> Run<'static> {
        Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None)
    }

    /// Number of writes so far. Each write leaves its number as the stamp.
    pub fn writes(&self) -> u32 {
        self.writes
    }

    pub fn write(&mut self, first: u32, pages: u32) {
        self.try_write(first, pages).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    pub fn try_write(&mut self, first: u32, pages: u32) -> ftl::Result<()> {
        let run = self.run(first, pages);
        self.ftl.write_run(&mut self.nand, &run)
    }

    pub fn read(&mut self, first: u32, pages: u32) {
        let run = Real::whole(first, pages);
        self.ftl.read(&mut self.nand, &run, &mut Sink::None).unwrap();
    }

    pub fn trim(&mut self, first: u32, pages: u32) {
        self.ftl.trim(&mut self.nand, Lpn(first), pages).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    pub fn forget_counts(&mut self) {
        self.nand.reset_tally();
        self.ftl.reset_report();
    }

    pub fn counts(&self) -> Counts {
        let tally = self.nand.tally();
        assert_eq!(tally.copies(Cause::Gc), tally.count(Op::Program, Cause::Gc));
        assert_eq!(tally.copies(Cause::Map), tally.count(Op::Program, Cause::Map));
        Counts {
            host: tally.count(Op::Program, Cause::Host),
            copies: tally.copies(Cause::Gc),
            erases: tally.total(Op::Erase),
            map_copies: tally.copies(Cause::Map),
            spare_reads: tally.count(Op::SpareRead, Cause::Map),
            rmw: tally.count(Op::Read, Cause::Rmw),
        }
    }

    pub fn figure(&self, name: &str) -> f64 {
        let figures = self.ftl.report().figures;
        match figures.into_iter().find(|(known, _)| *known == name) {
            Some((_, Metric::Count(count))) => count as f64,
            Some((_, Metric::Real(figure))) => figure,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub fn merges(&self) -> Merges {
        ["dead_merges", "partial_merges", "full_merges"].map(|name| self.figure(name) as u64)
    }

    /// Number of victims by the number of their programmed pages.
    pub fn utilisation(&self) -> Vec<u64> {
        let figures = self.ftl.report().figures;
        let found = figures.into_iter().find(|(known, _)| *known == "victim_utilisation");
        match found {
            Some((_, Metric::Counts(counts))) => counts,
            other => panic!("{other:?}"),
        }
    }

    /// The place of the newest version of a page: block, and page in it.
    pub fn place(&self, lpn: u32) -> (u32, u32) {
        let newest = (0..self.nand.geometry().blocks()).map(BlockId).flat_map(|block| {
            let owners = self.nand.owners(block).iter().zip(0..);
            owners.map(move |(&owner, page)| (owner, (block.0, page)))
        });
        let sequence = |&(_, (block, page)): &(u32, (u32, u32))| {
            let ppn = self.nand.geometry().page(BlockId(block), page);
            self.nand.array().peek_spare(ppn).unwrap().unwrap().0.rank()
        };
        let own = newest.filter(|&(owner, _)| owner == lpn);
        own.max_by_key(sequence).unwrap().1
    }
}

fn mounted(nand: &mut Nand, choice: &Choice, chip: &ChipModel, logical: u32) -> Box<dyn Ftl> {
    let blocks = blocks(nand.geometry());
    let device = config(choice, logical, &blocks, chip.timing);
    choice.mount(nand, &device).unwrap()
}

/// A random step of the host.
pub struct Step {
    pub what: What,
    pub first: usize,
    pub pages: usize,
    pub head: u64,
    pub tail: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Write,
    Read,
    Trim,
}

pub fn step(rng: &mut Xoshiro256PlusPlus, np: usize, capacity: usize) -> Step {
    let mut below = |bound: usize| rng.next_u32() as usize % bound;
    // Half of the steps go to an eighth of the space.
    let first = if below(2) == 0 { below(capacity / 8) } else { below(capacity) };
    let pages = if below(4) == 0 { 1 + below(3 * np) } else { 1 + below(2) };
    let pages = pages.min(capacity - first);
    let what = match below(10) {
        0 => What::Trim,
        1 | 2 => What::Read,
        _ => What::Write,
    };
    let mut mask = || if below(4) == 0 { 0b0011 } else { 0b1111 };
    let (head, tail) = (mask(), mask());
    let tail = if pages == 1 { head } else { tail };
    Step { what, first, pages, head, tail }
}

impl Step {
    pub fn is_partial(&self, at: usize) -> bool {
        at == 0 && self.head != 0b1111 || at + 1 == self.pages && self.tail != 0b1111
    }

    pub fn run_on(&self, real: &mut Real) {
        let (first, pages) = (self.first as u32, self.pages as u32);
        match self.what {
            What::Trim => real.trim(first, pages),
            What::Read => real.read(first, pages),
            What::Write => {
                let whole = real.run(first, pages);
                let run = Run { head: self.head, tail: self.tail, ..whole };
                real.ftl.write_run(&mut real.nand, &run).unwrap();
                real.ftl.audit(&real.nand).unwrap();
            }
        }
    }
}

/// The most recently used entries, the latest last.
pub struct NaiveCache {
    entries: Vec<usize>,
    most: usize,
}

impl NaiveCache {
    pub fn new(most: usize) -> NaiveCache {
        NaiveCache { entries: Vec::new(), most }
    }

    /// Uses an entry, which is cached afterwards. Returns whether it was before.
    pub fn touch(&mut self, lbn: usize) -> bool {
        let before = self.entries.len();
        self.entries.retain(|&other| other != lbn);
        let hit = self.entries.len() < before;
        self.entries.push(lbn);
        if self.entries.len() > self.most {
            self.entries.remove(0);
        }
        hit
    }
}
