//! Films of guests: of a run, and of the case in which a check finds something.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::{PATIENCE, RUN, command, example, guest, outcome_of};

/// The header of a film's data, and the page beside it.
fn film(folder: &Path) -> (Value, String) {
    let mut bytes = Vec::new();
    let data = fs::File::open(folder.join("f.film")).unwrap();
    GzDecoder::new(data).read_to_end(&mut bytes).unwrap();
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let header = serde_json::from_slice(&bytes[12..12 + length]).unwrap();
    (header, fs::read_to_string(folder.join("f.html")).unwrap())
}

/// A command about the guest in this example, which writes its film to the folder.
fn filmed(folder: &Path, words: &[&str], source: &str) -> Command {
    let ftl = guest(&example(folder, source));
    let mut command = command(&[words, &["--ftl", &ftl]].concat());
    command.arg("--film").arg(folder.join("f.html"));
    command.arg("--film-data").arg(folder.join("f.film"));
    command
}

const CHECK: [&str; 7] =
    ["check", "--geometry", "tiny", "--workload", "random", "--second-cuts", "0"];

#[test]
fn a_film_of_a_run_ends_with_the_counters_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let words = [&RUN[..], &["--json", "-"]].concat();
    let output = filmed(folder.path(), &words, "page.c").output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (header, page) = film(folder.path());
    for counter in ["programs", "erases"] {
        let course = header["course"][counter].as_array().unwrap();
        assert_eq!(course.last(), Some(&result[counter]["total"]), "{counter}");
    }
    let names: Vec<&str> = header["scenes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["garbage collection", "merge"]);
    assert_eq!(header["roles"][0], "of the guest");
    for sentence in [
        "which of them are valid, only the guest knows",
        "What the guest keeps to itself is not in the film",
    ] {
        assert!(page.contains(sentence), "{sentence}");
    }
}

#[test]
fn a_film_of_a_check_shows_the_cut_after_which_a_guest_fails() {
    let folder = tempfile::tempdir().unwrap();
    let words = [&CHECK[..], &["--quiet"]].concat();
    let (code, text) = outcome_of(&mut filmed(folder.path(), &words, "broken/flushes_nothing.c"));
    assert_eq!(code, Some(3), "{text}");
    let (header, page) = film(folder.path());
    let run = header["about"]["run"].as_str().unwrap();
    assert!(run.contains("--cut") && text.contains(run), "{run} is the line of {text}");
    assert!(page.contains("only the guest knows"));
}

/// Nothing is left of the film of a guest that dies, and the finding is what counts.
#[test]
fn a_check_says_that_a_guest_that_hangs_has_no_film() {
    let folder = tempfile::tempdir().unwrap();
    let mut check = filmed(folder.path(), &CHECK, "broken/never_returns.c");
    let (code, text) = outcome_of(check.env(PATIENCE, "1"));
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("No film: the guest ends in each case that was found."), "{text}");
    assert!(!folder.path().join("f.html").exists());
}
