//! A program that knows only SPEC.md extracts the same disk from an image as ftlab does.
//!
//! That program is `tools/read_image.py`. Without Python, the test prints that it is skipped and
//! passes, unless `FTLAB_REQUIRE` lists `python`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/read_image.py");

/// Chips of one and of two bits per cell, small enough that garbage collection starts early.
const CHIPS: [&str; 2] = [
    "slc-fast2010:page=4KiB,pages_per_block=32",
    "mlc-k9gag:page=2KiB,pages_per_block=16,pair_distance=2",
];

const SECTORS: u64 = 1024;

/// Times in ms after which runs are killed. Some of them still mount the image, and none has ended.
const KILLS: [u64; 8] = [3, 40, 6, 90, 4, 60, 5, 20];

fn is_there(program: &str) -> bool {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let found = output.is_ok_and(|output| output.status.success());
    if !found {
        let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
        let needed = required.split(',').any(|what| what.trim() == "python");
        assert!(!needed, "no {program} on the path");
        println!("skipped: no {program} on the path");
    }
    found
}

fn ftlab(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn reader(image: &Path) -> Output {
    let mut python = Command::new("python3");
    python.arg(READER).arg(image).args(["--out", "-"]).stdin(Stdio::null());
    python.output().unwrap()
}

#[track_caller]
fn succeeded(output: Output) -> Vec<u8> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A trace of writes, trims and flushes at pseudorandom places.
fn trace() -> String {
    let (mut text, mut state) = (String::from("time.ns,dev,rwbs,off.bytes,len.bytes\n"), 1_u64);
    for time in 0..3000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (offset, sectors) = ((state >> 33) % (SECTORS - 16) * 512, (state >> 20) % 16 + 1);
        let kind = ["W", "W", "D", "W", "F", "W", "W", "W"][(state >> 50) as usize % 8];
        writeln!(text, "{time},0,{kind},{offset},{}", sectors * 512).unwrap();
    }
    text
}

/// An image in a folder of its own, and the trace that is replayed onto it.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new(ftl_and_chip: &[&str]) -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        let image = place.at("image");
        let create = ["image", "create", "--capacity", "512KiB", "--quiet"];
        let args = [&create, ftl_and_chip, &[image.to_str().unwrap()]].concat();
        succeeded(ftlab(&args).output().unwrap());
        fs::write(place.at("trace.csv"), trace()).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn ftlab(&self, args: &[&str]) -> Command {
        let mut command = ftlab(args);
        command.current_dir(&self.directory);
        command
    }

    fn run(&self, more: &[&str]) -> Command {
        let run = ["run", "trace.csv", "--format", "csv", "--image", "image", "--quiet"];
        self.ftlab(&[&run, more].concat())
    }

    fn was_closed(&self) -> bool {
        let info = succeeded(self.ftlab(&["image", "info", "image"]).output().unwrap());
        !String::from_utf8(info).unwrap().contains("not closed in order")
    }

    #[track_caller]
    fn check(&self) {
        let dump = ["image", "dump", "image", "--out", "-"];
        let expected = succeeded(self.ftlab(&dump).output().unwrap());
        let found = succeeded(reader(&self.at("image")));
        assert!(found == expected, "the disks differ");
    }
}

#[test]
fn an_image_closed_in_order_is_read() {
    if !is_there("python3") {
        return;
    }
    for chip in CHIPS {
        let place = Place::new(&["--chip", chip]);
        place.check();
        succeeded(place.run(&["--warmup", "0", "--limit", "300"]).output().unwrap());
        place.check();
    }
}

#[test]
fn an_image_of_a_killed_process_is_read() {
    if !is_there("python3") {
        return;
    }
    for chip in CHIPS {
        let place = Place::new(&["--chip", chip]);
        for ms in KILLS {
            let more = ["--precondition", "none", "--warmup", "1000"];
            let mut child = place.run(&more).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(ms));
            child.kill().unwrap();
            child.wait().unwrap();
            place.check();
        }
        assert!(!place.was_closed(), "every process was killed before it changed the image");
    }
}

/// Blocks stand behind other numbers than their own, and the list of moves says which.
#[test]
fn an_image_whose_blocks_failed_is_read() {
    if !is_there("python3") {
        return;
    }
    let media = "real:factory_bad=5%,endurance=200,program_fail=2%,erase_fail=2%";
    for chip in CHIPS {
        let place = Place::new(&["--chip", chip, "--media", media, "--reserve", "500blocks"]);
        place.check();
        for ms in KILLS {
            let more = ["--precondition", "none", "--warmup", "1000"];
            let mut child = place.run(&more).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(ms));
            child.kill().unwrap();
            child.wait().unwrap();
            place.check();
        }
        succeeded(place.run(&["--warmup", "0", "--limit", "500"]).output().unwrap());
        place.check();
        let info = place.ftlab(&["image", "info", "image", "--mount", "--json"]).output().unwrap();
        let info: serde_json::Value = serde_json::from_slice(&succeeded(info)).unwrap();
        let retired = info["mount"]["media"]["retired"].as_u64();
        assert!(retired.is_some_and(|retired| retired > 5), "{info}");
    }
}

#[test]
fn other_files_are_refused() {
    if !is_there("python3") {
        return;
    }
    let refusal = |place: &Place, name: &str| {
        let output = reader(&place.at(name));
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    let place = Place::new(&["--ftl", "fast"]);
    let of_another_scheme = "it is for `fast`, not for `page` without layers\n";
    assert!(refusal(&place, "image").ends_with(of_another_scheme));
    assert!(refusal(&place, "trace.csv").ends_with("it is no image of ftlab\n"));
}
