//! `ftlab sweep --shard`, `--merge` and `--slurm`: a plan that several machines run gives the same
//! bytes as one that a single process runs, and nothing is lost on the way.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Twelve rows; half of them fail, because they lack extra blocks.
const PLAN: &str = r#"
title = "twelve"
[base]
trace = "skew:writes=4K,reads=20%"
capacity = "4MiB"
[[grid]]
ftl = ["page", "fast", "dac"]
extra = ["15%", "0blocks"]
seed = [1, 2]
[[claim]]
id = "c"
says = "written pages"
figure = "host_pages.written"
rows = [{ ftl = "page", extra = "15%", seed = 2, expected = 3000 }]
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

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// `ftlab sweep plan.toml --out rows.csv` with these options.
    fn sweep(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&self.directory).args(["sweep", "plan.toml", "--out", "rows.csv"]);
        command.args(options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a sweep that must succeed. Returns what it printed.
    #[track_caller]
    fn done(&self, options: &[&str]) -> String {
        let output = self.sweep(options).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{options:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a sweep that must fail with this code and change no file. Returns its standard error.
    #[track_caller]
    fn refused(&self, code: i32, options: &[&str]) -> String {
        let before = self.files();
        let output = self.sweep(options).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert_eq!(self.files(), before, "{options:?} changed a file");
        stderr
    }

    fn shard(&self, shard: &str) -> String {
        self.done(&["--shard", shard])
    }

    /// Names and contents of all files.
    fn files(&self) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(&self.directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| (name.clone(), self.read(&name))).collect()
    }

    fn names(&self) -> Vec<String> {
        self.files().into_keys().collect()
    }
}

/// What one process prints and writes.
fn alone(plan: &str) -> (String, String, String) {
    let place = Place::new(plan);
    let said = place.done(&["--report", "page.html"]);
    (said, place.read("rows.csv"), place.read("page.html"))
}

#[test]
fn merged_shards_give_the_bytes_of_one_process() {
    let (said, rows, page) = alone(PLAN);
    assert!(said.contains("of which 6 failed") && said.contains("c  falls short"), "{said}");
    for shards in [1, 2, 3, 5, 13] {
        let place = Place::new(PLAN);
        // The order in which shards end does not matter.
        for shard in (1..=shards).rev() {
            place.shard(&format!("{shard}/{shards}"));
            assert!(!place.path("rows.csv").exists(), "a shard writes no rows");
        }
        let merged = place.done(&["--merge", "--report", "page.html"]);
        assert_eq!((merged, place.read("rows.csv")), (said.clone(), rows.clone()), "{shards}");
        assert_eq!(place.read("page.html"), page);
        assert_eq!(place.names(), ["page.html", "plan.toml", "rows.csv"], "journals are left");
    }
}

#[test]
fn a_shard_says_what_it_did_and_what_comes_next() {
    let place = Place::new(PLAN);
    let said = place.shard("2/4");
    let start = "twelve: shard 2/4 is done, 3 of 12 rows are in ";
    assert!(said.starts_with(start), "{said}");
    assert!(said.contains("rows.csv.2of4.journal"), "{said}");
    let end = "When all shards are done:  ftlab sweep plan.toml --out rows.csv --merge\n";
    assert!(said.ends_with(end), "{said}");
    assert_eq!(place.names(), ["plan.toml", "rows.csv.2of4.journal"]);
    assert_eq!(place.shard("2/4"), said, "the same again: nothing is left to run");
}

#[test]
fn a_merge_without_all_rows_lists_what_is_missing_and_loses_nothing() {
    let place = Place::new(PLAN);
    let why = place.refused(1, &["--merge"]);
    assert!(why.contains("so there is nothing to merge: run the shards"), "{why}");
    for shard in ["1/4", "3/4"] {
        place.shard(shard);
    }
    let figures = place.path("figures");
    let why = place.refused(1, &["--merge", "--svg", figures.to_str().unwrap()]);
    assert!(why.contains("6 of 12 rows are missing"), "{why}");
    assert!(!figures.exists(), "an empty folder stays");
    assert!(why.contains("Run shards 2,4 of 4 again, or run the missing rows here"), "{why}");
    // A shard that was killed in the middle is missing, too.
    let journal = place.path("rows.csv.3of4.journal");
    let text = place.read("rows.csv.3of4.journal");
    std::fs::write(&journal, &text[..text.len() - 5]).unwrap();
    let before = text.lines().count() - 1;
    let why = place.refused_but_truncates(&["--merge"]);
    assert!(why.contains("7 of 12 rows") && why.contains("shards 2,3,4 of 4"), "{why}");
    assert_eq!(place.read("rows.csv.3of4.journal").lines().count(), before);
    // The operator of a damaged disk learns it from the merge, too.
    std::fs::write(&journal, text.replacen('\n', "\n#", 1)).unwrap();
    let why = place.refused(1, &["--merge"]);
    assert!(why.contains("rows.csv.3of4.journal:2: this line is damaged"), "{why}");
    assert!(why.contains("7 of 12 rows"), "{why}");
    std::fs::write(&journal, &text[..text.len() - 5]).unwrap();
    for shard in ["2/4", "3/4", "4/4"] {
        place.shard(shard);
    }
    place.done(&["--merge"]);
    assert_eq!(place.read("rows.csv"), alone(PLAN).1);
    let why = place.refused(1, &["--merge"]);
    assert!(
        why.contains("so there is nothing to merge: ") && why.contains("stays as it is"),
        "{why}"
    );
    assert_eq!(place.read("rows.csv"), alone(PLAN).1);
}

impl Place {
    /// As [`Place::refused`], with code 1; an incomplete last line of a journal is cut off.
    #[track_caller]
    fn refused_but_truncates(&self, options: &[&str]) -> String {
        let names = self.names();
        let output = self.sweep(options).output().unwrap();
        assert_eq!((output.status.code(), self.names()), (Some(1), names));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Replaces a text in the last row of a journal, with the right checksum.
    fn forge(&self, journal: &str, from: &str, to: &str) {
        let text = self.read(journal);
        let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
        assert!(last.contains(from), "{last}");
        let checked = last.split_once(' ').unwrap().1.replace(from, to);
        let mut crc = flate2::Crc::new();
        crc.update(checked.as_bytes());
        let text = format!("{before}\n{:08x} {checked}\n", crc.sum());
        std::fs::write(self.path(journal), text).unwrap();
    }
}

/// A row that no run can give shows that it was taken from the journal.
#[test]
fn a_plain_sweep_takes_over_what_shards_have_finished() {
    let place = Place::new(PLAN);
    place.shard("1/3");
    place.forge("rows.csv.1of3.journal", "\"schema\":\"ftlab.run/1\"", "\"schema\":\"forged\"");
    place.done(&[]);
    let rows = place.read("rows.csv");
    assert_eq!(rows.lines().count(), 13);
    assert_eq!(rows.matches(",forged,").count(), 1);
    assert_eq!(place.names(), ["plan.toml", "rows.csv"]);
}

#[test]
fn journals_of_different_numbers_of_shards_and_of_a_plain_sweep_merge() {
    let place = Place::new(PLAN);
    for shard in ["1/2", "2/3", "3/3", "1/3"] {
        place.shard(shard);
    }
    place.done(&["--merge"]);
    assert_eq!(place.read("rows.csv"), alone(PLAN).1);
}

/// A plan whose first and last row end at once and whose other rows never end.
const ENDLESS: &str =
    "[[grid]]\ncapacity = \"4MiB\"\ntrace.writes = [100, \"1000G\", \"1001G\", 101]";

/// Starts a sweep of an endless plan and waits until its first row is done.
fn endless(place: &Place, options: &[&str], journal: &str) -> Child {
    let child = place.sweep(options).args(["--jobs", "2"]).spawn().unwrap();
    while std::fs::read_to_string(place.path(journal)).map_or(0, |text| text.lines().count()) < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// Sends a signal once: a second one would end a sweep before it says what it keeps.
fn signalled(child: Child, signal: &str) -> Output {
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    child.wait_with_output().unwrap()
}

#[test]
fn a_running_shard_is_left_alone_and_keeps_its_rows_when_it_is_killed() {
    let place = Place::new(ENDLESS);
    let child = endless(&place, &["--shard", "1/2"], "rows.csv.1of2.journal");
    for options in [&["--shard", "1/2"][..], &["--merge"], &[]] {
        let why = place.refused(1, options);
        assert!(why.contains("another sweep is writing ") && why.contains("1of2"), "{why}");
    }
    // Slurm ends a task at its time limit with SIGTERM.
    let output = signalled(child, "-TERM");
    assert_eq!(output.status.code(), Some(143));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1 row is kept in ") && said.contains("the same command"), "{said}");
    assert_eq!(place.read("rows.csv.1of2.journal").lines().count(), 2);
}

#[test]
fn a_shard_is_refused_while_a_sweep_runs_all_rows() {
    let place = Place::new(ENDLESS);
    let child = endless(&place, &[], "rows.csv.journal");
    let why = place.refused(1, &["--shard", "2/2"]);
    assert!(why.contains("another sweep is writing ") && why.contains("csv.journal"), "{why}");
    signalled(child, "-KILL");
    assert_eq!(place.names(), ["plan.toml", "rows.csv.journal"]);
}

#[test]
fn a_shard_of_other_traces_is_refused_and_one_of_copied_traces_is_not() {
    let plan = "[base]\nwarmup = 0\n[[grid]]\ntrace = [\"a.spc\", \"b.spc\"]\nseed = [1, 2]";
    let place = Place::new(plan);
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).unwrap();
    write("a.spc", "0,8,4096,W,0.5\n");
    write("b.spc", "0,16,4096,W,0.5\n");
    for shard in ["1/2", "2/2"] {
        place.shard(shard);
    }
    write("b.spc", "0,32,4096,W,0.5\n");
    let why = place.refused(2, &["--merge"]);
    assert!(why.contains("was begun with other traces: a file of them has changed"), "{why}");
    // Only the bytes count, not when they were written.
    write("b.spc", "0,16,4096,W,0.5\n");
    place.done(&["--merge"]);
    assert_eq!(place.read("rows.csv").lines().count(), 5);
}

/// Without this, all shards would run, and only the merge would refuse their journals.
#[test]
fn a_shard_is_refused_beside_a_journal_of_another_plan() {
    let place = Place::new(PLAN);
    place.shard("1/2");
    let plan = place.read("plan.toml");
    std::fs::write(place.path("plan.toml"), plan.replace("4K", "5K")).unwrap();
    for options in [&["--shard", "2/2"][..], &["--shard", "3/3"], &[]] {
        let why = place.refused(2, options);
        assert!(why.contains("rows.csv.1of2.journal was begun with other rows"), "{why}");
    }
    assert_eq!(place.names(), ["plan.toml", "rows.csv.1of2.journal"]);
    std::fs::write(place.path("plan.toml"), plan).unwrap();
    place.shard("2/2");
    place.done(&["--merge"]);
}

#[test]
fn wrong_shards_and_options_are_refused() {
    let place = Place::new(PLAN);
    for shard in ["0/3", "4/3", "3", "1/0", "x/y"] {
        let why = place.refused(2, &["--shard", shard]);
        assert!(why.contains("such as 1/8 to 8/8"), "{why}");
    }
    for options in [
        &["--shard", "1/2", "--merge"][..],
        &["--shard", "1/2", "--report", "page.html"],
        &["--slurm", "2", "--merge"],
        &["--slurm-option", "time=1"],
    ] {
        place.refused(2, options);
    }
    for count in ["0", "13"] {
        let why = place.refused(2, &["--slurm", count]);
        assert!(why.contains("a plan of 12 rows can have 1 to 12 shards"), "{why}");
    }
    let slurm = |option: &str| place.refused(2, &["--slurm", "2", "--slurm-option", option]);
    assert!(slurm("array=1-9").contains("the script sets this itself"));
    assert!(slurm("t=1").contains("has a long name"));
    assert!(slurm("comment=a\n#SBATCH --x").contains("control character"));
}

// ---- Slurm --------------------------------------------------------------------------------------

/// Stands for `sbatch`: runs the tasks of an array or a wrapped command at once, and prints the
/// number of the job if it is asked to.
const SBATCH: &str = r#"#!/bin/bash
set -eu
while [[ $# -gt 0 ]]; do
    case "$1" in
        --parsable) parsable=1 ;;
        --wrap) bash -c "$2" >&2; shift ;;
        --dependency=afterany:4711) ;;
        --*) echo "$1" >> options ;;
        *) script=$1 ;;
    esac
    shift
done
if [[ -n "${script:-}" ]]; then
    array=$(sed -n 's/^#SBATCH --array=//p' "$script")
    for task in $(seq "${array%-*}" "${array#*-}"); do
        SLURM_ARRAY_TASK_ID=$task bash "$script" >&2
    done
fi
[[ -z "${parsable:-}" ]] || echo 4711
"#;

/// A folder with stand-ins for Slurm's commands, and the path on which they and `ftlab` are found.
fn slurm(place: &Place) -> String {
    let folder = place.path("bin");
    std::fs::create_dir(&folder).unwrap();
    let sbatch = folder.join("sbatch");
    std::fs::write(&sbatch, SBATCH).unwrap();
    std::fs::set_permissions(&sbatch, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ftlab = PathBuf::from(env!("CARGO_BIN_EXE_ftlab"));
    let paths = [folder.to_str().unwrap(), ftlab.parent().unwrap().to_str().unwrap()];
    format!("{}:{}", paths.join(":"), std::env::var("PATH").unwrap())
}

fn bash(place: &Place, path: &str, text: &str) {
    let mut bash = Command::new("bash");
    bash.current_dir(&place.directory).env("PATH", path).args(["-euc", text]);
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The script, and the commands in its comments, do what they say, without Slurm.
#[test]
fn the_script_for_slurm_and_the_commands_in_it_give_the_bytes_of_one_process() {
    let (_, rows, _) = alone(PLAN);
    let place = Place::new(PLAN);
    let options = ["--slurm", "5", "--slurm-option", "time=04:00:00", "--slurm-option"];
    let more = ["--comment=my sweep", "--jobs", "2", "--memory-limit", "3GiB"];
    let script = place.done(&[&options[..], &more[..]].concat());
    assert_eq!(place.names(), ["plan.toml"], "nothing ran");
    std::fs::write(place.path("rows.csv.sbatch"), &script).unwrap();
    let path = slurm(&place);
    bash(&place, &path, "bash -n rows.csv.sbatch");
    for line in [
        "#!/bin/bash",
        "#SBATCH --job-name=ftlab-plan",
        "#SBATCH --array=1-5",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --time=04:00:00",
        "#SBATCH '--comment=my sweep'",
        "    --jobs \"${SLURM_CPUS_PER_TASK:-1}\" --memory 1GiB --memory-limit 3GiB",
    ] {
        assert!(script.lines().any(|other| other == line), "{line}: {script}");
    }
    let commands: Vec<&str> =
        script.lines().filter_map(|line| line.strip_prefix("#     ")).collect();
    assert_eq!(commands.len(), 2, "{script}");
    // From another folder: the script and the merge go where the plan is.
    let commands = commands.join("\n").replace("rows.csv.sbatch", "../rows.csv.sbatch");
    bash(&place, &path, &format!("mkdir elsewhere; cd elsewhere; {commands}"));
    assert_eq!(place.read("elsewhere/options"), "--time=04:00:00\n--comment=my sweep\n");
    assert_eq!(place.read("rows.csv"), rows);
    let left = std::fs::read_dir(&place.directory).unwrap();
    let journals = left
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("journal"));
    assert_eq!(journals.count(), 0);
}
