//! The figures that a fit changes, and how they make a profile.

use crate::fit::closed_loop::Job;
use crate::profile::{ArrayTimes, Profile};

/// The figures. Those that are known together and hard to tell apart are a sum and a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Dispatcher, firmware and the mean array time of a read together, in nanoseconds.
    pub total_ns: f64,
    /// Dispatcher, in nanoseconds.
    pub dispatch_ns: f64,
    /// The mean array time of a read, divided by the firmware's time.
    pub read_odds: f64,
    /// Differences between the array times of page types, as a multiple of those in the base.
    pub spread: f64,
    /// The mean array time of a program, in nanoseconds.
    pub program_ns: f64,
}

/// A figure that the search changes.
pub type Axis = fn(&mut Figures) -> &mut f64;

impl Figures {
    /// Figures from which the search begins: the latency of the smallest depth, and the largest
    /// throughput of reads.
    pub fn guess(base: &Profile, page_bytes: u32, jobs: &[Job]) -> Figures {
        let smallest = jobs.iter().min_by_key(|job| (job.load.writes, job.load.depth));
        let moving_ns = |job: &Job| {
            let page_ns = time_ns(page_bytes.into(), base.transfer);
            base.command_ns as f64 + page_ns + time_ns(job.load.bytes, base.link)
        };
        let total_ns = smallest.map_or(0.0, |job| job.measured.mean_ns - moving_ns(job));
        let reads = jobs.iter().filter(|job| !job.load.writes).map(|job| job.measured.iops);
        let most = reads.fold(1.0, f64::max);
        Figures {
            total_ns: total_ns.max(1_000.0),
            dispatch_ns: (0.9e9 / most).min(total_ns.max(1_000.0) / 2.0),
            read_odds: 2.0,
            spread: 1.0,
            program_ns: slowest_program(base, page_bytes, jobs),
        }
    }

    /// The same with one figure multiplied.
    pub fn scaled(mut self, axis: Axis, factor: f64) -> Figures {
        *axis(&mut self) *= factor;
        self
    }
}

/// Page types are not farther apart than this: p99 has other causes, too.
const SPREAD_MAX: f64 = 3.0;

/// Array times of a base that leaves them to the chip.
const READ_NS: u64 = 50_000;
const PROGRAM_NS: u64 = 500_000;

/// The program time if all dies programmed all the time under the load with the most writes, or
/// else that of the base. A shorter one would change nothing if something else is slower.
fn slowest_program(base: &Profile, page_bytes: u32, jobs: &[Job]) -> f64 {
    let pages = |job: &Job| job.load.bytes.div_ceil(page_bytes.into()) as f64;
    let writes = jobs.iter().filter(|job| job.load.writes);
    let most = writes.map(|job| job.measured.iops * pages(job)).fold(0.0, f64::max);
    let at_once = f64::from(base.planes) * f64::from(base.pages_at_once);
    let moving_ns = at_once * time_ns(page_bytes.into(), base.transfer);
    match f64::from(base.dies()) * at_once / most * 1e9 - moving_ns {
        program_ns if program_ns.is_finite() => program_ns.clamp(10_000.0, 10e9),
        _ => mean(&times(&base.program, PROGRAM_NS)),
    }
}

/// The array times of page types relative to their mean; those of programs only if they are
/// fitted.
#[derive(Clone, Debug)]
pub struct Shape {
    read: Vec<f64>,
    program: Option<Vec<f64>>,
}

impl Shape {
    /// The shape of a base. Programs are fitted if there are writes.
    pub fn of(base: &Profile, jobs: &[Job]) -> Shape {
        let has_writes = jobs.iter().any(|job| job.load.writes);
        Shape {
            read: relative(&times(&base.read, READ_NS)),
            program: has_writes.then(|| relative(&times(&base.program, PROGRAM_NS))),
        }
    }

    /// The figures about which the measurements say something.
    pub fn axes(&self, jobs: &[Job]) -> Vec<Axis> {
        let mut axes: Vec<Axis> =
            vec![|it| &mut it.total_ns, |it| &mut it.dispatch_ns, |it| &mut it.read_odds];
        let has_types = self.read.iter().any(|&share| share != 1.0);
        if has_types && jobs.iter().any(|job| job.measured.p99_ns.is_some()) {
            axes.push(|it| &mut it.spread);
        }
        if self.program.is_some() {
            axes.push(|it| &mut it.program_ns);
        }
        axes
    }

    /// The base with these figures, rounded to 10 ns.
    pub fn profile(&self, base: &Profile, figures: &Figures) -> Profile {
        let dispatch_ns = figures.dispatch_ns.min(0.95 * figures.total_ns);
        let rest_ns = figures.total_ns - dispatch_ns;
        let read_ns = rest_ns * figures.read_odds / (1.0 + figures.read_odds);
        let spread = figures.spread.min(SPREAD_MAX);
        let apart = |share: &f64| (1.0 + spread * (share - 1.0)).max(0.05);
        let program = self.program.as_ref().map(|program| {
            ArrayTimes::ByType(program.iter().map(|it| rounded(figures.program_ns * it)).collect())
        });
        Profile {
            firmware_ns: rounded(rest_ns - read_ns),
            dispatch_ns: rounded(dispatch_ns),
            read: ArrayTimes::ByType(
                self.read.iter().map(|share| rounded(read_ns * apart(share))).collect(),
            ),
            program: program.unwrap_or_else(|| base.program.clone()),
            ..base.clone()
        }
    }
}

fn times(times: &ArrayTimes, of_chip: u64) -> Vec<u64> {
    match times {
        ArrayTimes::OfChip => vec![of_chip],
        ArrayTimes::ByType(times) => times.clone(),
    }
}

fn mean(times: &[u64]) -> f64 {
    times.iter().map(|&time| time as f64).sum::<f64>() / times.len().max(1) as f64
}

/// Times divided by their mean.
fn relative(times: &[u64]) -> Vec<f64> {
    let mean = mean(times).max(1.0);
    times.iter().map(|&time| time as f64 / mean).collect()
}

fn time_ns(bytes: u64, rate: Option<u64>) -> f64 {
    rate.map_or(0.0, |rate| bytes as f64 / rate as f64 * 1e9)
}

/// A time of at most 10 s, the largest that a profile takes.
fn rounded(time_ns: f64) -> u64 {
    (time_ns.clamp(0.0, 10e9) / 10.0).round() as u64 * 10
}
