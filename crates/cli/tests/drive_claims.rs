//! The profile of a real drive against the figures that were measured on it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the plan of that name at a scale, and demands that every claim holds.
fn all_claims_hold(plan: &str, scale: &str, claims: usize) {
    let directory = tempfile::tempdir().unwrap();
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/drives").join(plan);
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    sweep.arg("sweep").arg(plan).args(["--scale", scale, "--out"]);
    let output =
        sweep.arg(directory.path().join("rows.csv")).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts: Vec<&str> =
        printed.lines().filter(|line| line.starts_with("ZONED-") && line.contains(": ")).collect();
    assert_eq!(verdicts.len(), claims, "{printed}");
    for verdict in verdicts {
        assert!(verdict.contains("  holds: "), "{printed}");
    }
}

#[test]
fn reads_of_the_zoned_drive_take_as_long_as_measured() {
    all_claims_hold("zoned-reads.toml", "quick", 2);
}

#[test]
fn reads_beside_appends_take_as_long_as_measured() {
    all_claims_hold("zoned-mixes.toml", "full", 8);
}
