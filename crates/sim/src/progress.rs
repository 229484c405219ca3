//! Reports of a run's progress, and the way to stop a run.

use crate::error::Result;

/// The part of a run that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the trace to learn its size and volumes.
    Survey,
    /// Filling the device.
    Fill,
    /// Replaying the trace uncounted, for the n-th time from 1.
    WarmUp(u32),
    /// Serving a round on the way to a steady state, the n-th from 1.
    Round(u32),
    /// Replaying the trace and counting.
    Measure,
    /// Reading everything back.
    ReadBack,
}

/// Receives the progress of a run, and may stop it.
pub trait Progress {
    /// Called every few requests: `done` of `total`, in the unit in which the trace is measured.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) stops the run.
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> Result<()>;
}

/// Ignores all reports.
#[derive(Clone, Copy, Debug)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _: Stage, _: u64, _: Option<u64>) -> Result<()> {
        Ok(())
    }
}
