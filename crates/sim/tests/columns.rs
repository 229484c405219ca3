//! Runs of requests in memory: the same results as those of files with the same requests.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;
use sim::config::replay::Replay;
use sim::{Experiment, Input, NoProgress, RunOptions, Setup, run};
use trace::writer::{OutputFormat, TraceWriter};
use trace::{ReadOptions, RequestTable, Trace};

/// Lines on two devices with empty requests, flushes and times that go back.
fn lines() -> String {
    let mut text = String::from("time_ns,device,rwbs,offset,bytes\n");
    for n in 0u64..4000 {
        let (time_ns, offset) = (1_000_000 + n * 500 - (n % 7) * 600, n * 7919 % 1500 * 512);
        let line = match n % 11 {
            3 => format!("{time_ns},b,R,{offset},4096"),
            5 => format!("{time_ns},a,W,{offset},0"),
            7 => format!("{time_ns},a,FW,0,0"),
            8 => format!("{time_ns},a,D,{offset},65536"),
            _ => format!("{time_ns},a,WF,{offset},{}", 512 + n % 13 * 512),
        };
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// The lines as a file in a format.
fn file(format: OutputFormat) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines = Trace::of_bytes("lines", lines().as_bytes(), &ReadOptions::default()).unwrap();
    let mut writer = TraceWriter::new(&file, format).unwrap();
    lines.requests().unwrap().iter().for_each(|request| writer.write(request).unwrap());
    writer.finish().unwrap();
    file
}

fn table(path: &str) -> Arc<RequestTable> {
    let trace = Trace::open(path, &ReadOptions::default()).unwrap();
    Arc::new(trace.to_table(|_| trace::Result::Ok(())).unwrap())
}

/// A result without its name, format, digest and wall time.
fn figures(setup: &Setup) -> Value {
    let mut result = serde_json::to_value(run(setup, RunOptions::default()).unwrap()).unwrap();
    result.as_object_mut().unwrap().remove("wall");
    for (part, field) in [("trace", "name"), ("trace", "format"), ("run", "trace_sha256")] {
        let removed = result[part].as_object_mut().unwrap().remove(field);
        assert!(removed.is_some(), "{part}.{field}");
    }
    result
}

#[test]
fn a_table_has_the_result_of_the_file_it_was_read_from() {
    for format in [OutputFormat::Csv, OutputFormat::Fio, OutputFormat::Blkparse] {
        let file = file(format);
        let path = file.path().to_str().unwrap();
        for (limit, replay) in [(None, Replay::CLOSED), (Some(700), Replay::OPEN)] {
            let experiment = Experiment { limit, replay, warmup: 1, ..Experiment::default() };
            let of_file = Experiment { trace: Some(path.to_owned()), ..experiment.clone() };
            let expected = figures(&Setup::new(&of_file).unwrap());
            let in_memory = Setup::new(&experiment).unwrap().with_requests(&table(path)).unwrap();
            assert_eq!(figures(&in_memory), expected, "{format:?}, limit {limit:?}");
        }
    }
}

#[test]
fn a_table_names_itself_in_the_result() {
    let file = file(OutputFormat::Csv);
    let path = file.path().to_str().unwrap();
    let table = table(path);
    let setup = Setup::new(&Experiment::default()).unwrap().with_requests(&table).unwrap();
    let result = serde_json::to_value(run(&setup, RunOptions::default()).unwrap()).unwrap();
    assert_eq!(
        (&result["trace"]["name"], &result["trace"]["format"]),
        (&path.into(), &"columns".into())
    );
    assert_eq!(result["run"]["trace_sha256"], table.sha256());
}

#[test]
fn one_input_serves_several_ftls() {
    let file = file(OutputFormat::Csv);
    let table = table(file.path().to_str().unwrap());
    let of = |ftl: &str| {
        let experiment = Experiment { ftl: ftl.into(), ..Experiment::default() };
        Setup::new(&experiment).unwrap().with_requests(&table).unwrap()
    };
    let input = Input::open_cached(&of("page"), 1 << 20, &NoProgress).unwrap();
    for ftl in ["page", "fast"] {
        let options = RunOptions { input: Some(&input), ..RunOptions::default() };
        let shared = run(&of(ftl), options).unwrap();
        let alone = run(&of(ftl), RunOptions::default()).unwrap();
        assert_eq!(shared.erases.total, alone.erases.total);
        assert_eq!(shared.trace.requests, table.rows());
    }
}

#[test]
fn requests_in_memory_replace_no_other_trace() {
    let text = lines();
    let raised = Trace::of_bytes("lines", text.as_bytes(), &ReadOptions::default()).unwrap();
    let table = Arc::new(raised.to_table(|_| trace::Result::Ok(())).unwrap());
    let refused = |experiment: Experiment| {
        let refused = Setup::new(&experiment).unwrap().with_requests(&table);
        let error = refused.and_then(|setup| Input::open(&setup, &NoProgress)).err().unwrap();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    };
    let plain = Experiment::default;
    let why = refused(Experiment { trace: Some("oltp".into()), ..plain() });
    assert!(why.contains("either requests in memory, or a trace"), "{why}");
    let why = refused(Experiment { load: vec!["oltp".parse().unwrap()], ..plain() });
    assert!(why.contains("either requests in memory, or a trace"), "{why}");
    let why = refused(Experiment { skip_bad: true, ..plain() });
    assert!(why.contains("are for trace files only"), "{why}");
    let why = refused(Experiment { sort: true, ..plain() });
    assert!(why.contains("times were raised to that of an earlier request"), "{why}");
}
