//! Requests read together, so that the FTL can hear of all of them before the first one is served.

use trace::Request;

use crate::error::Result;
use crate::input::host::{Beyond, Host, Span};
use crate::input::source::Reading;

/// Requests that the FTL hears of at once.
const BATCH: usize = 64;

/// Requests read together, with the spans of each.
#[derive(Default)]
pub struct Batch {
    requests: Vec<Request>,
    spans: Vec<Span>,
    /// For each request: where its spans end, and whether it is served.
    cuts: Vec<(usize, bool)>,
}

impl Batch {
    /// Reads the next requests, no more than `left`; 0 at the end of the trace.
    pub fn fill(&mut self, reading: &mut Reading, left: u64) -> Result<usize> {
        self.requests.clear();
        reading.next_batch(&mut self.requests, left.min(BATCH as u64) as usize)
    }

    /// Cuts them all, or names the index of the one that does not fit.
    pub fn cut(&mut self, host: &Host) -> std::result::Result<(), (usize, Beyond)> {
        self.spans.clear();
        self.cuts.clear();
        for (index, request) in self.requests.iter().enumerate() {
            let served = host.serves(request);
            if served {
                host.cut(request, &mut self.spans).map_err(|beyond| (index, beyond))?;
            }
            self.cuts.push((self.spans.len(), served));
        }
        Ok(())
    }

    /// Each request with its spans, and whether it is served.
    pub fn iter(&self) -> impl Iterator<Item = (&Request, &[Span], bool)> {
        let mut start = 0;
        self.requests.iter().zip(&self.cuts).map(move |(request, &(end, served))| {
            let spans = &self.spans[start..end];
            start = end;
            (request, spans, served)
        })
    }
}
