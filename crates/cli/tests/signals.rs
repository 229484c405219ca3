//! A signal ends every command with 128 plus its number, and leaves no temporary file and no
//! half-written output.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const SIGNALS: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("HUP", 129)];

/// A workload that takes long enough to be interrupted, and ends if the signal is not heard.
const LONG: &str = "uniform:writes=20M";

/// A folder in which commands run, with a folder of its own for temporary files.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.at("tmp")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env("TMPDIR", self.at("tmp")).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The command under test. It gets every signal, even if these tests run under `nohup`.
    fn ftlab(&self, args: &[&str]) -> Command {
        let heard = ["--default-signal=HUP", env!("CARGO_BIN_EXE_ftlab")];
        self.command("env", &[&heard[..], args].concat())
    }

    /// All files, those in folders included, and folders.
    fn entries(&self) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![self.directory.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                found.push(path.strip_prefix(&self.directory).unwrap().display().to_string());
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// Waits until a file whose name begins so is not empty.
    fn wait_for(&self, beginning: &str) {
        wait_until(|| {
            let mut files = fs::read_dir(&self.directory).unwrap().filter_map(Result::ok);
            files.any(|file| {
                let begins = file.file_name().to_string_lossy().starts_with(beginning);
                begins && file.metadata().is_ok_and(|found| found.len() > 0)
            })
        });
    }

    /// Sends a signal to a command that does not end by itself, and checks what it leaves.
    #[track_caller]
    fn stops(&self, child: Child, signal: &str, code: i32, left: &[&str]) -> String {
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}: {stderr}");
        assert!(stderr.starts_with("ftlab: interrupted"), "{signal}: {stderr}");
        assert!(!stderr.contains(".ftlab-"), "{signal}: {stderr}");
        assert_eq!(self.entries(), left, "{signal}");
        stderr
    }
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(60), "it takes too long");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(child: &Child, signal: &str) {
    let process = child.id().to_string();
    assert!(
        Command::new("kill").args([&format!("-{signal}"), &process]).status().unwrap().success()
    );
}

/// Waits until a process handles SIGTERM, the signal 15.
fn wait_for_the_handlers(child: &Child) {
    wait_until(|| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 14 != 0
    });
}

#[test]
fn a_run_that_writes_leaves_nothing() {
    let both = ["compare", LONG, "--ftl", "page", "--ftl", "block", "--capacity", "4MiB"];
    let run = ["run", LONG, "--capacity", "4MiB", "--warmup", "0"];
    for (signal, code) in SIGNALS {
        for args in [
            [&run[..], &["--log-ops", "ops", "--json", "out"]].concat(),
            [&run[..], &["--timing", "drive", "--timeline", "t.json.gz"]].concat(),
            [&both[..], &["--log-ops", "ops", "--report", "p", "--warmup", "0"]].concat(),
            vec!["trace", "generate", LONG, "--out", "made.log"],
        ] {
            let place = Place::new();
            let child = place.ftlab(&args).spawn().unwrap();
            place.wait_for(".ftlab-");
            assert_eq!(place.stops(child, signal, code, &["tmp"]), "ftlab: interrupted\n");
        }
    }
}

#[test]
fn the_old_output_stays_as_it_was() {
    let place = Place::new();
    fs::write(place.at("ops"), "old").unwrap();
    let args = ["run", LONG, "--capacity", "4MiB", "--warmup", "0", "--log-ops", "ops"];
    let child = place.ftlab(&args).spawn().unwrap();
    place.wait_for(".ftlab-");
    place.stops(child, "TERM", 143, &["ops", "tmp"]);
    assert_eq!(fs::read_to_string(place.at("ops")).unwrap(), "old");
}

#[test]
fn a_conversion_leaves_nothing() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let made = ["trace", "generate", "uniform:writes=2M", "--out", "long.log"];
        assert!(place.ftlab(&made).status().unwrap().success());
        let convert = ["trace", "convert", "long.log", "--to", "csv", "--out", "long.csv"];
        let child = place.ftlab(&convert).spawn().unwrap();
        place.wait_for(".ftlab-");
        place.stops(child, signal, code, &["long.log", "tmp"]);
    }
}

#[test]
fn standard_input_is_kept_without_a_name() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let mut child = place.ftlab(&["run", "-", "--json", "out"]).stdin(Stdio::piped()).spawn();
        let child = child.as_mut().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, &b"0,0,512,W,0.1\n".repeat(100_000)).unwrap();
        // What the pipe could not hold has been read.
        assert_eq!(place.entries(), ["tmp"]);
        kill(child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(place.entries(), ["tmp"]);
    }
}

#[test]
fn requests_in_a_temporary_file_leave_nothing() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let made = ["trace", "generate", "uniform:writes=1M", "--out", "t.log"];
        assert!(place.ftlab(&made).status().unwrap().success());
        let both = ["compare", "t.log", "--ftl", "page", "--ftl", "block", "--memory", "0"];
        let long = ["--warmup", "0", "--log-ops", "ops"];
        let child = place.ftlab(&[&both[..], &long].concat()).spawn().unwrap();
        place.wait_for(".ftlab-");
        place.stops(child, signal, code, &["t.log", "tmp"]);
    }
}

#[test]
fn a_sweep_keeps_only_its_journal() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let plan =
            format!("[[grid]]\ncapacity = \"4MiB\"\ntrace = [\"uniform:writes=9\", \"{LONG}\"]");
        fs::write(place.at("plan.toml"), plan).unwrap();
        let args = ["sweep", "plan.toml", "--out", "rows.csv", "--report", "page", "--jobs", "2"];
        let child = place.ftlab(&args).spawn().unwrap();
        let lines = || fs::read_to_string(place.at("rows.csv.journal")).unwrap_or_default();
        wait_until(|| lines().lines().count() == 2);
        let stderr = place.stops(child, signal, code, &["plan.toml", "rows.csv.journal", "tmp"]);
        let kept = "1 row is kept in rows.csv.journal, and the same command continues from there";
        assert!(stderr.contains(kept), "{stderr}");
    }
}

#[test]
fn papers_keep_only_their_journals() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let child = place.ftlab(&["papers", "T", "--out", "p"]).spawn().unwrap();
        wait_until(|| {
            fs::metadata(place.at("p/rows/T.quick.journal")).is_ok_and(|j| j.len() > 200)
        });
        place.stops(child, signal, code, &["p", "p/rows", "p/rows/T.quick.journal", "tmp"]);
    }
}

/// A command that does not look at the flag ends at once.
#[test]
fn a_command_that_computes_for_long_ends_at_once() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let info = ["trace", "info", LONG, "--capacity", "4MiB", "--report", "page"];
        let child = place.ftlab(&info).spawn().unwrap();
        wait_for_the_handlers(&child);
        let started = Instant::now();
        place.stops(child, signal, code, &["tmp"]);
        assert!(started.elapsed() < Duration::from_secs(1), "{info:?}");
    }
}

#[test]
fn a_check_prints_what_it_tried() {
    for (signal, code) in SIGNALS {
        let place = Place::new();
        let check = ["check", "--ftl", "page", "--faults", "basic", "--budget", "600s"];
        let child = place.ftlab(&check).spawn().unwrap();
        wait_for_the_handlers(&child);
        std::thread::sleep(Duration::from_millis(500));
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{signal}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "ftlab: interrupted\n");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\npage") && text.contains("unstable"), "{signal}: {text}");
    }
}

/// `timeout` signals the process and then its whole group, so the same signal comes twice.
#[test]
fn a_check_under_timeout_prints_what_it_tried() {
    let place = Place::new();
    let ftlab = env!("CARGO_BIN_EXE_ftlab");
    let check = format!("timeout 2 {ftlab} check --ftl page --faults basic --budget 600s");
    for _ in 0..3 {
        let output = place.command("sh", &["-c", &check]).output().unwrap();
        assert_eq!(output.status.code(), Some(124));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\npage") && text.contains("unstable"), "{text}");
    }
}

/// A run that waits for the system cannot look at the flag. It ends all the same, after a while or
/// at the second signal.
#[test]
fn a_run_that_is_stuck_ends_nevertheless() {
    let stuck = |signals: u32| {
        let place = Place::new();
        let made = place.command("mkfifo", &["ops"]).status().unwrap();
        assert!(made.success());
        // Nobody reads the pipe, so opening it waits.
        let child = place.ftlab(&["run", "oltp", "--log-ops", "ops"]).spawn().unwrap();
        wait_for_the_handlers(&child);
        std::thread::sleep(Duration::from_millis(200));
        let started = Instant::now();
        for _ in 1..signals {
            kill(&child, "TERM");
            std::thread::sleep(Duration::from_millis(100));
        }
        place.stops(child, "TERM", 143, &["ops", "tmp"]);
        started.elapsed()
    };
    assert!(stuck(1) >= Duration::from_secs(5));
    assert!(stuck(2) < Duration::from_secs(5));
}

#[test]
fn nohup_keeps_a_run_alive() {
    let place = Place::new();
    let script =
        format!("trap '' HUP; exec {} run {LONG} --capacity 4MiB", env!("CARGO_BIN_EXE_ftlab"));
    let child = place.command("sh", &["-c", &script]).spawn().unwrap();
    wait_for_the_handlers(&child);
    kill(&child, "HUP");
    std::thread::sleep(Duration::from_millis(300));
    kill(&child, "TERM");
    let Output { status, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(143), "the hang-up is ignored");
}
