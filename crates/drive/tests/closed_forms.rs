//! The drive against formulas of queueing theory, and against what its parts can do at most.

use drive::{Answer, Drive, HostRequest, Issued, Profile};
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PAGES_PER_BLOCK: u32 = 1024;
const BLOCKS: u32 = 400;
const PAGE: u64 = 2048;

fn drive(profile: &str) -> Drive {
    let profile: Profile = profile.parse().unwrap();
    let order = ProgramOrder::Ascending;
    let geometry = Geometry::new(PAGE as u32, 64, PAGES_PER_BLOCK, BLOCKS, order).unwrap();
    Drive::new(&profile, &geometry, Timing::ZERO)
}

fn request(op: trace::Op) -> HostRequest {
    HostRequest { op, bytes: PAGE, force: false, memory_ns: 0, load: 0 }
}

fn page(op: Op, place: u32) -> Issued {
    Issued::new(op, Cause::Host, place)
}

struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn new() -> Draws {
        Draws(Xoshiro256PlusPlus::seed_from_u64(7))
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    fn page(&mut self) -> u32 {
        (self.unit() * f64::from(PAGES_PER_BLOCK * BLOCKS)) as u32
    }
}

/// Finishes the drive, checks its laws, and returns the answers that were left.
fn finished(drive: &mut Drive) -> Vec<Answer> {
    drive.finish();
    drive.usage().check_laws().unwrap();
    std::iter::from_fn(|| drive.next_answer(u64::MAX)).collect()
}

/// Requests per second of a closed loop with `depth` requests outstanding.
fn closed_loop(
    drive: &mut Drive,
    depth: u64,
    requests: u64,
    mut next: impl FnMut(u64) -> (HostRequest, Issued),
) -> f64 {
    for number in 0..requests {
        let at_ns = match number < depth {
            true => drive.now_ns(),
            false => drive.next_answer(u64::MAX).expect("an answer").answered_ns,
        };
        let (request, operation) = next(number);
        drive.submit(at_ns, request, &[operation]);
    }
    finished(drive);
    requests as f64 / drive.usage().seconds()
}

fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = found / expected - 1.0;
    assert!(error.abs() <= tolerance, "{what}: {found} is not {expected}, {:+.2} %", 100.0 * error);
}

/// Waits of Poisson arrivals at dies with constant service, in µs, ascending.
fn waits(utilisation: f64, requests: u64) -> Vec<f64> {
    const DIES: f64 = 4.0;
    let mut drive = drive("ideal:channels=4,stripe=1,read=50us");
    let (mut draws, mut at, mut waits) = (Draws::new(), 0.0, Vec::new());
    let wait = |answer: Answer| (answer.response_ns() - 50_000) as f64 / 1000.0;
    for _ in 0..requests {
        at += draws.exponential(50_000.0 / utilisation / DIES);
        waits.extend(std::iter::from_fn(|| drive.next_answer(at as u64)).map(wait));
        drive.submit(at as u64, request(trace::Op::Read), &[page(Op::Read, draws.page())]);
    }
    waits.extend(finished(&mut drive).into_iter().map(wait));
    waits.sort_by(f64::total_cmp);
    waits
}

/// The share of waits of at most `t` in M/D/1, with time in units of the service (Crommelin 1932).
fn crommelin(utilisation: f64, t: f64) -> f64 {
    let mut factorial = 1.0;
    let terms = (0..=t as u32).map(|k| {
        factorial *= f64::from(k.max(1));
        let x = utilisation * (t - f64::from(k));
        (-x).powi(k as i32) / factorial * x.exp()
    });
    (1.0 - utilisation) * terms.sum::<f64>()
}

/// The wait that this share of requests does not exceed, by bisection.
fn crommelin_percentile(utilisation: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match crommelin(utilisation, middle) < share {
            true => low = middle,
            false => high = middle,
        }
    }
    50.0 * low
}

#[test]
fn waits_of_poisson_arrivals_are_those_of_m_d_1() {
    for (utilisation, requests) in
        [(0.3, 4_000_000), (0.5, 4_000_000), (0.7, 4_000_000), (0.8, 8_000_000)]
    {
        let waits = waits(utilisation, requests);
        assert_eq!(waits.len() as u64, requests);
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let expected = 50.0 * utilisation / (2.0 * (1.0 - utilisation));
        assert_close(&format!("mean at {utilisation}"), mean, expected, 0.005);
        for share in [0.9, 0.99, 0.999] {
            let found = waits[(share * waits.len() as f64) as usize];
            let expected = crommelin_percentile(utilisation, share);
            assert_close(&format!("p{share} at {utilisation}"), found, expected, 0.02);
        }
    }
}

/// Array times of 1024 page types: the means of the 1024 parts of an exponential distribution.
fn exponential_times(mean_us: f64) -> String {
    let integral = |x: f64| if x >= 1.0 { 0.0 } else { (1.0 - x) * (1.0 - (1.0 - x).ln()) };
    let mean = |k: u32| {
        let (from, to) = (f64::from(k) / 1024.0, f64::from(k + 1) / 1024.0);
        (integral(from) - integral(to)) * 1024.0 * mean_us * 1000.0
    };
    (0..PAGES_PER_BLOCK).map(|k| format!("{:.0}ns", mean(k))).collect::<Vec<_>>().join("+")
}

#[test]
fn a_closed_loop_of_exponential_services_has_its_exact_throughput() {
    let times = exponential_times(50.0);
    for (depth, dies) in [(4, 8.0), (16, 8.0), (64, 8.0)] {
        let mut drive = drive(&format!("ideal:channels=8,stripe=1,read={times}"));
        let mut draws = Draws::new();
        let found = closed_loop(&mut drive, depth, 1_000_000, |_| {
            (request(trace::Op::Read), page(Op::Read, draws.page()))
        });
        let queued = depth as f64;
        let expected = dies * queued / (dies + queued - 1.0) / 50e-6;
        assert_close(&format!("depth {depth}"), found, expected, 0.005);
    }
}

#[test]
fn constant_services_are_between_exponential_ones_and_the_bound() {
    for depth in [1, 4, 8, 32] {
        let mut drive = drive("ideal:channels=8,stripe=1,read=50us");
        let mut draws = Draws::new();
        let found = closed_loop(&mut drive, depth, 200_000, |_| {
            (request(trace::Op::Read), page(Op::Read, draws.page()))
        });
        let queued = depth as f64;
        let least = 8.0 * queued / (8.0 + queued - 1.0) / 50e-6;
        let most = queued.min(8.0) / 50e-6;
        assert!((0.995 * least..=1.0001 * most).contains(&found), "{least} {found} {most}");
    }
}

#[test]
fn writes_and_reads_on_one_channel_are_limited_by_channel_or_ways() {
    let (transfer, program, read): (f64, f64, f64) = (20.48e-6, 200e-6, 60e-6);
    for ways in [1u32, 4, 8, 16] {
        let profile = format!("ideal:ways={ways},transfer=100MB/s,program=200us,read=60us");
        let in_turn = |number: u64| (number % u64::from(PAGES_PER_BLOCK * BLOCKS)) as u32;
        for (op, own, array) in
            [(trace::Op::Write, Op::Program, program), (trace::Op::Read, Op::Read, read)]
        {
            let mut drive = drive(&profile);
            let depth = 4 * u64::from(ways);
            let found = closed_loop(&mut drive, depth, 200_000, |number| {
                (request(op), page(own, in_turn(number)))
            });
            let expected = (1.0 / transfer).min(f64::from(ways) / (transfer + array));
            assert_close(&format!("{op:?}, {ways} ways"), found, expected, 0.001);
        }
    }
}

/// Writes to pages that are then read while they are still in the buffer, or are being programmed,
/// beside reads of several planes: nothing may be lost.
#[test]
fn reads_and_buffered_writes_beside_each_other_obey_the_laws() {
    let mut drive = drive(
        "zoned-nvme:channels=2,ways=1,program=200us,buffer=256KiB,protected=false,dispatch=0ns",
    );
    let (mut draws, mut written) = (Draws::new(), 0);
    closed_loop(&mut drive, 16, 40_000, |number| match number % 4 {
        0 if written < PAGES_PER_BLOCK * BLOCKS => {
            written += 1;
            let force = draws.unit() < 0.05;
            let write = HostRequest { force, ..request(trace::Op::Write) };
            (write, page(Op::Program, written - 1))
        }
        _ => {
            let recent = written.min(64);
            let back = (draws.unit() * f64::from(recent)) as u32;
            (request(trace::Op::Read), page(Op::Read, written.max(1) - 1 - back.min(written - 1)))
        }
    });
    let usage = drive.usage();
    assert!(usage.read_from_buffer > 1000, "{} reads from the buffer", usage.read_from_buffer);
    assert!(usage.dies.iter().all(|die| die.suspensions > 0), "no suspension");
    assert!(usage.dies.iter().all(|die| die.saved_ns > 0), "no command of several pages");
}

/// Answer times in µs of reads that are issued together at time 0.
fn answered(profile: &str, pages: &[u32]) -> Vec<u64> {
    let mut drive = drive(profile);
    for &ppn in pages {
        drive.submit(0, request(trace::Op::Read), &[page(Op::Read, ppn)]);
    }
    finished(&mut drive).iter().map(|answer| answer.answered_ns / 1000).collect()
}

#[test]
fn a_die_reads_pages_of_several_planes_together_but_not_of_one() {
    let planes = "ideal:planes=2,order=PCWD,read=50us";
    // The die has begun the first read when the others come.
    assert_eq!(answered(planes, &[4, 0, 1]), [50, 100, 100], "the same page of two planes");
    assert_eq!(answered(planes, &[4, 0, 2]), [50, 100, 150], "two pages of one plane");
    assert_eq!(answered(planes, &[4, 0, 0]), [50, 100, 150], "the same page twice");
    assert_eq!(answered(planes, &[4, 0, 3]), [50, 100, 150], "another page of the other plane");
}

/// Two programs on two dies take the time of one, and of two with a barrier between them, unless
/// the drive completes them without power.
#[test]
fn a_barrier_costs_the_time_that_dies_stand_idle() {
    let second = page(Op::Program, PAGES_PER_BLOCK);
    let took_us = |more: &str, after_all: bool| {
        let mut drive = drive(&format!("ideal:ways=2,stripe=1,program=200us{more}"));
        let programs = [page(Op::Program, 0), Issued { after_all, ..second }];
        drive.submit(0, request(trace::Op::Write), &programs);
        finished(&mut drive)[0].response_ns() / 1000
    };
    assert_eq!(took_us("", false), 200);
    assert_eq!(took_us("", true), 400);
    assert_eq!(took_us(",protected=true", true), 200);
}
