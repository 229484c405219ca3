//! Every real trace is told apart without options, or refused with the exact command that reads it.
//!
//! The traces are in the directory that `FTLAB_TRACES` names. Without it, the test prints that it
//! is skipped and passes, unless `FTLAB_REQUIRE` lists `traces`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FTLAB: &str = env!("CARGO_BIN_EXE_ftlab");

fn traces() -> Option<PathBuf> {
    let directory = std::env::var_os("FTLAB_TRACES").map(PathBuf::from);
    if directory.is_none() {
        let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
        let needed = required.split(',').any(|what| what.trim() == "traces");
        assert!(!needed, "FTLAB_TRACES names no directory");
        println!("skipped: FTLAB_TRACES names no directory");
    }
    directory
}

/// All traces in the folders of the directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.collect::<Vec<_>>()
    };
    let folders = entries(directory).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    files.sort();
    files
}

/// The beginning of a trace, described.
fn described(file: &Path) -> Output {
    let command = ["trace", "info", "--brief", "--limit", "3000"];
    Command::new(FTLAB).args(command).arg(file).stdin(Stdio::null()).output().unwrap()
}

/// The commands that a refusal proposes, as a user would paste them.
fn proposed(refusal: &str) -> Vec<&str> {
    let lines = refusal.lines().map(str::trim_start);
    lines.filter(|line| line.starts_with("ftlab trace info ")).collect()
}

/// Runs a command in a shell.
fn pasted(command: &str) -> Output {
    let folder = Path::new(FTLAB).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    Command::new("sh")
        .args(["-c", command])
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// How a trace is read: its format as printed, and the commands proposed if it was refused.
fn reading(file: &Path) -> String {
    let output = described(file);
    let (out, refusal) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        let format = out.lines().next().and_then(|line| line.rsplit_once('(')).unwrap().1;
        return format.trim_end_matches(')').to_owned();
    }
    let commands = proposed(&refusal);
    assert!(!commands.is_empty(), "{}: no command is proposed: {refusal}", file.display());
    for command in &commands {
        let output = pasted(command);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {stderr}");
    }
    let formats = commands.iter().filter_map(|command| command.split_once(" --format "));
    let formats: Vec<&str> = formats.map(|(_, format)| format).collect();
    match formats.is_empty() {
        true => String::from("--skip-bad"),
        false => format!("one of {}", formats.join(" ")),
    }
}

/// Folders, or beginnings of paths, and how their traces are read; the first match counts.
static READINGS: &[(&str, &str)] = &[
    ("biotracer/", "csv"),
    ("blktrace/tr.txt", "blkparse"),
    ("cloudphysics/", "csv"),
    ("diskmon/p2pdownload", "--skip-bad"),
    ("flashsim/Financial1", "one of disksim disksim:unit=s flashsim"),
    ("mqsim/", "one of disksim mqsim ssdsim ssdsim:unit=us"),
    ("msr-cut/", "csv"),
    ("pixel6a-csv/", "csv"),
    ("ssdsim/", "one of disksim mqsim ssdsim ssdsim:unit=us"),
    ("tencent-cbs/", "tencent"),
    ("wpa-csv/", "csv"),
];

#[test]
fn every_real_trace_is_told_apart_or_refused_with_the_command_that_reads_it() {
    let Some(directory) = traces() else { return };
    let files = files(&directory);
    assert!(files.len() > 70, "{} files", files.len());
    for file in files {
        let name = file.strip_prefix(&directory).unwrap().to_str().unwrap();
        let known = READINGS.iter().find(|(start, _)| name.starts_with(start));
        // The other folders are named after the format of their traces.
        let expected =
            known.map_or_else(|| name.split('/').next().unwrap(), |(_, reading)| reading);
        let found = reading(&file);
        println!("{name}: {found}");
        assert_eq!(found, expected, "{name}");
    }
}
