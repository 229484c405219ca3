//! Requests that are read together, so that the FTL can prefetch for all of them before the first
//! one is served.

use trace::Request;

use crate::error::Result;
use crate::input::host::{Beyond, Host, Span};
use crate::input::source::RequestStream;

/// Requests in a batch.
const BATCH: usize = 64;

/// Requests with the spans that each is cut into.
#[derive(Default)]
pub struct Batch {
    requests: Vec<Request>,
    spans: Vec<Span>,
    /// For each request: the end of its spans in `spans`, and whether it is served.
    ends: Vec<(usize, bool)>,
}

impl Batch {
    /// Reads the next requests, at most `left` of them. Returns how many were read; 0 at the end of
    /// the trace.
    pub fn fill(&mut self, stream: &mut RequestStream, left: u64) -> Result<usize> {
        self.requests.clear();
        stream.next_batch(&mut self.requests, left.min(BATCH as u64) as usize)
    }

    /// Cuts all requests into spans.
    ///
    /// # Errors
    /// The index of the first request that does not fit the device.
    pub fn cut(&mut self, host: &Host) -> std::result::Result<(), (usize, Beyond)> {
        self.spans.clear();
        self.ends.clear();
        for (index, request) in self.requests.iter().enumerate() {
            let served = host.serves(request);
            if served {
                host.cut(request, &mut self.spans).map_err(|beyond| (index, beyond))?;
            }
            self.ends.push((self.spans.len(), served));
        }
        Ok(())
    }

    /// Each request with its spans and whether it is served.
    pub fn iter(&self) -> impl Iterator<Item = (&Request, &[Span], bool)> {
        let mut start = 0;
        self.requests.iter().zip(&self.ends).map(move |(request, &(end, served))| {
            let spans = &self.spans[start..end];
            start = end;
            (request, spans, served)
        })
    }
}
