//! The command as users and scripts see it: exit codes, messages, complete outputs.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A workload that takes milliseconds.
const SHORT: &str = "uniform:writes=2K,reads=20%";

fn ftlab(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.args(args).stdin(Stdio::null());
    command
}

fn ran(args: &[&str]) -> Output {
    ftlab(args).output().unwrap()
}

/// Runs a command that must succeed. Returns its standard output.
#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = ran(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    assert_eq!(stderr, "", "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail with this code and print nothing else. Returns its standard error.
#[track_caller]
fn refused(code: i32, args: &[&str]) -> String {
    let output = ran(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{args:?}");
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    stderr
}

/// Creates a file with this content in a directory of its own.
fn file(name: &str, content: &[u8]) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_statistics_of_a_trace_fit_into_a_terminal() {
    let text = printed(&["trace", "info", "oltp:writes=100K,reads=30%"]);
    let hottest = text.lines().position(|line| line.starts_with("hottest pages")).unwrap();
    assert!(text.lines().nth(hottest + 1).unwrap().starts_with("                 "), "{text}");
    for line in text.lines().filter(|line| !line.starts_with("note ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// Twenty requests show no cost of collection, from which an endurance could follow.
#[test]
fn the_endurance_of_a_short_trace_is_unknown() {
    let run = |workload: &str| {
        let run = ["run", workload, "--capacity", "1MiB", "--chip", "slc-fast2010:page=4KiB"];
        (printed(&run), json(&printed(&[&run[..], &["--json"]].concat())))
    };
    let (text, result) = run("uniform:writes=20");
    assert!(text.contains("endurance  unknown: the measured pass is too short"), "{text}");
    assert!(result["endurance"]["drive_writes"].is_null(), "{}", result["endurance"]);
    let (text, result) = run("uniform:writes=2K");
    assert!(text.contains(" drive writes until all blocks"), "{text}");
    assert!(result["endurance"]["drive_writes"].is_f64(), "{}", result["endurance"]);
}

#[test]
fn volumes_that_are_laid_end_to_end_are_in_a_note() {
    let (_directory, path) = file("t.spc", b"0,0,4096,W,0.1\n3,8,4096,W,0.2\n");
    let run = ["run", &path, "--warmup", "0"];
    let text = printed(&run);
    assert!(text.contains("The trace has 2 volumes, which are laid end to end."), "{text}");
    for more in [["--volume", "3"], ["--limit", "1"]] {
        let text = printed(&[&run[..], &more].concat());
        assert!(!text.contains("end to end"), "{text}");
    }
}

#[test]
fn a_size_without_a_target_says_how_to_give_one() {
    let stderr = refused(2, &["size", SHORT]);
    assert!(stderr.contains("as in `ftlab size TRACE --waf 3`"), "{stderr}");
}

// ---- Traces that cannot be read ---------------------------------------------------------------

#[test]
fn a_missing_trace_is_named() {
    let stderr = refused(1, &["run", "/no/such/file.spc"]);
    assert!(stderr.starts_with("ftlab: cannot open trace `/no/such/file.spc`: "), "{stderr}");
}

#[test]
fn a_folder_without_files_is_not_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let stderr = refused(1, &["run", &format!("{}/", directory.path().display())]);
    assert!(stderr.contains("no file in the folder"), "{stderr}");
}

#[test]
fn an_unknown_format_is_quoted_and_a_misspelt_one_corrected() {
    let (_directory, path) = file("t", b"what, is, this\n");
    let stderr = refused(1, &["run", &path]);
    assert!(stderr.contains("no known format; it begins: what, is, this"), "{stderr}");
    let stderr = refused(2, &["run", &path, "--format", "blkpars"]);
    assert!(stderr.contains("did you mean `blkparse`?"), "{stderr}");
}

#[test]
fn a_malformed_line_is_named_with_its_place_and_text() {
    let (_directory, path) = file("t", b"0,0,512,W,0.1\n0,zero,512,W,0.2\n");
    let stderr = refused(1, &["run", &path]);
    assert!(stderr.starts_with(&format!("ftlab: {path}:2: ")), "{stderr}");
    assert!(stderr.contains(": 0,zero,512,W,0.2"), "{stderr}");
    let result = json(&printed(&["run", &path, "--skip-bad", "--json", "-"]));
    assert_eq!(result["trace"]["skipped"]["malformed"], 1);
    assert_eq!((&result["trace"]["requests"], &result["trace"]["writes"]), (&2.into(), &1.into()));
}

#[test]
fn every_command_tells_what_was_skipped() {
    let good: String = (0..40).map(|n| format!("0,{},4096,W,{n}.5\n", n % 8 * 16_384)).collect();
    let (directory, path) = file("t", (good + "0,zero,512,W,50\n").as_bytes());
    let note = "`--skip-bad` left out 1 of 41 lines or records (2.4 %)";
    for command in [
        &["run", &path][..],
        &["compare", &path, "--ftl", "page", "--ftl", "fast"],
        &["bound", &path, "--capacity", "256MiB"],
        &["trace", "info", &path],
        &["size", &path, "--waf", "2", "--until", "steady:rounds=6"],
    ] {
        let text = printed(&[command, &["--skip-bad"]].concat());
        assert!(text.contains(note), "{command:?}: {text}");
    }
    let page = directory.path().join("page.html").to_str().unwrap().to_owned();
    printed(&["compare", &path, "--ftl", "page", "--skip-bad", "--report", &page]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("left out 1 of 41 lines"));
    let out = directory.path().join("out").to_str().unwrap().to_owned();
    let output = ftlab(&["trace", "convert", &path, "--skip-bad", "--out", &out]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.starts_with(&format!("note: {note}")), "{stderr}");
    let (_directory, path) = file("t", b"0,0,512,W,half\n0,zero,512,W,0.2\n");
    let stderr = refused(1, &["trace", "info", &path, "--format", "spc", "--skip-bad"]);
    assert!(stderr.contains("has no request left"), "{stderr}");
    let stderr = refused(1, &["run", &path, "--format", "spc"]);
    assert!(stderr.contains("\n`ftlab list formats` says how other columns and units"), "{stderr}");
}

#[test]
fn an_absurd_time_stamp_does_not_change_response_times() {
    let response = |stamp: &str| {
        let line = |ms: usize| {
            let time = format!("0.{ms:03}000000");
            let time = if ms == 20 { stamp } else { &time };
            format!("8,0 1 {ms} {time} 9 D W {} + 8 [a]\n", ms % 64 * 8)
        };
        let (_directory, path) = file("t", (1..=200).map(line).collect::<String>().as_bytes());
        let result = json(&printed(&["run", &path, "--replay", "open", "--json", "-"]));
        (result["response_us"]["write"]["mean"].as_f64().unwrap(), result["notes"].to_string())
    };
    let (expected, notes) = response("0.020000000");
    assert!(!notes.contains("times are more than a year"), "{notes}");
    let before_start = "1 of the times is shortly before the start";
    for (stamp, note) in [
        ("18446744073.000000000", before_start),
        ("1266874889.690000000", before_start),
        ("4000000000.000000000", "1 of 200 times are more than a year after"),
    ] {
        let (mean, notes) = response(stamp);
        assert!((mean / expected - 1.0).abs() < 0.01, "{stamp}: {mean} instead of {expected}");
        assert!(notes.contains(note), "{stamp}: {notes}");
    }
}

#[test]
fn a_request_beyond_the_capacity_is_named_by_its_number() {
    let (_directory, path) = file("t", b"0,0,512,W,0.1\n0,5000,512,W,0.2\n");
    let stderr = refused(1, &["run", &path, "--capacity", "1MiB"]);
    let expected = "request 2 ends at byte 2560512, beyond the capacity of 1048576 bytes";
    assert!(stderr.contains(expected), "{stderr}");
    assert!(stderr.contains("`--fit wrap`"), "{stderr}");
    for fit in ["wrap", "compact"] {
        printed(&["run", &path, "--capacity", "1MiB", "--fit", fit, "--verify"]);
    }
}

#[test]
fn a_request_beyond_all_addresses_is_a_malformed_line() {
    let (_directory, path) = file("t", b"0,0,512,W,0.1\n0,36028797018963967,1024,W,0.2\n");
    let stderr = refused(1, &["run", &path]);
    assert!(stderr.starts_with(&format!("ftlab: {path}:2: ")), "{stderr}");
}

#[test]
fn huge_addresses_make_an_impossible_device_or_wrap() {
    let (_directory, path) = file("t", b"0,0,512,W,0.1\n0,36028797018963900,1024,W,0.2\n");
    let stderr = refused(2, &["run", &path]);
    assert!(stderr.contains("32-bit page numbers"), "{stderr}");
    printed(&["run", &path, "--capacity", "1MiB", "--fit", "wrap", "--verify"]);
    printed(&["run", &path, "--fit", "compact", "--verify"]);
}

#[test]
fn a_huge_request_covers_the_device_once() {
    let long = format!("0,0,512,W,0.1\n0,0,{},W,0.2\n0,3,{0},W,0.3\n", u64::MAX / 4);
    let (_directory, path) = file("t", long.as_bytes());
    let args = ["run", &path, "--capacity", "1MiB", "--fit", "wrap", "--verify", "--json", "-"];
    let result = json(&printed(&args));
    assert_eq!(result["host_pages"]["written"], 1 + 512 + 513);
}

#[test]
fn empty_requests_are_counted_and_skipped() {
    let (_directory, path) = file("t", b"0,0,0,W,0.1\n0,0,512,W,0.2\n0,7,0,R,0.3\n");
    let result = json(&printed(&["run", &path, "--json", "-"]));
    assert_eq!(result["trace"]["skipped"]["zero-length"], 2);
    assert_eq!(result["trace"]["requests"], 3);
}

#[test]
fn truncated_compression_is_detected() {
    let text: String = (0..50_000).map(|n| format!("0,{},512,W,{n}.0\n", n * 7 % 4096)).collect();
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let (_directory, path) = file("t.zst", &packed[..packed.len() / 2]);
    let stderr = refused(1, &["run", &path]);
    assert!(stderr.contains(&path) && stderr.contains("data are truncated"), "{stderr}");
    let (_directory, path) = file("t.zst", &packed);
    printed(&["run", &path, "--limit", "1000"]);
}

#[test]
fn an_empty_file_is_not_a_trace() {
    let (_directory, path) = file("t", b"");
    let stderr = refused(1, &["run", &path]);
    assert!(stderr.contains("is empty"), "{stderr}");
}

#[test]
fn standard_input_can_be_replayed() {
    let mut command = ftlab(&["run", "-", "--warmup", "2", "--json", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"0,0,2048,W,0.1\n0,4,2048,W,0.2\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let result = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(result["trace"]["writes"], 2);
}

/// The event that blktrace records when a write is queued.
fn blktrace_event(sector: u64) -> Vec<u8> {
    let mut record = 0x6561_7407u32.to_le_bytes().to_vec();
    record.resize(16, 0);
    record.extend_from_slice(&sector.to_le_bytes());
    record.extend_from_slice(&512u32.to_le_bytes());
    record.extend_from_slice(&(2u32 << 16 | 1).to_le_bytes());
    record.resize(48, 0);
    record
}

#[test]
fn the_files_of_blktrace_are_named_by_their_common_prefix() {
    let directory = tempfile::tempdir().unwrap();
    for (cpu, sectors) in [[1, 2], [3, 4]].iter().enumerate() {
        let events = sectors.iter().flat_map(|&sector| blktrace_event(sector));
        // Files take precedence over a workload of the same name.
        let path = directory.path().join(format!("oltp.blktrace.{cpu}"));
        std::fs::write(path, events.collect::<Vec<u8>>()).unwrap();
    }
    for word in ["oltp", "oltp.blktrace", "oltp.blktrace.1"] {
        let mut command = ftlab(&["run", word, "--json", "-"]);
        let output = command.current_dir(&directory).output().unwrap();
        let result = json(&String::from_utf8(output.stdout).unwrap());
        let trace = &result["trace"];
        assert_eq!((&trace["format"], &trace["writes"]), (&"blktrace".into(), &4.into()), "{word}");
    }
}

#[test]
fn an_archive_is_a_trace_and_its_members_are_selected_by_path() {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, text) in
        [("set/2.spc", "0,8,512,W,0.2\n"), ("README", "words\n"), ("set/1.spc", "0,0,512,W,0.1\n")]
    {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    let packed = zstd::encode_all(archive.into_inner().unwrap().as_slice(), 3).unwrap();
    let (_directory, path) = file("set.tar.zst", &packed);
    let stderr = refused(1, &["run", &path]);
    assert!(stderr.contains(&format!("trace `{path}/README` is in no known format")), "{stderr}");
    let result = json(&printed(&["run", &format!("{path}/set"), "--json", "-"]));
    let trace = &result["trace"];
    assert_eq!((&trace["writes"], &trace["name"]), (&2.into(), &format!("{path}/set").into()));
    let stderr = refused(1, &["run", &format!("{path}/set/3.spc")]);
    assert!(stderr.contains("no member matches `set/3.spc`; it has 3 members"), "{stderr}");
}

// ---- Impossible devices and unknown words -------------------------------------------------------

#[test]
fn impossible_devices_are_refused_with_a_reason() {
    let cases: [(&[&str], &str); 8] = [
        (&["--extra", "1blocks"], "page needs at least 2 extra blocks, this device has 1"),
        (&["--extra", "1blocks", "--ftl", "page:frontiers=2"], "at least 3 extra blocks"),
        (&["--chip", "slc-lsb:page=1000"], "a page of 1000 B is no multiple of 512 B"),
        (&["--chip", "slc-lsb:page=64KiB"], "above 32768 B"),
        (&["--capacity", "0"], "capacity 0"),
        (&["--capacity", "64TiB"], "32-bit page numbers"),
        (&["--ftl", "page:frontiers=3"], "frontiers=3; 1 or 2 are possible"),
        (&["--interval", "0"], "interval of 0"),
    ];
    for (options, why) in cases {
        let stderr = refused(2, &[&["run", SHORT], options].concat());
        assert!(stderr.contains(why), "{options:?}: {stderr}");
    }
}

#[test]
fn unknown_words_are_refused_with_the_nearest() {
    let cases: [(&[&str], &str); 13] = [
        (&["compare", SHORT, "--ftl", "page", "--jobs", "0"], "a whole number of at least 1"),
        (&["run", SHORT, "--ftl", "pgae"], "did you mean `page`?"),
        (&["run", SHORT, "--ftl", "page:victm=fifo"], "did you mean `victim`?"),
        (&["run", SHORT, "--ftl", "page:victim=greey"], "did you mean `greedy`?"),
        (&["run", SHORT, "--chip", "slc-fast"], "did you mean `slc-fast2010`?"),
        (&["run", SHORT, "--fit", "warp"], "did you mean `wrap`?"),
        (&["run", SHORT, "--extra", "many"], "`20blocks`"),
        (&["run", "unifrom:writes=3"], "did you mean `uniform`?"),
        (&["run", "uniform:wirtes=3"], "did you mean `writes`?"),
        (&["run", SHORT, "--timing", "driev"], "did you mean `drive`?"),
        (&["run", SHORT, "--timing", "drive", "--drive", "idael"], "did you mean `ideal`?"),
        (&["run", SHORT, "--drive", "ideal"], "give `--timing drive`"),
        (&["run", SHORT, "--bufer", "1MiB"], "unexpected argument '--bufer'"),
    ];
    for (args, hint) in cases {
        let stderr = refused(2, args);
        assert!(stderr.contains(hint), "{args:?}: {stderr}");
    }
}

#[test]
fn a_workload_that_does_not_fit_is_refused() {
    let stderr = refused(2, &["run", "uniform:pages=1M", "--capacity", "1MiB"]);
    assert!(stderr.contains("pages=1000000 is more than"), "{stderr}");
}

// ---- Outputs ---------------------------------------------------------------------------------

#[test]
fn the_same_command_gives_the_same_json_except_for_wall() {
    let args = ["run", SHORT, "--capacity", "16MiB", "--interval", "500", "--json", "-"];
    let lasting = |args: &[&str]| {
        let text = printed(args);
        let (lasting, wall) = text.split_once("\"wall\"").expect("wall comes last");
        assert!(wall.contains("replay_seconds"));
        lasting.to_owned()
    };
    assert_eq!(lasting(&args), lasting(&args));
}

#[test]
fn a_run_prints_a_table_unless_it_is_quiet() {
    let table = printed(&["run", SHORT, "--capacity", "16MiB"]);
    for part in ["write amplification", "p99.9", "does not predict the latency", "wear", "RAM"] {
        assert!(table.contains(part), "{part} is missing: {table}");
    }
    assert_eq!(printed(&["run", SHORT, "--capacity", "16MiB", "--quiet"]), "");
}

#[test]
fn a_json_file_appears_complete_beside_the_table() {
    let (directory, path) = file("old.json", b"old");
    let table = printed(&["run", SHORT, "--capacity", "16MiB", "--json", &path]);
    assert!(table.contains("write amplification"));
    assert_eq!(json(&std::fs::read_to_string(&path).unwrap())["schema"], "ftlab.run/1");
    assert_eq!(entries(directory.path()).len(), 1);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("missing/out.json");
    let endless = "uniform:writes=1000G";
    for path in [nowhere.to_str().unwrap(), directory.path().to_str().unwrap()] {
        let stderr = refused(1, &["run", endless, "--json", path]);
        assert!(stderr.starts_with(&format!("ftlab: cannot write {path}: ")), "{stderr}");
    }
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn a_failed_run_keeps_the_old_output() {
    let (directory, out) = file("out.json", b"old");
    let trace = directory.path().join("t");
    std::fs::write(&trace, "0,0,512,W,0.1\nrubbish\n").unwrap();
    refused(1, &["run", trace.to_str().unwrap(), "--json", &out]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(entries(directory.path()).len(), 2);
}

/// Waits until a process has a handler for SIGINT, the second signal.
fn wait_for_the_handler(process: u32) {
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
    };
    while !listens() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn an_interrupt_ends_a_run_with_130_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.json");
    let mut command = ftlab(&["run", "uniform:writes=1000G", "--json", out.to_str().unwrap()]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for_the_handler(child.id());
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "ftlab: interrupted\n");
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut command = ftlab(&["trace", "generate", "uniform:writes=1G", "--out", "-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

// ---- The other subcommands ----------------------------------------------------------------------

#[test]
fn compare_gives_an_array_in_the_order_of_the_options() {
    let trace = "uniform:writes=500,reads=20%,seed=3";
    let common = ["compare", trace, "--capacity", "16MiB", "--ftl", "block", "--ftl", "page"];
    let results = json(&printed(&[&common[..], &["--json", "-"]].concat()));
    let names: Vec<&Value> =
        results.as_array().unwrap().iter().map(|result| &result["ftl"]["name"]).collect();
    assert_eq!(names, ["block", "page"]);
    let both = printed(&[&common[..], &["--durability", "paper", "--durability", "full"]].concat());
    let mut lines = both.lines();
    let headline = lines.by_ref().take_while(|line| !line.is_empty()).count();
    assert!(headline > 0, "{both}");
    let what = lines.next().unwrap();
    for part in [trace, "625 requests, 80 % writes", "slc-fast2010", "% extra", "warmed up by 1"] {
        assert!(what.contains(part), "{part}: {what}");
    }
    let head = lines.nth(1).unwrap();
    for column in ["block (paper)", "block (full)", "page (paper)", "page (full)"] {
        assert!(head.contains(column), "{head}");
    }
    assert!(both.contains("does not predict the latency"));
    for row in ["IOPS", "MB/s", "cost of a write"] {
        assert!(both.lines().any(|line| line.trim_start().starts_with(row)), "{row}: {both}");
    }
    let alone = json(&printed(&["run", trace, "--capacity", "16MiB", "--json", "-"]));
    for part in ["reads", "programs", "erases", "time_us", "service_us"] {
        assert_eq!(results[1][part], alone[part], "{part}");
    }
}

#[test]
fn compare_gives_the_same_on_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.log");
    let trace = trace.to_str().unwrap();
    let space = ["--capacity", "16MiB"];
    printed(
        &[&["trace", "generate", "uniform:writes=3K,reads=20%", "--out", trace], &space[..]]
            .concat(),
    );
    let ftls = ["block", "page", "fast", "page:victim=fifo", "dftl"];
    let ftls: Vec<&str> = ftls.into_iter().flat_map(|ftl| ["--ftl", ftl]).collect();
    let compare = [&["compare", trace, "--json", "-"], &space[..], &ftls].concat();
    let of = |options: &[&str]| {
        let mut results = json(&printed(&[&compare[..], options].concat()));
        let results = results.as_array_mut().unwrap();
        results.iter_mut().for_each(|it| _ = it.as_object_mut().unwrap().remove("wall"));
        serde_json::to_string(results).unwrap()
    };
    let alone = of(&["--jobs", "1"]);
    for options in [&["--jobs", "2"][..], &["--jobs", "9"], &["--jobs", "3", "--memory", "0"], &[]]
    {
        assert!(of(options) == alone, "{options:?}");
    }
    let none = refused(2, &[&compare[..], &["--jobs", "0"]].concat());
    assert!(none.contains("--jobs"), "{none}");
}

#[test]
fn a_failed_comparison_names_the_first_ftl_that_failed() {
    let few = ["compare", "uniform:writes=1K", "--capacity", "2MiB", "--extra", "2blocks"];
    let ftls = ["--ftl", "page", "--ftl", "lsb", "--ftl", "superblock"];
    for jobs in ["1", "3"] {
        let stderr = refused(2, &[&few[..], &ftls, &["--jobs", jobs]].concat());
        let why = "lsb needs at least 3 extra blocks, this device has 2 (FTL 2 of 3: lsb)";
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn a_quiet_check_prints_only_what_it_finds() {
    let check = ["check", "--ftl", "block", "--geometry", "least", "--workload", "hot"];
    let check = [&check[..], &["--faults", "basic"]].concat();
    assert!(printed(&check).contains("block"));
    assert_eq!(printed(&[&check[..], &["--quiet"]].concat()), "");
    let cut = ["--cut", "3", "--outcome", "torn", "--quiet"];
    assert_eq!(printed(&[&check[..], &cut].concat()), "");
}

#[test]
fn a_check_tries_the_faults_that_were_chosen() {
    let check = ["check", "--ftl", "page", "--geometry", "tiny-mlc", "--workload", "merges"];
    let text = printed(&[&check[..], &["--faults", "basic"]].concat());
    assert!(text.contains("after the mount") && text.contains("unstable"), "{text}");
    assert!(!text.contains("paired") && !text.contains("mixed"), "{text}");
    let unknown = refused(2, &[&check[..], &["--faults", "basic,pared"]].concat());
    assert!(unknown.contains("did you mean `paired`?"), "{unknown}");
}

#[test]
fn a_check_takes_any_chip_that_the_product_accepts_and_draws_some() {
    let check = ["check", "--ftl", "lsb", "--workload", "merges", "--second-cuts", "0"];
    let text = printed(&[&check[..], &["--geometry", "drawn", "--seed", "3"]].concat());
    assert!(text.contains("lsb") && text.contains("1 seed in"), "{text}");
    let chip = "tiny:pages_per_block=6,cell_bits=3,pair_distance=2";
    let replay = ["--geometry", chip, "--cut", "7", "--outcome", "torn"];
    let text = printed(&[&check[..], &replay].concat());
    assert!(
        text.contains(&format!("--geometry {chip} --workload merges --seed 1 --cut 7")),
        "{text}"
    );
    let refusals = [
        ("tiny:cell_bits=5", "impossible chip: cells have 1 to 4 bits"),
        ("tiny:cell_bits=2,pair_distance=1,spare=30", "give the chip `spare=37`"),
        ("tiny:extras=3", "did you mean `extra`?"),
        ("drawn", "name one --geometry that is not drawn"),
    ];
    for (geometry, why) in refusals {
        let cut: &[&str] = if geometry == "drawn" { &["--cut", "7"] } else { &[] };
        let stderr = refused(2, &[&check[..], &["--geometry", geometry], cut].concat());
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn a_replay_tells_when_weak_pages_decay() {
    let check = ["check", "--ftl", "page", "--geometry", "tiny", "--workload", "sequential"];
    let cuts = ["--cut", "10", "--outcome", "torn@37", "--second", "3:untouched@0"];
    let text = printed(&[&check[..], &cuts].concat());
    assert!(text.contains("--cut 10 --outcome torn@37 --second 3:untouched@0"), "{text}");
    assert!(text.contains("all is well"), "{text}");
    let malformed = ["--cut", "10", "--outcome", "torn@x"];
    let stderr = refused(2, &[&check[..], &malformed].concat());
    assert!(stderr.contains("4:unstable@37"), "{stderr}");
}

/// What `paper` does not promise must not look like a bug.
#[test]
fn a_replay_of_a_cut_that_the_durability_does_not_cover_is_refused() {
    let check = ["check", "--ftl", "page", "--geometry", "tiny", "--workload", "sequential"];
    let paper = ["--durability", "paper", "--cut", "10"];
    for outcome in ["half", "flipped", "unstable@3"] {
        let stderr = refused(2, &[&check[..], &paper, &["--outcome", outcome]].concat());
        let sentence = format!("durability `paper` promises nothing after the cut 10:{outcome}");
        assert!(stderr.contains(&sentence), "{stderr}");
    }
    let tried = printed(&[&check[..], &paper, &["--quiet"]].concat());
    assert_eq!(tried, "", "the other outcomes are tried");
    let pairs = ["check", "--ftl", "page", "--geometry", "tiny-mlc", "--workload", "sequential"];
    let stderr = refused(2, &[&pairs[..], &paper].concat());
    assert!(stderr.contains("promises nothing after a cut on this chip"), "{stderr}");
    let never = ["--cut", "9999", "--outcome", "torn", "--quiet"];
    let stderr = refused(2, &[&check[..], &never].concat());
    assert!(stderr.contains("the cut 9999:torn never happens"), "{stderr}");
}

#[test]
fn a_crash_of_the_machine_below_an_image_is_replayed() {
    let check = ["check", "--ftl", "page", "--geometry", "tiny", "--workload", "sequential"];
    let image = [&check[..], &["--on", "image"]].concat();
    let crashes = ["--crash", "40", "--loss", "one@3", "--second", "9:all"];
    let text = printed(&[&image[..], &crashes].concat());
    assert!(text.contains("--on image --crash 40 --loss one@3 --second 9:all"), "{text}");
    assert!(text.contains("all is well"), "{text}");
    let refusals: [(&[&str], &[&str], &str); 4] = [
        (&image, &["--crash", "40", "--loss", "two@3"], "a loss such as"),
        (&image, &["--crash", "99999", "--loss", "all", "--quiet"], "never happens"),
        (&image, &["--durability", "paper"], "an image needs durability `full`"),
        (&check, &["--crash", "40", "--loss", "all"], "add --on image"),
    ];
    for (check, options, why) in refusals {
        let stderr = refused(2, &[check, options].concat());
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn a_check_without_time_for_every_form_fails_and_names_the_others() {
    let check =
        ["check", "--ftl", "page", "--ftl", "block", "--ftl", "fast", "--geometry", "small"];
    let stderr =
        refused(1, &[&check[..], &["--faults", "basic", "--budget", "1ns", "--quiet"]].concat());
    assert!(stderr.contains("the time was over before any case of 3 of 3 forms"), "{stderr}");
    assert!(stderr.contains("page, block, fast; give a longer `--budget`"), "{stderr}");
    let all = ["check", "--ftl", "all", "--geometry", "tiny", "--budget", "1ns", "--quiet"];
    let stderr = refused(1, &all);
    assert!(stderr.contains(" more; give a longer") && stderr.len() < 400, "{stderr}");
}

#[test]
fn a_geometry_for_one_workload_is_refused_with_another() {
    let check = ["check", "--ftl", "page", "--geometry", "windows", "--workload", "hot"];
    let stderr = refused(2, &check);
    assert!(stderr.contains("too large for workloads other than `windows`"), "{stderr}");
}

#[test]
fn a_device_that_never_collected_says_so_wherever_its_write_amplification_is_shown() {
    const NOTE: &str = "No block was ever collected, so the cost of a write is that of an empty \
                        device. Take a smaller `--capacity`";
    let large = ["uniform:writes=500", "--capacity", "64MiB"];
    let table = printed(&[&["run"], &large[..]].concat());
    let line = table.lines().find(|line| line.starts_with("write amplification")).unwrap();
    assert!(line.contains("1.0000 ") && line.ends_with("no block was collected (see the note)"));
    assert!(table.contains(&format!("note     {NOTE}")), "{table}");
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("page.html");
    let both = ["--ftl", "page", "--ftl", "dac", "--report", report.to_str().unwrap()];
    let text = printed(&[&["compare"], &large[..], &both[..]].concat());
    assert!(text.contains(&format!("note: {NOTE}")), "{text}");
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.replace("<code>", "`").replace("</code>", "`").contains(NOTE));
    let result = json(&printed(&[&["run", "--json", "-"], &large[..]].concat()));
    assert!(result["notes"][0].as_str().unwrap().starts_with(NOTE), "{}", result["notes"]);
}

#[test]
fn a_generated_file_runs_like_its_workload() {
    let directory = tempfile::tempdir().unwrap();
    let workload = "skew:writes=3K,reads=10%";
    let space = ["--capacity", "16MiB"];
    let of = |trace: &str| json(&printed(&[&["run", trace, "--json", "-"], &space[..]].concat()));
    let direct = of(workload);
    for form in ["fio", "blkparse", "csv"] {
        let path = directory.path().join(form);
        let path = path.to_str().unwrap();
        let options = ["--page", "2KiB", "--out", path, "--format", form];
        printed(&[&["trace", "generate", workload], &options[..], &space[..]].concat());
        let read = of(path);
        assert_eq!(read["trace"]["format"], form);
        for part in ["host_pages", "reads", "programs", "erases", "service_us"] {
            assert_eq!(read[part], direct[part], "{form}: {part}");
        }
    }
}

#[test]
fn notes_on_a_trace_accompany_every_output() {
    const NOTE: &str = "The requests are the events with action D (issued to the device).";
    let lines = "7,4 0 1 0.0 23 D WS 8 8\n7,4 0 2 0.5 23 D R 8 8\n";
    let (directory, trace) = file("t.txt", lines.as_bytes());
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let text = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let result = json(&printed(&["run", &trace, "--json", "-"]));
    // The second note says that no block was collected.
    assert_eq!((&result["notes"][0], &result["notes"][2]), (&NOTE.into(), &Value::Null));
    let info = json(&printed(&["trace", "info", &trace, "--json"]));
    assert_eq!(info["notes"], serde_json::json!([NOTE]));
    let line = format!("note     {NOTE}\n");
    assert!(printed(&["run", &trace]).contains(&line));
    let both = ["--ftl", "page", "--ftl", "bast", "--report", &at("compared.html")];
    let compared = printed(&[&["compare", &trace][..], &both].concat());
    assert!(compared.contains(&format!("\nnote: {NOTE}\n")), "{compared}");
    let plan = format!("[base]\ntrace = {trace:?}\n[[grid]]\nseed = [1, 2]\n");
    std::fs::write(at("plan.toml"), plan).unwrap();
    let outputs = ["--out", &at("rows.jsonl"), "--report", &at("swept.html")];
    let swept = printed(&[&["sweep", &at("plan.toml")][..], &outputs].concat());
    assert!(swept.contains(&format!("\nnote: {NOTE}\n")), "{swept}");
    for row in text("rows.jsonl").lines() {
        assert_eq!(json(row)["notes"], result["notes"]);
    }
    for page in ["compared.html", "swept.html"] {
        assert!(text(page).contains(&format!("<li>{NOTE}</li>")), "{page}");
    }
}

#[test]
fn generated_requests_are_those_of_a_run_with_the_same_options() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let path = path.to_str().unwrap();
    for options in [&[][..], &["--chip", "mlc-k9gag", "--capacity", "20000000", "--seed", "7"]] {
        let workload = "skew:writes=3K,reads=10%,pages=4K";
        let run = |trace: &str, more: &[&str]| {
            json(&printed(&[&["run", trace, "--json", "-"], options, more].concat()))
        };
        let direct = run(workload, &[]);
        printed(&[&["trace", "generate", workload, "--out", path], options].concat());
        let device = &direct["device"];
        let factors = ["logical_blocks", "pages_per_block", "page_bytes"];
        let capacity: u64 = factors.iter().map(|name| device[name].as_u64().unwrap()).product();
        // Given twice, the capacity would be refused.
        let capacity = capacity.to_string();
        let sized = ["--capacity", capacity.as_str()];
        let read = run(path, if options.is_empty() { &sized } else { &[] });
        assert_eq!(read["trace"]["format"], "csv", "as its name says");
        for part in ["host_pages", "programs", "erases", "write_amplification", "service_us"] {
            assert_eq!(read[part], direct[part], "{options:?}: {part}");
        }
        let info = json(&printed(&[&["trace", "info", workload, "--json"], options].concat()));
        assert_eq!(info["pages"]["touched"], direct["trace"]["footprint_pages"], "{options:?}");
        assert_eq!(info["page_bytes"], device["page_bytes"], "{options:?}");
    }
    let refusal = refused(2, &["trace", "generate", path, "--out", "-"]);
    assert!(refusal.contains("is a file, not a workload; `ftlab trace convert`"), "{refusal}");
}

#[test]
fn a_quiet_description_prints_nothing_but_errors() {
    let (directory, path) = file("t", b"0,0,4096,W,0.0\n1,8,1536,R,0.5\n");
    let report = directory.path().join("page.html");
    let report = report.to_str().unwrap();
    assert_eq!(printed(&["trace", "info", &path, "--quiet", "--report", report]), "");
    assert!(std::fs::read_to_string(report).unwrap().contains("<html"));
    let (_directory, path) = file("t", b"0,0,4096,W,0.0\n1,8,x,R,0.5\n");
    refused(1, &["trace", "info", &path, "--quiet"]);
}

#[test]
fn a_workload_may_have_reads_alone() {
    let args = ["run", "uniform:requests=2K,reads=100%", "--capacity", "4MiB", "--json", "-"];
    let read = json(&printed(&args));
    assert_eq!((&read["trace"]["reads"], &read["trace"]["writes"]), (&2000.into(), &0.into()));
    assert_eq!(read["write_amplification"], Value::Null);
    printed(&["run", "uniform:requests=2K,reads=100%", "--capacity", "4MiB", "--ftl", "fast"]);
}

#[test]
fn info_counts_requests_and_pages() {
    let (_directory, path) =
        file("t", b"0,0,4096,W,0.0\n1,8,1536,R,0.5\n0,0,4096,W,2.0\n0,0,0,R,3.0\n");
    let info = json(&printed(&["trace", "info", &path, "--json"]));
    assert_eq!((&info["requests"], &info["reads_and_writes"]), (&3.into(), &3.into()));
    assert_eq!((&info["pages"]["written"], &info["pages"]["rewritten"]), (&1.into(), &1.into()));
    assert_eq!(info["writes"]["sectors"]["8"], 2);
    assert_eq!(info["span_seconds"], 2.0);
    assert_eq!(info["skipped"]["zero-length"], 1);
    assert_eq!(info["devices"].as_array().unwrap().len(), 2);
    let text = printed(&["trace", "info", &path]);
    assert!(text.contains("3 = 1 reads + 2 writes + 0 trims + 0 flushes"), "{text}");
    assert!(text.contains("span             2.000 s"), "{text}");
}

#[test]
fn lists_show_every_parameter() {
    for (what, name, key) in [
        ("ftls", "page", "victim"),
        ("chips", "slc-fast2010", "program_order"),
        ("workloads", "skew", "hot"),
        ("formats", "blkparse", "action"),
        ("victims", "dchoices", "d"),
    ] {
        let list = json(&printed(&["list", what, "--json"]));
        let entry = list.as_array().unwrap().iter().find(|entry| entry["name"] == name);
        let params = entry.unwrap_or_else(|| panic!("no {name}"))["params"].as_array().unwrap();
        assert!(params.iter().any(|param| param["name"] == key), "{name} has no {key}");
        let text = printed(&["list", what]);
        assert!(text.contains(name) && text.contains(&format!("{key}=")), "{text}");
    }
}

#[test]
fn a_single_entry_of_a_list_is_shown_by_its_name() {
    let text = printed(&["list", "ftls", "dftl"]);
    assert!(text.starts_with("dftl  ") && text.matches("  source: ").count() == 1, "{text}");
    let entries = json(&printed(&["list", "ftls", "dftl", "--json", "-"]));
    assert_eq!(entries.as_array().unwrap().len(), 1);
    let unknown = refused(2, &["list", "ftls", "pgae"]);
    assert!(unknown.contains("did you mean `page`?"), "{unknown}");
}

#[test]
fn a_run_prints_the_parameters_that_have_an_effect() {
    let line = |text: &str| text.lines().find(|line| line.starts_with("ftl ")).unwrap().to_owned();
    let head = |ftl| line(&printed(&["run", SHORT, "--ftl", ftl]));
    assert_eq!(head("page"), "ftl      page victim=greedy frontiers=1");
    assert_eq!(head("page:victim=dchoices"), "ftl      page victim=dchoices d=2 frontiers=1");
    assert!(head("dac:victim=windowed_greedy").contains("window=90%"));
}

#[test]
fn list_alone_lists_what_can_be_listed() {
    const LISTS: [&str; 8] =
        ["ftls", "chips", "workloads", "formats", "layers", "victims", "drives", "wear"];
    let text = printed(&["list"]);
    let names: Vec<&str> = text.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    assert_eq!(names, LISTS);
    let all = json(&printed(&["list", "--json"]));
    for name in LISTS {
        let alone = json(&printed(&["list", name, "--json", "-"]));
        assert_eq!(all[name], alone);
        let count = alone.as_array().unwrap().len().to_string();
        let line = text.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
        assert_eq!(line.split_whitespace().nth(3), Some(count.as_str()), "{line}");
        assert_eq!(json(&printed(&["list", "--json", name])), alone, "the old order of words");
    }
}

/// The option has the same form and the same effect in every command.
#[test]
fn json_goes_to_a_file_or_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.json");
    let name = path.to_str().unwrap();
    for command in [
        &["run", SHORT, "--capacity", "16MiB"][..],
        &["compare", SHORT, "--capacity", "16MiB", "--ftl", "page", "--ftl", "block"],
        &["trace", "info", SHORT],
        &["list", "chips"],
    ] {
        let with = |more: &[&str]| printed(&[command, more].concat());
        let beside = with(&["--json", name]);
        assert!(!beside.is_empty() && !beside.starts_with(['{', '[']), "the text is printed, too");
        let without_wall = |text: &str| {
            let mut value = json(text);
            let results = match &mut value {
                Value::Array(all) => all.iter_mut().collect(),
                one => vec![one],
            };
            results.into_iter().filter_map(Value::as_object_mut).for_each(|it| {
                it.shift_remove("wall");
            });
            value
        };
        let written = without_wall(&std::fs::read_to_string(&path).unwrap());
        assert_eq!(written, without_wall(&with(&["--json", "-"])), "{command:?}");
        assert_eq!(written, without_wall(&with(&["--json"])), "{command:?}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_table_for_a_paper_has_the_numbers_of_the_comparison_and_never_changes() {
    let compare = ["compare", SHORT, "--capacity", "16MiB", "--ftl", "page", "--ftl", "dac"];
    let text = printed(&[&compare[..], &["--latex", "-"]].concat());
    assert_eq!(text, printed(&[&compare[..], &["--latex", "-"]].concat()));
    let results = printed(&[&compare[..], &["--json", "-"]].concat());
    let results: Value = serde_json::from_str(&results).unwrap();
    let costs = [0, 1].map(|at| results[at]["write_amplification"].as_f64().unwrap());
    let row = text.lines().find(|line| line.starts_with("write amplification &")).unwrap();
    for (cost, cell) in costs.into_iter().zip(row.split('&').skip(1)) {
        assert!(cell.contains(&format!("{cost:.4}")), "{row}");
    }
    let rows = text.lines().filter(|line| line.contains(" & "));
    rows.for_each(|row| assert_eq!(row.matches(" & ").count(), 2, "{row}"));
    assert!(text.contains("\\caption{") && text.contains("Seed 1."), "{text}");
    let alone = printed(&["run", SHORT, "--capacity", "16MiB", "--latex", "-"]);
    assert!(alone.contains("\\begin{tabular}{lr}"), "{alone}");
}

#[test]
fn figures_for_a_paper_have_the_numbers_of_the_results_and_never_change() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let compare = ["compare", SHORT, "--capacity", "16MiB", "--ftl", "page", "--ftl", "dac"];
    let printed_to = |folder: &str| {
        let (svg, json) = (at(folder), at("results.json"));
        printed(&[&compare[..], &["--quiet", "--svg", &svg, "--json", &json]].concat());
        let files = std::fs::read_dir(svg).unwrap().map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(entry.path()).unwrap())
        });
        files.collect::<std::collections::BTreeMap<String, String>>()
    };
    let files = printed_to("one/figures");
    assert_eq!(files, printed_to("two"), "the same bytes");
    let placed = files["figures.tex"].matches("\\includegraphics").count();
    assert!(placed >= 5 && placed == files.len() - 1, "{:?}", files.keys());
    assert!(files["figures.tex"].contains("Seed 1."), "captions say what was run");
    let results = std::fs::read_to_string(at("results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let drawn = &files["write-amplification.svg"];
    for result in results.as_array().unwrap() {
        let cost = result["write_amplification"].to_string();
        let digits = &cost[..cost.len().min(10)];
        let label = format!("write amplification, (programs per host page): {digits}");
        assert!(drawn.contains(&label), "{label}: {drawn}");
    }
    assert!(drawn.starts_with("<svg xmlns=") && drawn.contains("<desc>"), "{drawn}");
    std::fs::write(at("file"), "").unwrap();
    let wrong = refused(1, &[&compare[..], &["--svg", &at("file")]].concat());
    assert!(wrong.contains("cannot write figures to"), "{wrong}");
}

/// A program in place of `rsvg-convert` shows what it gets: the test needs no other one.
#[cfg(unix)]
#[test]
fn figures_become_pdf_by_another_program() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let compare = ["compare", SHORT, "--capacity", "16MiB", "--ftl", "page", "--ftl", "dac"];
    let figures = ["--quiet", "--svg", &at("svg"), "--pdf", &at("pdf")];
    let with_path = |figures: &[&str], path: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.args([&compare[..], figures].concat()).env("PATH", path).output().unwrap()
    };
    let output = with_path(&figures, &at("nowhere"));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("rsvg-convert cannot be run") && stderr.contains("--svg"), "{stderr}");
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let program = |text: &str| {
        let program = directory.path().join("rsvg-convert");
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        with_path(&figures, &path)
    };
    let output = program("echo no memory >&2; exit 3");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("rsvg-convert fails: no memory"), "{stderr}");
    assert!(!directory.path().join("pdf").exists(), "nothing was begun");
    let output = program("echo \"$* $SOURCE_DATE_EPOCH\"; cat");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let drawing = read("svg/write-amplification.svg");
    assert_eq!(read("pdf/write-amplification.pdf"), format!("--format pdf 0\n{drawing}"));
    assert_eq!(read("pdf/figures.tex"), read("svg/figures.tex"));
    let both = ["--quiet", "--svg", &at("both"), "--pdf", &at("svg/../both")];
    assert!(with_path(&both, &path).status.success(), "one folder may take both");
    assert!(read("both/write-amplification.pdf").ends_with(&read("both/write-amplification.svg")));
}

#[test]
fn csv_has_the_columns_of_a_sweep_and_a_row_per_run() {
    let both = ["compare", SHORT, "--capacity", "16MiB", "--ftl", "page", "--ftl", "block"];
    let text = printed(&[&both[..], &["--csv", "-"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("plan.toml"), format!("[base]\ntrace = \"{SHORT}\"\ncapacity = \"16MiB\""))
        .unwrap();
    printed(&["sweep", &at("plan.toml"), "--out", &at("rows.csv"), "--quiet"]);
    let rows = std::fs::read_to_string(at("rows.csv")).unwrap();
    assert_eq!(rows.lines().next(), Some(lines[0]), "the same head");
    // But for the columns about the sweep, the row is that of the sweep.
    let row = rows.lines().nth(1).unwrap().strip_prefix("0,{},,,").unwrap();
    assert_eq!(lines[1].strip_prefix(",,,,"), Some(row));
    let alone = printed(&["run", SHORT, "--capacity", "16MiB", "--csv", &at("run.csv")]);
    assert!(alone.contains("write amplification"), "the table is printed, too");
    assert_eq!(std::fs::read_to_string(at("run.csv")).unwrap().lines().nth(1), Some(lines[1]));
    let stderr = refused(2, &["run", SHORT, "--csv", "-", "--json", "-"]);
    assert!(stderr.contains("`--csv` and `--json` both name -"), "{stderr}");
}

/// The names of all lists, and those of enumerations.
#[test]
fn completions_offer_what_the_lists_have() {
    let lists: [Vec<&str>; 4] = [
        ftl::SCHEMES.iter().map(|scheme| scheme.name).collect(),
        nand::chip_model::PRESETS.iter().map(|preset| preset.model.name).collect(),
        trace::registry::FORMATS.iter().map(|format| format.name).collect(),
        trace::registry::WORKLOADS.iter().map(|workload| workload.name).collect(),
    ];
    let choices = vec!["honour", "compact", "torn", "blkparse", "victims", "quick"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        // The other shells complete only the names of options.
        if ["bash", "zsh", "fish"].contains(&shell) {
            let is_word = |name: &str| {
                let part = |c: char| !c.is_alphanumeric() && !"-_".contains(c);
                script.split(part).any(|word| word == name)
            };
            for name in lists.iter().flatten().chain(&choices) {
                assert!(is_word(name), "{shell} does not know {name}");
            }
        }
    }
    let zsh = printed(&["completions", "zsh"]);
    let commands = "run, compare, size, life, bound, trace info";
    assert_eq!(zsh.matches(":_ftlab_traces'").count(), 6, "{commands}");
    let help = printed(&["run", "--help"]);
    assert!(!help.contains("possible values: page"), "help is not flooded: {help}");
}

/// What bash offers at the end of these words, cut as bash cuts them.
fn offered_by_bash(line: &str) -> String {
    let (_directory, script) = file("ftlab.bash", printed(&["completions", "bash"]).as_bytes());
    let ends = |end: char| " :=".contains(end);
    let last = &line[line.rfind(ends).map_or(0, |at| at + 1)..];
    let cut = line.replace('=', " = ").replace(':', " : ");
    let mut words: Vec<&str> = cut.split_whitespace().collect();
    if last.is_empty() && line.ends_with(' ') {
        words.push("''");
    }
    let (count, before) = (words.len() - 1, words[words.len() - 2]);
    let shell = format!(
        "source {script}; COMP_WORDS=({}); COMP_CWORD={count}; COMP_LINE='{line}'; \
         COMP_POINT=${{#COMP_LINE}}; compopt() {{ :; }}; _ftlab ftlab '{last}' '{before}'; \
         echo ${{COMPREPLY[@]}}",
        words.join(" ")
    );
    let program = Path::new(env!("CARGO_BIN_EXE_ftlab")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").args(["-c", &shell]).env("PATH", path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn bash_completes_names_keys_and_words_in_every_notation() {
    for (line, offered) in [
        ("ftlab run --quiet unif", "uniform"),
        ("ftlab run --ftl faste", "faster"),
        ("ftlab check --outcome to", "torn"),
        // bash keeps what stands before the last `:` or `=`.
        ("ftlab run --ftl page:vic", "victim="),
        ("ftlab run --ftl page:victim=wind", "windowed_greedy"),
        ("ftlab run --chip tlc-3d:page=4KiB,pages", "4KiB,pages_per_block="),
        ("ftlab run --ftl=faste", "faster"),
        ("ftlab run --precondition=fi", "fill"),
        ("ftlab run --ftl=page:vic", "victim="),
        ("ftlab run --ftl=page:victim=wind", "windowed_greedy"),
        ("ftlab run uniform:wri", "writes="),
        ("ftlab run --verify uniform:writes=9,see", "9,seed="),
        ("ftlab compare --ftl page uniform:wri", "writes="),
        ("ftlab run nothing:wri", ""),
        ("ftlab comple", "completions"),
    ] {
        assert_eq!(offered_by_bash(line), offered, "{line}");
    }
    assert!(offered_by_bash("ftlab run --ftl=").contains("superblock"));
}

/// What a shell other than bash prints for a script that completes. `None` if there is no such
/// shell, unless `FTLAB_REQUIRE` lists `shells`.
fn printed_by_shell(shell: &str, script: &str) -> Option<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_ftlab")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let arguments = if shell == "zsh" { ["-f", "-c", script] } else { ["-N", "-c", script] };
    let output = Command::new(shell).args(arguments).env("PATH", path).output();
    let Ok(output) = output else {
        let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|one| one.trim() == "shells"), "there is no {shell}");
        println!("skipped: there is no {shell}");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Keys and words behind a colon, for options and workloads. Both shells replace the whole word.
const ENDS_OF_SPECS: [(&str, &str); 6] = [
    ("ftlab run oltp:requ", "oltp:request="),
    ("ftlab run --verify uniform:writes=9,see", "uniform:writes=9,seed="),
    ("ftlab compare --ftl page uniform:wri", "uniform:writes="),
    ("ftlab trace info uniform:wri", "uniform:writes="),
    ("ftlab run --ftl page:victim=wind", "page:victim=windowed_greedy"),
    ("ftlab run --load oltp:requ", "oltp:request="),
];

#[test]
fn fish_completes_keys_and_words_of_specs() {
    let (_directory, script) = file("ftlab.fish", printed(&["completions", "fish"]).as_bytes());
    for (line, offered) in ENDS_OF_SPECS {
        let shell = format!("source {script}; complete -C '{line}'");
        let Some(found) = printed_by_shell("fish", &shell) else { return };
        let words: Vec<_> = found.lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(words.contains(&offered), "{line}: {found}");
    }
}

/// The function for zsh runs outside of the line editor: `compadd` prints what it gets.
#[test]
fn zsh_completes_keys_and_words_of_specs() {
    let (_directory, script) = file("_ftlab", printed(&["completions", "zsh"]).as_bytes());
    for (line, offered) in ENDS_OF_SPECS {
        let last = line.rsplit(' ').next().unwrap();
        let shell = format!(
            "compdef() {{ :; }}; source {script}; compadd() {{ print -l -- ${{@[4,-1]}}; }}; \
             words=({line}); CURRENT=$#words; PREFIX='{last}'; _ftlab"
        );
        let Some(found) = printed_by_shell("zsh", &shell) else { return };
        assert!(found.lines().any(|line| line == offered), "{line}: {found}");
    }
}

#[test]
fn hidden_subcommands_are_not_offered() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        assert!(!script.contains("completion scripts call it"), "{shell}");
        assert!(!script.contains("subcmd__complete)"), "{shell}");
    }
}

#[test]
fn help_succeeds_and_wrong_usage_fails() {
    for args in [&["--help"][..], &["help", "run"], &["run", "--help"], &["--version"]] {
        assert!(!printed(args).is_empty());
    }
    refused(2, &[]);
    refused(2, &["rnu"]);
    refused(2, &["compare", SHORT]);
}

#[test]
fn completions_and_manuals_cover_every_subcommand() {
    const SUBCOMMANDS: [&str; 6] = ["run", "compare", "sweep", "trace", "check", "list"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for name in SUBCOMMANDS {
            assert!(script.contains(name), "{shell} does not know {name}");
        }
        assert!(script.contains("measure-after"), "{shell} does not know the options");
    }
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("man1");
    printed(&["man", "--out", folder.to_str().unwrap()]);
    for name in SUBCOMMANDS {
        let page = std::fs::read_to_string(folder.join(format!("ftlab-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH ftlab-{name} 1")), "{page}");
    }
    let page = std::fs::read_to_string(folder.join("ftlab-run.1")).unwrap();
    let synopsis = page.split(".SH ").find(|part| part.starts_with("SYNOPSIS")).unwrap();
    for usage in ["[\\fITRACE\\fR]", "[\\fB\\-\\-ftl\\fR \\fISPEC\\fR]", "[\\fB\\-\\-sort\\fR]"] {
        assert!(synopsis.contains(usage), "{usage}: {synopsis}");
    }
    let whole = std::fs::read_to_string(folder.join("ftlab.1")).unwrap();
    assert_eq!(whole, printed(&["man"]));
    assert!(folder.join("ftlab-trace-info.1").exists());
}

#[test]
fn requests_before_measure_after_are_served_but_not_counted() {
    let args = ["run", "sequential:writes=3000", "--capacity", "16MiB", "--warmup", "0", "--json"];
    let of = |after: &str| json(&printed(&[&args[..], &["-", "--measure-after", after]].concat()));
    let late = of("1K");
    assert_eq!(
        (&late["trace"]["writes"], &late["trace"]["requests"]),
        (&2000.into(), &3000.into())
    );
    assert_eq!(late["trace"]["skipped"]["not measured"], 1000);
    assert_eq!(of("0")["trace"]["skipped"], serde_json::json!({}));
    refused(2, &[&args[..], &["-", "--measure-after", "3000"]].concat());
    let stderr = refused(2, &[&args[..], &["-", "--measure-after", "3001"]].concat());
    assert!(
        stderr.contains(
            "measuring after 3001 requests leaves nothing to measure: the trace has 3000"
        )
    );
}

#[test]
fn the_operation_log_appears_complete_beside_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("ops");
    let path = log.to_str().unwrap();
    let args = ["run", SHORT, "--capacity", "16MiB", "--json", "-", "--log-ops", path];
    let result = json(&printed(&args));
    let counted = ["reads", "programs", "erases", "spare_reads"]
        .map(|kind| result[kind]["total"].as_u64().unwrap());
    let lines = std::fs::read_to_string(&log).unwrap().lines().count();
    assert_eq!(lines as u64, 1 + counted.iter().sum::<u64>());
    let stderr = refused(2, &["run", SHORT, "--log-ops", "-"]);
    assert!(stderr.contains("standard output is for the result"), "{stderr}");
    let nowhere = directory.path().join("missing/ops");
    refused(1, &["run", "uniform:writes=1000G", "--log-ops", nowhere.to_str().unwrap()]);
    assert_eq!(entries(directory.path()).len(), 1);
}

#[test]
fn a_timeline_appears_complete_beside_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (plain, packed, log) = (at("t.json"), at("t.json.gz"), at("ops"));
    let args = ["run", SHORT, "--capacity", "16MiB", "--timing", "drive", "--timeline"];
    let printed_beside = printed(&[&args[..], &[&plain, "--timeline-operations", "1K"]].concat());
    assert!(printed_beside.contains("note     The timeline shows the first 1000 operations; "));
    printed(&[&args[..], &[&packed, "--timeline-operations", "1K", "--log-ops", &log]].concat());
    let text = std::fs::read_to_string(&plain).unwrap();
    let mut unpacked = String::new();
    let packed = std::fs::File::open(&packed).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
    let timeline = json(&text);
    assert_eq!(timeline["otherData"]["drive"], "ideal");
    assert!(timeline["traceEvents"].as_array().unwrap().len() > 3000);
    assert_eq!(entries(directory.path()).len(), 3);
    printed(&[&args[..], &[&plain, "--around-slowest", "2", "--quiet"]].concat());
    assert_eq!(std::fs::read_to_string(&plain).unwrap().matches("\"slow\":").count(), 2);
}

#[test]
fn timelines_that_cannot_be_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.json");
    let file = file.to_str().unwrap();
    let run = ["run", SHORT, "--capacity", "16MiB"];
    let in_drive = [&run[..], &["--timing", "drive"]].concat();
    let stderr = refused(2, &[&run[..], &["--timeline", file]].concat());
    assert!(stderr.contains("give `--timing drive` with `--timeline`"), "{stderr}");
    let stderr = refused(2, &[&in_drive[..], &["--timeline", "-"]].concat());
    assert!(stderr.contains("`--timeline` needs a file: standard output"), "{stderr}");
    for (options, expected) in [
        (&["--around-slowest", "3"][..], "--timeline <FILE"),
        (&["--timeline-operations", "3"], "--timeline <FILE"),
        (&["--timeline", file, "--around-slowest", "0"], "not in 1..=1000"),
        (&["--timeline", file, "--timeline-operations", "0"], "0 operations shows nothing"),
        (
            &["--timeline", file, "--around-slowest", "3", "--timeline-operations", "9"],
            "cannot be used with",
        ),
        (&["--timeline", file, "--json", file], "both name"),
    ] {
        let stderr = refused(2, &[&in_drive[..], options].concat());
        assert!(stderr.contains(expected), "{options:?}: {stderr}");
    }
    let compare = ["compare", SHORT, "--ftl", "page", "--ftl", "dftl", "--timing", "drive"];
    let stderr = refused(2, &[&compare[..], &["--timeline", file]].concat());
    assert!(stderr.contains("--timeline"), "{stderr}");
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn each_compared_ftl_has_its_own_operation_log() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let ftls = ["--ftl", "page", "--ftl", "block", "--ftl", "page:victim=fifo"];
    let compare = [&["compare", SHORT, "--capacity", "16MiB"], &ftls[..]].concat();
    let log = at("ops.log");
    let results = json(&printed(&[&compare[..], &["--log-ops", &log, "--json", "-"]].concat()));
    let logs = ["ops.1-page.log", "ops.2-block.log", "ops.3-page.log"].map(at);
    assert_eq!(entries(directory.path()).len(), logs.len());
    for (log, result) in logs.iter().zip(results.as_array().unwrap()) {
        let text = std::fs::read_to_string(log).unwrap();
        let erases = text.lines().filter(|line| line.split(' ').nth(1) == Some("erase")).count();
        assert_eq!(result["erases"]["total"], erases as u64, "{log}");
    }
    // The log of a single run is the same.
    let alone = at("alone");
    printed(&["run", SHORT, "--capacity", "16MiB", "--log-ops", &alone, "--quiet"]);
    assert_eq!(std::fs::read(alone).unwrap(), std::fs::read(&logs[0]).unwrap());

    let stderr = refused(2, &[&compare[..], &["--log-ops", "/dev/null"]].concat());
    assert!(stderr.contains("/dev/null is a pipe or device"), "{stderr}");
    let twice = [&compare[..], &["--log-ops", &log, "--json", &logs[1]]].concat();
    let stderr = refused(2, &twice);
    assert!(stderr.contains("`--log-ops` and `--json` both name"), "{stderr}");
    let stderr = refused(2, &["run", SHORT, "--log-ops", &log, "--json", &log]);
    assert!(stderr.contains("`--log-ops` and `--json` both name"), "{stderr}");
}

#[test]
fn a_converted_trace_has_the_same_requests_sorted_by_time() {
    let text = b"0,8,4096,W,0.5\n1,0,512,R,0.25\n0,8,4096,W,2.0\nrubbish\n";
    let (directory, path) = file("t.spc", text);
    let info = |path: &str, options: &[&str]| {
        json(&printed(&[&["trace", "info", path, "--json"], options].concat()))
    };
    let before = info(&path, &["--skip-bad"]);
    assert_eq!(before["backward_times"], 1);
    let half = directory.path().join("half");
    let stderr = refused(1, &["trace", "convert", &path, "--out", half.to_str().unwrap()]);
    assert!(stderr.contains(":4: ") && !half.exists(), "{stderr}");
    for form in ["fio", "blkparse", "csv"] {
        let out = directory.path().join(form);
        let out = out.to_str().unwrap();
        let options = ["--out", out, "--to", form, "--skip-bad", "--sort"];
        let output = ran(&[&["trace", "convert", &path], &options[..]].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
        let said = String::from_utf8(output.stderr).unwrap();
        let after = info(out, &[]);
        match said.trim_end().split_once("--format ") {
            Some((_, spec)) => assert_eq!(info(out, &["--format", spec]), after),
            None => assert!(said.lines().all(|line| line.starts_with("note: ")), "{said}"),
        }
        assert_eq!(said.contains("--format csv:sep=comma,columns="), form == "csv");
        assert_eq!(after["format"], form);
        for part in ["requests", "reads", "writes", "end_bytes", "pages"] {
            assert_eq!(after[part], before[part], "{form}: {part}");
        }
        assert_eq!((&after["backward_times"], &after["span_seconds"]), (&0.into(), &1.75.into()));
        let result = json(&printed(&["run", out, "--json", "-"]));
        assert_eq!(result["run"]["sort"], false);
    }
    let result = json(&printed(&["run", &path, "--skip-bad", "--sort", "--json", "-"]));
    assert_eq!(
        (&result["run"]["sort"], &result["trace"]["backward_times"]),
        (&true.into(), &0.into())
    );
}

// ---- Layers -----------------------------------------------------------------------------------

#[test]
fn layers_are_listed_and_reported() {
    let list = json(&printed(&["list", "layers", "--json"]));
    let names: Vec<&str> =
        list.as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.starts_with(&["buffer"]) && names.contains(&"split"), "{names:?}");
    let table = printed(&["run", SHORT, "--buffer", "64KiB", "--dram-access", "20ns"]);
    assert!(
        table.contains("buffer write_hit_ratio") && table.contains("buffer 64.00 KiB"),
        "{table}"
    );
    let run = ["run", SHORT, "--ftl", "dftl", "--dram", "64KiB", "--json", "-"];
    let result = json(&printed(&run));
    assert_eq!(result["layers"]["split"]["dram"], 65536);
    assert!(result["layers"]["split"]["tunings"].as_u64().unwrap() > 1, "adaptive by default");
    let result = json(&printed(&[&run[..], &["--split", "25%"]].concat()));
    assert_eq!(result["layers"]["split"]["map_share"], 0.25);
}

#[test]
fn contradicting_layers_are_wrong_usage() {
    for (args, why) in [
        (vec!["--buffer", "1KiB"], "are less than a page of 2048"),
        (vec!["--buffer", "8KiB,evict=block"], "`page`, `run`"),
        (vec!["--buffer", "8KiB", "--dram", "8KiB"], "--buffer"),
        (vec!["--split", "30%"], "--dram"),
        (vec!["--dram", "8KiB"], "the map of page has a fixed size"),
        (vec!["--dram", "8KiB", "--ftl", "dftl:cmt=8KiB"], "follows from `--dram`"),
        (vec!["--dram", "8KiB", "--ftl", "dftl", "--split", "half"], "split, key `share`"),
        (vec!["--dram-access", "11s"], "beyond"),
    ] {
        let stderr = refused(2, &[&["run", SHORT], &args[..]].concat());
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
}

#[test]
fn check_takes_the_same_layers_and_prints_them_in_its_lines() {
    let check = ["check", "--ftl", "fast", "--geometry", "least", "--workload", "hot"];
    let check = [&check[..], &["--faults", "basic"]].concat();
    let text = printed(&[&check[..], &["--dram", "4KiB", "--split", "30%"]].concat());
    assert!(text.contains("fast --dram 4KiB --split 30%"), "{text}");
    let cut = ["--buffer", "2KiB,evict=run", "--cut", "3", "--outcome", "torn"];
    let text = printed(&[&check[..], &cut].concat());
    assert!(text.contains("--ftl fast --buffer 2KiB,evict=run --geometry least"), "{text}");
    let stderr = refused(2, &[&check[..], &["--split", "30%"]].concat());
    assert!(stderr.contains("--dram"), "{stderr}");
}

/// A trace of prompts is refused by its first bad line, and nothing is written.
#[test]
fn a_prompt_that_cannot_be_is_named_with_its_line() {
    let good = r#"{"timestamp": 7, "input_length": 600, "hash_ids": [5, 6]}"#;
    let bad = r#"{"timestamp": 4, "input_length": 600, "hash_ids": [5, 6]}"#;
    let (directory, path) = file("prompts.jsonl", format!("{good}\n\n{bad}\n").as_bytes());
    let out = directory.path().join("out.csv");
    let out_text = out.to_str().unwrap();
    let from = ["trace", "from", "mooncake", &*path, "--token-bytes", "4KiB", "--out", out_text];
    let says = refused(1, &[&from[..], &["--cache", "1GiB"]].concat());
    assert!(
        says.contains("prompts.jsonl, line 3: a timestamp of 4 ms after one of 7 ms"),
        "{says}"
    );
    assert!(says.contains(bad), "{says}");
    assert!(!out.exists(), "no half of a trace is left");
    let says = refused(2, &[&from[..], &["--cache", "1MiB"]].concat());
    assert!(says.contains("has 0 places for blocks of 512 tokens of 4096 bytes"), "{says}");
}
