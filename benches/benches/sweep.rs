//! The speed of sweeps with one and with several jobs, in rows per second.
//!
//! `cargo bench -p ftlab-benches --bench sweep`
//!
//! There are two plans. In one, each row generates its workload. In the other, all rows read one
//! trace file, whose requests are kept in memory. The numbers of jobs take turns, so that other
//! work on the machine slows all of them alike. Each round runs the whole plan and writes a new
//! journal, which is synced to disk after every row, as in the command.

use std::num::NonZeroUsize;
use std::path::Path;

use ftlab_benches::{Contender, compare};
use sim::NoProgress;
use sim::plan::{Plan, Scale};
use sim::sweep::key::JournalKey;
use sim::sweep::{Journal, NO_POLICIES, Shard, SharedInputs, Sweep, TraceDigests};
use spec::Spec;
use trace::writer::{OutputFormat, TraceWriter};
use trace::{AddressSpace, Trace};

/// The rows take different times because they differ in the FTL.
const GRID: &str = "\
[[grid]]
ftl.victim = [\"greedy\", \"fifo\", \"cost_benefit\", \"random\"]
extra = [\"7%\", \"10%\", \"15%\", \"28%\"]
";

const CAPACITY_BYTES: u64 = 64 << 20;

/// Runs a plan with this number of jobs and returns the number of rows.
fn swept(plan: &Plan, jobs: NonZeroUsize, folder: &Path) -> u64 {
    let path = folder.join("journal");
    let mut journal =
        Journal::open(&path, &JournalKey::default(), plan.rows.len()).expect("the journal is new");
    let sweep = Sweep {
        plan,
        shard: Shard::WHOLE,
        digests: &TraceDigests::default(),
        inputs: &SharedInputs::new(plan, 1 << 30, None),
        jobs,
        limit_bytes: None,
        policies: &NO_POLICIES,
    };
    sweep.run(&mut journal, &NoProgress).expect("nobody stops the sweep");
    assert_eq!(journal.count(), plan.rows.len(), "every row is in the journal");
    drop(journal);
    std::fs::remove_file(&path).expect("the journal exists");
    plan.rows.len() as u64
}

/// One, two, four … jobs, up to the number of cores.
fn numbers_of_jobs() -> Vec<NonZeroUsize> {
    let cores = std::thread::available_parallelism().expect("the number of cores is known");
    let mut jobs: Vec<_> = (0..).map(|power| 1 << power).take_while(|&n| n < cores.get()).collect();
    jobs.push(cores.get());
    jobs.into_iter().filter_map(NonZeroUsize::new).collect()
}

fn scaling(title: &str, base: &str, folder: &Path) {
    let text = format!("[base]\nwarmup = 0\nftl = \"page\"\n{base}\n{GRID}");
    let plan = Plan::parse("bench", &text, Scale::Full).expect("the plan is valid");
    let jobs = numbers_of_jobs();
    let names: Vec<String> = jobs.iter().map(|jobs| format!("--jobs {jobs}")).collect();
    let rounds = jobs.iter().map(|&jobs| {
        let plan = &plan;
        Box::new(move || swept(plan, jobs, folder)) as Box<dyn FnMut() -> u64>
    });
    let mut contenders: Vec<Contender> = names.iter().map(String::as_str).zip(rounds).collect();
    compare(&format!("{title}, {} rows", plan.rows.len()), "rows", &mut contenders);
}

/// Writes a workload to a trace file.
fn write_trace(path: &Path) {
    let workload = Spec::parse("skew:writes=200K").expect("the spec is valid");
    let space = AddressSpace { capacity_bytes: CAPACITY_BYTES, page_bytes: 2048 };
    let trace = Trace::generate(&workload, &space, 1).expect("the workload fits");
    let file =
        std::io::BufWriter::new(std::fs::File::create(path).expect("the file can be created"));
    let mut writer = TraceWriter::new(file, OutputFormat::Fio).expect("the header can be written");
    for request in trace.requests().expect("the requests can be generated") {
        writer.write(&request).expect("the trace can be written");
    }
    writer.finish().expect("the trace can be written");
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let workload = format!("trace = \"skew:writes=200K\"\ncapacity = {CAPACITY_BYTES}");
    scaling("a generated workload for each row", &workload, folder.path());
    let path = folder.path().join("trace.log");
    write_trace(&path);
    let file = format!("trace = \"{}\"\ncapacity = {CAPACITY_BYTES}", path.display());
    scaling("one trace file for all rows", &file, folder.path());
}
