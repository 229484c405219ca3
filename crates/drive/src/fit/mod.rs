//! Figures of a drive from measurements of random reads, and of writes if there are any.
//!
//! ```text
//! depth 1           dispatcher + firmware + array = the mean, less transfer and link
//! largest depth     dispatcher, if the rest of the drive could do more
//! depths between    array against firmware: requests wait for the array, but not for firmware
//! p99               how far the page types are apart
//! writes            the program time
//! ```
//! A base profile gives the rest: the number of dies, and the rates of channels and link. The
//! search changes one figure at a time and keeps what brings the model closer; its steps become
//! smaller. Every candidate serves all loads in the model itself, always with the same random
//! places, so that the same measurements give the same figures.

mod closed_loop;
mod figures;

use crate::fit::figures::{Axis, Figures, Shape};
use crate::profile::Profile;

pub use closed_loop::{Job, Load, Measured, measure, page_bytes};

/// Requests of a load while steps are large, and while they are small.
const REQUESTS: [u64; 2] = [3_000, 12_000];
/// Relative steps: the first of each phase, and the one at which it ends.
const STEPS: [[f64; 2]; 2] = [[0.3, 0.03], [0.03, 0.003]];
/// The search ends after this number of candidates in each phase.
const CANDIDATES_MAX: u32 = 200;

/// The base with figures whose model is close to the measurements.
///
/// # Panics
/// There is no job, or a depth or size is 0.
pub fn fit(base: &Profile, jobs: &[Job]) -> Profile {
    assert!(!jobs.is_empty(), "there is nothing to fit");
    let page_bytes = page_bytes(jobs.iter().map(|job| job.load));
    let shape = Shape::of(base, jobs);
    let axes = shape.axes(jobs);
    let cost = |figures: &Figures, requests: u64| {
        mismatch(&shape.profile(base, figures), page_bytes, jobs, requests)
    };
    let guess = Figures::guess(base, page_bytes, jobs);
    let guesses = [0.5, 2.0, 8.0].map(|read_odds| Figures { read_odds, ..guess });
    let costs = guesses.map(|figures| cost(&figures, REQUESTS[0]));
    let nearest = (0..guesses.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
    let mut figures = guesses[nearest.unwrap_or(0)];
    for (requests, steps) in REQUESTS.into_iter().zip(STEPS) {
        figures = search(figures, &axes, steps, |candidate| cost(candidate, requests));
    }
    shape.profile(base, &figures)
}

/// Changes one figure at a time by a step, as long as that helps, and then halves the step.
fn search(
    start: Figures,
    axes: &[Axis],
    [mut step, last_step]: [f64; 2],
    cost: impl Fn(&Figures) -> f64,
) -> Figures {
    let (mut best, mut best_cost, mut candidates) = (start, cost(&start), 0);
    while step >= last_step && candidates < CANDIDATES_MAX {
        let mut is_better = false;
        for &axis in axes {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let candidate = best.scaled(axis, factor);
                let candidate_cost = cost(&candidate);
                candidates += 1;
                if candidate_cost < best_cost {
                    (best, best_cost, is_better) = (candidate, candidate_cost, true);
                    break;
                }
            }
        }
        if !is_better {
            step /= 2.0;
        }
    }
    best
}

/// The weight of a percentile; that of IOPS is 1. The mean follows from IOPS and depth.
const P99_WEIGHT: f64 = 0.1;

/// How far the model is from the measurements: the mean of relative errors.
fn mismatch(profile: &Profile, page_bytes: u32, jobs: &[Job], requests: u64) -> f64 {
    let errors = jobs.iter().map(|job| {
        let pages = job.load.bytes.div_ceil(page_bytes.into());
        let model = measure(profile, page_bytes, job.load, (requests / pages).max(500));
        let p99 = match (model.p99_ns, job.measured.p99_ns) {
            (Some(model), Some(measured)) => P99_WEIGHT * relative_error(model, measured),
            _ => 0.0,
        };
        relative_error(model.iops, job.measured.iops) + p99
    });
    errors.sum::<f64>() / jobs.len() as f64
}

/// The size of a relative error. Small errors count by their square, so that all of them become
/// equally small; large ones do not, so that one load that the model cannot reach spoils no other.
fn relative_error(model: f64, measured: f64) -> f64 {
    const SMALL: f64 = 0.1;
    (model / measured).ln().hypot(SMALL) - SMALL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(profile: &Profile, loads: impl Iterator<Item = (bool, u32, u64)>) -> Vec<Job> {
        let load = |(writes, depth, bytes)| Load { writes, depth, bytes };
        let job = |load| Job { load, measured: measure(profile, 4096, load, 30_000) };
        loads.map(load).map(job).collect()
    }

    fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
        let error = found / expected - 1.0;
        assert!(error.abs() <= tolerance, "{what}: {found} is not {expected}");
    }

    const DEPTHS: [u32; 6] = [1, 4, 8, 16, 32, 64];

    #[test]
    fn known_figures_are_found_again() {
        let geometry = "ideal:channels=4,ways=4,transfer=400MB/s,link=2000MB/s";
        let truth = format!("{geometry},firmware=25us,dispatch=7us,read=40us+60us+80us");
        let truth: Profile = truth.parse().unwrap();
        let base: Profile = format!("{geometry},read=20us+25us+30us").parse().unwrap();
        let found = fit(&base, &jobs(&truth, DEPTHS.map(|depth| (false, depth, 4096)).into_iter()));
        assert_close("firmware", found.firmware_ns as f64, 25_000.0, 0.04);
        assert_close("dispatch", found.dispatch_ns as f64, 7_000.0, 0.02);
        for (type_, expected) in [40_000.0, 60_000.0, 80_000.0].into_iter().enumerate() {
            let read_ns = found.array_ns(nand::Op::Read, type_ as u32, &nand::Timing::ZERO);
            assert_close(&format!("read {type_}"), read_ns as f64, expected, 0.04);
        }
        assert_eq!(found.program, base.program);
    }

    #[test]
    fn writes_give_the_program_time() {
        let geometry = "ideal:channels=4,ways=4,transfer=400MB/s,buffer=1MiB,acknowledge=buffer";
        let truth = format!("{geometry},firmware=25us,dispatch=7us,read=60us,program=500us");
        let base: Profile = geometry.parse().unwrap();
        let loads = DEPTHS.map(|depth| (false, depth, 4096)).into_iter();
        let jobs = jobs(&truth.parse().unwrap(), loads.chain([(true, 32, 8192)]));
        let found = fit(&base, &jobs);
        let program_ns = found.array_ns(nand::Op::Program, 0, &nand::Timing::ZERO);
        assert_close("program", program_ns as f64, 500_000.0, 0.02);
        assert_close("firmware", found.firmware_ns as f64, 25_000.0, 0.04);
    }
}
