//! `ftlab sweep` as users and scripts see it: the same bytes with any number of jobs, and however
//! often it is killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Twelve rows of about ten milliseconds each; half of them fail because they lack extra blocks.
const PLAN: &str = r#"
title = "twelve"
[base]
trace = "skew:writes=20K,reads=20%"
capacity = "4MiB"
[[grid]]
ftl = ["page", "page:victim=fifo", "page:victim=dchoices"]
extra = ["15%", "0blocks"]
seed = [1, 2]
"#;

struct Place {
    directory: TempDir,
}

impl Place {
    fn new(plan: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("plan.toml"), plan).unwrap();
        Place { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn sweep(&self, out: &str, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&self.directory).args(["sweep", "plan.toml", "--out", out]);
        command.args(options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a sweep that must succeed. Returns its output file.
    #[track_caller]
    fn rows(&self, out: &str, options: &[&str]) -> String {
        let output = self.sweep(out, options).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{options:?}");
        assert!(!self.path(&format!("{out}.journal")).exists(), "the journal is left over");
        std::fs::read_to_string(self.path(out)).unwrap()
    }

    /// Runs a sweep that must fail with this code. Returns its standard error.
    #[track_caller]
    fn refused(&self, code: i32, out: &str, options: &[&str]) -> String {
        let output = self.sweep(out, options).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        stderr
    }

    fn entries(&self) -> usize {
        std::fs::read_dir(&self.directory).unwrap().count()
    }
}

fn parsed(rows: &str) -> Vec<Value> {
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |text| text.iter().filter(|&&byte| byte == b'\n').count())
}

#[test]
fn rows_are_the_same_bytes_for_any_number_of_workers() {
    let place = Place::new(PLAN);
    for form in ["csv", "jsonl"] {
        let of = |jobs: &str| place.rows(&format!("{jobs}.{form}"), &["--jobs", jobs]);
        let alone = of("1");
        assert_eq!(alone.lines().count(), 12 + usize::from(form == "csv"));
        assert_eq!(alone, of("2"));
        assert_eq!(alone, of("5"));
        assert_eq!(alone, place.rows(&format!("all.{form}"), &[]));
    }
}

#[test]
fn a_row_equals_the_result_of_run_except_for_wall() {
    let place = Place::new(PLAN);
    let rows = parsed(&place.rows("rows.jsonl", &[]));
    let options = ["--ftl", "page:victim=fifo", "--extra", "15%", "--seed", "2"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.args(["run", "skew:writes=20K,reads=20%", "--capacity", "4MiB", "--json", "-"]);
    let output = command.args(options).output().unwrap();
    let mut alone: Value = serde_json::from_slice(&output.stdout).unwrap();
    alone.as_object_mut().unwrap().remove("wall").unwrap();
    let mut row = rows[5].clone();
    let sweep = row.as_object_mut().unwrap().remove("sweep").unwrap();
    assert_eq!(row, alone);
    let varied = r#"{"ftl":"page:victim=fifo","extra":"15%","seed":2}"#;
    assert_eq!(sweep["varied"].to_string(), varied);
}

#[test]
fn a_table_for_a_paper_has_the_rows_of_the_sweep_and_never_changes() {
    let place = Place::new(PLAN);
    let table = |out: &str, jobs: &str| {
        let (tex, svg) = (format!("{out}.tex"), format!("{out}.svg"));
        let rows = place.rows(out, &["--latex", &tex, "--svg", &svg, "--jobs", jobs]);
        let rows = parsed(&rows);
        let index = std::fs::read_to_string(place.path(&svg).join("figures.tex")).unwrap();
        assert!(index.contains("\\includegraphics"), "{index}");
        (rows, std::fs::read_to_string(place.path(&tex)).unwrap())
    };
    let (rows, tex) = table("rows.jsonl", "1");
    assert_eq!(tex, table("again.jsonl", "2").1);
    assert!(tex.contains("\\caption{twelve. ") && tex.contains("6 of 12 runs failed."), "{tex}");
    assert!(tex.contains("Common options: trace skew:writes=20K,reads=20\\%"), "{tex}");
    let lines: Vec<&str> = tex.lines().filter(|line| line.matches(" & ").count() == 4).collect();
    assert_eq!(lines.len(), 13, "a head and twelve rows: {tex}");
    for (row, line) in rows.iter().zip(&lines[1..]) {
        let cells: Vec<&str> = line.trim_end_matches(" \\\\").split(" & ").collect();
        let bare = cells[3].trim_start_matches("\\textbf{").trim_end_matches('}');
        match row["write_amplification"].as_f64() {
            Some(cost) => {
                assert!((bare.parse::<f64>().unwrap() / cost - 1.0).abs() < 1e-3, "{line}")
            }
            None => assert_eq!(bare, "failed", "{line}"),
        }
    }
    let bold = lines.iter().filter(|line| line.contains("\\textbf")).count();
    assert_eq!(bold, 2, "the best FTL for each seed: {tex}");
}

#[test]
fn a_row_that_fails_has_its_error_and_the_sweep_goes_on() {
    let place = Place::new(PLAN);
    let rows = parsed(&place.rows("rows.jsonl", &[]));
    for (index, row) in rows.iter().enumerate() {
        let (sweep, fails) = (&row["sweep"], index % 4 >= 2);
        assert_eq!(sweep["row"], index);
        assert_eq!(sweep["error"].is_null(), !fails, "{row}");
        if fails {
            let message = "page needs at least 2 extra blocks, this device has 0";
            assert_eq!(
                (&sweep["error"]["exit_code"], &sweep["error"]["message"]),
                (&2.into(), &message.into())
            );
        }
    }
    let output = place.sweep("again.csv", &[]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let summary = "\n6 of 12 runs failed.\n\n\
                   twelve: 12 rows in again.csv, of which 6 failed\nrow 2: page";
    assert!(said.contains(summary), "{said}");
    assert!(said.contains("this device has 0\nand 1 more\n"), "{said}");
}

#[test]
fn a_sweep_fails_with_the_first_error_if_all_rows_fail() {
    let place = Place::new("[base]\ntrace = \"t.spc\"\n[[grid]]\nseed = [1, 2]");
    std::fs::write(place.path("t.spc"), "0,0,512,W,0.1\nnonsense\n").unwrap();
    let stderr = place.refused(1, "rows.csv", &["--quiet"]);
    assert!(stderr.contains("row 0: t.spc:2: "), "{stderr}");
    assert_eq!(lines(&place.path("rows.csv")), 3, "and the rows say so, too");
}

/// Kills a sweep some time after its journal has grown by `rows` lines. Returns whether the sweep
/// was killed before it ended.
fn kill_after(child: &mut Child, journal: &Path, rows: usize, delay: Duration) -> bool {
    let before = lines(journal).max(1);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return false;
        }
        if lines(journal) >= before + rows {
            std::thread::sleep(delay);
            child.kill().unwrap();
            return !child.wait().unwrap().success();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sweep_that_is_killed_repeatedly_gives_the_same_bytes() {
    let place = Place::new(PLAN);
    for jobs in ["1", "2"] {
        let undisturbed = place.rows("whole.csv", &["--jobs", jobs]);
        let journal = place.path("rows.csv.journal");
        let (mut kills, mut kept) = (0, 0);
        loop {
            let mut child = place.sweep("rows.csv", &["--jobs", jobs]).spawn().unwrap();
            let delay = Duration::from_micros(kills as u64 * 7919 % 10_000);
            let killed = kill_after(&mut child, &journal, 1 + kills % 3, delay);
            // The kill may also come after the output is complete and the journal is deleted.
            if !killed || !journal.exists() {
                break;
            }
            kills += 1;
            assert!(lines(&journal) > kept, "a kept row is lost");
            kept = lines(&journal);
            // A kill in the middle of a write leaves half a line.
            let torn =
                format!("{}0badc0de 3 {{\"schema\"", std::fs::read_to_string(&journal).unwrap());
            std::fs::write(&journal, torn).unwrap();
        }
        assert!(kills >= 2, "{kills} kills prove nothing");
        assert_eq!(std::fs::read_to_string(place.path("rows.csv")).unwrap(), undisturbed);
        std::fs::remove_file(place.path("rows.csv")).unwrap();
    }
}

/// Starts a sweep that never ends and waits until its first row is done.
fn endless(place: &Place) -> Child {
    let child = place.sweep("rows.csv", &["--jobs", "2"]).spawn().unwrap();
    while lines(&place.path("rows.csv.journal")) < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

const ENDLESS: &str = "[[grid]]\ncapacity = \"4MiB\"\ntrace.writes = [100, \"1000G\"]";

/// Interrupts a sweep until it ends. An interrupt that arrives before the handler is installed may
/// be lost, for example in a background job of a shell.
fn interrupted(mut child: Child) -> Output {
    while child.try_wait().unwrap().is_none() {
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        std::thread::sleep(Duration::from_millis(50));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn an_interrupt_ends_a_sweep_with_130_and_keeps_the_journal() {
    let place = Place::new(ENDLESS);
    let output = interrupted(endless(&place));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.starts_with("ftlab: interrupted; 1 row is kept in "), "{stderr}");
    assert_eq!(place.entries(), 2, "plan and journal");
    // The journal of another plan is refused and kept.
    std::fs::write(place.path("plan.toml"), PLAN).unwrap();
    let stderr = place.refused(2, "rows.csv", &[]);
    assert!(stderr.contains("rows.csv.journal was begun with other rows"), "{stderr}");
    assert_eq!(lines(&place.path("rows.csv.journal")), 2);
}

#[test]
fn two_sweeps_cannot_write_the_same_journal() {
    let place = Place::new(ENDLESS);
    let child = endless(&place);
    let stderr = place.refused(1, "rows.csv", &[]);
    assert!(stderr.contains("another sweep is writing "), "{stderr}");
    interrupted(child);
}

#[test]
fn a_changed_trace_makes_it_another_sweep() {
    let plan =
        "[base]\ncapacity = \"4MiB\"\n[[grid]]\ntrace = [\"t.spc\", \"uniform:writes=1000G\"]";
    let place = Place::new(plan);
    std::fs::write(place.path("t.spc"), "0,0,512,W,0.1\n").unwrap();
    interrupted(endless(&place));
    interrupted(endless(&place));
    std::fs::write(place.path("t.spc"), "0,0,512,W,0.1\n0,8,512,W,0.2\n").unwrap();
    let stderr = place.refused(2, "rows.csv", &[]);
    let why = "with other traces: a file of them has changed since, or was or is missing; finish";
    assert!(stderr.contains(why), "{stderr}");
}

#[test]
fn rows_are_not_replaced_by_failures_because_no_trace_is_there() {
    let place = Place::new("[base]\ntrace = \"t.spc\"\n[[grid]]\nftl = [\"page\", \"block\"]");
    std::fs::create_dir(place.path("traces")).unwrap();
    std::fs::write(place.path("traces/t.spc"), "0,0,512,W,0.1\n").unwrap();
    let rows = place.rows("rows.csv", &["--traces", "traces", "--quiet"]);
    let stderr = place.refused(1, "rows.csv", &[]);
    assert!(
        stderr.contains("there is no trace `t.spc`") && stderr.contains("`--traces`"),
        "{stderr}"
    );
    assert!(!place.path("rows.csv.journal").exists());
    assert_eq!(std::fs::read_to_string(place.path("rows.csv")).unwrap(), rows);
    // A plan with one trace that exists goes on; the others are rows that failed.
    let plan = "[[grid]]\ntrace = [\"t.spc\", \"oltp:writes=100\"]\ncapacity = \"4MiB\"";
    std::fs::write(place.path("plan.toml"), plan).unwrap();
    assert_eq!(place.rows("rows.jsonl", &["--quiet"]).lines().count(), 2);
}

#[test]
fn caching_traces_does_not_change_the_rows() {
    let plan = "[base]\ntrace = \"t.spc\"\n[[grid]]\nfit = [\"error\", \"compact\"]\n\
                volume = [\"all\", 0]\nftl = [\"page\", \"block\"]";
    let place = Place::new(plan);
    let text: String = (0..5000)
        .map(|n| format!("{},{},{},W,{n}.5\n", n % 2, n * 77 % 3000, 512 * (n % 5)))
        .collect();
    std::fs::write(place.path("t.spc"), text).unwrap();
    let kept = place.rows("kept.jsonl", &[]);
    assert_eq!(kept, place.rows("read.jsonl", &["--memory", "0"]));
    let rows = parsed(&kept);
    assert_eq!(rows.len(), 8);
    assert_eq!(rows[0]["trace"]["skipped"]["zero-length"], 1000);
    assert!(rows.iter().all(|row| row["sweep"]["error"].is_null()));
}

#[test]
fn rows_of_several_loads_are_those_of_run_whether_traces_are_cached_or_not() {
    let plan = "[base]\nwarmup = 0\n[[grid]]\nload = [[\"t.spc@open\", \"oltp:writes=200\"], \
                [\"t.spc\", \"t.spc@closed:depth=2\"]]\nftl = [\"page\", \"block\"]";
    let place = Place::new(plan);
    let text: String =
        (0..5000).map(|n| format!("0,{},{},W,{n}.5\n", n * 77 % 3000, 512 * (n % 5))).collect();
    std::fs::write(place.path("t.spc"), text).unwrap();
    let kept = place.rows("kept.jsonl", &[]);
    assert_eq!(kept, place.rows("read.jsonl", &["--memory", "0"]));
    let rows = parsed(&kept);
    let skipped = |row: &Value, load: usize, why| row["tenants"][load]["skipped"][why].as_u64();
    assert!(skipped(&rows[0], 0, "not served") > Some(3000), "left early: {}", rows[0]);
    for row in &rows {
        assert!(row["sweep"]["error"].is_null(), "{row}");
        assert_eq!(skipped(row, 0, "zero-length"), Some(1000));
    }
    assert_eq!(rows[3]["tenants"][1]["replay"], "closed:depth=2");
}

#[test]
fn trace_files_are_read_from_the_given_directory() {
    let place =
        Place::new("[base]\nwarmup = 0\n[[grid]]\ntrace = [\"t.spc\", \"uniform:writes=9\"]");
    std::fs::create_dir(place.path("traces")).unwrap();
    std::fs::write(place.path("traces/t.spc"), "0,8,4096,W,0.5\n").unwrap();
    let rows = parsed(&place.rows("rows.jsonl", &["--traces", "traces"]));
    let writes: Vec<_> = rows.iter().map(|row| row["trace"]["writes"].as_u64()).collect();
    assert_eq!(writes, [Some(1), Some(9)]);
    let rows = parsed(&place.rows("here.jsonl", &[]));
    assert_eq!(rows[0]["sweep"]["error"]["exit_code"], 1, "not in the current directory");
}

#[test]
fn wrong_plans_and_outputs_are_refused_before_anything_runs() {
    let place = Place::new("[base]\ntrace = \"uniform:writes=1000G\"\nsed = 3\n");
    let stderr = place.refused(2, "rows.csv", &[]);
    let sentence = "ftlab: plan.toml:3:1: an experiment has no key `sed`; did you mean `seed`?";
    assert!(stderr.starts_with(sentence), "{stderr}");
    let place = Place::new("[base]\ntrace = \"uniform:writes=1000G\"");
    assert!(place.refused(2, "rows", &[]).contains("ends in .csv or .jsonl"));
    assert!(place.refused(2, "-", &[]).contains("ends in .csv or .jsonl"));
    assert!(place.refused(2, "rows.csv", &["--jobs", "0"]).contains("--jobs"));
    let stderr = place.refused(1, "missing/rows.csv", &[]);
    assert!(stderr.starts_with("ftlab: cannot write missing/rows.csv: "), "{stderr}");
    std::fs::create_dir(place.path("folder.csv")).unwrap();
    assert!(place.refused(1, "folder.csv", &[]).contains("cannot write folder.csv"));
    assert!(place.refused(2, "rows.csv", &["--scale", "quick"]).contains("no [quick] part"));
    assert_eq!(place.entries(), 2, "nothing is left behind");
    std::fs::remove_file(place.path("plan.toml")).unwrap();
    assert!(place.refused(1, "rows.csv", &[]).contains("cannot read plan plan.toml"));
}

/// One in forty rows of each experiment can be run at the quick scale.
#[test]
fn rows_of_every_experiment_run_at_the_quick_scale() {
    let place = Place::new("");
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut seen = 0;
    for entry in std::fs::read_dir(experiments).unwrap() {
        let plan = entry.unwrap().path();
        let Some(name) = plan.file_stem().filter(|_| plan.is_file()) else { continue };
        let out = format!("{}.jsonl", name.display());
        let mut sweep = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        sweep.current_dir(&place.directory).arg("sweep").arg(&plan).args(["--out", &out]);
        let output = sweep.args(["--scale", "quick", "--shard", "3/40"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{out}");
        seen += 1;
    }
    assert!(seen > 30, "{seen} plans");
}

#[test]
fn claims_of_the_theory_are_judged_at_the_quick_scale() {
    papers_run_at_the_quick_scale(&["T"]);
}

#[test]
#[ignore = "minutes: every row of every paper"]
fn every_experiment_runs_at_the_quick_scale_and_its_claims_are_judged() {
    papers_run_at_the_quick_scale(&["SL", "FSTR", "AP", "LSB", "LAST", "WL", "T"]);
}

fn papers_run_at_the_quick_scale(names: &[&str]) {
    let place = Place::new("");
    let mut papers = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    papers.current_dir(&place.directory).arg("papers").args(names);
    let output = papers.args(["--scale", "quick", "--out", "out"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    for paper in names {
        let rows = std::fs::read_to_string(place.path(&format!("out/rows/{paper}.quick.jsonl")));
        let failed =
            parsed(&rows.unwrap()).into_iter().find(|row| !row["sweep"]["error"].is_null());
        assert!(failed.is_none(), "{paper}: {failed:?}");
        assert!(said.contains(&format!("\n{paper}-1")) || *paper == "T", "{paper}: {said}");
    }
    let open = said.lines().find(|line| line.contains("not run") || line.contains("not examined"));
    assert_eq!(open, None);
    assert!(said.contains("do not decide whether a claim holds"), "{said}");
}

/// The rows of a plan may come from another plan beside it.
#[test]
fn a_plan_may_take_its_runs_from_another() {
    let place = Place::new(
        "runs = \"of/runs.toml\"\n[[claim]]\nid = \"c\"\nsays = \"s\"\n\
         figure = \"host_pages.written\"\nrows = [{ seed = 2, expected = 100 }]",
    );
    std::fs::create_dir(place.path("of")).unwrap();
    let runs = "[base]\ntrace = \"uniform:writes=100\"\ncapacity = \"1MiB\"\n\
                [[grid]]\nseed = [1, 2, 3]";
    std::fs::write(place.path("of/runs.toml"), runs).unwrap();
    let output = place.sweep("rows.jsonl", &[]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("c  holds: s (1 of 1"), "{said}");
    let rows = parsed(&std::fs::read_to_string(place.path("rows.jsonl")).unwrap());
    assert_eq!(rows.len(), 1, "rows that no claim needs are not run");
    assert_eq!(rows[0]["run"]["seed"], 2);
}
