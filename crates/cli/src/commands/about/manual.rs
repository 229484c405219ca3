//! `ftlab man`: manual pages, made from the declarations that parse the command line.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
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

/// A command and all its subcommands that are not hidden, by the names of their pages, such as
/// `ftlab-trace-info`.
fn pages(command: &Command) -> Vec<(&str, &Command)> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let mut all = vec![(name, command)];
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    all.extend(shown.flat_map(pages));
    all
}

fn page(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    let rendered = Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Failure::failed(format!("cannot write the manual: {error}")))?;
    Ok(with_synopsis(&String::from_utf8_lossy(&page), command))
}

/// The page with a synopsis that names the values of options, which the generated one leaves out.
fn with_synopsis(page: &str, command: &Command) -> String {
    let Some((before, rest)) = page.split_once(".SH SYNOPSIS\n") else { return page.to_owned() };
    let after = rest.find(".SH ").map_or("", |at| &rest[at..]);
    format!("{before}.SH SYNOPSIS\n{}{after}", synopsis(command))
}

fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut words = vec![format!("\\fB{}\\fR", roff(name))];
    words.extend(command.get_arguments().filter(|arg| !arg.is_hide_set()).map(usage));
    if command.has_subcommands() {
        words.push("<\\fIsubcommand\\fR>".to_owned());
    }
    words.join(" ") + "\n"
}

/// An argument with its value, in brackets unless it must be given.
fn usage(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let values = arg.get_value_names().filter(|_| takes_value).unwrap_or_default();
    let values: Vec<String> = values.iter().map(|name| format!("\\fI{}\\fR", roff(name))).collect();
    let flag = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => Some(format!("\\fB{}\\fR", roff(&format!("--{long}")))),
        (None, Some(short)) => Some(format!("\\fB{}\\fR", roff(&format!("-{short}")))),
        (None, None) => None,
    };
    let text = flag.into_iter().chain(values).collect::<Vec<_>>().join(" ");
    let repeated = match arg.get_action() {
        ArgAction::Append => "...",
        _ => "",
    };
    match arg.is_required_set() {
        true => format!("{text}{repeated}"),
        false => format!("[{text}]{repeated}"),
    }
}

/// A word in which roff takes no hyphen for a place to break.
fn roff(word: &str) -> String {
    word.replace('-', "\\-")
}
