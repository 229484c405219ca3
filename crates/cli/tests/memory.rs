//! The estimate of a run's memory is true, and a run that would take too much is refused.

use std::ops::Range;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

fn ran(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// Runs a command that must be refused. Returns its standard error.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = ran(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    stderr
}

/// The estimate for a run, from the sentence that refuses it.
fn estimated(run: &[&str]) -> f64 {
    let stderr = refused(&[run, &["--memory-limit", "8MiB"]].concat());
    let words: Vec<&str> = stderr.split(' ').collect();
    let at = words.iter().position(|&word| word == "about").unwrap_or_else(|| panic!("{stderr}"));
    let unit = ["KiB", "MiB", "GiB"].iter().position(|&unit| unit == words[at + 2]).unwrap();
    words[at + 1].parse::<f64>().unwrap() * 1024f64.powi(unit as i32 + 1)
}

/// The memory that a run really took at most.
fn measured(run: &[&str]) -> f64 {
    let output = ran(&[run, &["--json", "-"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{run:?}: {stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    result["wall"]["peak_rss_bytes"].as_f64().unwrap()
}

/// At most 20 % more or 10 % less.
#[track_caller]
fn agrees(run: &[&str]) {
    agrees_within(0.9..1.2, run);
}

/// The estimate divided by the measured memory, without what a tiny device takes: the memory of the
/// program itself depends on how it was compiled.
#[track_caller]
fn agrees_within(ratios: Range<f64>, run: &[&str]) {
    static OF_TINY: LazyLock<[f64; 2]> = LazyLock::new(|| {
        let tiny = ["run", "uniform:writes=500", "--capacity", "1MiB", "--warmup", "0"];
        [estimated(&tiny), measured(&tiny)]
    });
    let (estimated, measured) = (estimated(run) - OF_TINY[0], measured(run) - OF_TINY[1]);
    let ratio = estimated / measured;
    let mib = |bytes: f64| bytes / 1024.0 / 1024.0;
    println!("{:5.1} of {:5.1} MiB, {ratio:.2}: {run:?}", mib(estimated), mib(measured));
    assert!(ratios.contains(&ratio), "estimated {estimated}, measured {measured}: {run:?}");
}

/// Every scheme with a chip of small and of large pages, in turns.
fn schemes_on_two_chips() -> impl Iterator<Item = [&'static str; 6]> {
    let chips = ["slc-lsb", "slc-lsb:page=4KiB,erase=3ms"].into_iter().cycle();
    let schemes = ftl::SCHEMES.iter().zip(chips);
    schemes.map(|(it, chip)| ["run", "uniform:writes=500", "--ftl", it.name, "--chip", chip])
}

/// A page takes between 5 and 13 bytes, so that these devices take 25 to 210 MiB. What the system
/// keeps of the program's own file varies by a MiB from run to run.
#[test]
fn the_estimate_for_every_scheme_is_true() {
    for run in schemes_on_two_chips() {
        agrees(&[&run[..], &["--capacity", "12GiB", "--warmup", "0"]].concat());
    }
}

/// The shadow copy, and a chip that keeps its pages: 35 to 120 bytes a page.
#[test]
fn the_estimate_for_verified_runs_is_true() {
    for run in schemes_on_two_chips() {
        agrees(&[&run[..], &["--capacity", "1GiB", "--warmup", "0", "--verify"]].concat());
    }
}

/// Layers whose memory is full at the end.
#[test]
fn the_estimate_for_layers_is_true() {
    let run = ["run", "--warmup", "0", "--capacity", "2GiB", "--chip", "slc-lsb"];
    for layers in [
        &["uniform:writes=1M", "--buffer", "512MiB"][..],
        &["uniform:writes=600K", "--buffer", "512MiB", "--verify"],
        &["uniform:writes=1M,request=512", "--sector-log", "256MiB"],
    ] {
        agrees(&[&run[..], layers].concat());
    }
}

/// The budget buys pages of the buffer and entries of dftl's cache, which take several times their
/// bytes; a boundary that adapts has a rule with lists of its own. Budgets are small and large.
#[test]
fn the_estimate_for_one_budget_of_dram_is_true() {
    let run = ["run", "uniform:writes=200K", "--warmup", "0", "--capacity", "2GiB"];
    for (ftl, dram, split) in [
        ("dftl", "4MiB", "70%"),
        ("dftl", "64MiB", "4%"),
        ("dftl", "4MiB", "adaptive:rule=balanced"),
        ("fast", "64MiB", "50%"),
        ("fast", "64MiB", "adaptive"),
        ("fast", "1GiB", "adaptive:rule=balanced"),
    ] {
        let chip = ["--chip", "slc-lsb", "--ftl", ftl];
        agrees(&[&run[..], &chip, &["--dram", dram, "--split", split]].concat());
    }
}

/// The table of cached entries doubles when it holds 1,048,576 entries of 8 bytes, a third of the
/// memory here. All entries are in use once the device is filled.
#[test]
fn the_estimate_for_cached_entries_follows_the_table_that_finds_them() {
    let run = ["run", "uniform:writes=500", "--warmup", "0", "--capacity", "4GiB"];
    for entries in ["5600KiB", "8192KiB", "8193KiB", "12000KiB"] {
        let ftl = format!("dftl:cmt={entries}");
        let ftl = ["--chip", "slc-lsb", "--ftl", &ftl];
        agrees_within(0.9..1.1, &[&run[..], &ftl].concat());
    }
}

/// A sparse trace: two requests, 8 TiB apart.
fn sparse() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse.log");
    std::fs::write(&path, "0,0,512,W,0.1\n0,17179869184,512,W,0.2\n").unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

#[test]
fn a_run_that_would_take_too_much_is_refused_with_figures_and_remedies() {
    let (_directory, path) = sparse();
    let large = ["--chip", "slc-fast2010:page=16KiB", "--memory-limit", "1GiB"];
    let stderr = refused(&[&["run", &path], &large[..]].concat());
    for part in [
        "this run would take about 4.",
        " GiB of memory (the flash 2.",
        "for a device of 8.00 TiB in pages of 16KiB; the limit is 1.00 GiB",
        "`--fit compact`",
        "larger pages",
        "or allow more: `--memory-limit 4",
        "MiB` or `unlimited`",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    let compact = ran(&[&["run", &path, "--fit", "compact"], &large[..]].concat());
    assert!(compact.status.success(), "compact takes little");
    let both = ["--ftl", "page", "--ftl", "block"];
    refused(&[&["compare", &path], &both[..], &large].concat());
    // A capacity that the user gave is no sparse trace.
    let stderr = refused(&["run", "--capacity", "1GiB", "--memory-limit", "10MiB"]);
    assert!(!stderr.contains("compact"), "{stderr}");
}

#[test]
fn half_of_what_is_available_is_the_default() {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    let kib: f64 = kib.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    // A page with shadow and stamps takes more than 30 bytes.
    let pages = kib * 1024.0 / 2.0 / 30.0;
    let capacity = format!("{}KiB", pages as u64 * 32);
    let run = ["run", "uniform:writes=9", "--chip", "slc-fast2010:page=32KiB", "--verify"];
    let stderr = refused(&[&run[..], &["--capacity", &capacity]].concat());
    assert!(stderr.contains("the limit is "), "{stderr}");
}

/// A row that would take too much fails, and the others wait for each other.
#[test]
fn the_rows_of_a_sweep_share_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let plan = "[base]\ntrace = \"uniform:writes=9\"\nwarmup = 0\n[[grid]]\nseed = [1, 2]\n\
                capacity = [\"2GiB\", \"64GiB\"]";
    std::fs::write(directory.path().join("plan.toml"), plan).unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (plan, out) = (at("plan.toml"), at("rows.jsonl"));
    let sweep = ["sweep", &plan, "--out", &out, "--jobs", "4", "--memory-limit", "24MiB"];
    let output = ran(&sweep);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = std::fs::read_to_string(&out).unwrap();
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let codes: Vec<_> =
        rows.iter().map(|row| row["sweep"]["error"]["exit_code"].as_u64()).collect();
    assert_eq!(codes, [None, Some(2), None, Some(2)]);
}

/// Rows that fit one at a time. The allocator would keep what they have freed, for each of the two
/// threads, and the sweep would be ended for it.
#[test]
fn what_earlier_rows_have_freed_is_there_for_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let plan = "[base]\ntrace = \"uniform:writes=20K\"\nwarmup = 0\nftl = \"dac\"\n\
                capacity = \"7GiB\"\n[[grid]]\nseed = [1, 2, 3, 4, 5, 6, 7, 8]";
    std::fs::write(directory.path().join("plan.toml"), plan).unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (plan, out) = (at("plan.toml"), at("rows.csv"));
    let output = ran(&["sweep", &plan, "--out", &out, "--jobs", "2", "--memory-limit", "55MiB"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What grows with the trace is watched: here the statistics of a million scattered pages.
#[test]
fn a_command_that_grows_beyond_the_limit_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("page.html");
    let info = ["trace", "info", "uniform:writes=1M", "--capacity", "8TiB", "--report"];
    let limit = ["--memory-limit", "20MiB"];
    let stderr = refused(&[&info[..], &[out.to_str().unwrap()], &limit].concat());
    assert!(stderr.starts_with("ftlab: stopped, because it took "), "{stderr}");
    assert!(stderr.contains("the limit is 20.00 MiB") && stderr.contains("`--memory-limit SIZE`"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A limit may be less than the program takes.
#[test]
fn the_limit_that_a_message_proposes_is_enough() {
    let run = ["run", "uniform:writes=1K", "--capacity", "64MiB", "--memory-limit"];
    let stderr = refused(&[&run[..], &["1MiB"]].concat());
    assert!(stderr.starts_with("ftlab: this run would take about ") && !stderr.contains("stopped"));
    let proposed = stderr.split("`--memory-limit ").nth(1).unwrap().split('`').next().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    let output = command.args(run).args([proposed, "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{proposed}: {}", String::from_utf8_lossy(&output.stderr));
}
