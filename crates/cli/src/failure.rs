//! How a command ends when it does not end well: a sentence on standard error and a code.

use std::io::Write;
use std::process::ExitCode;

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

/// What a subcommand returns.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A run that failed.
    pub fn failed(message: String) -> Failure {
        Failure { code: FAILED, message }
    }

    /// A command that ends with this code.
    pub fn coded(code: u8, message: String) -> Failure {
        Failure { code, message }
    }

    /// The same failure with more said about it.
    pub fn with(mut self, more: &str) -> Failure {
        self.message += more;
        self
    }

    /// A wrong usage.
    pub fn usage(message: String) -> Failure {
        Failure { code: USAGE, message }
    }

    /// Prints the sentence and turns into the code; a violation also prints what replays it.
    pub fn report(self) -> ExitCode {
        let mut stderr = std::io::stderr().lock();
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(stderr, "ftlab: {}", self.message);
        if self.code == VIOLATION {
            let _ = writeln!(stderr, "Replay:  {}", command_line());
        }
        ExitCode::from(self.code)
    }
}

impl From<sim::Error> for Failure {
    fn from(error: sim::Error) -> Failure {
        Failure { code: error.exit_code(), message: error.to_string() }
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

/// Has panics end with a sentence that asks for a report. Every one is a mistake of ours.
pub fn ask_for_reports_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut stderr = std::io::stderr().lock();
        let _ = writeln!(
            stderr,
            "{panic}\nThis is a mistake in ftlab {}, not yours; please report it with the lines \
             above and this command:  {}",
            env!("CARGO_PKG_VERSION"),
            command_line()
        );
    }));
}

/// The command as it was given, quoted where a shell needs it.
fn command_line() -> String {
    let mut words = vec!["ftlab".to_owned()];
    words.extend(std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_reads_them() {
        assert_eq!(quoted("uniform:writes=4M,reads=10%"), "uniform:writes=4M,reads=10%");
        assert_eq!(quoted("my trace"), "'my trace'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
