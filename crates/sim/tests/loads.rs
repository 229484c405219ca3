//! Several loads at once. Their order is that of a naive model of one server and its queue; the
//! figures of runs follow from it.

use std::collections::VecDeque;
use std::io::Write;

use serde_json::Value;
use sim::clock::request_queue::RequestQueue;
use sim::config::choices::Fit;
use sim::config::replay::Replay;
use sim::input::batch::Batch;
use sim::{Experiment, Input, NoProgress, RunOptions, RunResult, Setup, Stage, run};
use tempfile::NamedTempFile;

// ---- Order --------------------------------------------------------------------------------------

/// A request as it is served: load, number within the load, issue and completion.
type Timed = (usize, usize, u64, u64);

/// A load of a model: its replay, and the time of each request.
#[derive(Debug)]
struct ModelLoad {
    replay: Replay,
    times_ns: Vec<u64>,
}

/// Serves loads slowly: all requests that have been issued wait in a list, in the order of
/// their issues; the server takes the one with the earliest issue. Requests of open loads are
/// in the list from the beginning.
fn naive(loads: &[ModelLoad], service_ns: impl Fn(usize) -> u64) -> Vec<Timed> {
    let (mut waiting, mut served, mut now) = (Vec::new(), Vec::new(), 0);
    let mut unissued: Vec<VecDeque<usize>> =
        loads.iter().map(|load| (0..load.times_ns.len()).collect()).collect();
    for (number, load) in loads.iter().enumerate() {
        if let Replay::Open { speed } = load.replay {
            for index in unissued[number].drain(..) {
                waiting.push((speed.issue_ns(load.times_ns[index]), number, index));
            }
        }
    }
    for (number, load) in loads.iter().enumerate() {
        if let Replay::Closed { depth } = load.replay {
            let count = unissued[number].len().min(depth as usize);
            waiting.extend(unissued[number].drain(..count).map(|index| (0, number, index)));
        }
    }
    while !waiting.is_empty() {
        let first = (0..waiting.len()).min_by_key(|&at| (waiting[at].0, at)).unwrap();
        let (issue, number, index) = waiting.remove(first);
        now = now.max(issue) + service_ns(served.len());
        served.push((number, index, issue, now));
        let load = &loads[number];
        if !load.replay.is_open() {
            if index + 1 == load.times_ns.len() {
                break;
            }
            waiting.extend(unissued[number].pop_front().map(|next| (now, number, next)));
        }
    }
    served
}

/// Serves the same loads as a run does, in batches; requests are told apart by their offsets.
fn served(loads: &[ModelLoad], service_ns: impl Fn(usize) -> u64) -> Vec<Timed> {
    let files: Vec<NamedTempFile> = loads.iter().map(file).collect();
    let load = |(file, load): (&NamedTempFile, &ModelLoad)| {
        format!("{}@{}", file.path().to_str().unwrap(), load.replay).parse().unwrap()
    };
    let load = files.iter().zip(loads).map(load).collect();
    let setup = Setup::new(&Experiment { load, ..Experiment::default() }).unwrap();
    let input = Input::open(&setup, &NoProgress).unwrap();
    let geometry = setup.chip.geometry(1).unwrap();
    let mut order = input.order(&setup, Stage::Measure, &NoProgress).unwrap();
    let mut queue = RequestQueue::of(&setup, &geometry);
    let (mut batch, mut served) = (Batch::default(), Vec::new());
    while order.fill(&mut batch, u64::MAX, &mut queue).unwrap() > 0 {
        let Some(RequestQueue::Serial(queue)) = &mut queue else { panic!("time is serial") };
        for (load, request) in batch.requests() {
            let issue_ns = queue.issue_ns(load, request.time_ns);
            let service_ns = service_ns(served.len());
            let completion_ns = issue_ns + queue.serve(load, request.time_ns, service_ns);
            served.push((load, request.offset as usize / 512, issue_ns, completion_ns));
        }
    }
    let read = order.end(served.len() as u64, &NoProgress).unwrap();
    for (number, (read, load)) in read.iter().zip(loads).enumerate() {
        let delivered = served.iter().filter(|request| request.0 == number).count() as u64;
        assert_eq!(read.delivered, delivered);
        assert_eq!(read.delivered + read.left, load.times_ns.len() as u64);
    }
    served
}

/// A file with one sector after the other.
fn file(load: &ModelLoad) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    writeln!(file, "time_ns,device,rwbs,offset,bytes").unwrap();
    for (index, time_ns) in load.times_ns.iter().enumerate() {
        writeln!(file, "{time_ns},0,W,{},512", index * 512).unwrap();
    }
    file
}

fn load(replay: &str, times_ns: impl IntoIterator<Item = u64>) -> ModelLoad {
    ModelLoad { replay: replay.parse().unwrap(), times_ns: times_ns.into_iter().collect() }
}

#[test]
fn closed_loads_rotate_and_the_first_to_end_ends_all() {
    let loads = [load("closed", 0..9), load("closed:depth=2", 0..5)];
    let expected = [
        (0, 0, 0, 10),
        (1, 0, 0, 20),
        (1, 1, 0, 30),
        (0, 1, 10, 40),
        (1, 2, 20, 50),
        (1, 3, 30, 60),
        (0, 2, 40, 70),
        (1, 4, 50, 80),
    ];
    assert_eq!(served(&loads, |_| 10), expected);
}

#[test]
fn open_loads_merge_by_time_and_the_earlier_load_comes_first() {
    let loads = [load("open", [0, 100, 200]), load("open:speed=2", [0, 100, 190, 400])];
    let expected = [
        (0, 0, 0, 10),
        (1, 0, 0, 20),
        (1, 1, 50, 60),
        (1, 2, 95, 105),
        (0, 1, 100, 115),
        (0, 2, 200, 210),
        (1, 3, 200, 220),
    ];
    assert_eq!(served(&loads, |_| 10), expected);
}

#[test]
fn an_open_load_interrupts_a_closed_one_at_its_times() {
    let loads = [load("closed", 0..5), load("open", [0, 15, 30, 1000])];
    let expected = [
        (1, 0, 0, 10),
        (0, 0, 0, 20),
        (1, 1, 15, 30),
        (0, 1, 20, 40),
        (1, 2, 30, 50),
        (0, 2, 40, 60),
        (0, 3, 60, 70),
        (0, 4, 70, 80),
    ];
    assert_eq!(served(&loads, |_| 10), expected);
}

/// Pseudo-random numbers below a bound.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }

    /// A load of up to 200 requests, many at the same time as others.
    fn load(&mut self, is_open: bool) -> ModelLoad {
        let replay = match is_open {
            false => format!("closed:depth={}", 1 + self.below(8)),
            true => format!("open:speed={}", 1 + self.below(3)),
        };
        let mut time_ns = 0;
        let count = 1 + self.below(200);
        let mut later = || {
            time_ns += self.below(3) * self.below(40);
            time_ns
        };
        let times: Vec<u64> = (0..count).map(|_| later()).collect();
        let first = times[0];
        // An open trace needs different times.
        let times = times.iter().map(|time_ns| time_ns - first);
        load(&replay, times.chain([time_ns - first + 1]))
    }
}

#[test]
fn random_loads_are_served_as_a_naive_model_serves_them() {
    let mut random = Random(1);
    for round in 0..300 {
        let count = 1 + random.below(4);
        let is_open = |random: &mut Random| match round % 3 {
            0 => false,
            1 => true,
            _ => random.below(2) == 0,
        };
        let loads: Vec<ModelLoad> = (0..count)
            .map(|_| {
                let is_open = is_open(&mut random);
                random.load(is_open)
            })
            .collect();
        let services: Vec<u64> = (0..1000).map(|_| random.below(2) * random.below(50)).collect();
        let service_ns = |number: usize| services[number % services.len()];
        assert_eq!(served(&loads, service_ns), naive(&loads, service_ns), "{loads:?}");
    }
}

// ---- Runs ---------------------------------------------------------------------------------------

/// A run of these loads, with a few more options.
fn experiment(loads: &[&str], options: &[(&str, &str)]) -> sim::Result<Experiment> {
    let load = loads.iter().map(|text| text.parse().unwrap()).collect();
    let start = Experiment { load, warmup: 0, ..Experiment::default() };
    options.iter().try_fold(start, |experiment, (name, text)| experiment.with(name, text))
}

fn run_of(experiment: &Experiment) -> sim::Result<RunResult> {
    run(&Setup::new(experiment)?, RunOptions::default())
}

fn ran(loads: &[&str], options: &[(&str, &str)]) -> RunResult {
    run_of(&experiment(loads, options).unwrap()).unwrap()
}

fn refusal(loads: &[&str], options: &[(&str, &str)]) -> String {
    let error = experiment(loads, options).and_then(|it| run_of(&it)).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

/// A file of these lines: unit, sector, bytes, operation, seconds.
fn spc(lines: &str) -> (NamedTempFile, String) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    let name = file.path().to_str().unwrap().to_owned();
    (file, name)
}

/// Requests served, by tenant.
fn shares(result: &RunResult) -> Vec<u64> {
    let tenants = result.tenants.as_ref().unwrap().iter();
    tenants.map(|tenant| tenant.trace.reads + tenant.trace.writes).collect()
}

/// Requests skipped for a reason, by tenant.
fn skipped(result: &RunResult, reason: &str) -> Vec<Option<u64>> {
    let tenants = result.tenants.as_ref().unwrap().iter();
    tenants.map(|tenant| tenant.trace.skipped.get(reason).and_then(Value::as_u64)).collect()
}

/// First byte and size of the part of each tenant.
fn parts(result: &RunResult) -> Vec<(u64, u64)> {
    let tenants = result.tenants.as_ref().unwrap().iter();
    tenants.map(|tenant| (tenant.first_byte, tenant.bytes)).collect()
}

#[test]
fn two_loads_counted_by_hand() {
    // A program takes 200 µs, a read 25 µs; whole pages of 2 KiB.
    let (_a, a) = spc("0,0,2048,W,0.0\n0,4,2048,R,0.1\n0,8,4096,W,0.2\n");
    let (_b, b) = spc("0,0,2048,W,0.0\n0,0,2048,R,0.0003\n0,0,2048,W,0.0004\n0,0,512,R,9\n");
    let result = ran(&[&format!("{a}@closed"), &format!("{b}@open")], &[]);
    // Issue, start, end:  b0 0, 0, 200   a0 0, 200, 400   b1 300, 400, 425   b2 400, 425, 625
    //                     a1 400, 625, 650   a2 650, 650, 1050: the end; b3 is not served.
    let tenants = result.tenants.as_ref().unwrap();
    let (a, b) = (&tenants[0], &tenants[1]);
    assert_eq!((a.trace.requests, a.trace.reads, a.trace.writes), (3, 1, 2));
    assert_eq!((b.trace.requests, b.trace.reads, b.trace.writes), (4, 1, 2));
    assert_eq!(skipped(&result, "not served"), [None, Some(1)]);
    assert_eq!((a.time_us, b.time_us, result.time_us.total), (625.0, 425.0, 1050.0));
    let means = |of: &sim::result::trace_part::TenantPart| {
        (of.response_us.read.mean, of.response_us.write.mean, of.service_us.write.mean)
    };
    assert_eq!(means(a), (Some(250.0), Some(400.0), Some(300.0)));
    assert_eq!(means(b), (Some(125.0), Some((200.0 + 225.0) / 2.0), Some(200.0)));
    assert_eq!(result.response_us.as_ref().unwrap().write.count, 4);
    assert_eq!((a.trace.written_bytes, b.trace.written_bytes), (6144, 4096));
    assert_eq!((a.host_pages.written, a.host_pages.read, b.host_pages.written), (3, 1, 2));
    assert_eq!((a.trace.footprint_pages, b.trace.footprint_pages), (4, 1));
    assert_eq!((result.trace.requests, result.trace.footprint_pages), (7, 5));
    assert_eq!(parts(&result), [(0, 8192), (128 * 1024, 2048)]);
    let replays: Vec<&str> = tenants.iter().map(|tenant| tenant.replay.as_str()).collect();
    assert_eq!(replays, ["closed", "open"]);
}

#[test]
fn a_load_alone_counts_like_a_single_trace() {
    let trace = "skew:writes=20K,hot=80/20,reads=20%,request=3KiB";
    let options = [("capacity", "8MiB"), ("warmup", "1"), ("interval", "500"), ("verify", "true")];
    for replay in ["closed", "closed:depth=3", "open:speed=0.5"] {
        let options = [&options[..], &[("replay", replay)]].concat();
        let json = |experiment: &Experiment| {
            let mut result = serde_json::to_value(run_of(experiment).unwrap()).unwrap();
            let taken = ["tenants", "wall"].map(|name| result[name].take());
            (result, taken[0].clone())
        };
        let single = experiment(&[], &options).unwrap().with("trace", trace).unwrap();
        let (single, none) = json(&single);
        let (mut alone, tenants) = json(&experiment(&[trace], &options).unwrap());
        assert_eq!((none, tenants[0]["name"].as_str()), (Value::Null, Some(trace)));
        assert_eq!(tenants[0]["response_us"], alone["response_us"]);
        if replay == "closed" {
            // A single closed trace has no queue.
            assert_eq!(alone["response_us"].take(), alone["service_us"]);
            alone["histograms"]["response_us"].take();
        }
        assert_eq!(single, alone, "{replay}");
    }
}

#[test]
fn equal_tenants_get_equal_shares_and_depth_3_beside_1_gets_three_quarters() {
    let load = "uniform:writes=4K,reads=30%";
    let equal = ran(&[load, load], &[]);
    let shares_of = |result: &RunResult| (shares(result)[0], shares(result)[1]);
    let (a, b) = shares_of(&equal);
    assert!(a > 5000 && a.abs_diff(b) <= 1, "{a}, {b}");
    let tenants = equal.tenants.as_ref().unwrap();
    assert!((tenants[0].time_us / tenants[1].time_us - 1.0).abs() < 0.05);
    let (deep, shallow) = shares_of(&ran(&[&format!("{load}@closed:depth=3"), load], &[]));
    assert!(deep.abs_diff(3 * shallow) <= 3, "{deep}, {shallow}");
    // An open load gets what it asks for.
    let slow = "uniform:writes=100K,interarrival=50ms@open";
    let mixed = ran(&[load, slow], &[]);
    let issued = mixed.time_us.total / 50_000.0;
    assert!((shares(&mixed)[1] as f64 - issued).abs() <= 2.0, "{:?} {issued}", shares(&mixed));
}

#[test]
fn parts_are_laid_end_to_end_or_shared_and_capacity_is_divided() {
    let (_file, two_volumes) = spc("0,0,1024,W,0.0\n1,255,4096,R,0.1\n");
    let block = 128 * 1024;
    let small = "uniform:writes=100";
    let capacity = |blocks: u64| ("capacity", (blocks * block).to_string());
    let of = |loads: &[&str], options: &[(&str, String)]| {
        let options: Vec<_> = options.iter().map(|(name, text)| (*name, text.as_str())).collect();
        ran(loads, &options)
    };
    let result = ran(&[&two_volumes, "sequential:writes=9,pages=64", &two_volumes], &[]);
    let file = block + 255 * 512 + 4096;
    assert_eq!(parts(&result), [(0, file), (3 * block, block), (4 * block, file)]);
    assert_eq!(result.device.logical_blocks, 7);
    let result = of(&[small, &two_volumes, small], &[capacity(14)]);
    assert_eq!(parts(&result), [(0, 5 * block), (5 * block, file), (8 * block, 5 * block)]);
    let shared = [("shared", "true".to_owned()), capacity(14)];
    let result = of(&[small, &two_volumes, small], &shared);
    assert_eq!(parts(&result), [(0, 14 * block), (0, file), (0, 14 * block)]);
    assert_eq!(result.device.logical_blocks, 14);
    let why = refusal(&[small, &two_volumes], &[("capacity", "384KiB")]);
    assert!(why.contains("3 blocks, of which trace files take 3"), "{why}");
}

#[test]
fn shared_loads_see_each_others_data_and_verification_holds() {
    let loads = ["uniform:writes=3K,reads=20%", "zipf:writes=3K,seed=7@closed:depth=2"];
    for shared in ["true", "false"] {
        let options = [("capacity", "4MiB"), ("shared", shared), ("verify", "true")];
        let result = ran(&loads, &[&options[..], &[("warmup", "1")]].concat());
        let both = result.trace.footprint_pages;
        let tenants = result.tenants.as_ref().unwrap();
        let sum: u64 = tenants.iter().map(|tenant| tenant.trace.footprint_pages).sum();
        assert_eq!(both == sum, shared == "false", "{both}, {sum}");
        assert!(result.erases.gc > 0);
    }
}

#[test]
fn options_of_reading_apply_to_every_load() {
    let bad = "0,0,2048,W,0.2\nnonsense\n0,4,0,W,0.2\n0,4,2048,W,0.1\n0,8,2048,R,0.3\n";
    let (_a, a) = spc(bad);
    let (_b, b) = spc(bad);
    let options = [("skip_bad", "true"), ("sort", "true"), ("format", "spc")];
    let result = ran(&[&format!("{a}@open"), &format!("{b}@open")], &options);
    assert_eq!(skipped(&result, "malformed"), [Some(1), Some(1)]);
    assert_eq!(skipped(&result, "zero-length"), [Some(1), Some(1)]);
    assert_eq!((shares(&result), result.trace.requests), (vec![3, 3], 10));
    assert_eq!(result.trace.skipped["malformed"], 2);
    let limited = ran(&[&a, &b, "uniform:writes=9"], &[&options[..], &[("limit", "2")]].concat());
    assert_eq!((shares(&limited), shares(&limited).iter().sum()), (vec![2, 1, 1], 4));
    assert_eq!(skipped(&limited, "not served"), [None, Some(1), Some(1)]);
    let cut = "uniform:writes=9 was read up to `--limit 2`; it may be longer.".to_owned();
    assert!(limited.notes.contains(&cut), "{:?}", limited.notes);
    let why = refusal(&["uniform:writes=9"], &[("skip_bad", "true")]);
    assert!(why.contains("for trace files"), "{why}");
}

#[test]
fn a_file_that_is_left_early_is_accounted_for_to_its_end() {
    let lines: String =
        (0..2000).map(|n| format!("0,{},512,W,{n}.0\n0,0,0,W,{n}.0\n", 4 * n)).collect();
    let (_file, long) = spc(&lines);
    let result = ran(&["uniform:writes=10", &long], &[]);
    assert_eq!(shares(&result), [10, 9]);
    assert_eq!(skipped(&result, "not served"), [None, Some(1991)]);
    assert_eq!(skipped(&result, "zero-length"), [None, Some(2000)]);
    assert_eq!(result.trace.requests, 10 + 4000);
}

#[test]
fn counting_begins_after_requests_of_all_loads() {
    let loads = ["uniform:writes=100", "uniform:writes=60,seed=9@closed:depth=2"];
    let result = ran(&loads, &[("measure_after", "10"), ("interval", "10")]);
    // Rotation: a b b a b b …; the first ten requests are 4 of a and 6 of b.
    assert_eq!(skipped(&result, "not measured"), [Some(4), Some(6)]);
    assert_eq!(skipped(&result, "not served"), [Some(70), None]);
    assert_eq!(shares(&result), [26, 54]);
    assert_eq!(result.trace.skipped["not measured"], 10);
    let series = serde_json::to_value(result.series.unwrap()).unwrap();
    assert_eq!(series["requests"].as_array().unwrap().len(), 8);
    assert!(refusal(&loads, &[("measure_after", "91")]).contains("after 91 requests"));
}

#[test]
fn touched_pages_are_numbered_over_all_loads() {
    let (_a, a) = spc("0,2000000,2048,W,0.0\n0,0,2048,W,0.1\n");
    let (_b, b) = spc("0,4000000,2048,W,0.0\n3,0,2048,W,0.1\n");
    let result = ran(&[&a, &b], &[("fit", "compact"), ("verify", "true")]);
    assert_eq!((result.trace.footprint_pages, result.device.logical_blocks), (3, 1));
    assert_eq!(shares(&result), [2, 1]);
    let files_and_workload = [a.as_str(), "uniform:writes=9"];
    let why = refusal(&files_and_workload, &[("fit", "compact"), ("capacity", "1GiB")]);
    assert!(why.contains("`--fit compact`") && why.contains("`--capacity`"), "{why}");
}

#[test]
fn a_request_beyond_the_capacity_is_named_by_its_load() {
    let (_a, a) = spc("0,0,2048,W,0.0\n0,4,2048,W,0.1\n0,8,2048,W,0.2\n");
    let (_b, b) = spc("0,0,2048,W,0.0\n0,600,2048,W,0.1\n0,8,2048,W,0.2\n");
    let experiment = experiment(&[&a, &b], &[("capacity", "256KiB")]).unwrap();
    let error = run_of(&experiment).unwrap_err();
    assert_eq!(error.exit_code(), 1);
    let message = error.to_string();
    assert!(message.starts_with(&format!("{b}: request 2 ends at byte 440320")), "{message}");
    let wrapped = run_of(&Experiment { fit: Fit::Wrap, ..experiment }).unwrap();
    assert_eq!(shares(&wrapped), [3, 2]);
}

#[test]
fn options_that_contradict_loads_are_refused() {
    let (_file, untimed) = spc("0,0,2048,W,0.0\n0,4,2048,W,0.0\n");
    let (_empty, empty) = spc("0,0,0,W,0.0\n");
    let load = "uniform:writes=9";
    for (loads, options, hint) in [
        (vec![load], [("trace", "oltp")].as_slice(), "either TRACE or `--load`"),
        (vec![load], &[("volume", "0")], "`--volume`"),
        (vec![], &[("shared", "true")], "`--shared` is for several loads"),
        (vec!["-", "-"], &[], "only one load can be read from standard input"),
        (vec![&format!("{untimed}@open")], &[], "have the same time"),
        (vec![load, &empty], &[], "has no requests"),
        (vec!["unifrom:writes=9"], &[], "did you mean `uniform`"),
    ] {
        let why = refusal(&loads, options);
        assert!(why.contains(hint), "{loads:?}: {why}");
    }
}
