//! A small page-granular device, its counts, and random steps for it and a naive model.

use ftl::contract::foresight::Foresight;
use ftl::contract::page_policy::{PagePolicy, PolicySource};
use ftl::part::page::placed;
use ftl::{Choice, Ftl, MountConfig, Result, Run};
use nand::{Cause, Data, Lpn, Mode, Nand, Op, Timing};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{self, blocks, choice, config};

pub const PAGE_BYTES: u32 = 2048;
pub const LOGICAL_BLOCKS: u32 = 12;
/// Seed of the victim policies that draw at random.
pub const SEED: u64 = 0;
/// The latencies of the chip `slc-lsb`.
const TIMING: Timing = Timing {
    read_ns: 88_000,
    spare_read_ns: 28_000,
    program_ns: 263_000,
    erase_ns: 2_000_000,
    ..Timing::ZERO
};

/// Counts in which the real scheme and a naive model must agree.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub struct Counts {
    pub host: u64,
    pub copies: u64,
    pub padding: u64,
    pub erases: u64,
    pub rmw: u64,
}

/// The real scheme on a small device.
pub struct Real {
    pub nand: Nand,
    pub ftl: Box<dyn Ftl>,
    choice: Choice,
}

impl Real {
    pub fn new(ftl: &str, order: &str, np: usize, extra: u32) -> Real {
        Real::in_mode(ftl, order, np, extra, Mode::Count)
    }

    pub fn in_mode(ftl: &str, order: &str, np: usize, extra: u32, mode: Mode) -> Real {
        Real::placed_by(None, ftl, order, np, extra, mode).unwrap()
    }

    /// The scheme with a policy in place of its own placement.
    pub fn placed_by(
        policy: Option<&dyn PolicySource>,
        ftl: &str,
        order: &str,
        np: usize,
        extra: u32,
        mode: Mode,
    ) -> Result<Real> {
        let spec = format!("slc-lsb:program_order={order},pages_per_block={np}");
        let chip = common::chip(&spec);
        let geometry = chip.geometry(LOGICAL_BLOCKS + extra).unwrap();
        let mut nand = Nand::new(geometry, mode);
        let choice = choice(ftl);
        let ftl = mount(&choice, &mut nand, policy, None)?;
        Ok(Real { nand, ftl, choice })
    }

    /// A new device whose scheme knows the future.
    pub fn foreseeing(
        foresight: &dyn Foresight,
        ftl: &str,
        order: &str,
        np: usize,
        extra: u32,
    ) -> Real {
        let Real { nand, choice, .. } = Real::new(ftl, order, np, extra);
        let mut nand = Nand::new(*nand.geometry(), nand.array().mode());
        let ftl = mount(&choice, &mut nand, None, Some(foresight)).unwrap();
        Real { nand, ftl, choice }
    }

    /// A power cycle between two operations. The chip must keep spare areas.
    pub fn power_cycle(&mut self) {
        self.nand.power().cycle();
        self.ftl = mount(&self.choice, &mut self.nand, None, None).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    /// The same for a scheme that only places pages: afterwards this policy places them.
    pub fn power_cycle_under(&mut self, policy: impl PagePolicy + 'static) {
        self.nand.power().cycle();
        let blocks = blocks(self.nand.geometry());
        let device = config(&self.choice, LOGICAL_BLOCKS, &blocks, TIMING);
        self.ftl = placed::mount(&mut self.nand, &device, |_| policy).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    pub fn counts(&self) -> Counts {
        let tally = self.nand.tally();
        let own = |op| tally.count(op, Cause::Gc) + tally.count(op, Cause::Merge);
        let copies = tally.copies(Cause::Gc) + tally.copies(Cause::Merge);
        Counts {
            host: tally.count(Op::Program, Cause::Host),
            copies,
            padding: own(Op::Program) - copies,
            erases: own(Op::Erase),
            rmw: tally.count(Op::Read, Cause::Rmw),
        }
    }
}

fn mount(
    choice: &Choice,
    nand: &mut Nand,
    policy: Option<&dyn PolicySource>,
    foresight: Option<&dyn Foresight>,
) -> Result<Box<dyn Ftl>> {
    let blocks = blocks(nand.geometry());
    let device = MountConfig {
        policy,
        foresight,
        seed: SEED,
        ..config(choice, LOGICAL_BLOCKS, &blocks, TIMING)
    };
    choice.mount(nand, &device)
}

/// A step of a random workload: a write whose first and last page may be partial, or a trim.
pub struct Step {
    pub trim: bool,
    pub first: usize,
    pub pages: usize,
    pub head: u64,
    pub tail: u64,
}

pub fn step(rng: &mut Xoshiro256PlusPlus, np: usize) -> Step {
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
    pub fn is_partial(&self, at: usize) -> bool {
        at == 0 && self.head != 0b1111 || at + 1 == self.pages && self.tail != 0b1111
    }

    /// The stream that the host names.
    pub fn stream(&self) -> u8 {
        (self.first % 5) as u8
    }

    pub fn run_on(&self, real: &mut Real) {
        self.try_on(real).unwrap();
        real.ftl.audit(&real.nand).unwrap();
    }

    pub fn try_on(&self, real: &mut Real) -> Result<()> {
        let (first, pages) = (Lpn(self.first as u32), self.pages as u32);
        if self.trim {
            return real.ftl.trim(&mut real.nand, first, pages);
        }
        let whole = Run::whole(first, pages, PAGE_BYTES, Data::None);
        let run = Run { head: self.head, tail: self.tail, stream: self.stream(), ..whole };
        real.ftl.write_run(&mut real.nand, &run)
    }
}
