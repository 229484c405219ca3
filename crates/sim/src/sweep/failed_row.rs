//! A row whose run failed.

use crate::error::Error;

/// Why the run of a row failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFailure {
    /// The exit code that `ftlab run` would have had.
    pub exit_code: u8,
    /// The message that it would have printed.
    pub message: String,
}

impl From<Error> for RowFailure {
    fn from(error: Error) -> RowFailure {
        RowFailure { exit_code: error.exit_code(), message: error.to_string() }
    }
}
