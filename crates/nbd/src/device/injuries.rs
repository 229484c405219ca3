//! What a user may do to a disk, to see how the software above it takes it.

use crate::wire::Errno;
use crate::wire::replies::Failed;
use crate::wire::requests::{Command, Request};

/// Requests that fail on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The first byte of the range.
    pub offset: u64,
    /// The length of the range in bytes.
    pub bytes: u64,
    /// Whether reads fail.
    pub reads: bool,
    /// Whether writes, trims and zeroes fail.
    pub writes: bool,
    /// How many further requests fail; without a number all.
    pub times: Option<u64>,
}

/// All failures on demand.
#[derive(Debug, Default)]
pub struct Failures(Vec<Failure>);

impl Failures {
    /// Adds a failure.
    pub fn add(&mut self, failure: Failure) {
        self.0.push(failure);
    }

    /// Ends all failures.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Fails a request that touches such a range.
    ///
    /// # Errors
    /// EIO, at the first byte of the range.
    pub fn check(&mut self, request: &Request) -> Result<(), Failed> {
        let end = request.offset + u64::from(request.bytes);
        let hits = |it: &&mut Failure| {
            let is_meant = match request.command {
                Command::Read => it.reads,
                Command::Write | Command::Trim | Command::WriteZeroes => it.writes,
                _ => false,
            };
            is_meant && request.offset < it.offset.saturating_add(it.bytes) && it.offset < end
        };
        let Some(failure) = self.0.iter_mut().find(hits) else { return Ok(()) };
        let failed = Failed {
            errno: Errno::Io,
            message: "this range was told to fail".to_owned(),
            offset: Some(failure.offset.max(request.offset)),
        };
        if let Some(times) = &mut failure.times {
            *times -= 1;
        }
        self.0.retain(|it| it.times != Some(0));
        Err(failed)
    }
}
