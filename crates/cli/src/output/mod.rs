//! Results on their way out: texts, and the files that they go to.
//!
//! * [`command_files`] the files that a command reads and writes, checked before it runs
//! * [`destination`]   a file, pipe or terminal that takes a result
//! * [`film_files`]    films, as pages and as data
//! * [`figure_folder`] a folder that takes the figures of a page

pub mod command_files;
pub mod destination;
pub mod figure_folder;
pub mod film_files;

use std::io::Write;

use crate::failure::{Failure, Result};
use crate::output::destination::Destination;
use crate::terminal;

/// Writes a text.
///
/// # Errors
/// It cannot be written.
pub fn write_text(out: &mut dyn Write, text: &str) -> Result<()> {
    write_bytes(out, text.as_bytes())
}

/// Writes bytes.
///
/// # Errors
/// They cannot be written.
pub fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    let written = out.write_all(bytes);
    written.map_err(|error| Failure::failed(format!("cannot write the output: {error}")))
}

/// Prints a text for people on standard output. On a terminal its lines break between words.
///
/// # Errors
/// As for [`print`].
pub fn show(text: &str) -> Result<()> {
    match terminal::width() {
        Some(width) => print(&terminal::folded(text, width)),
        None => print(text),
    }
}

/// Prints a text on standard output as it is.
///
/// # Errors
/// It cannot be written, except because the pipe is closed.
pub fn print(text: &str) -> Result<()> {
    Destination::Stdout.write(|out| write_text(out, text))
}

/// A result as a JSON value.
pub fn value(result: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(result).expect("results have text keys only")
}

/// The line of a report that names the command and its version.
pub fn made_by(command: &str) -> String {
    format!("Made by `ftlab {command}`, version {}.", env!("CARGO_PKG_VERSION"))
}

/// A value as indented JSON with a newline.
pub fn json(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("results have text keys only");
    text.push('\n');
    text
}
