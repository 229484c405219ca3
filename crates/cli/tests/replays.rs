//! Power cuts that broke schemes once: each replay must find nothing now.

use std::process::Command;

const REPLAYS: &str = include_str!("replays.txt");

#[test]
fn every_recorded_power_cut_is_survived() {
    let lines = REPLAYS.lines().filter(|line| !line.starts_with('#'));
    let mut tried = 0;
    for line in lines {
        let replay = Command::new(env!("CARGO_BIN_EXE_ftlab")).args(line.split(' ')).output();
        let replay = replay.unwrap();
        let shown = String::from_utf8_lossy(&replay.stdout);
        assert!(replay.status.success(), "ftlab {line}: {shown}");
        assert!(shown.trim_end().ends_with("all is well"), "ftlab {line}: {shown}");
        tried += 1;
    }
    assert!(tried >= 120, "only {tried} replays");
}
