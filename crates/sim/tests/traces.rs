//! Every real trace runs on every scheme, verified sector by sector.
//!
//! The full matrix takes long: it has both shares of extra blocks, and enough requests to write
//! each device many times over. By default only a part of it runs: the first requests of each
//! trace, with one share of extra blocks for each trace and scheme. The shares alternate, so that
//! every scheme runs with each share on half of the traces.

#[path = "../../trace/tests/common/directory.rs"]
mod directory;
#[path = "../../trace/tests/common/shelf.rs"]
mod shelf;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ftl::device::block_bytes;
use shelf::Shelved;
use sim::config::choices::Fit;
use sim::config::experiment::Experiment;
use sim::config::values::Extra;
use sim::device::logical_blocks;
use sim::{Input, NoProgress, RunOptions, RunResult, Setup, run};

/// Shares of extra blocks; there are at least [`EXTRA_BLOCKS_MIN`].
const EXTRA: [&str; 2] = ["3%", "7%"];
const EXTRA_BLOCKS_MIN: u64 = 8;

/// A trace and the number of its requests that are replayed.
struct Case {
    path: PathBuf,
    shelved: Shelved,
    limit: u64,
}

impl Case {
    fn experiment(&self, ftl: &str) -> Experiment {
        Experiment {
            trace: Some(self.path.to_str().unwrap().to_owned()),
            format: (!self.shelved.format.is_empty()).then(|| self.shelved.format.to_owned()),
            skip_bad: self.shelved.skip_bad,
            ftl: ftl.to_owned(),
            limit: Some(self.limit),
            fit: Fit::Compact,
            warmup: 0,
            verify: true,
            ..Experiment::default()
        }
    }

    fn input(&self) -> Input {
        let setup = Setup::new(&self.experiment("page")).unwrap();
        Input::open(&setup, &NoProgress).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs under one scheme with one share of extra blocks.
    fn run(&self, input: &Input, scheme: &ftl::Scheme, share: &str) {
        let mut experiment = self.experiment(scheme.name);
        let extra = extra_blocks(&Setup::new(&experiment).unwrap(), input, share);
        experiment.extra = Some(Extra::Blocks(extra));
        let setup = Setup::new(&experiment).unwrap();
        let result = run(&setup, RunOptions { input: Some(input), ..RunOptions::default() });
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", self.shelved.file));
        self.assert_sane(&result);
        println!(
            "{:50} {:6} {share} {:>7} requests, write amplification {:.3}",
            self.shelved.file,
            scheme.name,
            result.trace.requests,
            result.write_amplification.unwrap_or(0.0)
        );
    }

    /// What must hold for a whole trace beside the laws, which every run asserts.
    fn assert_sane(&self, result: &RunResult) {
        let (file, trace, pages) = (&self.shelved.file, &result.trace, &result.host_pages);
        assert!(trace.requests > 0, "{file} has no requests");
        let malformed = trace.skipped.get("malformed").is_some();
        assert!(!malformed || self.shelved.skip_bad, "{file}: {:?}", trace.skipped);
        assert!(pages.written * 2048 >= trace.written_bytes, "{file}: pages are missing");
        assert!(
            trace.footprint_pages <= pages.written + pages.read,
            "{file}: too large a footprint"
        );
    }
}

/// The share of the blocks that the trace needs, but at least as many as the scheme needs.
fn extra_blocks(setup: &Setup, input: &Input, share: &str) -> u64 {
    let Setup { chip, ftl: choice, .. } = setup;
    let logical = logical_blocks(chip, input.needed_bytes()).unwrap();
    assert!(logical * block_bytes(chip) >= input.needed_bytes());
    let least = (choice.scheme.least_extra)(&choice.params, chip, logical as u32);
    let extra = Extra::of(Some(share.parse().unwrap()), logical);
    extra.max(EXTRA_BLOCKS_MIN).max(least.into())
}

/// All traces with a limit of requests, the largest files first.
fn cases(directory: &Path, limit: u64) -> Vec<Case> {
    let case = |shelved: Shelved| Case { path: directory.join(&shelved.file), shelved, limit };
    let mut cases: Vec<Case> = shelf::all(directory).into_iter().map(case).collect();
    let size = |case: &Case| std::fs::metadata(&case.path).unwrap().len();
    cases.sort_by_key(|case| std::cmp::Reverse(size(case)));
    cases
}

/// All schemes, or those that `FTLAB_SCHEMES` lists.
fn schemes() -> Vec<&'static ftl::Scheme> {
    let Ok(only) = std::env::var("FTLAB_SCHEMES") else { return ftl::SCHEMES.to_vec() };
    let named = |name| ftl::Choice::from_spec(&spec::Spec::plain(name)).unwrap().scheme;
    only.split(',').map(named).collect()
}

/// Calls `check` with every case, on all cores; a panic ends the test.
fn for_each(cases: &[Case], check: impl Fn(usize, &Case) + Sync) {
    let next = AtomicUsize::new(0);
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        cases.get(index).map(|case| (index, case))
    };
    let work = || {
        while let Some((index, case)) = take() {
            check(index, case);
        }
    };
    let cores = std::thread::available_parallelism().unwrap();
    std::thread::scope(|scope| (0..cores.get()).for_each(|_| _ = scope.spawn(work)));
}

#[test]
fn the_first_requests_of_every_real_trace_survive_every_scheme() {
    let Some(directory) = directory::traces() else { return };
    for_each(&cases(&directory, 300), |index, case| {
        let input = case.input();
        for (number, scheme) in schemes().into_iter().enumerate() {
            case.run(&input, scheme, EXTRA[(index + number) % EXTRA.len()]);
        }
    });
}

#[test]
#[ignore = "hundreds of runs of 200,000 requests"]
fn every_real_trace_survives_every_scheme_with_few_and_many_extra_blocks() {
    let Some(directory) = directory::traces() else { return };
    for_each(&cases(&directory, 200_000), |_, case| {
        let input = case.input();
        for scheme in schemes() {
            EXTRA.iter().for_each(|share| case.run(&input, scheme, share));
        }
    });
}
