//! `ftlab version`: the version and, if asked, what a report of a bug should say.

use std::env::consts::{ARCH, OS};

use crate::failure::Result;
use crate::output;

/// Options of `ftlab version`.
#[derive(clap::Args)]
pub struct Args {
    /// Also print what a report of a bug should say: the build and the machine
    #[arg(long, short)]
    verbose: bool,
}

/// Prints the version, and with `--verbose` a line for each fact.
pub fn run(args: &Args) -> Result<()> {
    let mut text = concat!("ftlab ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    if args.verbose {
        let facts = facts();
        text.extend(facts.map(|(name, value)| format!("{name:<9}{value}\n")));
    }
    output::print(&text)
}

fn facts() -> [(&'static str, String); 5] {
    let checks = if cfg!(debug_assertions) { "with" } else { "without" };
    let tls = if cfg!(feature = "tls") { "tls" } else { "none" };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    [
        ("target", format!("{ARCH}-{OS}")),
        ("build", format!("{checks} assertions, features {tls}")),
        ("schemes", ftl::SCHEMES.len().to_string()),
        ("cores", cores.to_string()),
        ("sources", env!("CARGO_PKG_REPOSITORY").to_owned()),
    ]
}
