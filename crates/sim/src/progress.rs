//! Who watches a run, and may stop it.

use crate::error::Result;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looking through the trace.
    Survey,
    /// Filling the device.
    Fill,
    /// Replaying the trace uncounted, for the n-th time from 1.
    WarmUp(u32),
    /// Replaying the trace and counting.
    Measure,
    /// Reading everything back.
    ReadBack,
}

/// Somebody who watches a run, and may stop it.
pub trait Watch {
    /// Called every few requests: `done` of `total`, in whatever unit the trace counts.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) ends the run.
    fn at(&self, stage: Stage, done: u64, total: Option<u64>) -> Result<()>;
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn at(&self, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
        Ok(())
    }
}
