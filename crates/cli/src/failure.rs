//! Failures of the command: a sentence on standard error and an exit code.

use std::io::Write;
use std::process::ExitCode;

use crate::signals;

/// The run failed: unreadable or malformed input, or an output that cannot be written.
const FAILED: u8 = 1;
/// Wrong usage.
const USAGE: u8 = 2;
/// A violation was found.
const VIOLATION: u8 = 3;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

/// The result of a subcommand.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failed run.
    pub fn failed(message: String) -> Failure {
        Failure { code: FAILED, message }
    }

    /// A failure with this exit code.
    pub fn coded(code: u8, message: String) -> Failure {
        Failure { code, message }
    }

    /// The same failure with more text.
    pub fn with(mut self, more: &str) -> Failure {
        self.message += more;
        self
    }

    /// Wrong usage.
    pub fn usage(message: String) -> Failure {
        Failure { code: USAGE, message }
    }

    /// Prints the sentence and returns the exit code. For a violation it also prints the line that
    /// replays it.
    pub fn report(self) -> ExitCode {
        let mut stderr = std::io::stderr().lock();
        // If standard error is closed, nobody reads this.
        let _ = writeln!(stderr, "ftlab: {}", self.message);
        if self.code == VIOLATION {
            let _ = writeln!(stderr, "Replay:  {}", command_line());
        }
        ExitCode::from(self.code)
    }
}

impl From<sim::Error> for Failure {
    fn from(error: sim::Error) -> Failure {
        let code = match error {
            sim::Error::Interrupted => signals::exit_code(),
            _ => error.exit_code(),
        };
        let failure = Failure { code, message: error.to_string() };
        match &error {
            sim::Error::Trace(error) if error.is_skippable() => failure.with(&format!(
                "\nThis command skips and counts bad lines:\n    {} --skip-bad",
                command_line()
            )),
            _ => failure,
        }
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

/// Makes every panic ask for a bug report, since it is a bug of this program.
pub fn ask_for_reports_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut stderr = std::io::stderr().lock();
        let _ = writeln!(
            stderr,
            "{panic}\nThis is a bug in ftlab {}. Please report it with the lines above and this \
             command:  {}",
            env!("CARGO_PKG_VERSION"),
            command_line()
        );
    }));
}

/// The command as it was given, with quotes where a shell needs them.
fn command_line() -> String {
    let mut words = vec!["ftlab".to_owned()];
    words.extend(std::env::args_os().skip(1).map(|word| spec::shell_word(&word.to_string_lossy())));
    words.join(" ")
}
