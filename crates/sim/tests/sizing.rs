//! The least extra blocks that a search finds are those of a sweep over every number around them.

#[path = "../../trace/tests/common/directory.rs"]
mod directory;

use std::num::NonZeroUsize;

use sim::config::choices::Fit;
use sim::config::experiment::Experiment;
use sim::device::logical_blocks;
use sim::sizing::falling::falling;
use sim::sizing::mean_field;
use sim::sizing::probe::{Care, Probe, probe, with_care};
use sim::sizing::search::{Curve, Grid, least_extra};
use sim::{Input, NoProgress, RunOptions, Setup, parallel_runs};

/// A trace on a device, and runs on it.
struct Sized {
    setup: Setup,
    input: Input,
    logical_blocks: u64,
}

impl Sized {
    fn of(experiment: &Experiment) -> Sized {
        let setup = Setup::new(experiment).unwrap();
        let input = Input::open(&setup, &NoProgress).unwrap_or_else(|error| panic!("{error}"));
        let capacity = experiment.capacity_bytes.unwrap_or(input.needed_bytes());
        let logical_blocks = logical_blocks(&setup.chip, capacity).unwrap();
        Sized { setup, input, logical_blocks }
    }

    fn runs(&self, care: Care, blocks: &[u64]) -> sim::Result<Vec<Probe>> {
        let jobs = NonZeroUsize::new(2).unwrap();
        let setup = with_care(&self.setup, care);
        parallel_runs::in_order(blocks.len(), jobs, |index, _| {
            let options = RunOptions { input: Some(&self.input), ..RunOptions::default() };
            probe(&setup, blocks[index], options)
        })
    }

    fn searched(&self, target: f64) -> Curve {
        let grid = Grid { step: 1, most: self.logical_blocks, is_fixed: false };
        least_extra(target, grid, |care, blocks| self.runs(care, blocks)).unwrap()
    }

    /// Where the falling curve through the runs with all these numbers meets the target.
    fn swept(&self, target: f64, from: u64, to: u64) -> u64 {
        let blocks: Vec<u64> = (from..=to).collect();
        let probes = self.runs(Care::Settled, &blocks).unwrap();
        let costs: Vec<f64> = probes.iter().map(|it| it.write_amplification.unwrap()).collect();
        let missed = falling(&costs).iter().filter(|&&cost| cost > target).count();
        assert!(missed > 0, "too few extra blocks miss the target");
        from + missed as u64
    }

    /// Asserts that search and sweep agree, and that the sweep's answer is in the range.
    fn assert_found(&self, target: f64) -> u64 {
        let curve = self.searched(target);
        let least = curve.least().unwrap_or_else(|| panic!("{target} is not reached"));
        let found = least.extra_blocks;
        assert!(least.meets(target) && found > 5, "{least:?}");
        let step = self.logical_blocks.div_ceil(100);
        let swept = self.swept(target, found - 2 * step, found + 2 * step);
        let (from, to) = curve.range().unwrap();
        println!("{found}, {from} to {to:?}, sweep {swept}: {:?}", self.setup.experiment.trace);
        assert!(found.abs_diff(swept) <= step, "{found}, sweep {swept}");
        assert!((from..=to.unwrap()).contains(&swept), "{from} to {to:?}, sweep {swept}");
        assert!(curve.probes().count() < 45, "{} runs", curve.probes().count());
        found
    }
}

fn steady(experiment: Experiment) -> Experiment {
    Experiment { warmup: 0, until: Some("steady".parse().unwrap()), ..experiment }
}

#[test]
fn a_workload_needs_what_a_sweep_and_theory_say() {
    let trace = Some("uniform:writes=300K".to_owned());
    let chip = "slc-fast2010:page=512,pages_per_block=16".to_owned();
    let capacity_bytes = Some(1000 * 16 * 512);
    let sized =
        Sized::of(&steady(Experiment { trace, chip, capacity_bytes, ..Experiment::default() }));
    assert_eq!(sized.logical_blocks, 1000);
    let found = sized.assert_found(2.0) as f64;
    let theory = 1000.0 * mean_field::spare_of_greedy(16, 2.0).unwrap();
    assert!((found / theory - 1.0).abs() < 0.03, "{found} blocks, in theory {theory}");
}

/// Only part of the device is hot, so the curve is not that of theory.
#[test]
fn a_real_trace_needs_what_a_sweep_says() {
    let Some(traces) = directory::traces() else { return };
    let path = traces.join("msr/rsrch_1.csv.zst");
    let trace = Some(path.to_str().unwrap().to_owned());
    let fit = Fit::Compact;
    let sized = Sized::of(&steady(Experiment { trace, fit, ..Experiment::default() }));
    let found = sized.assert_found(3.0);
    println!("{found} extra of {} blocks", sized.logical_blocks);
}

#[test]
fn a_target_that_no_size_reaches_has_no_answer() {
    let trace = Some("uniform:writes=40K".to_owned());
    let experiment = Experiment { trace, capacity_bytes: Some(8 << 20), ..Experiment::default() };
    let sized = Sized::of(&experiment);
    let grid = Grid { step: 1, most: 10, is_fixed: true };
    let curve = least_extra(1.5, grid, |care, blocks| sized.runs(care, blocks)).unwrap();
    assert!(curve.least().is_none());
    let (largest, _) = curve.probes().last().unwrap();
    assert!(largest.extra_blocks == 10 && largest.write_amplification > Some(1.5));
    // Below its least number the FTL refuses to work, which is a point of the curve.
    let few = sized.runs(Care::Quick, &[0]).unwrap();
    assert!(few[0].refused.as_ref().is_some_and(|why| why.contains("at least")), "{few:?}");
}

#[test]
fn a_trace_without_writes_needs_nothing() {
    let trace = Some("uniform:requests=1K,reads=100%".to_owned());
    let experiment = Experiment { trace, capacity_bytes: Some(8 << 20), ..Experiment::default() };
    let error = Sized::of(&experiment).runs(Care::Quick, &[10]).unwrap_err();
    assert!(error.to_string().contains("needs no extra blocks"), "{error}");
}
