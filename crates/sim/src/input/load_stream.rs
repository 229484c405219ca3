//! The requests of one of several loads, with a look at the next one.

use trace::{Replay, Request};

use crate::error::Result;
use crate::input::source::{ReadTrace, RequestSource};
use crate::progress::{Progress, Stage};

/// Requests read at a time.
const AHEAD: usize = 256;

/// The requests of a load. Its volumes have the numbers that they have among those of all loads.
pub struct LoadStream<'a> {
    source: &'a RequestSource,
    stream: Replay,
    length: Option<u64>,
    first_volume: u32,
    /// Requests that were read, of which the first `taken` are gone.
    ahead: Vec<Request>,
    taken: usize,
    delivered: u64,
}

impl<'a> LoadStream<'a> {
    /// A load that is read by `stream` from its first request.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn new(
        source: &'a RequestSource,
        stream: Replay,
        first_volume: u32,
    ) -> Result<LoadStream<'a>> {
        let ahead = Vec::with_capacity(AHEAD);
        let length = source.length();
        let mut load =
            LoadStream { source, stream, length, first_volume, ahead, taken: 0, delivered: 0 };
        load.read_ahead()?;
        Ok(load)
    }

    fn read_ahead(&mut self) -> Result<()> {
        self.ahead.clear();
        self.taken = 0;
        self.stream.next_batch(&mut self.ahead, AHEAD)?;
        Ok(())
    }

    /// The next request; `None` at the end.
    #[inline]
    pub fn head(&self) -> Option<&Request> {
        self.ahead.get(self.taken)
    }

    /// Takes the next request, which must exist.
    ///
    /// # Errors
    /// The trace cannot be read.
    #[inline]
    pub fn take(&mut self) -> Result<Request> {
        let request = self.ahead[self.taken];
        self.taken += 1;
        self.delivered += 1;
        if self.taken == self.ahead.len() {
            self.read_ahead()?;
        }
        Ok(Request { device: self.first_volume + request.device, ..request })
    }

    /// The number of requests taken.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The name of the trace.
    pub fn name(&self) -> &str {
        self.source.trace().name()
    }

    /// The share of the trace that was read, if its length is known.
    pub fn share_done(&self) -> Option<f64> {
        let length = self.length.filter(|&length| length > 0)?;
        Some(self.stream.position_bytes() as f64 / length as f64)
    }

    /// Ends the load. A file is read to its end, so that all of its lines are accounted for.
    ///
    /// # Errors
    /// The file cannot be read, or the run is stopped.
    pub fn end(mut self, progress: &dyn Progress) -> Result<ReadTrace> {
        let mut left = (self.ahead.len() - self.taken) as u64;
        match self.source.request_count() {
            Some(all) => left = all - self.delivered,
            None => {
                while !self.ahead.is_empty() {
                    self.read_ahead()?;
                    left += self.ahead.len() as u64;
                    progress.report(Stage::Survey, self.stream.position_bytes(), self.length)?;
                }
            }
        }
        Ok(ReadTrace::of(&self.stream, self.delivered, left))
    }
}
