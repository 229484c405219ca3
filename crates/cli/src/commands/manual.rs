//! `ftlab man`: manual pages, made from the declarations that parse the command line.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::{self, write_text};

/// Options of `ftlab man`.
#[derive(clap::Args)]
pub struct ManArgs {
    /// Directory for one page per subcommand; without it the page of `ftlab` itself is printed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the page of the command, or writes the pages of all subcommands.
pub fn man(args: &ManArgs, command: Command) -> Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match &args.out {
        None => output::print(&page(&command)?),
        Some(directory) => {
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", directory.display()))
            })?;
            let mut files = CommandFiles::new();
            let written = |(name, command): (&str, &Command)| {
                let path = directory.join(format!("{name}.1"));
                Ok((files.own_output("a manual page", &path)?, page(command)?))
            };
            let pages = pages(&command).into_iter().map(written).collect::<Result<Vec<_>>>()?;
            pages.iter().try_for_each(|(file, page)| file.write(|out| write_text(out, page)))
        }
    }
}

/// A command and all its subcommands, by the names of their pages, such as `ftlab-trace-info`.
fn pages(command: &Command) -> Vec<(&str, &Command)> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let mut all = vec![(name, command)];
    all.extend(command.get_subcommands().flat_map(pages));
    all
}

fn page(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    let rendered = Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Failure::failed(format!("cannot write the manual: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
