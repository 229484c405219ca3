//! A row whose run failed.

use crate::error::Error;

/// Why a row has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The code that `run` would have ended with.
    pub exit_code: u8,
    /// What it would have said.
    pub message: String,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { exit_code: error.exit_code(), message: error.to_string() }
    }
}
