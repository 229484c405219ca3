//! Plans that belong to no paper: a real drive's profile against the figures that were measured on
//! it, and placement against the oracle.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a plan at a scale, and demands that every claim holds. Their names begin with `id`.
fn all_claims_hold(plan: &str, scale: &str, id: &str, claims: usize) {
    let directory = tempfile::tempdir().unwrap();
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(plan);
    let mut sweep = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    sweep.arg("sweep").arg(plan).args(["--scale", scale, "--out"]);
    let output =
        sweep.arg(directory.path().join("rows.csv")).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts: Vec<&str> =
        printed.lines().filter(|line| line.starts_with(id) && line.contains(": ")).collect();
    assert_eq!(verdicts.len(), claims, "{printed}");
    for verdict in verdicts {
        assert!(verdict.contains("  holds: "), "{printed}");
    }
}

#[test]
fn reads_of_the_zoned_drive_take_as_long_as_measured() {
    all_claims_hold("drives/zoned-reads.toml", "quick", "ZONED-", 2);
}

#[test]
fn reads_beside_appends_take_as_long_as_measured() {
    all_claims_hold("drives/zoned-mixes.toml", "full", "ZONED-", 8);
}

#[test]
fn no_scheme_is_below_the_oracle_with_as_many_open_blocks() {
    all_claims_hold("placement/which.toml", "quick", "PL-", 1);
}
