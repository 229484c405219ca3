//! A small device with a log-block scheme, its counts, and the interface of a naive model.

use core::ops::Range;

use ftl::{Choice, Durability, Ftl, Layers, Merges, Metric, MountConfig, Run, system_blocks};
use nand::{Cause, Cut, Data, Lpn, Mode, Nand, Op, Outcome, Sink, Stamp, Timing};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{self, blocks, choice, config};

pub const PAGE_BYTES: u32 = 2048;
pub const SECTORS: u32 = 4;
pub const WHOLE: u64 = 0b1111;
pub const TIMING: Timing =
    Timing { read_ns: 10, spare_read_ns: 1, program_ns: 100, erase_ns: 1000, ..Timing::ZERO };

/// The counts that scheme and model share.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Counts {
    pub host: u64,
    pub copies: u64,
    pub padding: u64,
    pub erases: u64,
    pub rmw: u64,
    pub in_place: u64,
    pub merges: Merges,
}

/// A real scheme on a small chip.
pub struct Real {
    pub nand: Nand,
    pub ftl: Box<dyn Ftl>,
    pub choice: Choice,
    pub logical_blocks: u32,
    durability: Durability,
}

impl Real {
    pub fn new(ftl: &str, order: &str, np: u32, [logical_blocks, extra]: [u32; 2]) -> Real {
        Real::with_mode(ftl, order, np, [logical_blocks, extra], Mode::Count)
    }

    pub fn with_mode(
        ftl: &str,
        order: &str,
        np: u32,
        [logical_blocks, extra]: [u32; 2],
        mode: Mode,
    ) -> Real {
        Real::with_durability(ftl, order, np, [logical_blocks, extra], mode, Durability::Paper)
    }

    /// Full durability adds its own blocks to the extra blocks.
    fn with_durability(
        ftl: &str,
        order: &str,
        np: u32,
        [logical_blocks, extra]: [u32; 2],
        mode: Mode,
        durability: Durability,
    ) -> Real {
        let spec = format!("slc-lsb:program_order={order},pages_per_block={np}");
        let chip = common::chip(&spec);
        let system_blocks = system_blocks(&chip, logical_blocks, durability);
        let geometry = chip.geometry(logical_blocks + extra + system_blocks).unwrap();
        let mut nand = Nand::new(geometry, mode);
        let choice = choice(ftl);
        let ftl = mount_as(&choice, &mut nand, logical_blocks, durability).unwrap();
        Real { nand, ftl, choice, logical_blocks, durability }
    }

    /// Blocks of four pages. Every page is written once, in order; counting begins then.
    pub fn filled(ftl: &str, order: &str, [logical_blocks, extra]: [u32; 2]) -> Real {
        let mut real = Real::new(ftl, order, 4, [logical_blocks, extra]);
        real.write(0, 4 * logical_blocks);
        assert_eq!(real.counts().in_place, 4 * u64::from(logical_blocks));
        real.nand.reset_tally();
        real.ftl.reset_report();
        real
    }

    pub fn write(&mut self, first: u32, pages: u32) {
        self.write_masked(first, pages, WHOLE);
    }

    pub fn write_masked(&mut self, first: u32, pages: u32, mask: u64) {
        let whole = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.write_run(&mut self.nand, &Run { head: mask, tail: mask, ..whole }).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    pub fn write_each(&mut self, pages: &[u32]) {
        pages.iter().for_each(|&page| self.write(page, 1));
    }

    pub fn trim(&mut self, first: u32, pages: u32) {
        self.ftl.trim(&mut self.nand, Lpn(first), pages).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    pub fn counts(&self) -> Counts {
        let tally = self.nand.tally();
        let Metric::Count(in_place) = self.figure("in_place_pages") else { panic!("no count") };
        let copies = tally.copies(Cause::Merge);
        Counts {
            host: tally.count(Op::Program, Cause::Host),
            copies,
            padding: tally.count(Op::Program, Cause::Merge) - copies,
            erases: tally.count(Op::Erase, Cause::Merge),
            rmw: tally.count(Op::Read, Cause::Rmw),
            in_place,
            merges: self.ftl.report().merges.unwrap(),
        }
    }

    /// A figure of the scheme.
    pub fn figure(&self, name: &str) -> Metric {
        let figures = self.ftl.report().figures;
        let found = figures.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("no {name} in {figures:?}")).1.clone()
    }

    /// Copies, erases and merges (switch, partial, full, dead) since the fill.
    pub fn cost(&self) -> (u64, u64, [u64; 4]) {
        let Counts { copies, erases, merges, .. } = self.counts();
        (copies, erases, [merges.switch, merges.partial, merges.full, merges.dead])
    }
}

pub fn mount(choice: &Choice, nand: &mut Nand, logical_blocks: u32) -> ftl::Result<Box<dyn Ftl>> {
    mount_as(choice, nand, logical_blocks, Durability::Paper)
}

fn mount_as(
    choice: &Choice,
    nand: &mut Nand,
    logical_blocks: u32,
    durability: Durability,
) -> ftl::Result<Box<dyn Ftl>> {
    let blocks = blocks(nand.geometry());
    let device = MountConfig { durability, ..config(choice, logical_blocks, &blocks, TIMING) };
    Layers::default().mount(choice.scheme, nand, &device)
}

/// A device for power cuts. Write `n` of a page stamps it with `n`.
pub struct Mortal {
    pub real: Real,
    pages: u32,
}

impl Mortal {
    /// Blocks of four pages. `writes` follow the fill.
    pub fn new(ftl: &str, order: &str, shape: [u32; 2], writes: &[u32]) -> Mortal {
        let mut mortal = Mortal::with_durability(ftl, order, shape, Durability::Paper);
        writes.iter().for_each(|&page| mortal.write(page, 1, 2).unwrap());
        mortal
    }

    /// The same, and the power may fail at any operation.
    pub fn durable(ftl: &str, order: &str, shape: [u32; 2], writes: &[u32]) -> Mortal {
        let mut mortal = Mortal::with_durability(ftl, order, shape, Durability::Full);
        writes.iter().for_each(|&page| mortal.write(page, 1, 2).unwrap());
        mortal
    }

    fn with_durability(ftl: &str, order: &str, shape: [u32; 2], durability: Durability) -> Mortal {
        let real = Real::with_durability(ftl, order, 4, shape, Mode::Stamps, durability);
        let pages = 4 * shape[0];
        let mut mortal = Mortal { real, pages };
        mortal.write(0, pages, 1).unwrap();
        mortal
    }

    pub fn write(&mut self, first: u32, pages: u32, number: u32) -> ftl::Result<()> {
        let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::Stamp(number));
        self.real.ftl.write_run(&mut self.real.nand, &run)
    }

    /// Switches the power on and mounts. The power may fail again during the mount.
    pub fn mount(&mut self, cut: Option<Cut>) -> ftl::Result<()> {
        self.real.nand.power().cycle();
        cut.into_iter().for_each(|cut| self.real.nand.power().cut_after(cut));
        self.mount_powered()
    }

    /// Switches the power on and mounts. Weak pages decay after this number of operations.
    pub fn mount_decaying(&mut self, operations: u64) -> ftl::Result<()> {
        self.real.nand.power().cycle();
        self.real.nand.power().decay_after(operations);
        self.mount_powered()
    }

    fn mount_powered(&mut self) -> ftl::Result<()> {
        let Real { nand, ftl, choice, logical_blocks, durability } = &mut self.real;
        *ftl = mount_as(choice, nand, *logical_blocks, *durability)?;
        nand.power().decay().unwrap();
        ftl.audit(nand).unwrap();
        Ok(())
    }

    fn interrupt_twice(&mut self, page: u32, cuts: [Cut; 2], in_mount: bool) {
        self.real.nand.power().cut_after(cuts[0]);
        let _ = self.write(page, 1, 3);
        if in_mount {
            let _ = self.mount(Some(cuts[1]));
        } else {
            self.mount(None).unwrap();
            self.real.nand.power().cut_after(cuts[1]);
            let _ = self.write(page, 1, 3);
        }
        self.mount(None).unwrap();
        self.write(page, 1, 3).unwrap();
        self.real.ftl.audit(&self.real.nand).unwrap();
    }

    /// Reads all pages; returns the number of the write that each one shows.
    pub fn found(&mut self) -> Vec<u32> {
        let mut out = vec![Stamp::default(); (self.pages * SECTORS) as usize];
        let mut sink = Sink::Stamps { first: Lpn(0), out: &mut out };
        let run = Run::whole(Lpn(0), self.pages, PAGE_BYTES, Data::None);
        self.real.ftl.read(&mut self.real.nand, &run, &mut sink).unwrap();
        let stamps = out.chunks(SECTORS as usize);
        stamps.map(|page| page[0].write()).collect()
    }
}

/// Outcomes of a cut, without those programs that leave an unreadable page in yet another way.
pub fn outcomes() -> impl Iterator<Item = Outcome> {
    [
        Outcome::Untouched,
        Outcome::Torn,
        Outcome::LooksErased,
        Outcome::Unstable,
        Outcome::Complete,
        Outcome::Half,
        Outcome::Intact,
        Outcome::Mixed,
    ]
    .into_iter()
}

/// The orders in which a chip can be programmed.
pub const ORDERS: [&str; 3] = ["any", "ascending", "sequential"];

/// Cuts the power at every operation of a merge, and again at every operation of the mount or of
/// the same merge when it is repeated. This includes two unfinished merges of one logical block,
/// cuts between the erases of a data block and its log block, and cuts during recovery. The merge
/// is caused by writing `page` after `writes`. The last argument is the number of operations to cut
/// in the first and in the second life. Each pair of outcomes is tried on one chip, and the second
/// cut falls into the mount or into the merge: both take turns. Returns the number of pairs.
pub fn survives_two_cuts(
    what: &str,
    (ftl, shape): (&str, [u32; 2]),
    (writes, page): (&[u32], u32),
    [first, second]: [u64; 2],
) -> u64 {
    let mut expected = vec![1; 4 * shape[0] as usize];
    writes.iter().for_each(|&page| expected[page as usize] = 2);
    expected[page as usize] = 3;
    let turns = ORDERS.iter().flat_map(|order| [(*order, true), (*order, false)]);
    let mut tried = 0;
    let places = (0..first).flat_map(|n| (0..second).map(move |m| (n, m)));
    for (first, second) in places {
        let mut turns = turns.clone().cycle().skip((first + second) as usize % 6);
        for (one, other) in outcomes().flat_map(|o| outcomes().map(move |p| (o, p))) {
            let (order, in_mount) = turns.next().expect("they take turns");
            let cuts = [(first, one), (second, other)];
            let cuts = cuts.map(|(after, outcome)| Cut { after, outcome });
            let mut device = Mortal::durable(ftl, order, shape, writes);
            device.interrupt_twice(page, cuts, in_mount);
            let found = device.found();
            assert_eq!(found, expected, "{what}, {ftl}, {order}, {cuts:?}, {in_mount}");
            tried += 1;
        }
    }
    tried
}

/// A naive model of a scheme.
pub trait Model {
    /// The number of logical pages, and of pages per block.
    fn shape(&self) -> (usize, usize);

    /// Writes a run. Its first and its last page may be partial.
    fn write(&mut self, pages: Range<usize>, ends_in_part: bool);

    /// Trims pages.
    fn trim(&mut self, pages: Range<usize>);
}

/// A random run, possibly with partial ends, or sometimes a trim.
pub fn step(rng: &mut Xoshiro256PlusPlus, real: &mut Real, naive: &mut impl Model) {
    let mut below = |bound: usize| rng.next_u32() as usize % bound;
    let (capacity, np) = naive.shape();
    // Half of the steps go to an eighth of the space, a quarter starts at a block.
    let first = if below(2) == 0 { below(capacity / 8) } else { below(capacity) };
    let first = if below(4) == 0 { first / np * np } else { first };
    let pages = if below(4) == 0 { 1 + below(3 * np) } else { 1 + below(2) };
    let pages = pages.min(capacity - first);
    let mask = if below(4) == 0 { 0b0011 } else { WHOLE };
    if below(8) == 0 {
        real.trim(first as u32, pages as u32);
        naive.trim(first..first + pages);
    } else {
        real.write_masked(first as u32, pages as u32, mask);
        naive.write(first..first + pages, mask != WHOLE);
    }
}
