//! Requests that are read together, so that the FTL can prefetch for all of them before the first
//! one is served.

use ftl::Span;
use trace::{Replay, Request};

use crate::error::Result;
use crate::input::host::{Beyond, Host};

/// Requests in a batch.
pub const BATCH: usize = 64;

/// Requests with the spans that each is cut into.
#[derive(Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// The load of each request; empty if there is a single trace.
    loads: Vec<usize>,
    spans: Vec<Span>,
    cuts: Vec<Cut>,
}

/// What became of a request when it was cut.
struct Cut {
    /// The end of its spans in `spans`.
    end: u32,
    load: u32,
    is_served: bool,
}

impl Batch {
    /// Replaces the batch by the next requests of a single trace, at most `left` of them. Returns
    /// their number; 0 at the end of the trace.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn read(&mut self, stream: &mut Replay, left: u64) -> Result<usize> {
        self.requests.clear();
        Ok(stream.next_batch(&mut self.requests, left.min(BATCH as u64) as usize)?)
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
        let Batch { requests, loads, spans, cuts } = self;
        spans.clear();
        cuts.clear();
        cuts.reserve(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let is_served = host.serves(request);
            if is_served {
                host.cut(request, spans).map_err(|beyond| (index, beyond))?;
            }
            let load = loads.get(index).map_or(0, |&load| load as u32);
            cuts.push(Cut { end: spans.len() as u32, load, is_served });
        }
        Ok(())
    }

    /// Each request with its load, its spans and whether it is served.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Request, &[Span], bool)> {
        let mut start = 0;
        self.requests.iter().zip(&self.cuts).map(move |(request, cut)| {
            let end = cut.end as usize;
            let spans = &self.spans[start..end];
            start = end;
            (cut.load as usize, request, spans, cut.is_served)
        })
    }
}
