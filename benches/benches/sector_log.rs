//! The cost of a sector log in the simulator: the same requests with and without it, above `page`.
//!
//! Three comparisons. *Runs* are whole runs of the simulator with a workload like Financial; with a
//! log they must reach at least 0.67 of the rate. *Passing* requests read and write whole pages.
//! Most of their look-ups find nothing, and only the FTL is measured, so look-ups weigh most here.
//! *Logged* requests read pages and write half pages. The log makes the flash do other work, so
//! flash operations are compared. For the last two, the log is filled before the rounds begin.
//!
//! `cargo bench -p ftlab-benches --bench sector_log`

use ftl::Layers;
use ftlab_benches::bare_loop::PAGES_PER_BLOCK;
use ftlab_benches::simulated_device::{PageRequest, SimulatedDevice};
use ftlab_benches::{Contender, XorShift, compare};
use sim::{Experiment, Input, NoProgress, RunOptions, Setup, run};

const LOGICAL_BLOCKS: u32 = 16_384;
const PAGES: u32 = LOGICAL_BLOCKS * PAGES_PER_BLOCK;
const EXTRA_BLOCKS: u32 = 1_147;
const REQUESTS: u32 = 400_000;

/// A device with a log of this size, after a million writes of half pages.
fn used_device(sector_log: &str) -> SimulatedDevice {
    let layers = Layers::from_texts(&[("sector_log", sector_log)]).expect("the size is valid");
    let mut device = SimulatedDevice::filled_under(&layers, "page", LOGICAL_BLOCKS, EXTRA_BLOCKS);
    let mut rng = XorShift::new(1);
    device.serve(1_000_000, || (PageRequest::PartialWrite, rng.below(PAGES)));
    device
}

fn compare_requests(title: &str, unit: &str, request: impl Fn(u32) -> PageRequest + Copy) {
    let by_requests = unit == "requests";
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, size) in [("no log", "none"), ("32 MiB", "32MiB"), ("128 MiB", "128MiB")] {
        let mut device = used_device(size);
        let mut rng = XorShift::new(2);
        let round = move || {
            let before = device.operations();
            device.serve(REQUESTS, || (request(rng.below(8)), rng.below(PAGES)));
            if by_requests { u64::from(REQUESTS) } else { device.operations() - before }
        };
        contenders.push((name, Box::new(round)));
    }
    compare(title, unit, &mut contenders);
}

/// Compares whole runs, which include the filling of the device.
fn compare_runs() {
    let experiment = |sector_log: &str| {
        let trace = Some("financial:writes=500K".into());
        let experiment = Experiment { trace, warmup: 0, ..Experiment::default() };
        experiment.with("sector_log", sector_log).expect("the size is valid")
    };
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, size) in [("no log", "none"), ("32 MiB", "32MiB"), ("128 MiB", "128MiB")] {
        let setup = Setup::new(&experiment(size)).expect("the setup is valid");
        let input = Input::open(&setup, &NoProgress).expect("the workload exists");
        let round = move || {
            let options = RunOptions { input: Some(&input), ..RunOptions::default() };
            run(&setup, options).expect("the run succeeds").trace.requests
        };
        contenders.push((name, Box::new(round)));
    }
    compare("runs: financial, 500K writes", "requests", &mut contenders);
}

fn main() {
    compare_requests("passing: half reads, half writes of whole pages, 2 GiB", "requests", |rng| {
        match rng {
            0..4 => PageRequest::Read,
            _ => PageRequest::Write,
        }
    });
    compare_requests(
        "logged: half reads, half writes of half a page, 2 GiB",
        "operations",
        |rng| match rng {
            0..4 => PageRequest::Read,
            _ => PageRequest::PartialWrite,
        },
    );
    compare_runs();
}
