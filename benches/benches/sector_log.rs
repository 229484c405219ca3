//! What a sector log costs the simulator: the same requests with and without it, above `page`.
//!
//! *Runs* are whole ones of the simulator, under a load like Financial: look-ups must not make them
//! take half as long again, 0.67x. For the others the map is full of pages when the rounds begin.
//! *Passing* are reads and writes of whole pages, most of which look up what is not there, and
//! nothing but the FTL's work: here look-ups weigh most. *Logged* are writes of half a page with
//! reads among them. There the flash does other work, too, so what is compared is flash operations.
//!
//! `cargo bench -p ftlab-benches --bench sector_log`

use ftl::Layers;
use ftlab_benches::bare::PAGES_PER_BLOCK;
use ftlab_benches::simulated::{Ask, Simulated};
use ftlab_benches::{Contender, Dice, compare};
use sim::{Experiment, Input, NoProgress, RunOptions, Setup, run};

const LOGICAL_BLOCKS: u32 = 16_384;
const PAGES: u32 = LOGICAL_BLOCKS * PAGES_PER_BLOCK;
const EXTRA_BLOCKS: u32 = 1_147;
const REQUESTS: u32 = 400_000;

/// A device with a log of this size, filled, then worn in by writes of half pages.
fn worn_in(sector_log: &str) -> Simulated {
    let layers = Layers::from_texts(&[("sector_log", sector_log)]).expect("a size");
    let mut device = Simulated::filled_under(&layers, "page", LOGICAL_BLOCKS, EXTRA_BLOCKS);
    let mut dice = Dice::new(1);
    device.serve(1_000_000, || (Ask::Patch, dice.below(PAGES)));
    device
}

fn compared(title: &str, unit: &str, ask: impl Fn(u32) -> Ask + Copy) {
    let by_requests = unit == "requests";
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, size) in [("no log", "none"), ("32 MiB", "32MiB"), ("128 MiB", "128MiB")] {
        let mut device = worn_in(size);
        let mut dice = Dice::new(2);
        let round = move || {
            let before = device.operations();
            device.serve(REQUESTS, || (ask(dice.below(8)), dice.below(PAGES)));
            if by_requests { u64::from(REQUESTS) } else { device.operations() - before }
        };
        contenders.push((name, Box::new(round)));
    }
    compare(title, unit, &mut contenders);
}

/// Whole runs, the filling of the device included.
fn runs() {
    let experiment = |sector_log: &str| {
        let trace = Some("financial:writes=500K".into());
        let experiment = Experiment { trace, warmup: 0, ..Experiment::default() };
        experiment.with("sector_log", sector_log).expect("a size")
    };
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, size) in [("no log", "none"), ("32 MiB", "32MiB"), ("128 MiB", "128MiB")] {
        let setup = Setup::new(&experiment(size)).expect("a setup");
        let input = Input::open(&setup, &NoProgress).expect("a workload");
        let round = move || {
            let options = RunOptions { input: Some(&input), ..RunOptions::default() };
            run(&setup, options).expect("a run").trace.requests
        };
        contenders.push((name, Box::new(round)));
    }
    compare("runs: financial, 500K writes", "requests", &mut contenders);
}

fn main() {
    compared(
        "passing: half reads, half writes of whole pages, 2 GiB",
        "requests",
        |dice| match dice {
            0..4 => Ask::Read,
            _ => Ask::Write,
        },
    );
    compared("logged: half reads, half writes of half a page, 2 GiB", "operations", |dice| {
        match dice {
            0..4 => Ask::Read,
            _ => Ask::Patch,
        }
    });
    runs();
}
