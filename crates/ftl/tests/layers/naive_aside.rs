//! The changes of a log that can stand aside, against a naive model: two whole devices, one whose
//! log is always used and one whose scheme has its blocks.

use ftl::layer::Layers;
use ftl::{Choice, Durability, Metric, MountConfig, Ram, Run};
use nand::{BlockId, Cause, ChipModel, Data, Lpn, Mode, Nand, Op, Timing};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

use crate::device::{LOGICAL_BLOCKS, PAGES, Real, chip, mount_under};
use crate::recorder::WHOLE;

const EXTRA: u32 = 4;
const LOG: u64 = 2;

/// Options of a device, with and without a log.
struct Options {
    comparing: &'static [(&'static str, &'static str)],
    with_log: &'static [(&'static str, &'static str)],
    without_log: &'static [(&'static str, &'static str)],
}

const PLAIN: Options = Options {
    comparing: &[("sector_log", "16KiB,aside=auto")],
    with_log: &[("sector_log", "16KiB")],
    without_log: &[],
};

const BUFFERED: Options = Options {
    comparing: &[("buffer", "8KiB"), ("sector_log", "16KiB,aside=auto")],
    with_log: &[("buffer", "8KiB"), ("sector_log", "16KiB")],
    without_log: &[("buffer", "8KiB")],
};

/// An empty device. All have as many blocks.
fn device(ftl: &str, options: &[(&str, &str)]) -> Real {
    let geometry = chip().geometry(LOGICAL_BLOCKS + EXTRA + LOG as u32).unwrap();
    let mut nand = Nand::new(geometry, Mode::Stamps);
    let ftl = mount_under(ftl, &Layers::from_texts(options).unwrap(), &mut nand).unwrap();
    Real { nand, ftl, writes: 0 }
}

fn spent_ns(real: &Real) -> u64 {
    chip().timing.serial_ns(real.nand.tally())
}

/// A step of the host.
#[derive(Clone, Copy)]
enum Step {
    Write(u32, u32),
    Patch(u32, u64),
    Read(u32),
    Trim(u32, u32),
    Flush,
}

impl Step {
    /// A step of a phase that prefers small writes, whole pages, or neither.
    fn any(rng: &mut Xoshiro256PlusPlus, phase: usize) -> Step {
        let mut below = |bound: u32| rng.next_u32() % bound;
        let page = below(PAGES);
        let small_of_ten = [9, 0, 1, 5][phase % 4];
        match below(20) {
            0 => Step::Read(page),
            1 => Step::Trim(page, 1 + below(2).min(PAGES - page - 1)),
            2 => Step::Flush,
            _ if below(10) < small_of_ten => Step::Patch(page, 1 << below(4)),
            _ => Step::Write(page, 1 + below(3).min(PAGES - page - 1)),
        }
    }

    fn run_on(self, real: &mut Real) {
        match self {
            Step::Write(first, pages) => real.write(first, pages),
            Step::Patch(page, mask) => real.patch(page, mask),
            Step::Read(page) => drop(real.read(page, WHOLE)),
            Step::Trim(first, pages) => real.trim(first, pages),
            Step::Flush => real.flush(),
        }
        real.ftl.end_request(&mut real.nand).unwrap();
    }
}

struct Naive {
    with_log: Real,
    without_log: Real,
    is_aside: bool,
    regret_ns: u64,
    changes: u64,
    /// The times of both at the last reset.
    before_ns: [u64; 2],
}

impl Naive {
    fn new(ftl: &str, options: &Options) -> Naive {
        Naive {
            with_log: device(ftl, options.with_log),
            without_log: device(ftl, options.without_log),
            is_aside: false,
            regret_ns: 3 * Naive::unit_ns(),
            changes: 0,
            before_ns: [0, 0],
        }
    }

    /// What a mount knows: which pages are mapped, here all, and whether the log has its blocks.
    fn mounted(ftl: &str, options: &Options, is_aside: bool) -> Naive {
        let mut naive = Naive { is_aside, regret_ns: 0, ..Naive::new(ftl, options) };
        naive.both().into_iter().for_each(|real| real.write(0, PAGES));
        naive.reset_report();
        naive
    }

    /// The time to copy the pages of the log once.
    fn unit_ns() -> u64 {
        let Timing { read_ns, program_ns, erase_ns, .. } = chip().timing;
        LOG * (4 * (read_ns + program_ns) + erase_ns)
    }

    fn both(&mut self) -> [&mut Real; 2] {
        [&mut self.with_log, &mut self.without_log]
    }

    fn times_ns(&self) -> [u64; 2] {
        [spent_ns(&self.with_log), spent_ns(&self.without_log)]
    }

    fn reset_report(&mut self) {
        self.changes = 0;
        self.before_ns = self.times_ns();
    }

    /// Both have turned over the blocks of the log once, or one of them four times.
    fn is_warm(&self) -> bool {
        let of_log = self.with_log.nand.tally().count(Op::Erase, Cause::Log);
        let of_scheme = self.without_log.nand.tally().total(Op::Erase);
        of_log >= LOG && of_scheme >= LOG || of_scheme >= 4 * LOG
    }

    fn serve(&mut self, step: Step) {
        let before = self.times_ns();
        self.both().into_iter().for_each(|real| step.run_on(real));
        let after = self.times_ns();
        let [with_log, without_log] = [after[0] - before[0], after[1] - before[1]];
        if self.is_warm() {
            let (present, other) =
                if self.is_aside { (without_log, with_log) } else { (with_log, without_log) };
            self.regret_ns = (self.regret_ns + present).saturating_sub(other);
        }
        if self.regret_ns > 4 * Naive::unit_ns() {
            (self.is_aside, self.regret_ns) = (!self.is_aside, 0);
            self.changes += 1;
        }
    }

    /// The RAM of a controller that keeps both as miniatures, with the owner of each page.
    fn ram_bytes(&self) -> u64 {
        let bytes = |real: &Real| {
            let Ram { map, cache, buffer: _, sector_map, other } = real.ftl.ram();
            map + cache + sector_map + other + 4 * u64::from(real.nand.geometry().pages())
        };
        bytes(&self.with_log) + bytes(&self.without_log)
    }

    /// The time with a log in relation to that without one.
    fn ratio(&self) -> f64 {
        let [with_log, without_log] = self.times_ns();
        (with_log - self.before_ns[0]) as f64 / (without_log - self.before_ns[1]) as f64
    }
}

fn assert_agree(real: &Real, naive: &Naive, what: &str) {
    let figure = |name: &str| real.figure_of("sector-log", name);
    assert_eq!(figure("aside_changes"), naive.changes as f64, "{what}");
    assert_eq!(figure("miniature_bytes"), naive.ram_bytes() as f64, "{what}");
    let (found, expected) = (figure("miniature_time_ratio"), naive.ratio());
    assert!(found == expected || expected.is_nan(), "{what}: {found}, not {expected}");
}

#[test]
fn a_log_changes_when_the_naive_model_changes() {
    for ftl in ["page", "dac:regions=2"] {
        for options in [PLAIN, BUFFERED] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
            let mut real = device(ftl, options.comparing);
            let mut naive = Naive::new(ftl, &options);
            let mut changes = 0;
            for phase in 0..24 {
                for number in 0..200 {
                    let step = Step::any(&mut rng, phase);
                    step.run_on(&mut real);
                    naive.serve(step);
                    assert_agree(&real, &naive, &format!("{ftl}, phase {phase}, step {number}"));
                }
                changes += naive.changes;
                real.ftl.reset_report();
                naive.reset_report();
                if phase % 6 == 5 {
                    Step::Write(0, PAGES).run_on(&mut real);
                    Step::Flush.run_on(&mut real);
                    real.nand.power_on();
                    let layers = Layers::from_texts(options.comparing).unwrap();
                    real.ftl = mount_under(ftl, &layers, &mut real.nand).unwrap();
                    let is_aside = real.figure_of("sector-log", "map_bytes") == 0.0;
                    naive = Naive::mounted(ftl, &options, is_aside);
                }
            }
            assert!(changes > 5, "{ftl}: only {changes} changes");
        }
    }
}

/// A device of 900 logical blocks that only counts, and whose miniatures are four times smaller.
/// Returns the time of random writes, most of them small, and the ratio that miniatures measure.
fn measured(options: &[(&str, &str)]) -> (f64, Option<f64>) {
    const LOGICAL: u32 = 900;
    let spec = Spec::parse("slc-lsb:program_order=ascending,pages_per_block=16").unwrap();
    let chip = ChipModel::from_spec(&spec).unwrap();
    let mut nand = Nand::new(chip.geometry(LOGICAL + 125).unwrap(), Mode::Count);
    let choice = Choice::from_spec(&Spec::parse("dac:regions=8").unwrap()).unwrap();
    let blocks: Vec<BlockId> = (0..nand.geometry().blocks()).map(BlockId).collect();
    let device = MountConfig {
        params: &choice.params,
        logical_blocks: LOGICAL,
        blocks: &blocks,
        durability: Durability::Paper,
        seed: 0,
        timing: chip.timing,
        policy: None,
        foresight: None,
    };
    let layers = Layers::from_texts(options).unwrap();
    let mut ftl = layers.mount(choice.scheme, &mut nand, &device).unwrap();
    let pages = 16 * LOGICAL;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut start_ns = 0;
    ftl.write(&mut nand, &Run::whole(Lpn(0), pages, 2048, Data::None)).unwrap();
    for write in 0..10 * pages {
        if write == 4 * pages {
            ftl.reset_report();
            start_ns = chip.timing.serial_ns(nand.tally());
        }
        let whole = Run::whole(Lpn(rng.next_u32() % pages), 1, 2048, Data::None);
        let mask = if write % 2 == 0 { WHOLE } else { 1 << (rng.next_u32() % 4) };
        ftl.write(&mut nand, &Run { head: mask, tail: mask, ..whole }).unwrap();
    }
    let reports = ftl.layered().map(|layered| layered.reports()).unwrap_or_default();
    let figures = reports.into_iter().flat_map(|report| report.figures);
    let ratio = figures.into_iter().find_map(|(name, figure)| match figure {
        Metric::Real(ratio) if name == "miniature_time_ratio" => Some(ratio),
        _ => None,
    });
    ((chip.timing.serial_ns(nand.tally()) - start_ns) as f64, ratio)
}

/// Each has as many open blocks as a whole device. These are spare in part, so that the miniatures
/// have a little more of it.
#[test]
fn small_miniatures_measure_the_ratio_of_the_times_of_whole_devices() {
    // The log has 76 blocks of 32 KiB.
    let (with_log, _) = measured(&[("sector_log", "2432KiB")]);
    let (without_log, _) = measured(&[]);
    let (_, found) = measured(&[("sector_log", "2432KiB,aside=auto")]);
    let (found, expected) = (found.unwrap(), with_log / without_log);
    assert!((found / expected - 1.0).abs() < 0.08, "{found}, not {expected}");
}
