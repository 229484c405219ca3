//! A row whose run failed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;
use crate::result::run_result::RunResult;

/// The exit code of a row in which this program panicked.
const BUG: u8 = 101;
/// The exit code of a run that was stopped.
const INTERRUPTED: u8 = 130;

/// Why the run of a row failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFailure {
    /// The exit code that `ftlab run` would have had.
    pub exit_code: u8,
    /// The message that it would have printed.
    pub message: String,
    /// Whether only the machine had too little memory for it, so that it is worth another try.
    pub is_refused: bool,
}

impl RowFailure {
    /// Whether the run was stopped.
    pub(super) fn is_interruption(&self) -> bool {
        self.exit_code == INTERRUPTED
    }
}

impl From<Error> for RowFailure {
    fn from(error: Error) -> RowFailure {
        let is_refused = matches!(error, Error::TooMuchMemory { .. });
        RowFailure { exit_code: error.exit_code(), message: error.to_string(), is_refused }
    }
}

/// Tries a run. A panic is a bug of this program: the row reports it, and the sweep goes on.
pub(super) fn attempt(
    run: impl FnOnce() -> Result<RunResult, RowFailure>,
) -> Result<RunResult, RowFailure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = format!("bug in ftlab: {}", text.unwrap_or("a panic"));
        Err(RowFailure { exit_code: BUG, message, is_refused: false })
    })
}
