//! What a host write costs in every scheme and under every layer, at three sizes: whole `ftlab run`
//! commands with uniform writes of single pages, in steady state.
//!
//! ```text
//! cargo bench -p ftlab-benches --bench schemes [-- COMMAND] [--only TEXT] [--instructions]
//! ```
//! COMMAND is the `ftlab` program to measure; without it, the one that `cargo build --release`
//! makes. `--only` leaves out the schemes whose names do not contain the text.
//!
//! * **Instructions a host write**, counted by valgrind's cachegrind, if it is installed: the
//!   difference of two runs that differ in their number of requests. Other work on the machine does
//!   not change these numbers. Apart from cache misses nothing grows with the device, so they must
//!   not either.
//! * **Flash operations per second**, relative to those of the bare loop with the same extra
//!   blocks, in rounds: the bare loop runs before and after each command, and the command is
//!   compared with the mean of both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ftlab_benches::bare_loop::{BareLoop, PAGES_PER_BLOCK};
use ftlab_benches::{XorShift, median};
use serde_json::Value;

/// A row of the table: its name, and the options that make it.
const ROWS: &[(&str, &[&str])] = &[
    ("page", &["--ftl=page"]),
    ("page, 40 % extra", &["--ftl=page", "--extra=40%"]),
    ("page:victim=cost_benefit", &["--ftl=page:victim=cost_benefit"]),
    ("dac", &["--ftl=dac"]),
    ("dftl", &["--ftl=dftl"]),
    ("superblock", &["--ftl=superblock"]),
    ("lsb", &["--ftl=lsb"]),
    ("block", &["--ftl=block"]),
    ("nftl", &["--ftl=nftl"]),
    ("fmax", &["--ftl=fmax"]),
    ("bast", &["--ftl=bast"]),
    ("fast", &["--ftl=fast"]),
    ("fast, pages in any order", &["--ftl=fast", "--chip=slc-fast2010:program_order=any"]),
    ("faster", &["--ftl=faster"]),
    ("last", &["--ftl=last"]),
    ("buffer above page", &["--ftl=page", "--buffer=1MiB"]),
    ("sector log above fast", &["--ftl=fast", "--sector-log=1MiB"]),
    ("split above dftl", &["--ftl=dftl", "--dram=1MiB"]),
];

/// A device: its capacity in MiB, and how many rounds are measured on it.
struct Size {
    mib: u32,
    rounds: usize,
}

const COUNTED: [u32; 3] = [64, 256, 1024];
const TIMED: [Size; 3] =
    [Size { mib: 128, rounds: 5 }, Size { mib: 1024, rounds: 3 }, Size { mib: 8192, rounds: 1 }];

/// Pages of 2 KiB in a MiB.
const PAGES_PER_MIB: u32 = 512;
/// Requests whose instructions are counted.
const COUNTED_WRITES: u32 = 50_000;
/// Requests whose time is taken.
const TIMED_WRITES: u32 = 500_000;

/// The extra share of every row that names no other.
const EXTRA_PERCENT: u32 = 7;

/// The extra share of a row in percent. The bare loop has the same.
fn extra_percent(options: &[&str]) -> u32 {
    let given =
        options.iter().find_map(|option| option.strip_prefix("--extra=")?.strip_suffix('%'));
    given.map_or(EXTRA_PERCENT, |percent| percent.parse().expect("whole percent"))
}

/// The command to measure.
struct Ftlab {
    program: PathBuf,
}

impl Ftlab {
    /// The words of a run with `writes` writes on a device of this size.
    fn words(&self, options: &[&str], mib: u32, writes: u32) -> Vec<String> {
        let mut words = vec![
            String::from("run"),
            format!("uniform:writes={writes}"),
            format!("--capacity={mib}MiB"),
            String::from("--warmup=0"),
            String::from("--quiet"),
            String::from("--json=-"),
        ];
        words.extend(options.iter().map(|&option| option.to_owned()));
        if extra_percent(options) == EXTRA_PERCENT {
            words.push(format!("--extra={EXTRA_PERCENT}%"));
        }
        words
    }

    /// The result of a run. The first requests, as many as the device has pages, are not measured.
    fn result(&self, options: &[&str], mib: u32) -> Value {
        let first = mib * PAGES_PER_MIB;
        let mut words = self.words(options, mib, first + TIMED_WRITES);
        words.push(format!("--measure-after={first}"));
        let output = Command::new(&self.program).args(words).output().expect("ftlab can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{options:?} on {mib} MiB: {errors}");
        serde_json::from_slice(&output.stdout).expect("the result is JSON")
    }

    /// Instructions of a run of this many writes; none without valgrind.
    fn instructions(&self, options: &[&str], mib: u32, writes: u32) -> Option<u64> {
        let counted = Command::new("valgrind")
            .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
            .arg(&self.program)
            .args(self.words(options, mib, writes))
            .output()
            .ok()?;
        assert!(counted.status.success(), "{options:?} on {mib} MiB fails under valgrind");
        let report = String::from_utf8_lossy(&counted.stderr).into_owned();
        let line = report.lines().find(|line| line.contains("refs:"));
        let digits: String =
            line?.split(':').nth(1)?.chars().filter(char::is_ascii_digit).collect();
        digits.parse().ok()
    }

    /// Instructions per write in steady state.
    fn instructions_per_write(&self, options: &[&str], mib: u32) -> Option<f64> {
        let first = mib * PAGES_PER_MIB;
        let before = self.instructions(options, mib, first)?;
        let all = self.instructions(options, mib, first + COUNTED_WRITES)?;
        Some((all - before) as f64 / f64::from(COUNTED_WRITES))
    }
}

/// Flash operations per second of the measured part of a run.
fn operations_per_second(result: &Value) -> f64 {
    let totals = ["reads", "spare_reads", "programs", "erases"].map(|kind| &result[kind]["total"]);
    let operations: f64 = totals.iter().filter_map(|total| total.as_f64()).sum();
    operations / result["wall"]["replay_seconds"].as_f64().expect("the run took time")
}

/// The bare loop in steady state.
struct Bare {
    device: BareLoop,
    pages: u32,
    random: XorShift,
    rates: Vec<f64>,
}

impl Bare {
    fn new(mib: u32, extra_percent: u32) -> Bare {
        let pages = mib * PAGES_PER_MIB;
        let blocks = pages / PAGES_PER_BLOCK;
        let extra = (blocks * extra_percent).div_ceil(100);
        let device = BareLoop::filled(pages, blocks + extra);
        let mut bare = Bare { device, pages, random: XorShift::new(1), rates: Vec::new() };
        bare.write(pages);
        bare
    }

    fn write(&mut self, writes: u32) {
        (0..writes).for_each(|_| self.device.write(self.random.below(self.pages)));
    }

    /// Flash operations per second in a round.
    fn rate(&mut self) -> f64 {
        let before = self.device.programs + self.device.reads_and_erases;
        let start = Instant::now();
        self.write(TIMED_WRITES);
        let operations = self.device.programs + self.device.reads_and_erases - before;
        let rate = operations as f64 / start.elapsed().as_secs_f64();
        self.rates.push(rate);
        rate
    }

    /// How far the rates of the bare loop lie apart: the largest divided by the smallest.
    fn spread(&self) -> f64 {
        let least = self.rates.iter().copied().fold(f64::INFINITY, f64::min);
        self.rates.iter().copied().fold(0.0, f64::max) / least
    }
}

/// The ratio of a row to the bare loop, and its write amplification.
fn timed(ftlab: &Ftlab, options: &[&str], size: &Size, bare: &mut Bare) -> (f64, f64) {
    let mut amplification = 0.0;
    let mut ratios = Vec::new();
    for _ in 0..size.rounds {
        let before = bare.rate();
        let result = ftlab.result(options, size.mib);
        let after = bare.rate();
        ratios.push(operations_per_second(&result) / ((before + after) / 2.0));
        amplification = result["write_amplification"].as_f64().expect("pages were written");
    }
    (median(ratios), amplification)
}

fn print_instructions(ftlab: &Ftlab, rows: &[&(&str, &[&str])]) {
    println!("instructions a host write, by capacity");
    println!("| scheme | {} |", COUNTED.map(|mib| format!("{mib} MiB")).join(" | "));
    println!("|---|{}", "---|".repeat(COUNTED.len()));
    for (name, options) in rows {
        let cells = COUNTED.map(|mib| match ftlab.instructions_per_write(options, mib) {
            Some(count) => format!("{count:.0}"),
            None => String::from("no valgrind"),
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn print_times(ftlab: &Ftlab, rows: &[&(&str, &[&str])]) {
    println!("\nflash operations per second, relative to the bare loop");
    let mut bares = TIMED.map(|size| {
        let bare = Bare::new(size.mib, EXTRA_PERCENT);
        BTreeMap::from([(EXTRA_PERCENT, bare)])
    });
    let sizes = TIMED.map(|size| format!("{} MiB", size.mib));
    println!("| scheme | write amplification | {} |", sizes.join(" | "));
    println!("|---|---|{}", "---|".repeat(TIMED.len()));
    for (name, options) in rows {
        let cells: Vec<(f64, f64)> = TIMED
            .iter()
            .zip(&mut bares)
            .map(|(size, bares)| {
                let extra = extra_percent(options);
                let bare = bares.entry(extra).or_insert_with(|| Bare::new(size.mib, extra));
                timed(ftlab, options, size, bare)
            })
            .collect();
        let ratios: Vec<String> = cells.iter().map(|(ratio, _)| format!("{ratio:.2}")).collect();
        println!("| {name} | {:.1} | {} |", cells[1].1, ratios.join(" | "));
    }
    let noise = bares.each_ref().map(|bares| format!("{:.2}", bares[&EXTRA_PERCENT].spread()));
    let noise = noise.join(" | ");
    println!("| bare loop, fastest to slowest round | | {noise} |");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let only = words.iter().position(|word| word == "--only").map(|at| words[at + 1].as_str());
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/ftlab");
    let named = words.first().filter(|word| !word.starts_with("--")).map(PathBuf::from);
    let ftlab = Ftlab { program: named.unwrap_or(built) };
    let is_chosen = |row: &&(&str, &[&str])| only.is_none_or(|text| row.0.contains(text));
    let rows: Vec<_> = ROWS.iter().filter(is_chosen).collect();
    print_instructions(&ftlab, &rows);
    if !words.iter().any(|word| word == "--instructions") {
        print_times(&ftlab, &rows);
    }
}
