//! `ftlab image`: chips in files.

mod check;
mod create;
mod dump;
pub mod failures;
mod hex;
mod info;
pub mod lent;

use clap::Subcommand;

pub use create::DeviceOptions;

use crate::failure::Result;

/// Options of `ftlab image`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ImageCommand,
}

#[derive(Subcommand)]
enum ImageCommand {
    /// Create an image of a factory-fresh chip for an FTL
    Create(create::Args),
    /// Describe an image, and with --mount what it takes to mount its FTL
    Info(info::Args),
    /// Look through an image for damage; the file stays as it is
    Check(check::Args),
    /// Print a page, or extract the logical disk, also from a damaged image
    Dump(dump::Args),
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        ImageCommand::Create(args) => create::run(args),
        ImageCommand::Info(args) => info::run(args),
        ImageCommand::Check(args) => check::run(args),
        ImageCommand::Dump(args) => dump::run(args),
    }
}
