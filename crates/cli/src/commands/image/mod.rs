//! `ftlab image`: chips in files.

mod check;
mod create;
mod dump;
mod hex;
mod info;
pub mod lent;

use std::path::Path;

use clap::Subcommand;
use disk::Error;

use crate::failure::{Failure, Result};

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

/// A failure that concerns the image at `path`.
fn failed(path: &Path) -> impl Fn(Error) -> Failure {
    move |error| {
        let code = match &error {
            Error::Image(image::Error::Differs { .. } | image::Error::Impossible(_)) => 2,
            Error::Ftl(error) => sim::Error::from(error.clone()).exit_code(),
            _ => 1,
        };
        Failure::coded(code, format!("{}: {error}{}", path.display(), remedy(&error)))
    }
}

/// What a user can do about an error that does not say it itself.
fn remedy(error: &Error) -> &'static str {
    use image::Error::{Damaged, Foreign, InUse, Length, Newer};
    let Error::Image(error) = error else { return "" };
    match error {
        Foreign => "; `ftlab image create` makes one",
        InUse => "; wait until the other program has closed it",
        Newer { .. } => "; use the version of ftlab that made it",
        Damaged(_) | Length { .. } => {
            "; `ftlab image check` lists all damages, and `ftlab image dump` extracts what can be \
             read"
        }
        _ => "",
    }
}
