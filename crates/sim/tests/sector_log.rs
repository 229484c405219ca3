//! Runs with a sector log: its metrics agree with each other, and with runs without a log.

use ftl::Durability;
use serde_json::{Map, Value};
use sim::config::experiment::Experiment;
use sim::{Error, RunOptions, RunResult, Setup, run};

/// A device with 4 KiB pages. Writes are half a page or shorter, most of them to a small part of
/// it.
fn small(ftl: &str, sector_log: &str) -> Experiment {
    let experiment = Experiment {
        trace: Some("skew:writes=20K,hot=80/20,reads=20%,request=1536".into()),
        ftl: ftl.into(),
        chip: "mlc-k9gag:pages_per_block=32".into(),
        capacity_bytes: Some(16 << 20),
        ..Experiment::default()
    };
    experiment.with("sector_log", sector_log).unwrap()
}

/// Runs an experiment without any options.
fn plain_run(experiment: &Experiment) -> sim::Result<RunResult> {
    run(&Setup::new(experiment)?, RunOptions::default())
}

fn ran(experiment: &Experiment) -> RunResult {
    plain_run(experiment).unwrap_or_else(|error| panic!("{}: {error}", experiment.ftl))
}

fn refused(experiment: &Experiment) -> Error {
    plain_run(experiment).unwrap_err()
}

fn log(result: &RunResult) -> &Map<String, Value> {
    result.layers.get("sector_log").unwrap()
}

fn figure(result: &RunResult, name: &str) -> f64 {
    log(result)[name].as_f64().unwrap_or_else(|| panic!("{name}: {:?}", log(result)[name]))
}

#[test]
fn verifying_finds_nothing_with_any_scheme() {
    let schemes = ["page", "dac", "dftl:cmt=4KiB", "block", "bast", "fast", "faster", "last"];
    for (ftl, durability) in
        schemes.into_iter().zip([Durability::Paper, Durability::Full].repeat(4))
    {
        for buffer in ["none", "64KiB"] {
            let plain =
                Experiment { durability, limit: Some(4000), warmup: 0, ..small(ftl, "256KiB") };
            let plain = plain.with("buffer", buffer).unwrap();
            let verified = ran(&Experiment { verify: true, ..plain.clone() });
            let counts = |result: RunResult| (result.programs, result.reads, log(&result).clone());
            assert_eq!(counts(ran(&plain)), counts(verified), "{ftl}, {durability}, {buffer}");
        }
    }
}

/// SL §4.4 with measured sizes of evictions: writes fall to (1−u) + u·s0/N + u·(1−h)·s0/s.
#[test]
fn writes_follow_from_hits_and_sizes_of_evictions() {
    for (size, request) in [("512KiB", "1536"), ("1MiB", "2560"), ("2MiB", "6KiB")] {
        let trace = format!("skew:writes=60K,hot=80/20,request={request}");
        let experiment = Experiment { trace: Some(trace), ..small("page", size) };
        let [without, with] =
            ["0", size].map(|size| ran(&experiment.clone().with("sector_log", size).unwrap()));
        let [whole, part] = ["Writes_full", "Writes_subpage"].map(|name| figure(&without, name));
        let u = part / (whole + part);
        let s0 = figure(&without, "sectors_per_eviction");
        assert_eq!(s0, figure(&with, "sectors_per_subpage_write"));
        let [h, s] = ["subpage_hit_ratio", "sectors_per_eviction"].map(|name| figure(&with, name));
        let n = figure(&with, "sectors_per_page");
        let expected = (1.0 - u) + u * s0 / n + u * (1.0 - h) * s0 / s;
        let programs = |result: &RunResult| result.programs.host + result.programs.log;
        let measured = programs(&with) as f64 / programs(&without) as f64;
        assert!((measured / expected - 1.0).abs() < 0.01, "{size}: {measured}, {expected}");
        let [counted, by_hits] =
            ["writes_over_base", "writes_over_base_by_hits"].map(|name| figure(&with, name));
        assert_eq!(counted, measured);
        assert!((by_hits / expected - 1.0).abs() < 1e-12, "{size}: {by_hits}, {expected}");
        assert!(log(&without).get("writes_over_base").is_none_or(Value::is_null));
        assert!(h > 0.05 && s >= s0, "{size}: {h} {s} {s0} {measured}");
    }
}

/// Writes of whole pages remove sectors from the log, and flushes program pages that are not full.
#[test]
fn effects_that_this_equation_ignores_are_counted() {
    let trace = "financial:writes=40K,space=48MiB,flushes=20%";
    let experiment = Experiment {
        trace: Some(trace.into()),
        capacity_bytes: Some(64 << 20),
        ..small("page", "2MiB")
    };
    let result = ran(&experiment);
    let off = |name| figure(&result, name) / figure(&result, "writes_over_base") - 1.0;
    let [by_hits, by_all] = ["writes_over_base_by_hits", "writes_over_base_by_all"].map(off);
    assert!(by_hits.abs() > 0.02 && by_all.abs() < 0.01, "{by_hits} {by_all}");
    assert!(figure(&result, "padding_sectors") > 0.0);
    assert!(figure(&result, "left_sectors") > figure(&result, "evicted_sectors"));
}

#[test]
fn blocks_of_the_log_are_added_or_taken_from_the_extra_blocks() {
    let added = ran(&small("page", "1MiB"));
    let device = &added.device;
    assert_eq!((device.logical_blocks, device.extra_blocks, device.sector_log_blocks), (128, 9, 8));
    let taken = ran(&Experiment {
        extra: Some("20blocks".parse().unwrap()),
        ..small("page", "1MiB,from=extra")
    });
    assert_eq!((taken.device.extra_blocks, taken.device.sector_log_blocks), (12, 8));
    let few =
        Experiment { extra: Some("8blocks".parse().unwrap()), ..small("page", "1MiB,from=extra") };
    assert!(refused(&few).to_string().contains("this device has 0"), "{}", refused(&few));
    let fewer = Experiment { extra: Some("7blocks".parse().unwrap()), ..few };
    assert!(refused(&fewer).to_string().contains("leaves none"), "{}", refused(&fewer));
}

/// The page buffer and the map of the log take their memory from the write buffer.
#[test]
fn buffer_and_map_share_one_budget() {
    let buffered = small("page", "2MiB").with("buffer", "256KiB").unwrap();
    let result = ran(&buffered);
    let map = figure(&result, "map_bytes") as u64;
    assert_eq!((result.ram_bytes.sector_map, result.ram_bytes.total > 0), (map, true));
    let pages = ((256 << 10) - 4096 - map) / 4096;
    assert_eq!(result.layers.get("buffer").unwrap()["pages_max"], pages);
    assert!(map > 4 * 512 && pages < 63, "{map} bytes of map leave {pages} pages");
    // If the buffer is too small for the map, the log is cleaned early to keep the map small.
    let poor = ran(&small("page", "2MiB").with("buffer", "16KiB").unwrap());
    assert!(figure(&poor, "early_cleanings") > 0.0);
    assert!(figure(&poor, "map_bytes") <= 8192.0);
}

#[test]
fn wear_is_spread_over_the_whole_device() {
    let result = ran(&small("page:victim=fifo", "512KiB"));
    assert!(figure(&result, "exchanges") > 100.0);
    assert_eq!(figure(&result, "exchanges"), figure(&result, "cleanings"));
    // Without exchanges the four blocks of the log would take all its erases.
    let mean = result.erases.log as f64 / f64::from(result.device.sector_log_blocks);
    assert!(mean > 50.0 && result.wear.max - result.wear.min < 5, "{:?} {mean}", result.wear);
}
