//! `--each-volume`: a trace is parsed once and split, and each volume is run by itself. The rows
//! are those of one run per volume, however they are run and however often they are killed.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// The volumes of the trace, in the order of their first requests.
const VOLUMES: [&str; 4] = ["145", "7", "12", "3"];

const OPTIONS: [&str; 6] = ["--fit", "compact", "--warmup", "0", "--chip", CHIP];
const CHIP: &str = "slc-lsb:pages_per_block=16";

/// The same as `ftlab compare t.csv --each-volume --ftl page --ftl sepgc` with these options.
const PLAN: &str = r#"
[base]
trace = "t.csv"
each_volume = true
fit = "compact"
warmup = 0
chip = "slc-lsb:pages_per_block=16"
[[grid]]
ftl = ["page", "sepgc"]
"#;

/// An Alibaba-shaped trace: device, operation, offset, length, microseconds. Each volume writes
/// more than the one before it; the last one only a little.
fn trace(requests: u64) -> String {
    let mut text = String::new();
    for n in 0..requests {
        let volume = if n < 4 { n } else { [0, 1, 1, 2, 2, 2][(n % 6) as usize] };
        let page = n * 7919 % (200 + 100 * volume);
        let op = if n % 9 == 8 { "R" } else { "W" };
        let (name, time) = (VOLUMES[volume as usize], 1_577_808_000_000_000 + 50 * n);
        writeln!(text, "{name},{op},{},4096,{time}", 4096 * page).unwrap();
    }
    text
}

struct Place {
    directory: TempDir,
}

impl Place {
    fn new(requests: u64) -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("t.csv"), trace(requests)).unwrap();
        std::fs::write(directory.path().join("plan.toml"), PLAN).unwrap();
        Place { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&self.directory).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command that must succeed. Returns what it printed.
    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        assert_eq!((status.code(), &*stderr), (Some(0), ""), "{words:?}");
        String::from_utf8(stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        stderr
    }

    /// `ftlab compare` of two FTLs on each volume, with these options too.
    fn compare<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let words = ["compare", "t.csv", "--each-volume", "--ftl", "page", "--ftl", "sepgc"];
        [&words[..], &OPTIONS, more].concat()
    }

    fn rows(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }
}

#[test]
fn each_row_is_the_run_of_its_volume() {
    let place = Place::new(6000);
    place.done(&place.compare(&["--csv", "rows.jsonl", "--quiet"]));
    let rows = place.rows("rows.jsonl");
    assert_eq!(rows.len(), 8);
    for (row, (volume, ftl)) in rows
        .iter()
        .zip(VOLUMES.iter().flat_map(|volume| ["page", "sepgc"].map(|ftl| (*volume, ftl))))
    {
        assert_eq!(row["sweep"]["varied"], serde_json::json!({"volume": volume, "ftl": ftl}));
        let run = ["run", "t.csv", "--volume", volume, "--ftl", ftl, "--json", "-"];
        let mut alone: Value =
            serde_json::from_str(&place.done(&[&run[..], &OPTIONS].concat())).unwrap();
        alone.as_object_mut().unwrap().remove("wall").unwrap();
        let mut row = row.clone();
        row.as_object_mut().unwrap().remove("sweep").unwrap();
        assert_eq!(row, alone, "{volume} {ftl}");
        let served =
            alone["trace"]["reads"].as_u64().unwrap() + alone["trace"]["writes"].as_u64().unwrap();
        assert_eq!(served + alone["trace"]["skipped"]["other volume"].as_u64().unwrap(), 6000);
    }
}

#[test]
fn the_bytes_are_the_same_however_the_rows_are_run() {
    let place = Place::new(3000);
    place.done(&place.compare(&["--csv", "one.csv", "--quiet", "--jobs", "1"]));
    let expected = place.bytes("one.csv");
    for (name, more) in [("many.csv", ["--jobs", "5"]), ("disk.csv", ["--memory", "0"])] {
        place.done(&place.compare(&[&["--csv", name, "--quiet"], &more[..]].concat()));
        assert!(place.bytes(name) == expected, "{name}");
    }
    place.done(&["sweep", "plan.toml", "--out", "plan.csv", "--quiet"]);
    assert!(place.bytes("plan.csv") == expected, "the same plan");
    for shard in ["2/3", "1/3", "3/3"] {
        place.done(&["sweep", "plan.toml", "--out", "shards.csv", "--shard", shard, "--quiet"]);
    }
    place.done(&["sweep", "plan.toml", "--out", "shards.csv", "--merge", "--quiet"]);
    assert!(place.bytes("shards.csv") == expected, "shards");
    let grid = PLAN.replace("each_volume = true\n", "");
    let grid = grid.replace("[[grid]]\n", "[[grid]]\nvolume = [145, 7, \"12\", 3]\n");
    std::fs::write(place.path("plan.toml"), grid).unwrap();
    place.done(&["sweep", "plan.toml", "--out", "grid.jsonl", "--quiet"]);
    place.done(&place.compare(&["--csv", "one.jsonl", "--quiet"]));
    let results = |name: &str| -> Vec<Value> {
        let rows = place.rows(name).into_iter();
        rows.map(|mut row| {
            row.as_object_mut().unwrap().remove("sweep");
            row
        })
        .collect()
    };
    assert!(results("grid.jsonl") == results("one.jsonl"), "a grid of volumes");
}

/// A folder is one trace of its files, in the order of their names, and is split as a file is.
#[test]
fn a_folder_is_split_as_a_file_with_the_same_lines() {
    let place = Place::new(3000);
    let text = trace(3000);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::create_dir_all(place.path("week/b")).unwrap();
    for (name, part) in ["a.csv", "b/1.csv", "b/2.csv"].into_iter().zip(lines.chunks(1000)) {
        std::fs::write(place.path("week").join(name), part.concat()).unwrap();
    }
    std::fs::write(place.path("week/.README"), "not a trace").unwrap();
    place.done(&place.compare(&["--csv", "file.jsonl", "--quiet"]));
    let words = |trace: &'static str, rows: &'static str| {
        let mut words = place.compare(&["--csv", rows, "--quiet"]);
        words[1] = trace;
        words
    };
    place.done(&words("week", "folder.jsonl"));
    place.done(&words("week/*.csv", "pattern.jsonl"));
    let figures = |name: &str| -> Vec<Value> {
        let mut rows = place.rows(name);
        for row in &mut rows {
            let row = row.as_object_mut().unwrap();
            row.remove("trace_sha256");
            row["trace"].as_object_mut().unwrap().remove("name").unwrap();
        }
        rows
    };
    assert_eq!(figures("folder.jsonl").len(), 8);
    assert!(figures("folder.jsonl") == figures("file.jsonl"));
    assert!(figures("pattern.jsonl") == figures("file.jsonl"));
    let info = place.done(&["trace", "info", "week", "--each-volume"]);
    assert!(info.starts_with("week (alibaba): 4 volumes\n"), "{info}");
}

#[test]
fn a_killed_fleet_goes_on_where_it_was() {
    let place = Place::new(60_000);
    place.done(&place.compare(&["--csv", "whole.csv", "--quiet"]));
    let words = place.compare(&["--csv", "rows.csv", "--quiet", "--jobs", "1"]);
    let journal = place.path("rows.csv.journal");
    let kept = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    let mut killed = 0;
    loop {
        let before = kept();
        let mut running = place.command(&words).spawn().unwrap();
        // Killed as soon as it has kept another row.
        while kept() <= before.max(1) && running.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if running.try_wait().unwrap().is_some_and(|status| status.success()) {
            break;
        }
        running.kill().unwrap();
        running.wait().unwrap();
        killed += 1;
        if !place.path("rows.csv").exists() {
            assert!(kept() > before, "a row that was kept is lost");
        }
    }
    assert!(killed >= 2, "it was too fast to be killed");
    assert!(place.bytes("rows.csv") == place.bytes("whole.csv"));
}

#[test]
fn volumes_are_chosen_by_their_figures_and_their_distribution_is_shown() {
    let place = Place::new(3000);
    let info = ["trace", "info", "t.csv", "--each-volume"];
    let text = place.done(&info);
    assert!(text.starts_with("t.csv (alibaba): 4 volumes\n"), "{text}");
    let json: Value =
        serde_json::from_str(&place.done(&[&info[..], &["--json"]].concat())).unwrap();
    let names: Vec<&str> =
        json.as_array().unwrap().iter().map(|it| it["volume"].as_str().unwrap()).collect();
    assert_eq!(names, VOLUMES);
    assert_eq!((&json[3]["writes"], &json[3]["working_set_bytes"]), (&1.into(), &4096.into()));
    let choice = ["--volumes", "written>=2x,writes>100"];
    let text = place.done(&[&info[..], &choice].concat());
    assert!(text.starts_with("t.csv (alibaba): 4 volumes, of which 3 are chosen\n"), "{text}");
    let more = [&choice[..], &["--report", "page.html", "--latex", "table.tex"]].concat();
    let text = place.done(&place.compare(&more));
    let head = "write amplification  volumes  together   mean    5 %   25 %  median   75 %   95 %";
    assert!(text.contains(head), "{text}");
    assert!(text.contains("The volumes of t.csv: 6 rows\n"), "{text}");
    assert!(text.contains("write amplification of the 3 volumes together"), "{text}");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Write amplification of the volumes"));
    let chosen = "Of the 4 volumes of t.csv, 3 meet written";
    assert!(text.contains(&format!("{chosen}>=2x,writes>100.")) && page.contains(chosen), "{text}");
    let table = std::fs::read_to_string(place.path("table.tex")).unwrap();
    assert!(table.contains("\nsepgc & 3 & ") && table.contains(chosen), "{table}");
    assert_eq!(std::fs::read_dir(&place.directory).unwrap().count(), 4, "nothing else is left");
    let one = place.done(&["run", "t.csv", "--each-volume", "--fit", "compact", "--warmup", "0"]);
    assert!(one.contains("The 4 volumes together have a write amplification of"), "{one}");
}

#[test]
fn an_advice_on_each_volume_names_it() {
    let place = Place::new(3000);
    let words = ["advise", "t.csv", "--each-volume", "--volumes", "requests>9", "--json"];
    // These volumes are too short to answer anything, and some too small for a device.
    let output = place.command(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let looks = json["advices"].as_array().unwrap().iter().map(|advice| &advice["look"]);
    let looks: Vec<(&str, u64)> = looks
        .map(|look| (look["trace"].as_str().unwrap(), look["volumes"].as_u64().unwrap()))
        .collect();
    let expected = ["145", "7", "12"].map(|name| format!("t.csv, volume {name}"));
    assert!(looks.iter().map(|(name, _)| *name).eq(expected.iter().map(String::as_str)));
    assert!(looks.iter().all(|(_, volumes)| *volumes == 1));
}

#[test]
fn what_has_no_volumes_or_no_rows_is_refused_with_the_remedy() {
    let place = Place::new(100);
    let run = |more: &[&'static str]| [&["run", "t.csv", "--each-volume"], more].concat();
    for (words, why) in [
        (run(&["--json", "r.json"]), "`--csv rows.jsonl`"),
        (run(&["--log-ops", "o.log"]), "select one volume with `--volume NAME`"),
        (run(&["--volume", "7"]), "give either `--volume` or `--each-volume`"),
        (
            run(&["--volumes", "writes>1G"]),
            "`ftlab trace info t.csv --each-volume` lists their figures",
        ),
        (run(&["--volumes", "writes>1G", "--limit", "50"]), "--each-volume --limit 50` lists"),
        (
            run(&["--volumes", "writes>1G", "--format", "alibaba"]),
            "--each-volume --format alibaba` lists",
        ),
        (run(&["--volumes", "write>1"]), "did you mean `writes`?"),
        (run(&["--csv", "rows.txt"]), "ends in .csv or .jsonl"),
        (vec!["run", "t.csv", "--volumes", "writes>1"], "among the rows of `--each-volume`"),
        (vec!["run", "oltp", "--each-volume"], "a workload has only one volume"),
        (vec!["run", "t.csv", "--volume", "146"], "did you mean `145`?"),
        (vec!["run", "oltp", "--volume", "1"], "a workload has only one"),
    ] {
        let stderr = place.refused(&words);
        assert!(stderr.contains(why), "{words:?}: {stderr}");
    }
}

#[test]
fn a_plan_skips_bad_lines_and_a_proposal_tells_how_volumes_are_named() {
    let place = Place::new(100);
    let failed = |words: &[&str]| {
        let output = place.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).unwrap();
    write("bad.csv", &format!("{}bad,line\n", trace(100)));
    write("bad.toml", "[base]\ntrace = \"bad.csv\"\neach_volume = true\n");
    let why = failed(&["sweep", "bad.toml", "--out", "rows.csv"]);
    assert!(why.contains("`skip_bad = true` in the plan") && !why.contains("--skip-bad"), "{why}");
    let why = failed(&["run", "bad.csv", "--each-volume"]);
    assert!(why.contains("ftlab run bad.csv --each-volume --skip-bad"), "{why}");
    let line = |at: u64| format!("{},v{},W,{},4096\n", at * 1000, at % 3, (at * 37 % 50) * 4096);
    write("other.csv", &(0..99).map(line).collect::<String>());
    let why = failed(&["run", "other.csv", "--each-volume"]);
    assert!(
        why.contains("+_+op") && why.contains("call the one that names the volume `dev`"),
        "{why}"
    );
}
