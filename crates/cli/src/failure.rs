//! Failures of the command: a sentence on standard error and an exit code.

use std::ffi::OsString;
use std::io::Write;

use guest::board::Board;

use crate::process::signals;
use crate::terminal;

/// Nothing went wrong.
pub const DONE: u8 = 0;
/// The run failed: unreadable or malformed input, or an output that cannot be written.
pub const FAILED: u8 = 1;
/// Wrong usage.
const USAGE: u8 = 2;
/// A violation was found.
pub const VIOLATION: u8 = 3;

/// The first exit code of a command that a signal ended.
const INTERRUPTED: u8 = 128;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
    /// An option with which the same command skips the lines that made it fail.
    remedy: Option<&'static str>,
}

/// The result of a subcommand.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failed run.
    pub fn failed(message: String) -> Failure {
        Failure::coded(FAILED, message)
    }

    /// A failure with this exit code.
    pub fn coded(code: u8, message: String) -> Failure {
        Failure { code, message, remedy: None }
    }

    /// The same failure with more text.
    pub fn with(mut self, more: &str) -> Failure {
        self.message += more;
        self
    }

    /// The same failure of a part of the command, which its message names. An interruption is none
    /// of a part.
    pub fn in_part(self, part: &str) -> Failure {
        match self.code < INTERRUPTED {
            true => self.with(&format!(" ({part})")),
            false => self,
        }
    }

    /// Wrong usage.
    pub fn usage(message: String) -> Failure {
        Failure::coded(USAGE, message)
    }

    /// The exit code of the command.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prints the sentence and returns the exit code. For a violation it also prints the line that
    /// replays it. `arguments` are those of the command, which comes first.
    pub fn report(self, arguments: &[OsString]) -> u8 {
        let mut text = format!("ftlab: {}\n", self.message);
        if let Some(option) = self.remedy {
            text += "`ftlab list formats` says how other columns and units are read. ";
            text += &match arguments.get(1).is_some_and(|word| word == "sweep") {
                true => "`skip_bad = true` in the plan skips and counts bad lines.\n".to_owned(),
                false => format!(
                    "This command skips and counts bad lines:\n    {} {option}\n",
                    command_line(arguments)
                ),
            };
        }
        if let Some(width) = terminal::error_width() {
            text = terminal::folded_message(&text, width);
        }
        if self.code == VIOLATION {
            text += &format!("Replay:  {}\n", command_line(arguments));
        }
        // If standard error is closed, nobody reads this.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        self.code
    }
}

impl From<sim::Error> for Failure {
    fn from(error: sim::Error) -> Failure {
        let code = match error {
            sim::Error::Interrupted => signals::exit_code(),
            _ => error.exit_code(),
        };
        let is_skippable = matches!(&error, sim::Error::Trace(error) if error.is_skippable());
        let remedy = is_skippable.then_some("--skip-bad");
        Failure { code, message: error.to_string(), remedy }
    }
}

impl From<trace::Error> for Failure {
    fn from(error: trace::Error) -> Failure {
        sim::Error::from(error).into()
    }
}

impl From<spec::Error> for Failure {
    fn from(error: spec::Error) -> Failure {
        Failure::usage(error.to_string())
    }
}

/// Makes every panic ask for a bug report, since it is a bug of this program, unless a guest runs
/// in it.
pub fn ask_for_reports_of_panics(arguments: &[OsString], is_of_guest: bool) {
    let command_line = command_line(arguments);
    std::panic::set_hook(Box::new(move |panic| {
        let mut stderr = std::io::stderr().lock();
        if is_of_guest || Board::of_process().is_some() {
            let why = "A guest runs in this process, and may have damaged it or closed its files.";
            let _ = writeln!(stderr, "{panic}\n{why}");
            return;
        }
        let _ = writeln!(
            stderr,
            "{panic}\nThis is a bug in ftlab {}. Please report it with the lines above and this \
             command:  {command_line}",
            env!("CARGO_PKG_VERSION"),
        );
    }));
}

/// The command as it was given, with quotes where a shell needs them.
fn command_line(arguments: &[OsString]) -> String {
    let given = arguments.iter().skip(1).map(|word| spec::shell_word(&word.to_string_lossy()));
    std::iter::once("ftlab".to_owned()).chain(given).collect::<Vec<_>>().join(" ")
}
