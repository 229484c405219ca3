//! A trace file is parsed once. Results are the same whether its requests are then cached in
//! memory or in a temporary file, or are parsed again in every pass.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;
use sim::config::choices::Fit;
use sim::config::values::Volume;
use sim::input::source::RequestSource;
use sim::{Error, Experiment, Input, NoProgress, RunOptions, Setup, run};

/// Lines on two devices, with empty requests, flushes, trims of 4 GiB, times that go back and, in
/// line 1000, something else.
fn lines() -> String {
    let mut text = String::from("time_ns,device,rwbs,offset,bytes\n");
    for n in 0u64..3000 {
        let (time_ns, offset) = (1_000_000 + n * 500 - (n % 7) * 600, n * 7919 % 1500 * 512);
        let line = match n % 11 {
            _ if n == 998 => "what is this".to_owned(),
            3 => format!("{time_ns},b,R,{offset},4096"),
            5 => format!("{time_ns},a,W,{offset},0"),
            7 => format!("{time_ns},a,FW,0,0"),
            8 if n % 3 == 0 => format!("{time_ns},b,D,0,{}", 1u64 << 32),
            8 => format!("{time_ns},a,D,{offset},65536"),
            _ => format!("{time_ns},a,WF,{offset},{}", 512 + n % 13 * 512),
        };
        writeln!(text, "{line}").unwrap();
    }
    text
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let packed = std::fs::File::create(directory.path().join("t.csv.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, lines().as_bytes()).unwrap();
        packed.finish().unwrap();
        std::fs::write(directory.path().join("t.csv"), lines()).unwrap();
        Place { directory }
    }

    fn at(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// A run of the file that tolerates its bad line, unless `change` says otherwise.
    fn experiment(&self, change: impl Fn(&mut Experiment)) -> Experiment {
        let mut experiment = Experiment {
            trace: Some(self.at("t.csv")),
            skip_bad: true,
            fit: Fit::Compact,
            ..Experiment::default()
        };
        change(&mut experiment);
        experiment
    }
}

/// The result of a run on an input, without its wall time.
fn result(setup: &Setup, input: &Input) -> String {
    let options = RunOptions { input: Some(input), ..RunOptions::default() };
    without_wall(serde_json::to_value(run(setup, options).unwrap()).unwrap())
}

fn without_wall(mut result: Value) -> String {
    result.as_object_mut().unwrap().remove("wall").expect("a result has wall times");
    result.to_string()
}

/// An input whose files are parsed in every pass.
fn parsed_each_time(setup: &Setup) -> Input {
    let open = |path: &str| -> sim::Result<_> { Ok(Arc::new(RequestSource::file(setup, path)?)) };
    Input::with_files(setup, &NoProgress, open).unwrap()
}

#[track_caller]
fn all_ways_agree(experiment: &Experiment) {
    let setup = Setup::new(experiment).unwrap();
    let expected = result(&setup, &parsed_each_time(&setup));
    for cache_bytes in [0, 1 << 30] {
        let input = Input::open_cached(&setup, cache_bytes, &NoProgress).unwrap();
        assert_eq!(result(&setup, &input), expected, "{cache_bytes} bytes, {experiment:?}");
    }
    let alone = run(&setup, RunOptions::default()).unwrap();
    assert_eq!(without_wall(serde_json::to_value(alone).unwrap()), expected, "{experiment:?}");
}

#[test]
fn results_do_not_depend_on_where_requests_are_cached() {
    let place = Place::new();
    type Change<'a> = &'a dyn Fn(&mut Experiment);
    let changes: [Change; 9] = [
        &|_| (),
        &|e| e.trace = Some(place.at("t.csv.gz")),
        &|e| e.limit = Some(700),
        &|e| e.sort = true,
        &|e| e.volume = Volume::Named("a".into()),
        &|e| e.measure_after = 1000,
        &|e| e.warmup = 2,
        &|e| e.replay = "open".parse().unwrap(),
        &|e| (e.fit, e.volume, e.warmup) = (Fit::Error, Volume::Named("a".into()), 0),
    ];
    for change in changes {
        all_ways_agree(&place.experiment(change));
    }
}

#[test]
fn results_of_several_loads_do_not_depend_on_it_either() {
    let place = Place::new();
    for replays in [["open", "open"], ["closed", "closed"]] {
        let names = [place.at("t.csv"), place.at("t.csv.gz")];
        let loads = names.iter().zip(replays).map(|(name, replay)| format!("{name}@{replay}"));
        let load: Vec<_> = loads.map(|text| text.parse().unwrap()).collect();
        all_ways_agree(
            &place.experiment(|e| (e.trace, e.load, e.limit) = (None, load.clone(), Some(900))),
        );
    }
}

#[test]
fn a_bad_line_is_reported_with_its_place() {
    let place = Place::new();
    for name in ["t.csv", "t.csv.gz"] {
        let path = place.at(name);
        let strict = |e: &mut Experiment| (e.trace, e.skip_bad) = (Some(path.clone()), false);
        let setup = Setup::new(&place.experiment(strict)).unwrap();
        for cache_bytes in [0, 1 << 30] {
            let error = Input::open_cached(&setup, cache_bytes, &NoProgress).err().unwrap();
            assert!(matches!(&error, Error::Trace(error) if error.is_skippable()), "{error}");
            let message = error.to_string();
            assert!(message.starts_with(&format!("{path}:1000: ")), "{message}");
        }
    }
}
