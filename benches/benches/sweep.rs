//! Sweeps on one core and on more: rows a second, and how they grow with the number of jobs.
//!
//! `cargo bench -p ftlab-benches --bench sweep`
//!
//! Two plans: rows whose workload is made anew for each, and rows that read one trace file, whose
//! requests are kept in memory. Numbers of jobs take turns, so that a machine that others use
//! slows them alike; each round sweeps the whole plan into a fresh journal, synced to disk row by
//! row, as the command does.

use std::num::NonZeroUsize;
use std::path::Path;

use ftlab_benches::{Contender, compare};
use sim::NoProgress;
use sim::plan::{Plan, Scale};
use sim::sweep::{Journal, MEMORY_BYTES, Sweep, hash};
use spec::Spec;
use trace::writer::{OutputFormat, TraceWriter};
use trace::{AddressSpace, Trace};

/// Rows that differ in the FTL, and so in how long they take.
const GRID: &str = "\
[[grid]]
ftl.victim = [\"greedy\", \"fifo\", \"cost_benefit\", \"random\"]
extra = [\"7%\", \"10%\", \"15%\", \"28%\"]
";

const CAPACITY_BYTES: u64 = 64 << 20;

/// Sweeps a plan with so many jobs; returns the rows.
fn swept(plan: &Plan, jobs: NonZeroUsize, folder: &Path) -> u64 {
    let path = folder.join("journal");
    let mut journal = Journal::open(&path, &hash(plan), plan.rows.len()).expect("a journal");
    let sweep = Sweep { plan, jobs, memory_bytes: MEMORY_BYTES };
    sweep.run(&mut journal, &NoProgress).expect("a sweep that nobody stops");
    assert_eq!(journal.count(), plan.rows.len(), "every row is kept");
    drop(journal);
    std::fs::remove_file(&path).expect("a journal that is done");
    plan.rows.len() as u64
}

/// One, two, four … jobs, as many as there are cores.
fn numbers_of_jobs() -> Vec<NonZeroUsize> {
    let cores = std::thread::available_parallelism().expect("a number of cores");
    let mut jobs: Vec<_> = (0..).map(|power| 1 << power).take_while(|&n| n < cores.get()).collect();
    jobs.push(cores.get());
    jobs.into_iter().filter_map(NonZeroUsize::new).collect()
}

fn scaling(title: &str, base: &str, folder: &Path) {
    let text = format!("[base]\nwarmup = 0\nftl = \"page\"\n{base}\n{GRID}");
    let plan = Plan::parse("bench", &text, Scale::Full).expect("a plan");
    let jobs = numbers_of_jobs();
    let names: Vec<String> = jobs.iter().map(|jobs| format!("--jobs {jobs}")).collect();
    let rounds = jobs.iter().map(|&jobs| {
        let plan = &plan;
        Box::new(move || swept(plan, jobs, folder)) as Box<dyn FnMut() -> u64>
    });
    let mut contenders: Vec<Contender> = names.iter().map(String::as_str).zip(rounds).collect();
    compare(&format!("{title}, {} rows", plan.rows.len()), "rows", &mut contenders);
}

/// A workload as a trace file.
fn write_trace(path: &Path) {
    let workload = Spec::parse("skew:writes=200K").expect("a spec");
    let space = AddressSpace { capacity_bytes: CAPACITY_BYTES, page_bytes: 2048 };
    let trace = Trace::generate(&workload, &space, 1).expect("a workload that fits");
    let file = std::io::BufWriter::new(std::fs::File::create(path).expect("a trace file"));
    let mut writer = TraceWriter::new(file, OutputFormat::Fio).expect("a head");
    for request in trace.requests().expect("requests") {
        writer.write(&request).expect("room for a trace");
    }
    writer.finish().expect("room for a trace");
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workload = format!("trace = \"skew:writes=200K\"\ncapacity = {CAPACITY_BYTES}");
    scaling("a workload for each row", &workload, folder.path());
    let path = folder.path().join("trace.log");
    write_trace(&path);
    let file = format!("trace = \"{}\"\ncapacity = {CAPACITY_BYTES}", path.display());
    scaling("one trace file for all rows", &file, folder.path());
}
