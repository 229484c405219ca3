//! `ftlab drive fit`: results of fio in, a drive out.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn ftlab(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = ftlab(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = ftlab(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{args:?}: {stderr}");
    stderr
}

/// Writes a file and returns its name.
fn file(directory: &Path, name: &str, content: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A job as fio 3 writes it, with results in nanoseconds.
fn job(number: usize, depth: u32, iops: f64, mean_us: f64, p99_us: f64) -> Value {
    json!({
        "jobname": format!("qd{depth}"),
        "groupid": number,
        "error": 0,
        "job options": { "iodepth": depth.to_string() },
        "read": {
            "io_bytes": 409_600_000, "bw": 1, "iops": iops, "runtime": 60_000,
            "total_ios": 100_000, "short_ios": 0,
            "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
            "clat_ns": {
                "min": 1, "max": 2, "mean": mean_us * 1e3, "stddev": 0.0, "N": 100_000,
                "percentile": { "50.000000": 1, "99.000000": (p99_us * 1e3) as u64 },
                "bins": { "90624": 12, "91648": 4 },
            },
            "lat_ns": { "min": 1, "max": 2, "mean": mean_us * 1e3, "stddev": 0.0, "N": 100_000 },
        },
        "write": { "io_bytes": 0, "iops": 0.0, "total_ios": 0, "lat_ns": { "mean": 0.0 } },
        "trim": { "io_bytes": 0, "iops": 0.0, "total_ios": 0 },
    })
}

fn document(jobs: &[Value]) -> String {
    let document = json!({
        "fio version": "fio-3.36",
        "timestamp": 1,
        "global options": { "rw": "randread", "bs": "4k", "direct": "1", "ioengine": "io_uring" },
        "jobs": jobs,
        "disk_util": [],
    });
    format!("fio: a warning comes first\n{document:#}\n")
}

const GEOMETRY: &str = "ideal:channels=8,ways=4,transfer=400MB/s,link=2000MB/s";

/// What a run with these figures achieves at several depths, as fio would write it.
fn measured_in_runs(figures: &str) -> String {
    let drive = format!("{GEOMETRY},{figures}");
    let runs = [1, 4, 16, 64, 128].into_iter().enumerate().map(|(number, depth)| {
        let replay = format!("closed:depth={depth}");
        let result = printed(&[
            "run",
            "uniform:requests=60K,reads=100%",
            "--capacity",
            "256MiB",
            "--warmup",
            "0",
            "--chip",
            "mlc-k9gag",
            "--timing",
            "drive",
            "--drive",
            &drive,
            "--replay",
            &replay,
            "--json",
        ]);
        let result: Value = serde_json::from_str(&result).unwrap();
        let read = &result["response_us"]["read"];
        let number_of = |value: &Value| value.as_f64().unwrap();
        let iops = number_of(&result["drive"]["iops"]);
        job(number, depth, iops, number_of(&read["mean"]), number_of(&read["p99"]))
    });
    document(&runs.collect::<Vec<_>>())
}

#[test]
fn the_figures_of_runs_are_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let truth = "firmware=20us,dispatch=4us,read=50us+70us";
    let fio = file(directory.path(), "fio.json", &measured_in_runs(truth));
    let base = format!("{GEOMETRY},read=20us+24us");
    let result = printed(&["drive", "fit", &fio, "--drive", &base, "--json"]);
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["notes"], json!(["lines before the JSON are ignored: 1"]));
    let profile: drive::Profile = result["drive"].as_str().unwrap().parse().unwrap();
    let truth: drive::Profile = format!("{GEOMETRY},{truth}").parse().unwrap();
    let figures = |profile: &drive::Profile| {
        let read = |index| profile.array_ns(nand::Op::Read, index, &nand::Timing::ZERO);
        [profile.firmware_ns, profile.dispatch_ns, read(0), read(1)]
    };
    for (found, expected) in figures(&profile).into_iter().zip(figures(&truth)) {
        let error = found as f64 / expected as f64 - 1.0;
        assert!(error.abs() < 0.1, "{:?} are not {:?}", figures(&profile), figures(&truth));
    }
    // A read alone takes firmware and array; only the depths between tell the two apart.
    let alone_ns = |profile: &drive::Profile| {
        let [firmware, _, first, second] = figures(profile);
        firmware as f64 + (first + second) as f64 / 2.0
    };
    let error = alone_ns(&profile) / alone_ns(&truth) - 1.0;
    assert!(error.abs() < 0.01, "{:?} are not {:?}", figures(&profile), figures(&truth));
    assert_eq!(profile.dies(), truth.dies());
    for job in result["jobs"].as_array().unwrap() {
        let [measured, model] = ["measured", "model"].map(|it| job[it]["iops"].as_f64().unwrap());
        assert!((model / measured - 1.0).abs() < 0.02, "{job}");
    }
    let text = printed(&["drive", "fit", &fio, "--drive", &base]);
    let spec = format!("drive    {}\n", result["drive"].as_str().unwrap());
    assert!(text.starts_with(&spec) && text.contains("\nqd128"), "{text}");
}

#[test]
fn one_file_for_each_depth_is_as_good_as_one_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let jobs = [(1, 10_000.0, 100.0), (8, 60_000.0, 133.0), (64, 90_000.0, 711.0)];
    let jobs = jobs.map(|(depth, iops, mean)| job(0, depth, iops, mean, 1.5 * mean));
    let numbered = jobs.iter().enumerate().map(|(number, job)| {
        let mut job = job.clone();
        job["groupid"] = number.into();
        job
    });
    let all = file(directory.path(), "all.json", &document(&numbered.collect::<Vec<_>>()));
    let mut command = vec!["drive".to_owned(), "fit".into(), "--json".into(), "-".into()];
    for (number, job) in jobs.iter().enumerate() {
        let name = format!("{number}.json");
        command.push(file(directory.path(), &name, &document(std::slice::from_ref(job))));
    }
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let drive = |text: &str| serde_json::from_str::<Value>(text).unwrap()["drive"].clone();
    assert_eq!(drive(&printed(&command)), drive(&printed(&["drive", "fit", &all, "--json"])));
}

#[test]
fn unusable_measurements_are_refused_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let here = |name: &str, content: &str| file(directory.path(), name, content);
    let write = document(&[job(0, 1, 1e4, 100.0, 200.0)])
        .replace("randread", "randwrite")
        .replace("\"read\": {", "\"other\": {")
        .replace("\"write\": {", "\"read\": {")
        .replace("\"other\": {", "\"write\": {");
    for (content, why) in [
        ("", "is not JSON; run fio with `--output-format=json"),
        ("{\"jobs\": [", "is not complete"),
        ("{\"fio version\": \"fio-3.36\"}", "no list `jobs`"),
        (&document(&[json!({})]), "job `job 1` is left out"),
        (&write, "no job of random reads; add some"),
    ] {
        let stderr = refused(&["drive", "fit", &here("fio.json", content)]);
        assert!(stderr.contains(why), "{stderr}");
    }
    assert!(refused(&["drive", "fit", "nowhere.json"]).contains("cannot read nowhere.json"));
    let good = here("fio.json", &document(&[job(0, 1, 1e4, 100.0, 200.0)]));
    let stderr = refused(&["drive", "fit", &good, "--drive", "zoned"]);
    assert!(stderr.contains("did you mean `zoned-nvme`?"), "{stderr}");
    let stderr = refused(&["drive", "fit", &good, "--json", &good]);
    assert!(stderr.contains("would be overwritten"), "{stderr}");
    let text = printed(&["drive", "fit", &good]);
    assert!(text.contains("do not tell dispatcher, firmware and array apart"), "{text}");
}
