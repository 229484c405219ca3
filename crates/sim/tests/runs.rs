//! Whole runs: the same inputs give the same bytes, verifying changes no count, errors give
//! reasons.

use std::io::Write;

use ftl::Durability;
use serde_json::Value;
use sim::config::choices::{Fit, FlushMode, Timing, TrimMode};
use sim::config::experiment::Experiment;
use sim::config::replay::Replay;
use sim::config::values::{Extra, Interval, Volume};
use sim::{Error, Progress, RunOptions, RunResult, Setup, Stage, run};

const SCHEMES: [&str; 4] =
    ["page", "page:victim=cost_benefit,frontiers=2", "page:victim=dchoices,d=3", "block"];

/// A small device with enough load to collect garbage.
fn small(ftl: &str) -> Experiment {
    Experiment {
        trace: Some("skew:writes=20K,hot=80/20,reads=20%,request=3KiB".into()),
        ftl: ftl.into(),
        capacity_bytes: Some(8 << 20),
        ..Experiment::default()
    }
}

/// A result without the part that differs from run to run.
fn lasting(result: &RunResult) -> Value {
    let mut value = serde_json::to_value(result).unwrap();
    value.as_object_mut().unwrap().remove("wall").expect("there is a wall part");
    value
}

/// Runs an experiment without any options.
fn plain_run(experiment: &Experiment) -> sim::Result<RunResult> {
    run(&Setup::new(experiment)?, RunOptions::default())
}

fn ran(experiment: &Experiment) -> RunResult {
    plain_run(experiment).unwrap_or_else(|error| panic!("{}: {error}", experiment.ftl))
}

/// A trace file in SPC form: unit, sector, bytes, operation, seconds.
fn spc(lines: &str) -> (tempfile::NamedTempFile, Experiment) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    let trace = Some(file.path().to_str().unwrap().to_owned());
    (file, Experiment { trace, warmup: 0, ..Experiment::default() })
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    for ftl in SCHEMES {
        let experiment = Experiment { interval: Some(Interval::Every(1000)), ..small(ftl) };
        let text = |experiment| serde_json::to_string(&lasting(&ran(experiment))).unwrap();
        assert_eq!(text(&experiment), text(&experiment), "{ftl}");
        let other = Experiment { seed: 2, ..experiment.clone() };
        assert_ne!(text(&experiment), text(&other), "{ftl}: the seed changes nothing");
    }
}

#[test]
fn verifying_finds_nothing_and_changes_nothing() {
    for ftl in SCHEMES {
        for (durability, buffer) in [
            (Durability::Paper, "none"),
            (Durability::Full, "none"),
            (Durability::Full, "16KiB"),
            (Durability::Paper, "1MiB,reads=true,evict=run"),
        ] {
            let plain = Experiment { durability, ..small(ftl) }.with("buffer", buffer).unwrap();
            let verified = Experiment { verify: true, ..plain.clone() };
            let (plain, verified) = (lasting(&ran(&plain)), lasting(&ran(&verified)));
            assert_eq!(plain, verified, "{ftl}, {durability}, buffer {buffer}");
        }
    }
}

#[test]
fn every_field_of_the_contract_is_there() {
    let result = lasting(&ran(&Experiment { replay: Replay::OPEN, ..small("page") }));
    let fields = [
        "schema",
        "run",
        "ftl",
        "device",
        "layers",
        "trace",
        "host_pages",
        "reads",
        "programs",
        "erases",
        "copies",
        "spare_reads",
        "merges",
        "write_amplification",
        "write_amplification_bytes",
        "write_amplification_course",
        "time_us",
        "open_replay",
        "service_us",
        "increment_us",
        "histograms",
        "response_us",
        "drive",
        "series",
        "tenants",
        "wear",
        "endurance",
        "ram_bytes",
        "scheme",
        "notes",
    ];
    let found: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(found, fields);
    assert_eq!(result["schema"], "ftlab.run/1");
    assert_eq!(result["ftl"]["params"]["victim"], "greedy");
    assert_eq!(result["layers"]["buffer"], Value::Null);
    assert_eq!(result["run"]["durability"], "paper");
    let (service, response) = (&result["service_us"]["write"], &result["response_us"]["write"]);
    assert_eq!(service["count"], response["count"]);
    assert!(response["mean"].as_f64() >= service["mean"].as_f64());
}

/// So a result does not change when a scheme gets another one.
#[test]
fn parameters_without_a_default_are_there_only_if_given() {
    let of = |ftl| serde_json::to_value(ran(&small(ftl))).unwrap()["ftl"]["params"].clone();
    let (usual, given) = (of("faster"), of("faster:sequential=offset0"));
    assert_eq!((usual.get("sequential"), given["sequential"].as_str()), (None, Some("offset0")));
    assert_eq!(usual["merges_per_write"], given["merges_per_write"]);
}

#[test]
fn a_trace_counted_by_hand_gives_the_same_counts() {
    // A write of two pages, a write of a quarter page, a read of two pages, and a read of a page
    // that was never written.
    let (_file, experiment) =
        spc("0,0,4096,W,0.0\n0,1,512,W,0.1\n0,0,4096,R,0.2\n0,40,512,R,0.3\n");
    let fresh = Experiment { precondition: sim::config::choices::Precondition::None, ..experiment };
    let result = ran(&fresh);
    assert_eq!((result.trace.reads, result.trace.writes, result.trace.requests), (2, 2, 4));
    assert_eq!((result.trace.written_bytes, result.trace.read_bytes), (4608, 4608));
    assert_eq!(result.trace.footprint_pages, 3);
    assert_eq!((result.host_pages.written, result.host_pages.read), (3, 3));
    assert_eq!((result.programs.host, result.programs.total), (3, 3));
    assert_eq!((result.reads.host, result.reads.rmw), (2, 1));
    assert_eq!(result.write_amplification, Some(1.0));
    assert_eq!(result.write_amplification_bytes, Some(3.0 * 2048.0 / 4608.0));
    assert_eq!(result.time_us.total, 3.0 * 200.0 + 3.0 * 25.0);
    let writes = &result.service_us.write;
    assert_eq!((writes.mean, writes.stddev), (Some(312.5), Some(87.5)));
    assert_eq!((writes.p50, writes.max), (Some(225.023), Some(400.0)));
    assert_eq!(result.service_us.read.max, Some(50.0));
    // The only increment is the read that completes the page of the quarter.
    assert_eq!((result.increment_us.write.count, result.increment_us.write.max), (2, Some(25.0)));
    assert_eq!((result.increment_us.read.count, result.increment_us.read.max), (2, Some(0.0)));
}

#[test]
fn requests_wait_in_an_open_replay_or_behind_others_of_a_deep_queue() {
    let (_file, experiment) = spc("0,0,2048,W,0.0\n0,0,2048,W,0.0001\n0,0,2048,W,1.0\n");
    let mean = |replay: &str| {
        let replay = replay.parse().unwrap();
        ran(&Experiment { replay, ..experiment.clone() }).response_us.map(|us| us.write.mean)
    };
    assert_eq!(mean("open"), Some(Some((200.0 + 300.0 + 200.0) / 3.0)));
    assert_eq!(mean("open:speed=100"), Some(Some((200.0 + 399.0 + 200.0) / 3.0)));
    assert_eq!(mean("closed:depth=2"), Some(Some((200.0 + 400.0 + 400.0) / 3.0)));
    assert_eq!(mean("closed:depth=9"), Some(Some((200.0 + 400.0 + 600.0) / 3.0)));
    assert_eq!(mean("closed:depth=1"), None);
}

#[test]
fn a_queue_that_grows_to_the_end_is_noted_with_both_rates() {
    let says_so = |result: &RunResult| {
        result.notes.iter().any(|note| note.starts_with("Requests came faster ("))
    };
    for timing in [Timing::Serial, Timing::Drive] {
        // 10,000 requests a second; a write of `page` takes 0.2 ms and more on this chip.
        let open = |replay: &str| {
            let (trace, replay) = (Some("oltp:requests=2K".into()), replay.parse().unwrap());
            let drive = Some("sata-tlc".into()).filter(|_| timing == Timing::Drive);
            let chip = "slc-k9wag".into();
            let capacity_bytes = Some(16 << 20);
            let experiment = Experiment { trace, replay, timing, drive, ..Experiment::default() };
            ran(&Experiment { chip, capacity_bytes, ..experiment })
        };
        let keeps_up = open("open:speed=0.02");
        let rates = keeps_up.open_replay;
        let (offered, served) = (rates.offered_iops.unwrap(), rates.served_iops.unwrap());
        assert!((offered / 200.0 - 1.0).abs() < 0.01, "{timing:?}: {offered}");
        assert!((served / offered - 1.0).abs() < 0.01 && !says_so(&keeps_up), "{timing:?}");
        let grows = open("open:speed=100");
        let rates = grows.open_replay;
        assert!(rates.served_iops.unwrap() < 0.5 * rates.offered_iops.unwrap(), "{timing:?}");
        assert!(says_so(&grows), "{timing:?}: {:?}", grows.notes);
        let closed = open("closed:depth=8");
        assert_eq!(closed.open_replay.offered_iops, None);
        assert!(!says_so(&closed));
    }
}

#[test]
fn flushes_reach_the_scheme_or_are_only_counted() {
    // A discard, a flush of its own, a write with a preflush, and a durable write.
    let text = "8,0 0 1 0.0 1 D D 0 64\n8,0 0 2 0.1 1 D FN\n8,0 0 3 0.2 1 D FWS 0 8\n\
                8,0 0 4 0.3 1 D D 64 64\n8,0 0 5 0.4 1 D WFS 8 8\n";
    let (_file, experiment) = spc(text);
    let full = Experiment { durability: Durability::Full, verify: true, ..experiment };
    let honoured = ran(&full);
    assert_eq!((honoured.trace.flushes, honoured.trace.trims), (1, 2));
    assert_eq!((honoured.trace.preflushes, honoured.trace.fua), (2, 1));
    assert_eq!(honoured.host_pages.trimmed, 32);
    // The first record is a checkpoint with its seal.
    assert_eq!(honoured.programs.meta, 3, "the next flush records each trim");
    let ignored = ran(&Experiment { flush: FlushMode::Ignore, ..full });
    assert_eq!((ignored.trace.flushes, ignored.programs.meta), (1, 0));
}

/// Writes in a row, with a discard of half of what was written after every eighth.
fn lines_with_trims(with_trims: bool) -> String {
    let line = |n: u64| {
        let write = format!("8,0 0 {n} {n}.0 1 D W {} 8\n", n * 7919 % 512 * 8);
        let trim = format!("8,0 0 {n} {n}.5 1 D D {} 2048\n", n % 16 / 8 * 2048);
        if with_trims && n.is_multiple_of(8) { write + &trim } else { write }
    };
    (0..4000).map(line).collect()
}

#[test]
fn ignored_trims_are_only_counted() {
    for ftl in ["page", "oracle", "fast"] {
        let [(_with, trimming), (_without, plain)] =
            [true, false].map(|with_trims| spc(&lines_with_trims(with_trims)));
        let [trimming, plain] = [trimming, plain].map(|it| Experiment { ftl: ftl.into(), ..it });
        let ignoring = Experiment { trim: TrimMode::Ignore, verify: true, ..trimming.clone() };
        let [trimmed, ignored, plain] = [trimming, ignoring, plain].map(|it| ran(&it));
        assert_eq!((ignored.trace.trims, ignored.host_pages.trimmed), (500, 0), "{ftl}");
        assert_eq!(ignored.programs.total, plain.programs.total, "{ftl}");
        assert!(trimmed.programs.total <= plain.programs.total, "{ftl}: trims save copies");
        assert!(ftl != "page" || trimmed.programs.total < plain.programs.total);
        let of = |result: &RunResult| lasting(result)["run"]["trim"].clone();
        assert_eq!((of(&ignored), of(&trimmed)), ("ignore".into(), Value::Null), "{ftl}");
    }
}

#[test]
fn partial_trims_do_nothing() {
    let (_file, experiment) =
        spc("8,0 0 1 0.0 1 D W 0 64\n8,0 0 2 0.1 1 D D 1 3\n8,0 0 3 0.2 1 D D 1 8\n");
    let result = ran(&Experiment { verify: true, ..experiment });
    assert_eq!((result.trace.trims, result.trace.trims_of_no_page), (2, 1));
    assert_eq!(result.host_pages.trimmed, 1);
}

#[test]
fn other_volumes_and_empty_requests_are_counted_and_skipped() {
    let (_file, experiment) = spc("0,0,2048,W,0.0\n1,0,2048,W,0.1\n1,0,0,W,0.2\n1,8,4096,R,0.3\n");
    let all = ran(&experiment);
    assert_eq!((all.trace.requests, all.trace.writes), (4, 2));
    assert_eq!(
        (all.device.logical_blocks, all.trace.skipped["zero-length"].as_u64()),
        (2, Some(1))
    );
    let one = ran(&Experiment { volume: Volume::Named("0".into()), ..experiment });
    assert_eq!((one.trace.requests, one.trace.writes, one.trace.reads), (4, 1, 0));
    assert_eq!(one.trace.skipped["other volume"].as_u64(), Some(2));
}

#[test]
fn addresses_beyond_the_capacity_stop_the_run_or_are_made_to_fit() {
    let (_file, experiment) = spc("0,0,2048,W,0.0\n0,1020,4096,W,0.1\n0,5000000,2048,W,0.2\n");
    let small = Experiment { capacity_bytes: Some(512 << 10), ..experiment };
    let error = plain_run(&small).unwrap_err();
    assert!(matches!(error, Error::BeyondCapacity { number: 2, end: 526_336, .. }), "{error}");
    assert_eq!(error.exit_code(), 1);
    let wrapped = ran(&Experiment { fit: Fit::Wrap, verify: true, ..small.clone() });
    assert_eq!((wrapped.host_pages.written, wrapped.trace.footprint_pages), (4, 3));
    let compact = ran(&Experiment { fit: Fit::Compact, verify: true, ..small });
    assert_eq!((compact.host_pages.written, compact.trace.footprint_pages), (4, 4));
}

#[test]
fn samples_add_up_to_the_whole() {
    let result = ran(&Experiment { interval: Some(Interval::Every(100)), ..small("page") });
    let series = result.series.unwrap();
    assert_eq!(series.requests.len() as u64, result.trace.requests / 100);
    assert_eq!(series.erases.iter().sum::<u64>(), result.erases.total);
}

#[test]
fn too_few_extra_blocks_are_refused_with_both_numbers() {
    let experiment = Experiment { extra: Some(Extra::Blocks(1)), ..small("page") };
    let error = plain_run(&experiment).unwrap_err();
    assert_eq!(error.to_string(), "page needs at least 2 extra blocks, this device has 1");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn progress_is_reported_in_every_stage_and_can_stop_the_run() {
    struct Stopper {
        at: Stage,
    }
    impl Progress for Stopper {
        fn report(&self, stage: Stage, _: u64, _: Option<u64>) -> sim::Result<()> {
            if stage == self.at { Err(Error::Interrupted) } else { Ok(()) }
        }
    }
    let (_file, experiment) = spc("0,0,2048,W,0.0\n");
    let experiment = Experiment { warmup: 2, verify: true, ..experiment };
    for at in [Stage::Survey, Stage::Fill, Stage::WarmUp(2), Stage::Measure, Stage::ReadBack] {
        let options = RunOptions { progress: &Stopper { at }, ..RunOptions::default() };
        let error = run(&Setup::new(&experiment).unwrap(), options).unwrap_err();
        assert_eq!(error.exit_code(), 130, "{at:?}");
    }
}

#[test]
fn long_fills_and_sorting_can_be_stopped_on_their_way() {
    /// Stops at the report with this number in a stage.
    struct Patient(Stage, std::cell::Cell<u32>);
    impl Progress for Patient {
        fn report(&self, stage: Stage, done: u64, _: Option<u64>) -> sim::Result<()> {
            let left = self.1.get() - u32::from(stage == self.0);
            self.1.set(left);
            if left == 0 && stage == Stage::Survey {
                assert_eq!(done, 0, "nothing is delivered before everything is sorted");
            }
            if left == 0 { Err(Error::Interrupted) } else { Ok(()) }
        }
    }
    let stopped = |experiment: &Experiment, at: Stage, reports: u32| {
        let progress = Patient(at, std::cell::Cell::new(reports));
        let options = RunOptions { progress: &progress, ..RunOptions::default() };
        run(&Setup::new(experiment).unwrap(), options).unwrap_err().exit_code()
    };
    let trace = Some("uniform:writes=1".to_owned());
    let chip = "slc-fast2010:page=512,pages_per_block=60".to_owned();
    let large = Experiment { trace, chip, capacity_bytes: Some(1 << 30), ..Experiment::default() };
    assert_eq!(stopped(&large, Stage::Fill, 3), 130);
    let lines: String = (0..400_000).map(|n| format!("0,0,512,W,{n}.0\n")).collect();
    let (_file, experiment) = spc(&lines);
    let sorted = Experiment { sort: true, ..experiment };
    assert_eq!(stopped(&sorted, Stage::Survey, 3), 130);
}

#[test]
fn a_run_with_measure_after_counts_the_rest_exactly() {
    for replay in [Replay::CLOSED, Replay::OPEN] {
        let whole = Experiment { warmup: 0, replay, ..small("page:victim=fifo") };
        let first = Experiment { limit: Some(9000), ..whole.clone() };
        let rest = Experiment { measure_after: 9000, ..whole.clone() };
        let [whole, first, rest] = [whole, first, rest].map(|experiment| ran(&experiment));
        assert_eq!(whole.programs.total, first.programs.total + rest.programs.total);
        assert_eq!(whole.reads.total, first.reads.total + rest.reads.total);
        assert_eq!(whole.host_pages.written, first.host_pages.written + rest.host_pages.written);
        assert_eq!(whole.wear, rest.wear, "wear is counted since the device was new");
        assert_eq!((rest.trace.requests, whole.trace.requests), (25_000, 25_000));
        assert_eq!(rest.trace.skipped["not measured"].as_u64(), Some(9000));
        if let (Some(whole), Some(rest)) = (&whole.response_us, &rest.response_us) {
            assert_eq!(whole.write.max, rest.write.max, "requests are queued when counting begins");
        }
    }
}

#[test]
fn the_operation_log_has_every_operation_that_is_counted() {
    for ftl in SCHEMES {
        let experiment = Experiment { measure_after: 100, ..small(ftl) };
        let mut log = Vec::new();
        let options = RunOptions { operation_log: Some(&mut log), ..RunOptions::default() };
        let result = run(&Setup::new(&experiment).unwrap(), options).unwrap();
        assert_eq!(lasting(&result), lasting(&ran(&experiment)), "logging changes a figure");
        let log = String::from_utf8(log).unwrap();
        let mut lines = log.lines();
        assert!(lines.next().unwrap().starts_with("# ftlab operations 1: "));
        let mut counts = std::collections::HashMap::new();
        let mut last = 0;
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            let [request, op, cause, place, owner] = fields[..] else { panic!("{line}") };
            let (request, _): (u64, u32) = (request.parse().unwrap(), place.parse().unwrap());
            assert!(request >= last.max(101) && request <= 25_000, "{line}");
            assert_eq!(owner == "-", op == "erase", "{line}");
            last = request;
            *counts.entry((op.to_owned(), cause.to_owned())).or_insert(0) += 1;
        }
        let kinds =
            [("read", result.reads), ("program", result.programs), ("erase", result.erases)];
        for (op, causes) in kinds {
            for (cause, count) in causes.iter() {
                let logged = counts.get(&(op.to_owned(), cause.to_owned())).copied().unwrap_or(0);
                assert_eq!(logged, count, "{ftl}: {op} {cause}");
            }
        }
        assert!(result.erases.total > 0, "{ftl} erases nothing, so the test shows little");
    }
}

#[test]
fn a_buffer_absorbs_writes_and_reports_them() {
    // Writes of page 0, page 0, and pages 1 and 2: a buffer of two pages evicts page 0.
    let lines = "0,0,2048,W,0.0\n0,0,512,W,0.1\n0,4,4096,W,0.2\n0,0,2048,R,0.3\n";
    let (_file, experiment) = spc(lines);
    let experiment = Experiment {
        precondition: sim::config::choices::Precondition::None,
        dram_access_ns: 1000,
        ..experiment
    };
    let result = ran(&experiment.with("buffer", "4KiB").unwrap());
    assert_eq!((result.trace.writes, result.host_pages.written), (3, 1));
    assert_eq!((result.programs.host, result.reads.host), (1, 1));
    let buffer = result.layers.get("buffer").unwrap();
    assert_eq!((&buffer["size"], &buffer["evict"]), (&4096.into(), &"page".into()));
    assert_eq!((&buffer["waiting"], &buffer["write_hit_ratio"]), (&2.into(), &0.25.into()));
    assert_eq!((result.ram_bytes.buffer, result.layers.get("sector_log")), (4096, None));
    // Four writes into the buffer and one out of it.
    assert_eq!(result.time_us.dram, 5.0);
    assert_eq!(result.time_us.total, 200.0 + 25.0 + 5.0);
    assert_eq!(result.service_us.write.max, Some(200.0 + 3.0));
}

#[test]
fn flushes_drain_a_buffer_unless_they_are_ignored() {
    let file = "0,0,2048,W,0.0\n0,4,2048,W,0.1\n";
    let (_file, experiment) = spc(file);
    let precondition = sim::config::choices::Precondition::None;
    let buffered = Experiment { precondition, ..experiment }.with("buffer", "1MiB").unwrap();
    assert_eq!(ran(&buffered).programs.host, 0);
    let mut flushes = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
    // blkparse: a write, a write with forced unit access, a write, and a flush.
    let lines = "8,0 0 1 0.0 1 Q W 0 + 4 [x]\n8,0 0 2 0.1 1 Q WFS 8 + 4 [x]\n\
                 8,0 0 3 0.2 1 Q W 16 + 4 [x]\n8,0 0 4 0.3 1 Q FN [x]\n";
    flushes.write_all(lines.as_bytes()).unwrap();
    let trace = Some(flushes.path().to_str().unwrap().to_owned());
    let forced = Experiment { trace, format: Some("blkparse".into()), ..buffered };
    let result = ran(&forced);
    let drained = |result: &RunResult| result.layers.get("buffer").unwrap()["drained"].clone();
    assert_eq!((drained(&result), result.host_pages.written), (3.into(), 3), "{:?}", result.trace);
    let ignored = ran(&Experiment { flush: FlushMode::Ignore, ..forced });
    assert_eq!((drained(&ignored), ignored.trace.flushes), (0.into(), result.trace.flushes));
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    let why = |buffer: &str| {
        let error =
            small("page").with("buffer", buffer).and_then(|experiment| plain_run(&experiment));
        let error = error.unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string()
    };
    assert!(why("1KiB").contains("are less than a page of 2048"));
    assert!(why("0").contains("or `none`"));
    assert!(why("1MiB,evict=all").contains("`page`, `run`"));
}

/// A device of 8 MiB with a DRAM budget of 64 KiB.
fn divided(ftl: &str, split: &str) -> Experiment {
    let experiment = Experiment {
        trace: Some("skew:writes=6K,hot=80/20,reads=20%,request=3KiB".into()),
        extra: Some(Extra::Blocks(12)),
        ..small(ftl)
    };
    experiment.with("dram", "64KiB").unwrap().with("split", split).unwrap()
}

#[test]
fn a_split_budget_changes_no_data_and_its_boundary_is_in_the_series() {
    for ftl in ["dftl", "fast"] {
        for split in ["0%", "30%", "100%", "adaptive:interval=100,max_step=5%"] {
            let plain = Experiment { interval: Some(Interval::Every(500)), ..divided(ftl, split) };
            let verified = Experiment { verify: true, ..plain.clone() };
            let (plain, verified) = (ran(&plain), ran(&verified));
            assert_eq!(lasting(&plain), lasting(&verified), "{ftl}, {split}");
            let shares = &plain.series.as_ref().unwrap().scheme["map_share"];
            let moves = shares.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(moves > 0, split.starts_with("adaptive"), "{ftl}, {split}: {shares:?}");
            let part = plain.layers.get("split").unwrap();
            assert_eq!(part["map_share"].as_f64(), shares.last().copied());
            assert!(plain.layers.get("buffer").unwrap()["write_hits"].is_number());
            let ram = plain.ram_bytes;
            assert!(ram.map + ram.cache + ram.buffer <= 64 << 10 || split == "0%", "{ram:?}");
        }
    }
}

#[test]
fn adapting_follows_the_seed_and_nothing_else() {
    let adaptive = divided("dftl", "adaptive:interval=50,max_step=5%");
    let text = |seed| {
        let trace = Some("skew:writes=6K,hot=80/20,reads=20%,seed=1".into());
        let experiment = Experiment { seed, trace, ..adaptive.clone() };
        serde_json::to_string(&lasting(&ran(&experiment))).unwrap()
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2), "the ghost of the map draws from the seed");
}

#[test]
fn budgets_that_cannot_be_split_are_refused() {
    let why = |experiment: Experiment| {
        let error = plain_run(&experiment).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string()
    };
    assert!(why(divided("page", "30%")).contains("the map of page has a fixed size"));
    assert!(why(divided("dftl:cmt=8KiB", "30%")).contains("`cmt` of dftl follows"));
    let buffered = divided("dftl", "30%").with("buffer", "1MiB").unwrap();
    assert!(why(buffered).contains("leave `--buffer` out"));
    let without_dram = small("dftl").with("split", "30%").unwrap();
    assert!(why(without_dram).contains("`--dram` is missing"));
}
