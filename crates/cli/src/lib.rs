//! The command `ftlab` as a library: a thin layer over the crates that do the work, one file per
//! subcommand.
//!
//! Exit codes: 0 done; 1 the run failed; 2 wrong usage or an impossible device; 3 a violation was
//! found, with the line that replays it; 128 plus the number of a signal, such as 130 for an
//! interrupt. An output file appears when it is complete.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod commands;
mod experiment_args;
pub mod failure;
mod guests;
mod known_names;
mod operation_logs;
mod output;
mod paper_plans;
mod parallel_args;
mod process;
mod progress;
mod result_outputs;
pub mod sweeps;
mod terminal;
pub mod texts;
mod timeline_output;

use std::ffi::OsString;
use std::io;

use clap::{CommandFactory, Parser, Subcommand};
use commands::about::{licences, manual, version};
use commands::sizing::{advise, bound, size};
use commands::{
    check, compare, completions, ctl, drive, image, life, list, papers, run, serve, sweep, trace,
};
use failure::{DONE, Result};
pub use guests::HOST as GUEST_PROCESS;
pub use output::command_files::refuse_other_format;
use process::{memory_limit, signals};
use sim::memory::limit::MemoryLimit;
use texts::table::WIDTH_RULE;

/// Flash translation layers of research papers: simulated, checked and served
#[derive(Parser)]
#[command(name = "ftlab", version, about, after_help = format!("{WIDTH_RULE}\n\n{DOCUMENTATION}"))]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Memory that the command may take, such as 8GiB, or `unlimited`; by default half of what is
    /// available. A run that would take more is refused
    #[arg(long, global = true, value_name = "SIZE|unlimited", help_heading = "Memory")]
    memory_limit: Option<MemoryLimit>,
}

const DOCUMENTATION: &str = concat!("Documentation: ", env!("CARGO_PKG_HOMEPAGE"));

/// A sentence that begins with the address of a page of the documentation.
macro_rules! page {
    ($page:literal, $says:literal) => {
        concat!(env!("CARGO_PKG_HOMEPAGE"), "docs/", $page, ".html ", $says)
    };
}
pub(crate) use page;

const ADVISE: &str = page!("advise", "says what each sentence means.");
const BOUND: &str = page!("bound", "says how to read the answer.");
const RESULTS: &str = page!("results", "describes each field of a result.");
const SIZING: &str = page!("sizing", "says what is searched, and how.");

#[derive(Subcommand)]
enum Command {
    /// Run one trace on one device and report its costs
    #[command(after_help = RESULTS)]
    Run(run::Args),
    /// Run the same trace on the same device under several FTLs, side by side
    #[command(after_help = RESULTS)]
    Compare(compare::Args),
    /// Run a plan of many experiments on all cores; each run gives a row
    #[command(after_help = RESULTS)]
    Sweep(sweep::Args),
    /// Find the least over-provisioning for a write amplification; TBW, DWPD, data sheets
    #[command(after_help = SIZING)]
    Size(size::Args),
    /// Say from a log which drive it needs: over-provisioning, endurance, latency, what helps
    #[command(after_help = ADVISE)]
    Advise(advise::Args),
    /// Repeat a load until the flash is worn out, and compare how long it takes
    Life(life::Args),
    /// Find what placement could achieve on a trace, and how far schemes are from it
    #[command(after_help = BOUND)]
    Bound(bound::Args),
    /// Repeat the experiments of the papers and compare published with measured results
    Papers(papers::Args),
    /// Describe, convert and generate traces
    Trace(trace::Args),
    /// Fit a drive to measurements of a real one
    Drive(drive::Args),
    /// Create, describe, check and dump images: chips in files
    Image(image::Args),
    /// Check FTLs under power cuts at every flash operation
    Check(check::Args),
    /// Serve FTLs as live disks over NBD
    Serve(serve::Args),
    /// Tell a running server to cut the power, to freeze, to fail, or what it did
    Ctl(ctl::Args),
    /// List FTLs, chips, workloads, formats, layers or victim policies with their parameters
    List(list::Args),
    /// Print the completion script for a shell
    Completions(completions::Args),
    /// Print what can stand at the end of a spec; completion scripts call it
    #[command(hide = true)]
    Complete(completions::spec_values::Args),
    /// Print or write the manual pages
    Man(manual::ManArgs),
    /// Print the version and, for a report of a bug, what was built
    Version(version::Args),
    /// Print the licences of the libraries that the command links, or its bill of materials
    Licences(licences::Args),
    /// Run a guest for a server; servers call it
    #[command(name = guests::HOST, hide = true)]
    GuestProcess(guests::HostArgs),
}

impl Command {
    /// Whether it may hold an image, which a second process of the command could not open.
    fn has_image(&self) -> bool {
        match self {
            Command::Serve(_) | Command::Image(_) => true,
            Command::Run(args) => args.has_image(),
            _ => false,
        }
    }

    /// Runs the subcommand and returns the exit code.
    fn run(&self, limit_bytes: Option<u64>, given: Option<MemoryLimit>) -> Result<u8> {
        match self {
            Command::Run(args) => run::run(args, limit_bytes),
            Command::Compare(args) => compare::run(args, limit_bytes),
            Command::Sweep(args) => sweep::run(args, limit_bytes, given),
            Command::Bound(args) => bound::run(args, limit_bytes),
            Command::Size(args) => size::run(args, limit_bytes),
            Command::Advise(args) => advise::run(args, limit_bytes),
            Command::Life(args) => life::run(args, limit_bytes),
            Command::Papers(args) => papers::run(args, limit_bytes),
            Command::Trace(args) => trace::run(args),
            Command::Drive(args) => drive::run(args),
            Command::Image(args) => image::run(args),
            Command::Check(args) => return check::run(args),
            Command::Serve(args) => serve::run(args, limit_bytes),
            Command::Ctl(args) => ctl::run(args),
            Command::List(args) => list::run(args),
            Command::Completions(args) => completions::run(args, Cli::command()),
            Command::Complete(args) => completions::spec_values::run(args),
            Command::Man(args) => manual::man(args, Cli::command()),
            Command::Version(args) => version::run(args),
            Command::Licences(args) => licences::run(args),
            Command::GuestProcess(args) => guests::host(args),
        }
        .map(|()| DONE)
    }
}

/// The lists of FTLs, chips, workloads and so on, as the JSON of `ftlab list`: one by its name, or
/// all if no name is given. `None` if there is no such list.
pub fn list(name: Option<&str>) -> Option<String> {
    list::json_of(name)
}

/// The name and the TOML text of the plan of each experiment of the papers.
pub fn paper_plans() -> impl Iterator<Item = (&'static str, &'static str)> {
    paper_plans::EXPERIMENTS.iter().copied()
}

/// Makes this the process of the command: signals end the command and leave no unfinished file,
/// panics ask for a report, and a process that takes too much memory is ended. `arguments` begin
/// with the name of the command.
///
/// # Errors
/// Signals cannot be handled.
pub fn take_process(arguments: &[OsString]) -> io::Result<()> {
    let is_of_guest = arguments.get(1).is_some_and(|name| name == guests::HOST);
    failure::ask_for_reports_of_panics(arguments, is_of_guest);
    guests::install();
    memory_limit::watch_process();
    // The process of a guest leaves signals to the program that needs it.
    if is_of_guest { Ok(()) } else { signals::handle() }
}

/// Runs the command and returns its exit code. `arguments` begin with the name of the command. It
/// installs no handler: [`take_process`] does, where the process is the command's own.
pub fn main(arguments: &[OsString]) -> u8 {
    let code = run(arguments);
    guest::supervisor::note_end();
    code
}

fn run(arguments: &[OsString]) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(usage) => {
            // Printing help into a closed pipe is not an error.
            let _ = usage.print();
            return usage.exit_code() as u8;
        }
    };
    let limit_bytes = MemoryLimit::bytes(cli.memory_limit);
    if cli.command.has_image() {
        guests::keep_apart();
    }
    // A server lives on when it reaches its limit: it refuses what takes more.
    if !matches!(cli.command, Command::Serve(_)) {
        memory_limit::watch(limit_bytes);
    }
    let done = cli.command.run(limit_bytes, cli.memory_limit);
    done.unwrap_or_else(|failure| failure.report(arguments))
}
