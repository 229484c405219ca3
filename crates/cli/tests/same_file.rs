//! No output is the same file as an input or another output, by whatever names they are given.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A trace of two requests.
const TRACE: &str = "0,0,512,W,0.1\n0,8,4096,W,0.2\n";

/// A folder with a trace `o.log`, and with all kinds of other names of it.
struct Place {
    directory: TempDir,
}

/// Other names of `o.log`.
const ALIASES: [&str; 6] =
    ["o.log", "./o.log", "sub/../o.log", "soft.log", "hard.log", "linked/o.log"];

impl Place {
    fn new() -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::write(place.at("o.log"), TRACE).unwrap();
        fs::create_dir(place.at("sub")).unwrap();
        symlink("o.log", place.at("soft.log")).unwrap();
        fs::hard_link(place.at("o.log"), place.at("hard.log")).unwrap();
        symlink(".", place.at("linked")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&self.directory).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command that must refuse to use a file twice, and must leave everything as it was.
    #[track_caller]
    fn refuses(&self, mut command: Command, sentence: &str) {
        let before = self.entries();
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {stderr}");
        assert!(stderr.contains(sentence), "{command:?}: {stderr}");
        assert_eq!(fs::read_to_string(self.at("o.log")).unwrap(), TRACE, "{command:?}");
        assert_eq!(self.entries(), before, "{command:?}");
    }

    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

const OVERWRITTEN: &str = "are the same file, which would be overwritten; write to another file";

#[test]
fn the_trace_is_never_an_output() {
    let place = Place::new();
    let both = ["compare", "o.log", "--ftl", "page", "--ftl", "block"];
    for alias in ALIASES {
        for command in [
            &["run", "o.log", "--json", alias][..],
            &["run", "o.log", "--log-ops", alias],
            &[&both[..], &["--json", alias]].concat(),
            &[&both[..], &["--report", alias]].concat(),
            &["run", "o.log", "--csv", alias],
            &[&both[..], &["--csv", alias]].concat(),
            &["trace", "info", "o.log", "--report", alias],
            &["trace", "info", "o.log", "--json", alias],
            &["trace", "convert", "o.log", "--out", alias],
        ] {
            place.refuses(place.command(command), OVERWRITTEN);
        }
        // The trace may have the other name as well.
        place.refuses(place.command(&["run", alias, "--json", "o.log"]), OVERWRITTEN);
    }
    let stderr = place.command(&["run", "o.log", "--json", "soft.log"]).output().unwrap().stderr;
    let expected = format!("ftlab: `--json` (soft.log) and the trace o.log {OVERWRITTEN}\n");
    assert_eq!(String::from_utf8(stderr).unwrap(), expected);
}

/// A trace after `--json` is the file to write, not the trace to read.
#[test]
fn a_trace_that_json_would_swallow_is_not_overwritten() {
    let place = Place::new();
    for command in [&["run", "--json", "o.log"][..], &["trace", "info", "--json", "soft.log"]] {
        place.refuses(place.command(command), "which is a trace, and no TRACE is given; write `");
    }
    let compare = ["compare", "--ftl", "page", "--ftl", "block", "--json", "o.log"];
    place.refuses(place.command(&compare), "`--json o.log` would overwrite o.log");
    let workload = place.command(&["run", "--json", "uniform:writes=9", "--capacity", "4MiB"]);
    place.refuses(workload, "write `uniform:writes=9 --json -` to run it, or name another file");
    let mut command = place.command(&["run", "--limit", "9", "--json", "new.json", "--quiet"]);
    for _ in 0..2 {
        assert!(command.status().unwrap().success(), "a result is no trace");
    }
}

#[test]
fn an_operation_log_of_compare_is_not_the_trace() {
    let place = Place::new();
    symlink("o.log", place.at("ops.2-block.log")).unwrap();
    let args = ["compare", "o.log", "--ftl", "page", "--ftl", "block", "--log-ops", "ops.log"];
    place.refuses(place.command(&args), OVERWRITTEN);
}

#[test]
fn the_archive_and_the_files_of_all_cpus_are_inputs() {
    let place = Place::new();
    let mut tar = tar::Builder::new(fs::File::create(place.at("set.tar")).unwrap());
    tar.append_path_with_name(place.at("o.log"), "a/o.log").unwrap();
    tar.finish().unwrap();
    place.refuses(place.command(&["run", "set.tar/a/o.log", "--json", "set.tar"]), OVERWRITTEN);
    fs::write(place.at("disk.blktrace.0"), "a").unwrap();
    fs::write(place.at("disk.blktrace.1"), "a").unwrap();
    place.refuses(place.command(&["run", "disk", "--json", "disk.blktrace.1"]), OVERWRITTEN);
}

#[test]
fn files_behind_standard_input_and_output_count() {
    let place = Place::new();
    for alias in ALIASES {
        let mut command = place.command(&["run", "-", "--json", alias]);
        command.stdin(fs::File::open(place.at("o.log")).unwrap());
        place.refuses(command, "and the trace on standard input are the same file");

        let mut command = place.command(&["trace", "convert", alias, "--out", "-"]);
        command.stdout(fs::OpenOptions::new().append(true).open(place.at("o.log")).unwrap());
        place.refuses(command, "standard output and the trace");
    }
    let mut command = place.command(&["run", "o.log", "--json", "-"]);
    command.stdin(fs::File::open(place.at("o.log")).unwrap());
    assert!(command.status().unwrap().success(), "standard input is not read");

    let mut command = place.command(&["run", "o.log", "--json", "sub/../out"]);
    command.stdout(fs::File::create(place.at("out")).unwrap());
    place.refuses(command, "`--json` (sub/../out) and standard output both name the same file");
}

#[test]
fn outputs_differ_from_each_other() {
    let place = Place::new();
    symlink("new.html", place.at("dangling.html")).unwrap();
    let both = ["compare", "o.log", "--ftl", "page", "--ftl", "block", "--json", "new.html"];
    for alias in ["new.html", "./new.html", "sub/../new.html", "linked/new.html", "dangling.html"] {
        let args = [&both[..], &["--report", alias]].concat();
        place.refuses(place.command(&args), "`--json` ");
        let args = ["run", "o.log", "--json", "new.html", "--log-ops", alias];
        place.refuses(place.command(&args), "`--log-ops` ");
    }
    let null = [&both[..6], &["--json", "/dev/null", "--report", "/dev/null", "--quiet"]].concat();
    assert!(place.command(&null).status().unwrap().success(), "a device has room for both");
}

#[test]
fn a_sweep_overwrites_neither_its_plan_nor_a_trace() {
    let place = Place::new();
    let with = |name: &str, plan: &str| fs::write(place.at(name), plan).unwrap();
    with("plan.toml", "[[grid]]\nseed = [1, 2]\ntrace = [\"oltp\", \"t.csv\"]");
    with(
        "of-others.toml",
        "runs = \"plan.csv\"\n[[claim]]\nid = \"c\"\nsays = \"s\"\n\
          figure = \"host_pages.written\"\nrows = [{ seed = 1, expected = 2 }]",
    );
    with("plan.csv", "[base]\ntrace = \"oltp\"\n[[grid]]\nseed = [1, 2]");
    fs::hard_link(place.at("o.log"), place.at("t.csv")).unwrap();
    symlink("plan.csv", place.at("plan.jsonl")).unwrap();
    symlink("o.log", place.at("x.csv.journal")).unwrap();
    for (plan, options) in [
        ("plan.toml", &["--out", "t.csv"][..]),
        ("plan.toml", &["--out", "rows.csv", "--report", "soft.log"]),
        ("plan.toml", &["--out", "rows.csv", "--report", "plan.toml"]),
        ("plan.toml", &["--out", "x.csv"]),
        ("plan.csv", &["--out", "./plan.csv"]),
        ("plan.csv", &["--out", "plan.jsonl"]),
        ("of-others.toml", &["--out", "plan.csv"]),
    ] {
        place.refuses(place.command(&[&["sweep", plan], options].concat()), OVERWRITTEN);
    }
    for report in ["rows.csv", "sub/../rows.csv.journal"] {
        let args = ["sweep", "plan.toml", "--out", "rows.csv", "--report", report];
        place.refuses(place.command(&args), "both name");
    }
    let folder = place.at("papers");
    fs::create_dir(&folder).unwrap();
    symlink("../index.html", folder.join("T.html")).unwrap();
    symlink("../index.html", folder.join("index.html")).unwrap();
    let papers = place.command(&["papers", "T", "--out", "papers"]);
    place.refuses(papers, "the index (papers/index.html) and the page (papers/T.html)");
}

/// What cannot be written is refused before anything runs; the workload here would never end.
#[test]
fn every_output_is_tried_before_the_run() {
    let place = Place::new();
    const ENDLESS: &str = "uniform:writes=1000G";
    fs::write(place.at("plan.toml"), format!("[base]\ntrace = \"{ENDLESS}\"")).unwrap();
    fs::create_dir(place.at("rows.csv.journal")).unwrap();
    fs::create_dir_all(place.at("papers/T.html")).unwrap();
    let both = ["compare", ENDLESS, "--ftl", "page", "--ftl", "block"];
    let impossible = [
        ("no/out.csv", "there is no folder no"),
        ("sub", "is a directory"),
        ("o.log/out.csv", "not a directory"),
    ];
    for (out, why) in impossible {
        for command in [
            &["run", ENDLESS, "--json", out][..],
            &["run", ENDLESS, "--log-ops", out],
            &[&both[..], &["--json", out]].concat(),
            &[&both[..], &["--report", out]].concat(),
            &["run", ENDLESS, "--csv", out],
            &["trace", "info", ENDLESS, "--report", out],
            &["trace", "info", ENDLESS, "--json", out],
            &["list", "ftls", "--json", out],
            &["trace", "convert", "o.log", "--out", out],
            &["trace", "generate", ENDLESS, "--out", out],
            &["sweep", "plan.toml", "--out", "rows.jsonl", "--report", out],
        ] {
            place.cannot_write(command, out, why);
        }
    }
    place.cannot_write(&["sweep", "plan.toml", "--out", "no/r.csv"], "no/r.csv", "no folder no");
    let journal = "rows.csv.journal";
    place.cannot_write(&["sweep", "plan.toml", "--out", "rows.csv"], journal, "is a directory");
    let page = "papers/T.html";
    place.cannot_write(&["papers", "T", "--out", "papers"], page, "is a directory");
    fs::create_dir_all(place.at("man/ftlab-run.1")).unwrap();
    place.cannot_write(&["man", "--out", "man"], "man/ftlab-run.1", "is a directory");
    assert_eq!(fs::read_dir(place.at("man")).unwrap().count(), 1, "no page is written");
}

impl Place {
    #[track_caller]
    fn cannot_write(&self, args: &[&str], out: &str, why: &str) {
        let output = self.command(args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.starts_with(&format!("ftlab: cannot write {out}: ")), "{args:?}: {stderr}");
        assert!(stderr.to_lowercase().contains(why), "{args:?}: {stderr}");
        assert!(!stderr.contains(".ftlab-"), "a temporary file is named: {stderr}");
    }
}

/// A message about a full disk names the file that the user named.
#[test]
fn a_full_disk_is_reported_with_the_name_of_the_output() {
    let place = Place::new();
    for args in [
        &["run", "o.log", "--quiet", "--json", "/dev/full"][..],
        &["run", "o.log", "--quiet", "--log-ops", "/dev/full"],
        &["trace", "generate", "uniform:writes=100K", "--out", "/dev/full"],
    ] {
        place.cannot_write(args, "/dev/full", "no space left");
    }
}
