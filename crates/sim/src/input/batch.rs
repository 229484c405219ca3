//! Requests that are read together, so that the FTL can prefetch for all of them before the first
//! one is served.

use trace::Request;

use crate::error::Result;
use crate::input::host::{Beyond, Host, Span};
use crate::input::source::RequestStream;

/// Requests in a batch.
pub const BATCH: usize = 64;

/// Requests with the spans that each is cut into.
#[derive(Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// The load of each request; empty if there is a single trace.
    loads: Vec<usize>,
    spans: Vec<Span>,
    /// For each request: the end of its spans in `spans`, and whether it is served.
    ends: Vec<(usize, bool)>,
}

impl Batch {
    /// Replaces the batch by the next requests of a single trace, at most `left` of them. Returns
    /// their number; 0 at the end of the trace.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn read(&mut self, stream: &mut RequestStream, left: u64) -> Result<usize> {
        self.requests.clear();
        stream.next_batch(&mut self.requests, left.min(BATCH as u64) as usize)
    }

    /// Drops all requests.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.loads.clear();
    }

    /// Adds a request of one of several loads.
    pub fn push(&mut self, load: usize, request: Request) {
        self.loads.push(load);
        self.requests.push(request);
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Each request with its load.
    pub fn requests(&self) -> impl Iterator<Item = (usize, &Request)> {
        self.requests.iter().enumerate().map(|(index, request)| (self.load(index), request))
    }

    /// The load of a request; 0 for a single trace.
    #[inline]
    pub fn load(&self, index: usize) -> usize {
        self.loads.get(index).copied().unwrap_or(0)
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

    /// Each request with its load, its spans and whether it is served.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Request, &[Span], bool)> {
        let mut start = 0;
        self.requests().zip(&self.ends).map(move |((load, request), &(end, served))| {
            let spans = &self.spans[start..end];
            start = end;
            (load, request, spans, served)
        })
    }
}
