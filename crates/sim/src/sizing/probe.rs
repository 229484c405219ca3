//! A run with a number of extra blocks: a point of the curve.

use serde::Serialize;

use crate::config::setup::Setup;
use crate::config::values::Extra;
use crate::error::{Error, Result};
use crate::result::run_result::RunResult;
use crate::run::{RunOptions, run};

/// A point of the curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct Probe {
    pub extra_blocks: u64,
    /// None if the FTL cannot work with so few extra blocks.
    pub write_amplification: Option<f64>,
    /// Bytes programmed for a byte of the host.
    pub write_amplification_bytes: Option<f64>,
    /// Whether the device became steady; none if the run had a fixed warm-up.
    pub steady: Option<bool>,
    /// Why the FTL cannot work.
    pub refused: Option<String>,
    /// The notes of the run.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl Probe {
    /// Whether write amplification is at most the target.
    pub fn meets(&self, target: f64) -> bool {
        self.write_amplification.is_some_and(|amplification| amplification <= target)
    }
}

/// The setup of a run with this number of extra blocks.
pub fn setup_with(setup: &Setup, extra_blocks: u64) -> Setup {
    let mut setup = setup.clone();
    setup.experiment.extra = Some(Extra::Blocks(extra_blocks));
    setup
}

/// Runs with this number of extra blocks.
///
/// # Errors
/// As for any run, unless the FTL has too few extra blocks; or the trace writes nothing.
pub fn probe(setup: &Setup, extra_blocks: u64, options: RunOptions) -> Result<Probe> {
    match run(&setup_with(setup, extra_blocks), options) {
        Ok(result) => measured(extra_blocks, &result),
        Err(error) if is_for_want_of_blocks(&error) => {
            Ok(Probe { extra_blocks, refused: Some(error.to_string()), ..Probe::default() })
        }
        Err(error) => Err(error),
    }
}

fn measured(extra_blocks: u64, result: &RunResult) -> Result<Probe> {
    let RunResult { write_amplification, write_amplification_bytes, .. } = *result;
    if write_amplification.is_none() {
        return Err(Error::Impossible(
            "the measured part of the trace writes no page, so it needs no extra blocks".into(),
        ));
    }
    Ok(Probe {
        extra_blocks,
        write_amplification,
        write_amplification_bytes,
        steady: result.steady.as_ref().map(|steady| steady.reached),
        refused: None,
        notes: result.notes.clone(),
    })
}

/// Whether more extra blocks would help.
pub fn is_for_want_of_blocks(error: &Error) -> bool {
    matches!(error, Error::Ftl(ftl::Error::TooFewExtra { .. } | ftl::Error::NoRoom { .. }))
}
