//! `check --log-writes`: the log of a disk as a workload.

use std::fs::File;
use std::io::BufWriter;
use std::process::{Command, Output};

use trace::log_writes::order::LogOrder;
use trace::log_writes::writer::LogWriter;

/// A log of a disk that many files were written to. Half of the operations are in 200 sectors. It
/// has a mark after every 150 operations if it is `marked`.
fn log(operations: u32, marked: bool) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my disk.log");
    let mut order = LogOrder::new();
    let mut random = 7_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % bound
    };
    for number in 1..=operations {
        let sector = if below(2) == 0 { below(200) } else { (1 << 30) + below(5000) };
        let data = |sectors: u64| vec![number as u8; 512 * sectors as usize];
        match below(10) {
            0..6 => order.completed_write(sector, data(1 + below(16)), false),
            6 => order.completed_write(sector, data(1 + below(8)), true),
            7 => order.completed_discard(sector..sector + 1 + below(100)),
            _ => {
                let flush = order.flush_issued();
                order.flush_completed(flush);
            }
        }
        if marked && number % 150 == 0 {
            order.mark(&format!("mark {number}"));
        }
    }
    let file = BufWriter::new(File::create(&path).unwrap());
    let mut writer = LogWriter::new(file).unwrap();
    while let Some(entry) = order.next_entry() {
        writer.append(&entry).unwrap();
    }
    writer.finish().unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn check(path: &str, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.args(["check", "--log-writes", path]).args(options).output().unwrap()
}

/// What a check prints that finds nothing.
#[track_caller]
fn passes(path: &str, options: &[&str]) -> String {
    let output = check(path, options);
    let printed = String::from_utf8(output.stdout).unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{options:?}: {printed}{complained}");
    printed
}

/// What a check says that is refused with this code.
#[track_caller]
fn refused(code: i32, path: &str, options: &[&str]) -> String {
    let output = check(path, options);
    assert_eq!(output.status.code(), Some(code), "{options:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The number in a cell of the row of a table that begins with this word.
fn cell(printed: &str, row: &str, column: usize) -> u64 {
    let line = printed.lines().find(|line| line.split_whitespace().next() == Some(row));
    let line = line.unwrap_or_else(|| panic!("no row {row}: {printed}"));
    line.split_whitespace().nth(column).unwrap().replace(',', "").parse().unwrap()
}

#[test]
fn every_cut_in_drawn_windows_is_tried_and_the_summary_says_which() {
    let (_folder, path) = log(600, true);
    for ftl in ["page", "fast", "superblock"] {
        let options = ["--ftl", ftl, "--windows", "2", "--second-cuts", "0", "--quiet"];
        assert_eq!(passes(&path, &options), "", "{ftl}");
    }
    let options = ["--ftl", "page", "--windows", "2", "--geometry", "tiny", "--second-cuts", "0"];
    let printed = passes(&path, &options);
    assert_eq!(cell(&printed, "page", 1), 2, "cases: {printed}");
    assert!(cell(&printed, "page", 3) > 300, "cuts: {printed}");
    assert!(printed.contains("my disk.log on tiny: "), "{printed}");
    assert!(printed.contains("4 of them up to a mark; tried: 2 drawn from each seed"), "{printed}");
}

#[test]
fn a_short_log_is_tried_whole_under_layers_and_on_an_image() {
    let (_folder, path) = log(40, false);
    let few = ["--ftl", "page", "--geometry", "tiny", "--second-cuts", "0"];
    let printed = passes(&path, &few);
    assert!(printed.contains("tried: all"), "{printed}");
    passes(&path, &[&few[..], &["--buffer", "4KiB"]].concat());
    let printed = passes(&path, &[&few[..], &["--on", "image", "--faults", "basic"]].concat());
    assert!(cell(&printed, "page", 5) > 100, "crashes: {printed}");
}

#[test]
fn one_cut_in_a_window_is_replayed() {
    let (_folder, path) = log(200, true);
    let one = ["--ftl", "page", "--geometry", "tiny", "--workload", "log-1"];
    let cut = [&one[..], &["--cut", "60", "--outcome", "torn"]].concat();
    let printed = passes(&path, &cut);
    let line = "ftlab check --ftl page --geometry tiny --workload log-1 --log-writes '";
    assert!(printed.starts_with(line), "{printed}");
    assert!(printed.contains(" --seed 1 --cut 60 --outcome torn\n"), "{printed}");
    assert!(printed.trim_end().ends_with("all is well"), "{printed}");
    let printed = passes(&path, &[&one[..], &["--second-cuts", "0"]].concat());
    assert!(printed.contains("tried: 1 that were named"), "{printed}");
}

#[test]
fn wrong_logs_and_options_are_refused() {
    let (folder, path) = log(200, true);
    let page = ["--ftl", "page", "--geometry", "tiny"];
    let with = |more: &[&'static str]| [&page[..], more].concat();
    let message = refused(2, &path, &with(&["--workload", "log-99"]));
    assert!(message.contains("`log-99` is not a window of `"), "{message}");
    let message = refused(2, &path, &with(&["--workload", "hot"]));
    assert!(message.contains("`log-0` to `log-"), "{message}");
    let message = refused(2, &path, &with(&["--geometry", "small", "--workload", "log-0"]));
    assert!(message.contains("name one --geometry"), "{message}");
    let message = refused(1, "no such.log", &page);
    assert!(message.contains("cannot open trace `no such.log`"), "{message}");
    let other = folder.path().join("other");
    for (content, why) in [(&b"time_ns"[..], "ends within its head"), (&[7; 600], "no log of dm")] {
        std::fs::write(&other, content).unwrap();
        let message = refused(1, other.to_str().unwrap(), &page);
        assert!(message.contains(why), "{message}");
    }
    LogWriter::new(File::create(&other).unwrap()).unwrap();
    let message = refused(1, other.to_str().unwrap(), &page);
    assert!(message.contains("the log has no write, discard or flush"), "{message}");
}
