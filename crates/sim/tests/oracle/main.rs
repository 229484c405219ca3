//! The oracle as a bound: the spare from which no page is copied, the optimum on tiny devices, and
//! no scheme below it.

mod exhaustive;

use std::io::Write;

use ftl::registry;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::config::choices::Precondition;
use sim::sizing::mean_field;
use sim::{Experiment, RunOptions, RunResult, Setup, run};

fn ran(trace: &str, ftl: &str, change: impl Fn(&mut Experiment)) -> RunResult {
    let mut experiment = Experiment {
        trace: Some(trace.into()),
        ftl: ftl.into(),
        warmup: 0,
        ..Experiment::default()
    };
    change(&mut experiment);
    run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
}

fn figure(result: &RunResult, name: &str) -> f64 {
    let json = serde_json::to_value(result).unwrap();
    json["scheme"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {}", json["scheme"]))
}

/// Twenty times the capacity in a steady state, on a device of `blocks` logical blocks.
fn steady(workload: &str, blocks: u64, extra: u64, ftl: &str) -> RunResult {
    let pages = 64 * blocks;
    ran(&format!("{workload},writes={}", 20 * pages), ftl, |it| {
        it.capacity_bytes = Some(blocks * 64 * 2048);
        it.extra = Some(format!("{extra}blocks").parse().unwrap());
        it.measure_after = 6 * pages;
    })
}

#[test]
fn with_the_spare_of_the_law_nothing_is_copied_and_with_half_of_it_much_is() {
    let points = [
        ("uniform:seed=1", 512),
        ("uniform:seed=2", 768),
        ("skew:hot=80/20", 1024),
        ("zipf:theta=0.9", 1024),
    ];
    for (workload, blocks) in points {
        let oracle = "oracle:open=1000";
        let needed = figure(&steady(workload, blocks, blocks / 4, oracle), "needed_spare");
        let extra = (needed * blocks as f64).round() as u64;
        let above = steady(workload, blocks, extra, oracle).write_amplification.unwrap();
        let below = steady(workload, blocks, extra / 2, oracle).write_amplification.unwrap();
        assert!(above < 1.001, "{workload} on {blocks}: {above} with {extra} extra blocks");
        assert!(below > 1.05, "{workload} on {blocks}: {below} with {} extra blocks", extra / 2);
    }
}

/// Of schemes that do not know the future, greedy collection is the best on memoryless writes
/// (Yang, Misra and Rubenstein 2015), so T1 bounds them all. A scheme below it peeks, or loses
/// pages.
#[test]
fn on_uniform_writes_no_scheme_beats_t1_and_none_the_oracle() {
    let (blocks, extra) = (512, 80);
    let amplification =
        |ftl: &str| steady("uniform:seed=3", blocks, extra, ftl).write_amplification.unwrap();
    let t1 = mean_field::greedy(64, extra as f64 / blocks as f64);
    let oracle = amplification("oracle:open=6");
    assert!(oracle < 0.8 * t1, "an oracle with {oracle} knows nothing; T1 is {t1}");
    for scheme in registry::SCHEMES.iter().filter(|scheme| !scheme.needs_future) {
        let found = amplification(scheme.name);
        assert!(found > 0.99 * t1, "{}: {found}, but T1 is {t1}", scheme.name);
    }
}

/// Copies of the oracle for writes of single pages to a new device.
fn copies(pages_per_block: u64, logical_blocks: u64, extra: u64, writes: &[u8]) -> u64 {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for (at, page) in writes.iter().enumerate() {
        writeln!(file, "{at},host,0,Write,{},2048,0", u64::from(*page) * 2048).unwrap();
    }
    let result = ran(file.path().to_str().unwrap(), "oracle:open=8", |it| {
        it.chip = format!("slc-fast2010:pages_per_block={pages_per_block}");
        it.capacity_bytes = Some(logical_blocks * pages_per_block * 2048);
        it.extra = Some(format!("{extra}blocks").parse().unwrap());
        it.format = Some("msr".into());
        it.precondition = Precondition::None;
    });
    result.copies.total
}

/// With three blocks, one of which is the reserve, the oracle is not: it makes up to ten copies
/// more.
#[test]
fn on_tiny_devices_the_oracle_is_within_a_block_of_the_optimum() {
    const NP: u64 = 4;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    for (logical_blocks, extra) in [(2, 2), (1, 3)] {
        for _ in 0..8 {
            let page = || (rng.next_u32() % (NP * logical_blocks) as u32) as u8;
            let writes: Vec<u8> = std::iter::repeat_with(page).take(14).collect();
            let blocks = (logical_blocks + extra) as usize;
            let fewest = u64::from(exhaustive::fewest_copies(NP as usize, blocks, &writes));
            let found = copies(NP, logical_blocks, extra, &writes);
            assert!(found <= fewest + NP, "{writes:?}: {found} copies, {fewest} are enough");
        }
    }
}

#[test]
fn the_oracle_must_know_the_order_of_writes() {
    let mut experiment = Experiment {
        trace: Some("uniform:writes=2K".into()),
        ftl: "oracle".into(),
        capacity_bytes: Some(8 << 20),
        ..Experiment::default()
    };
    experiment = experiment.with("buffer", "1MiB").unwrap();
    let setup = Setup::new(&experiment).unwrap();
    let error = run(&setup, RunOptions::default()).unwrap_err().to_string();
    assert!(error.contains("oracle must know when pages die, but layers change"), "{error}");
}
