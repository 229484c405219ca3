//! `ftlab image` and `ftlab run --image`, as users and scripts see them.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A folder in which commands run.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// A folder with a `page` image of 1 MiB, to which `writes` pages were written.
    fn with_image(writes: &str) -> Place {
        let place = Place::new();
        place.ok("image create d.img --ftl page --capacity 1MiB --quiet");
        place.ok(&format!("run uniform:writes={writes} --image d.img --quiet"));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&self.0).args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    fn ran(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs a command that must succeed. Returns its standard output.
    #[track_caller]
    fn ok(&self, line: &str) -> String {
        let output = self.ran(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail with this code and leave `d.img` as it is. Returns what it
    /// says.
    #[track_caller]
    fn refused(&self, code: i32, line: &str) -> String {
        let before = fs::read(self.at("d.img")).ok();
        let output = self.ran(line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        assert!(fs::read(self.at("d.img")).ok() == before, "{line} changed the image");
        stderr
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(line)).unwrap()
    }

    /// Changes a byte of the image.
    fn flip(&self, at: u64) {
        let mut file = fs::File::options().read(true).write(true).open(self.at("d.img")).unwrap();
        let mut byte = [0];
        file.seek(SeekFrom::Start(at)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&[byte[0] ^ 1]).unwrap();
    }
}

#[test]
fn an_image_keeps_what_a_trace_wrote() {
    let place = Place::new();
    let created = place.ok("image create d.img --ftl fast --capacity 1MiB --buffer 64KiB");
    assert!(created.starts_with("d.img: 1.00 MiB for fast, on a chip of "), "{created}");
    let run = place.json("run uniform:writes=300 --image d.img --json");
    assert_eq!(run["run"]["durability"], "full");
    assert_eq!((&run["run"]["precondition"], &run["run"]["warmup"]), (&"none".into(), &0.into()));
    assert_eq!(run["trace"]["writes"], 300);
    let once = place.json("image info d.img --json");
    assert_eq!(once["clean"], true);
    assert_eq!(once["layers"], "--buffer 64KiB");
    place.ok("run uniform:writes=300 --image d.img --quiet");
    let twice = place.json("image info d.img --json");
    assert!(twice["operations"].as_u64() > once["operations"].as_u64());
    assert_eq!(twice["uuid"], once["uuid"]);

    place.ok("image dump d.img --out raw");
    let raw = fs::read(place.at("raw")).unwrap();
    assert_eq!(raw.len(), 1 << 20);
    let written = raw.chunks(2048).filter(|page| page.iter().any(|byte| *byte != 0)).count();
    assert_eq!(written as u64, run["trace"]["footprint_pages"].as_u64().unwrap());
}

#[test]
fn on_an_image_and_in_memory_the_same_operations_are_counted() {
    for ftl in ["page", "dftl", "superblock", "block", "bast", "faster", "last"] {
        let place = Place::new();
        let device = match ftl {
            "page" | "last" => "--media real:program_fail=0.2%,erase_fail=2% --reserve 90blocks",
            _ => "",
        };
        let device = format!("--ftl {ftl} --capacity 4MiB --extra 60blocks {device}");
        place.ok(&format!("image create d.img {device} --quiet"));
        let how = "--precondition fill --warmup 1 --json";
        let on_image = place.json(&format!("run uniform:writes=3K --image d.img {how}"));
        let in_memory =
            place.json(&format!("run uniform:writes=3K --durability full {device} {how}"));
        for field in
            ["reads", "programs", "erases", "copies", "spare_reads", "merges", "wear", "media"]
        {
            assert_eq!(on_image[field], in_memory[field], "{ftl}: {field}");
        }
    }
}

#[test]
fn an_image_is_only_opened_as_what_it_was_made_for() {
    let place = Place::with_image("500");
    for (options, expected) in [
        ("--ftl fast", "made with scheme page, not fast"),
        ("--ftl page:victim=fifo", "made with parameters victim=greedy"),
        ("--capacity 2MiB", "capacity in bytes"),
        ("--extra 20blocks", "blocks"),
        ("--buffer 1MiB", "made with layers none, not --buffer 1MiB"),
        ("--chip mlc-k9gag", "made with chip slc-fast2010"),
        ("--seed 2", "made with seed 1, not 2"),
        ("--durability paper", "must survive power cuts"),
        ("--verify", "holds bytes"),
        ("--media real", "made with failures none, not --media real:"),
        ("--reserve 2%", "for flash that can fail"),
    ] {
        let why = place.refused(2, &format!("run uniform:writes=1 --image d.img {options}"));
        assert!(why.contains(expected), "{options}: {why}");
    }
    place.ok("run uniform:writes=1 --image d.img --ftl page --capacity 1MiB --quiet");
}

#[test]
fn files_that_are_no_whole_image_are_refused_with_a_remedy() {
    let place = Place::with_image("500");
    let run = "run uniform:writes=1 --image d.img";
    let original = fs::read(place.at("d.img")).unwrap();
    let cases: [(&str, Vec<u8>); 5] = [
        ("not an image", b"time,size\n1,2\n".repeat(1000)),
        ("not an image", Vec::new()),
        ("bytes, but was made with", original[..original.len() - 4096].to_vec()),
        ("damaged", [&[0; 8192], &original[8192..]].concat()),
        ("in its head", original[..5000].to_vec()),
    ];
    for (expected, bytes) in cases {
        fs::write(place.at("d.img"), bytes).unwrap();
        let why = place.refused(1, run);
        let is_foreign = expected == "damaged" && why.contains("not an image");
        assert!(why.contains(expected) || is_foreign, "{expected}: {why}");
        assert!(why.starts_with("ftlab: d.img: "), "{why}");
    }
    fs::write(place.at("d.img"), original).unwrap();
    place.ok(run);
    place.refused(1, "image info nothing.img");
}

#[test]
fn an_existing_file_is_not_overwritten_and_an_impossible_device_makes_no_file() {
    let place = Place::with_image("10");
    let why = place.refused(1, "image create d.img --ftl page --capacity 1MiB");
    assert!(why.contains("exists"), "{why}");
    place.refused(2, "image create e.img --ftl page");
    place.refused(2, "image create e.img --ftl page --capacity 1MiB --extra 0blocks");
    place.refused(2, "image create e.img --ftl pge --capacity 1MiB");
    place.refused(1, "image create nowhere/e.img --ftl page --capacity 1MiB");
    assert!(!place.at("e.img").exists());
}

#[test]
fn an_image_in_use_is_refused() {
    let place = Place::with_image("10");
    let mut user = place.command("run uniform:writes=50M --image d.img --quiet").spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for line in ["run uniform:writes=1 --image d.img", "image info d.img", "image check d.img"] {
        let output = place.ran(line);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && why.contains("in use"), "{line}: {why}");
    }
    user.kill().unwrap();
    user.wait().unwrap();
    // After a crash of its user the image is not clean, and as good as before.
    assert!(place.ok("image info d.img").contains("not closed in order"));
    place.ok("image check d.img");
    place.ok("run uniform:writes=1 --image d.img --quiet");
    assert!(place.ok("image info d.img").contains("state    closed in order"));
}

#[test]
fn damages_are_listed_and_the_rest_is_extracted() {
    let place = Place::with_image("2K");
    assert_eq!(place.ok("image check d.img"), "whole: all 512 logical pages can be read\n");
    place.ok("image dump d.img --out whole.raw");
    let whole = fs::read(place.at("whole.raw")).unwrap();
    place.flip(700);
    // The data of some page: near the end of the file, in a slot that is in use.
    let bytes = fs::read(place.at("d.img")).unwrap();
    let sector = &whole[..512];
    let at = bytes.windows(512).position(|bytes| bytes == sector).expect("page 0 is in the file");
    place.flip(at as u64 + 100);

    let checked = place.ran("image check d.img");
    assert_eq!(checked.status.code(), Some(3));
    let text = String::from_utf8(checked.stdout).unwrap();
    assert!(text.contains("superblock 0: "), "{text}");
    assert!(text.contains("its data area is not whole"), "{text}");
    assert!(text.contains("logical page 0 is lost"), "{text}");
    let dumped = place.ran("image dump d.img --out rest.raw");
    assert_eq!(dumped.status.code(), Some(1));
    let rest = fs::read(place.at("rest.raw")).unwrap();
    assert!(rest[..2048] == [0; 2048] && rest[2048..] == whole[2048..]);
}

#[test]
fn pages_are_shown() {
    let place = Place::with_image("2K");
    let page = place.ok("image dump d.img --lpn 7");
    let newest = page.lines().take_while(|line| line.starts_with("physical page")).last().unwrap();
    assert!(newest.contains("of logical page 7, version "), "{page}");
    let ppn = newest.split([' ', ':']).nth(2).unwrap();
    let physical = place.ok(&format!("image dump d.img --ppn {ppn}"));
    let data = |text: &str| text.split_once(":\n0000").map(|(_, data)| data.to_owned()).unwrap();
    assert_eq!(data(&physical), data(&page));
    place.refused(2, "image dump d.img --ppn 999999");
    place.refused(2, "image dump d.img --lpn 512");
    place.refused(2, "image dump d.img");
}

#[test]
fn info_says_what_a_mount_takes() {
    let place = Place::with_image("2K");
    let before = fs::read(place.at("d.img")).unwrap();
    let info = place.json("image info d.img --mount --json");
    assert!(info["mount"]["spare_reads"].as_u64() > Some(500), "{info}");
    assert!(info["mount"]["simulated_us"].as_f64() > Some(1000.0), "{info}");
    assert!(place.ok("image info d.img --mount").contains("ms of simulated time"));
    assert!(fs::read(place.at("d.img")).unwrap() == before, "the image was changed");
}
