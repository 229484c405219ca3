//! Runs that end in a steady state measure what a run with a fixed warm-up measures.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::Value;
use sim::config::choices::{Precondition, Timing};
use sim::config::experiment::Experiment;
use sim::config::values::Extra;
use sim::memory::MemoryBudget;
use sim::{RunOptions, RunResult, Setup, run};

/// 4,096 logical pages.
const PAGES: u64 = 4096;

fn steady(trace: &str, rule: &str) -> Experiment {
    Experiment {
        trace: Some(trace.into()),
        capacity_bytes: Some(PAGES * 2048),
        warmup: 0,
        until: Some(rule.parse().unwrap()),
        ..Experiment::default()
    }
}

fn tried(experiment: &Experiment) -> sim::Result<RunResult> {
    run(&Setup::new(experiment)?, RunOptions::default())
}

fn ran(experiment: &Experiment) -> RunResult {
    tried(experiment).unwrap_or_else(|error| panic!("{error}"))
}

/// The figures of a result that do not say how it was measured.
fn measured(result: &RunResult) -> Value {
    let mut value = serde_json::to_value(result).unwrap();
    let fields = value.as_object_mut().unwrap();
    for field in ["wall", "run", "steady", "notes"] {
        fields.remove(field);
    }
    let trace = fields["trace"].as_object_mut().unwrap();
    for field in ["name", "requests", "skipped", "backward_times"] {
        trace.remove(field);
    }
    value
}

/// A trace file in SPC form.
fn file(lines: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    file
}

fn name(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().unwrap()
}

/// With writes of a page, a round has as many requests as the device has pages.
#[test]
fn the_window_is_measured_like_a_part_of_a_pass() {
    for (ftl, trace, buffer) in [
        ("page", "uniform:writes=110K", "none"),
        ("faster", "uniform:writes=110K", "none"),
        ("page", "zipf:writes=110K", "256KiB"),
    ] {
        let mut experiment = steady(trace, "steady").with("buffer", buffer).unwrap();
        experiment.ftl = ftl.into();
        experiment.interval = Some("500".parse().unwrap());
        let result = ran(&experiment);
        let part = result.steady.as_ref().unwrap();
        assert!(part.reached && part.rounds >= 6, "{ftl}: {part:?}");
        assert_eq!((part.rounds - part.first_measured, part.round_pages), (4, PAGES));
        let fixed = Experiment {
            until: None,
            measure_after: PAGES * u64::from(part.first_measured - 1),
            limit: Some(PAGES * u64::from(part.rounds)),
            ..experiment
        };
        let fixed = ran(&fixed);
        assert!(measured(&result) == measured(&fixed), "{ftl}");
        assert_eq!(result.trace.requests, 5 * PAGES);
        if buffer == "none" {
            let mean = part.mean.unwrap();
            let whole = result.write_amplification.unwrap();
            assert!((mean - whole).abs() < 1e-12, "rounds are equally long: {mean} {whole}");
        }
    }
}

/// The rounds before the window count as well: those of the first run are those of a run that ends
/// after them.
#[test]
fn each_round_has_its_own_write_amplification() {
    let result = ran(&steady("uniform:writes=110K", "steady"));
    let rounds = &result.steady.as_ref().unwrap().write_amplification;
    for (round, amplification) in rounds.iter().enumerate() {
        let fixed = Experiment {
            until: None,
            measure_after: PAGES * round as u64,
            limit: Some(PAGES * (round as u64 + 1)),
            ..steady("uniform:writes=110K", "steady")
        };
        assert_eq!(*amplification, ran(&fixed).write_amplification, "round {round}");
    }
    assert!(rounds[0] < rounds[4], "the first round is cheap: {rounds:?}");
}

/// Lines of requests of several sizes, two of which have no bytes.
fn lines(requests: u64) -> String {
    let mut text = String::from("0,0,0,W,0.0\n");
    let mut state = 1u64;
    for n in 0..requests {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (page, pages) = ((state >> 33) % (PAGES - 8), 1 + (state >> 20) % 7);
        let op = if n % 5 == 0 { 'R' } else { 'W' };
        writeln!(text, "0,{},{},{op},{}.5", page * 4, pages * 2048, n).unwrap();
    }
    text
}

#[test]
fn a_short_trace_is_repeated_as_if_it_were_longer() {
    let short = lines(700);
    let long: String = (0..60).map(|_| &*short).collect();
    let [short, long] = [short, long].map(|text| file(&text));
    let [short, long] = [&short, &long].map(|file| ran(&steady(name(file), "steady:round=70%")));
    assert!(measured(&short) == measured(&long));
    assert_eq!(short.steady, long.steady);
    let is_repeated = |result: &RunResult| result.notes.iter().any(|it| it.contains("repeated"));
    assert!(is_repeated(&short) && !is_repeated(&long));
    assert!(short.steady.is_some_and(|part| part.reached && part.round_pages == 2868));
    assert!(short.trace.requests > 5 * 700, "a window has several repetitions");
    assert_eq!(short.trace.skipped["zero-length"].as_u64(), Some(1));
    assert_eq!(long.trace.skipped["zero-length"].as_u64(), Some(60));
}

/// `block` makes 64 copies for each of 10,000 writes a second. In a closed replay none would wait.
fn overloaded() -> Experiment {
    Experiment {
        ftl: "block".into(),
        chip: "slc-k9wag".into(),
        capacity_bytes: Some(256 << 20),
        extra: Some(Extra::Blocks(12)),
        timing: Timing::Drive,
        drive: Some("sata-tlc".into()),
        replay: "open".parse().unwrap(),
        ..steady("oltp:requests=40K", "steady")
    }
}

#[test]
fn rounds_end_before_a_growing_queue_takes_all_memory() {
    let result = ran(&overloaded());
    let said = |part: &str| result.notes.iter().any(|note| note.contains(part));
    assert!(said("millions of flash operations were waiting"), "{:?}", result.notes);
    assert!(said("Requests came faster (") && !said("Allow more rounds"), "{:?}", result.notes);
    assert!(!result.steady.unwrap().reached);
}

#[test]
#[ignore = "takes a gigabyte"]
fn a_pass_ends_before_a_growing_queue_takes_all_memory() {
    let error = tried(&Experiment { until: None, ..overloaded() }).unwrap_err().to_string();
    assert!(error.starts_with("requests come faster than the drive serves them"), "{error}");
}

/// Requests in memory are not known by their number before they are read.
#[test]
fn requests_in_memory_are_measured_like_those_of_a_file() {
    let file = file(&lines(900));
    let trace = trace::Trace::open(name(&file), &trace::ReadOptions::default()).unwrap();
    let table = Arc::new(trace.to_table(|_| Ok::<(), trace::Error>(())).unwrap());
    let from_file = ran(&steady(name(&file), "steady"));
    let experiment = Experiment { trace: None, ..steady("", "steady") };
    let setup = Setup::new(&experiment).unwrap().with_requests(&table).unwrap();
    let from_memory = run(&setup, RunOptions::default()).unwrap();
    assert_eq!(from_file.steady, from_memory.steady);
    assert_eq!(from_file.programs, from_memory.programs);
    assert_eq!(from_file.trace.requests, from_memory.trace.requests);
}

#[test]
fn a_device_that_does_not_become_steady_is_noted() {
    let narrow = ran(&steady("uniform:writes=110K", "steady:rounds=6,range=0.01%"));
    let part = narrow.steady.as_ref().unwrap();
    assert!(!part.reached && part.rounds == 6, "{part:?}");
    assert!(narrow.notes.iter().any(|note| note.contains("did not become steady")));
    let wide = ran(&steady("uniform:writes=110K", "steady"));
    assert!(!wide.notes.iter().any(|note| note.contains("steady")), "{:?}", wide.notes);
    // Without collection every round costs the same: that is steady, and noted as before.
    let mut empty = steady("sequential:writes=110K", "steady:round=1%");
    empty.precondition = Precondition::None;
    let empty = ran(&empty);
    assert!(empty.steady.as_ref().unwrap().reached);
    assert!(empty.notes.iter().any(|note| note.contains("No block was ever collected")));
}

#[test]
fn requests_that_queue_are_answered_in_every_repetition() {
    for (timing, replay) in [
        (Timing::Serial, "open"),
        (Timing::Serial, "closed:depth=4"),
        (Timing::Drive, "open:speed=0.5"),
        (Timing::Drive, "closed:depth=8"),
    ] {
        let mut experiment = steady("uniform:writes=3K,reads=20%,interarrival=1ms", "steady");
        experiment = Experiment { timing, replay: replay.parse().unwrap(), ..experiment };
        let result = ran(&experiment);
        let response = result.response_us.as_ref().unwrap();
        let answered = response.read.count + response.write.count;
        assert_eq!(answered, result.trace.requests, "{replay}");
        assert!(answered > 5 * PAGES && result.steady.is_some_and(|part| part.reached));
    }
    // Requests are issued at their own times in each repetition, so at a slow pace none waits.
    let slow = steady("uniform:writes=3K,interarrival=10s", "steady");
    let slow = ran(&Experiment { replay: "open".parse().unwrap(), ..slow });
    let (response, service) = (slow.response_us.unwrap().write, slow.service_us.write);
    assert_eq!((response.count, response.max), (service.count, service.max));
}

#[test]
fn impossible_combinations_are_refused_with_a_reason() {
    let message = |experiment: &Experiment| {
        let error = tried(experiment).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string()
    };
    let reads = message(&steady("uniform:requests=100,reads=100%", "steady"));
    assert!(reads.contains("writes no page"), "{reads}");
    let load = vec!["oltp".parse().unwrap()];
    let loads = message(&Experiment { trace: None, load, ..steady("", "steady") });
    assert!(loads.contains("`--until` repeats a trace"), "{loads}");
    let mut log = Vec::new();
    let options = RunOptions { operation_log: Some(&mut log), ..RunOptions::default() };
    let setup = Setup::new(&steady("uniform", "steady")).unwrap();
    let logged = run(&setup, options).unwrap_err().to_string();
    assert!(logged.contains("known only at the end"), "{logged}");
}

/// No device is filled for it, so it does not matter how large the device would be.
#[test]
fn a_trace_without_writes_is_refused_before_memory_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("reads.log");
    std::fs::write(&path, "0,0,512,R,0.1\n0,167772160,512,R,0.2\n").unwrap();
    let sparse = Experiment { capacity_bytes: None, ..steady(path.to_str().unwrap(), "steady") };
    let reads = steady("uniform:requests=100,reads=100%", "steady");
    for experiment in [sparse, reads] {
        let memory = MemoryBudget::new(Some(1));
        let options = RunOptions { memory: &memory, ..RunOptions::default() };
        let error = run(&Setup::new(&experiment).unwrap(), options).unwrap_err().to_string();
        assert!(error.contains("writes no page"), "{error}");
    }
}

#[test]
fn other_runs_have_no_rounds_in_their_results() {
    let plain = Experiment { until: None, ..steady("uniform:writes=10K", "steady") };
    let value = serde_json::to_value(ran(&plain)).unwrap();
    assert!(value.get("steady").is_none());
}
