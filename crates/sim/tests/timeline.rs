//! Timelines of runs in a drive: valid trace-event JSON whose sums are those of the result.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sim::config::choices::Timing;
use sim::{Experiment, Extent, RunOptions, RunResult, Setup, TimelineOutput, run};

const HOST: u64 = 1;
const CHANNELS: u64 = 3;
const DIES: u64 = 4;

/// Every drive of the tests has this many channels and dies, and something that is special.
const SHARED: &str = "ideal:channels=2,ways=2,transfer=100MB/s,command=1us,firmware=3us";
const SPECIAL: [&str; 5] = [
    "",
    ",hold=true,planes=2,link=300MB/s",
    ",reads_first=true,suspend=both,suspend_cost=5us,suspend_progress=20us",
    ",planes=2,pages_at_once=3,buffer=64KiB,acknowledge=buffer",
    ",buffer=8KiB,acknowledge=buffer,suspend=both,reads_first=true,stripe=2,hold=false",
];

fn experiment(special: &str, requests: &str) -> Experiment {
    Experiment {
        timing: Timing::Drive,
        trace: Some(format!("uniform:requests={requests},reads=30%,request=3KiB")),
        drive: Some(format!("{SHARED}{special}")),
        replay: "closed:depth=16".parse().unwrap(),
        capacity_bytes: Some(8 << 20),
        ..Experiment::default()
    }
}

fn drawn(experiment: &Experiment, extent: Extent) -> (RunResult, Timeline) {
    let mut out = Vec::new();
    let timeline = Some(TimelineOutput { out: &mut out, extent });
    let options = RunOptions { timeline, ..RunOptions::default() };
    let result = run(&Setup::new(experiment).unwrap(), options).unwrap();
    (result, Timeline::read(&out))
}

/// A whole measured pass.
fn whole(experiment: &Experiment) -> (RunResult, Timeline) {
    drawn(experiment, Extent::FirstOperations(u64::MAX))
}

/// A slice, or an end of an arrow.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    name: String,
    track: (u64, u64),
    from_ns: u64,
    until_ns: u64,
    args: Value,
    /// The number of the event in the document.
    at: usize,
}

#[derive(Debug, Default)]
struct Timeline {
    about: Value,
    processes: BTreeMap<u64, String>,
    tracks: BTreeMap<(u64, u64), String>,
    slices: Vec<Drawn>,
    instants: Vec<Drawn>,
    begins: BTreeMap<u64, Drawn>,
    ends: BTreeMap<u64, Drawn>,
    counters: BTreeMap<String, Vec<(u64, f64)>>,
}

fn ns(value: &Value) -> u64 {
    let micros = value.as_f64().unwrap_or_else(|| panic!("{value} is not a time"));
    assert!(micros >= 0.0, "{micros} µs");
    (micros * 1000.0).round() as u64
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

impl Timeline {
    /// Reads a document, and checks each event for itself.
    fn read(document: &[u8]) -> Timeline {
        let document: Value = serde_json::from_slice(document).expect("valid JSON");
        assert_eq!(document["displayTimeUnit"], "ns");
        let mut timeline = Timeline { about: document["otherData"].clone(), ..Timeline::default() };
        for (at, event) in document["traceEvents"].as_array().expect("events").iter().enumerate() {
            timeline.add(at, event);
        }
        timeline
    }

    fn add(&mut self, at: usize, event: &Value) {
        let name = event["name"].as_str().expect("a name").to_owned();
        let (pid, args) = (number(&event["pid"]), event["args"].clone());
        let phase = event["ph"].as_str().expect("a phase");
        if phase == "C" {
            let values = args.as_object().expect("values").values();
            let values: Vec<f64> = values.map(|value| value.as_f64().expect("a number")).collect();
            let counter = self.counters.entry(name).or_default();
            return counter.push((ns(&event["ts"]), values[0]));
        }
        let track = (pid, number(&event["tid"]));
        if phase == "M" {
            return self.add_name(&name, track, &args);
        }
        let from_ns = ns(&event["ts"]);
        let until_ns = event.get("dur").map_or(from_ns, |dur| from_ns + ns(dur));
        let drawn = Drawn { name, track, from_ns, until_ns, args, at };
        assert!(self.tracks.contains_key(&track), "a track without a name: {drawn:?}");
        match phase {
            "X" => {
                assert!(event["cname"].is_string() && event["cat"].is_string(), "{event}");
                assert!(event["dur"].is_number(), "{event}");
                self.slices.push(drawn);
            }
            "i" => {
                assert_eq!(event["s"], "t");
                self.instants.push(drawn);
            }
            "s" | "f" => {
                assert_eq!(
                    (&event["cat"], &event["name"]),
                    (&"operation".into(), &"operation".into())
                );
                assert!(phase == "s" || event["bp"] == "e", "{event}");
                let ends = if phase == "s" { &mut self.begins } else { &mut self.ends };
                let other = ends.insert(number(&event["id"]), drawn);
                assert!(other.is_none(), "two arrows with one number: {event}");
            }
            other => panic!("an event of phase {other}"),
        }
    }

    fn add_name(&mut self, what: &str, track: (u64, u64), args: &Value) {
        let text = || args["name"].as_str().expect("a name").to_owned();
        let twice = match what {
            "process_name" => self.processes.insert(track.0, text()).is_some(),
            "thread_name" => self.tracks.insert(track, text()).is_some(),
            "process_sort_index" | "thread_sort_index" => !args["sort_index"].is_u64(),
            other => panic!("metadata {other}"),
        };
        assert!(!twice, "{what} of {track:?} a second time");
    }

    fn of(&self, process: u64) -> impl Iterator<Item = &Drawn> {
        self.slices.iter().filter(move |slice| slice.track.0 == process)
    }

    /// Checks what holds between events of every timeline.
    fn check(&self) {
        let mut by_track: BTreeMap<_, Vec<&Drawn>> = BTreeMap::new();
        for slice in &self.slices {
            by_track.entry(slice.track).or_default().push(slice);
        }
        for slices in by_track.values_mut() {
            slices.sort_by_key(|slice| (slice.from_ns, slice.until_ns));
            for pair in slices.windows(2) {
                assert!(pair[0].until_ns <= pair[1].from_ns, "slices overlap: {pair:?}");
            }
        }
        assert_eq!(
            self.begins.keys().collect::<Vec<_>>(),
            self.ends.keys().collect::<Vec<_>>(),
            "an arrow has only one end"
        );
        for (id, end) in &self.ends {
            let begin = &self.begins[id];
            let request = around(&by_track, begin);
            assert_eq!(request.args["number"], end.args["request"], "{begin:?} of {request:?}");
            let work = around(&by_track, end);
            let op = work.name.split(' ').next();
            assert_eq!(op, end.args["op"].as_str(), "{end:?} ends in {work:?}");
            // Pages with several causes may share a command.
            let is_alone = work.args["operations"] == 1;
            assert!(!is_alone || work.args["cause"] == end.args["cause"], "{end:?}, {work:?}");
            assert!(begin.from_ns <= end.from_ns);
        }
        for values in self.counters.values() {
            assert!(values.is_sorted_by_key(|(at_ns, _)| *at_ns), "a counter goes back in time");
        }
    }

    /// Checks that the sums are those of the result.
    fn check_sums(&self, result: &RunResult) {
        let usage = result.evidence.drive.as_ref().unwrap();
        let of = |process| self.times(process);
        let dies: Vec<u64> = usage.dies.iter().map(|die| die.occupied_ns).collect();
        assert_eq!(of(DIES), dies, "dies");
        let channels: Vec<u64> = usage.channels.iter().map(|line| line.busy_ns).collect();
        assert_eq!(of(CHANNELS), channels, "channels");
        let counts = [&result.reads, &result.programs, &result.erases, &result.spare_reads];
        for (op, counts) in ["read", "program", "erase", "spare"].iter().zip(counts) {
            for cause in nand::Cause::ALL {
                let drawn = self.operations(op, cause.name());
                assert_eq!(drawn, counts.get(cause), "{op} {}", cause.name());
            }
        }
        let begun = self.of(DIES).filter(|work| work.args["resumed"] == false);
        let begun: u64 = begun.map(|work| number(&work.args["operations"])).sum();
        assert_eq!(self.ends.len() as u64, begun, "operations of commands");
        assert_eq!(self.of(HOST).count() as u64, result.trace.served(), "requests");
        let parts = |slice: &Drawn| {
            let parts = slice.args["parts_us"].as_object().expect("parts").values().map(ns);
            assert_eq!(parts.sum::<u64>(), slice.until_ns - slice.from_ns, "{slice:?}");
        };
        self.of(HOST).for_each(parts);
        let responses: u64 = self.of(HOST).map(|it| it.until_ns - it.from_ns).sum();
        assert_eq!(u128::from(responses), usage.responses_ns, "responses");
    }

    /// The time of all slices on each track of a process.
    fn times(&self, process: u64) -> Vec<u64> {
        let mut times: BTreeMap<u64, u64> = BTreeMap::new();
        for &(pid, tid) in self.tracks.keys().filter(|(pid, _)| *pid == process) {
            times.insert(tid, 0);
            assert!(self.processes.contains_key(&pid));
        }
        for slice in self.of(process) {
            *times.get_mut(&slice.track.1).unwrap() += slice.until_ns - slice.from_ns;
        }
        times.into_values().collect()
    }

    /// How many operations of a kind and cause were drawn that count.
    fn operations(&self, op: &str, cause: &str) -> u64 {
        let all = self.ends.values().chain(&self.instants);
        let counted = all.filter(|end| {
            let args = &end.args;
            args["counts"] == true && args["op"] == op && args["cause"] == cause
        });
        counted.count() as u64
    }

    /// Requests by their number, with the numbers and ranks of the slow ones.
    fn requests(&self) -> BTreeMap<u64, (u64, Option<u64>)> {
        let requests = self.of(HOST);
        let requests = requests.map(|slice| {
            let rank = slice.args["slow"].as_u64();
            (number(&slice.args["number"]), (slice.until_ns - slice.from_ns, rank))
        });
        requests.collect()
    }
}

/// The slice in which an end of an arrow lies. It comes before the arrow in the document.
fn around<'a>(by_track: &BTreeMap<(u64, u64), Vec<&'a Drawn>>, end: &Drawn) -> &'a Drawn {
    let slices = by_track.get(&end.track).unwrap_or_else(|| panic!("no slice for {end:?}"));
    let next = slices.partition_point(|slice| slice.from_ns <= end.from_ns);
    let slice = slices[..next].last().unwrap_or_else(|| panic!("no slice for {end:?}"));
    assert_eq!(slice.from_ns, end.from_ns, "an arrow without its slice: {end:?}");
    assert!(slice.at < end.at, "{end:?} comes before {slice:?}");
    slice
}

#[test]
fn a_timeline_of_25_000_operations_is_valid_and_its_sums_are_those_of_the_run() {
    is_valid_and_sums_are_right("2500", 25_000);
}

#[test]
#[ignore = "half a minute"]
fn a_timeline_of_200_000_operations_is_valid_and_its_sums_are_those_of_the_run() {
    is_valid_and_sums_are_right("17K", 200_000);
}

/// Requests that make this number of operations, up to twice as many.
fn is_valid_and_sums_are_right(requests: &str, least: u64) {
    let (result, timeline) = whole(&experiment(SPECIAL[2], requests));
    let operations = result.reads.total + result.programs.total + result.erases.total;
    assert!((least..2 * least).contains(&operations), "{operations} operations");
    timeline.check();
    timeline.check_sums(&result);
    assert_eq!(timeline.about["shows"], "The timeline shows the whole measured pass.");
    let suspended = timeline.of(DIES).filter(|work| work.args["suspended"] == true).count();
    let resumed = timeline.of(DIES).filter(|work| work.args["resumed"] == true).count();
    let suspensions = result.drive.as_ref().unwrap().suspensions;
    assert!(suspensions > 500, "{suspensions}");
    assert_eq!((suspended as u64, resumed as u64), (suspensions, suspensions));
}

#[test]
fn timelines_of_all_kinds_of_drives_have_the_sums_of_their_runs() {
    for (special, ftl) in SPECIAL.into_iter().zip(["page", "dftl", "fast"].into_iter().cycle()) {
        let experiment = Experiment { ftl: ftl.into(), ..experiment(special, "600") };
        let (result, timeline) = whole(&experiment);
        timeline.check();
        timeline.check_sums(&result);
        let tracks = timeline.tracks.keys().filter(|track| track.0 == HOST).count();
        assert!((16..=17).contains(&tracks), "{tracks} tracks for a queue of 16 requests");
        let counters: Vec<&str> = timeline.counters.keys().map(String::as_str).collect();
        assert!(counters.contains(&"queue depth") && counters.contains(&"free blocks"));
        let depths = &timeline.counters["queue depth"];
        assert!(depths.iter().all(|(_, depth)| *depth <= 16.0), "{special}");
        assert_eq!(depths.last().map(|(_, depth)| *depth), Some(0.0));
        let has_buffer = special.contains("acknowledge=buffer");
        assert_eq!(counters.contains(&"pages in the buffer"), has_buffer, "{special}");
    }
}

#[test]
fn several_loads_share_a_timeline() {
    let mut experiment = experiment("", "1");
    experiment.trace = None;
    experiment.measure_after = 500;
    experiment.load = vec![
        "uniform:requests=2K,reads=100%@closed:depth=8".parse().unwrap(),
        "uniform:writes=1K,interarrival=2ms@open".parse().unwrap(),
    ];
    let (result, timeline) = whole(&experiment);
    timeline.check();
    timeline.check_sums(&result);
    let loads: BTreeSet<u64> = timeline.of(HOST).map(|it| number(&it.args["load"])).collect();
    assert_eq!(loads, BTreeSet::from([0, 1]));
}

#[test]
fn a_timeline_changes_nothing_but_the_notes() {
    let experiment = experiment(SPECIAL[3], "4K");
    let plain = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap();
    let lasting = |result: &RunResult| {
        let mut value = serde_json::to_value(result).unwrap();
        for part in ["wall", "notes"] {
            value.as_object_mut().unwrap().remove(part);
        }
        value
    };
    for extent in [Extent::FirstOperations(1000), Extent::AroundSlowest(3)] {
        assert_eq!(lasting(&drawn(&experiment, extent).0), lasting(&plain), "{extent:?}");
    }
}

#[test]
fn a_window_shows_the_beginning_of_the_whole_timeline() {
    for special in SPECIAL {
        let experiment = experiment(special, "1K");
        let (_, all) = whole(&experiment);
        let (result, window) = drawn(&experiment, Extent::FirstOperations(2000));
        window.check();
        let counted =
            window.ends.values().chain(&window.instants).filter(|end| end.args["counts"] == true);
        let counted = counted.count();
        assert!((2000..2200).contains(&counted), "{special}: {counted} operations");
        let note = "The timeline shows the first 2000 operations; the run went on";
        assert!(result.notes.iter().any(|it| it.starts_with(note)), "{:?}", result.notes);
        assert!(window.about["shows"].as_str().unwrap().starts_with(note));
        let last_ns = window.slices.iter().map(|it| it.from_ns).max().unwrap();
        let key = |slice: &Drawn| (slice.track, slice.from_ns, slice.until_ns, slice.name.clone());
        let mut expected: Vec<_> =
            all.slices.iter().filter(|it| it.from_ns <= last_ns).map(key).collect();
        let mut found: Vec<_> = window.slices.iter().map(key).collect();
        expected.sort();
        found.sort();
        let missing = expected.len() - found.len();
        assert!(found.iter().all(|it| expected.binary_search(it).is_ok()), "{special}");
        assert!(missing < 20, "{special}: {missing} slices are missing");
    }
}

/// The five milliseconds around a request.
const AROUND_NS: u64 = 5_000_000;

#[test]
fn around_the_slowest_requests_everything_is_shown_that_the_whole_timeline_has() {
    const COUNT: usize = 7;
    for special in SPECIAL {
        let experiment = experiment(special, "1K");
        let (_, all) = whole(&experiment);
        let (result, slow) = drawn(&experiment, Extent::AroundSlowest(COUNT));
        slow.check();
        assert!(!result.notes.iter().any(|note| note.contains("timeline")));
        let mut by_time: Vec<(u64, u64)> =
            all.requests().into_iter().map(|(id, (took_ns, _))| (took_ns, id)).collect();
        by_time.sort_by_key(|&(took_ns, id)| (core::cmp::Reverse(took_ns), id));
        let expected: Vec<(u64, u64)> =
            by_time[..COUNT].iter().zip(1..).map(|((_, id), rank)| (rank, *id)).collect();
        let ranks = slow.requests().into_iter().filter_map(|(id, (_, rank))| Some((rank?, id)));
        assert_eq!(ranks.collect::<BTreeMap<_, _>>().into_iter().collect::<Vec<_>>(), expected);

        let windows: Vec<(u64, u64)> = slow
            .of(HOST)
            .filter(|slice| slice.name.starts_with("slow "))
            .map(|it| (it.from_ns.saturating_sub(AROUND_NS), it.until_ns + AROUND_NS))
            .collect();
        assert_eq!(windows.len(), COUNT);
        let covers = |slice: &&Drawn| {
            windows.iter().any(|(from, until)| slice.from_ns <= *until && slice.until_ns >= *from)
        };
        let key = |slice: &Drawn| (slice.track, slice.from_ns, slice.until_ns);
        let expected: BTreeSet<_> = all.slices.iter().filter(covers).map(key).collect();
        let found: BTreeSet<_> = slow.slices.iter().map(key).collect();
        assert!(expected.len() < all.slices.len(), "{special}: the windows cover everything");
        assert_eq!(found, expected, "{special}");
        assert!(slow.ends.len() > COUNT, "{special}: only {} arrows", slow.ends.len());
    }
}

#[test]
fn a_timeline_needs_a_drive() {
    let experiment = Experiment { timing: Timing::Serial, drive: None, ..experiment("", "1K") };
    let mut out = Vec::new();
    let timeline = Some(TimelineOutput { out: &mut out, extent: Extent::AroundSlowest(1) });
    let options = RunOptions { timeline, ..RunOptions::default() };
    let error = run(&Setup::new(&experiment).unwrap(), options).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("give `--timing drive`"), "{error}");
    assert!(out.is_empty());
}
