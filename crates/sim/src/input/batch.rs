//! Requests that are read together, so that the FTL can prefetch for all of them before the first
//! one is served.

use ftl::Span;
use trace::{Op, Replay, Request};

use crate::error::Result;
use crate::input::host::{Beyond, Host};
use crate::input::request_counts::RequestCounts;

/// Requests in a batch.
pub const BATCH: usize = 64;

/// Requests with the spans that each is cut into.
#[derive(Default)]
pub struct Batch {
    requests: Vec<Request>,
    /// The load of each request; empty if there is a single trace.
    loads: Vec<usize>,
    spans: Vec<Span>,
    /// The requests that are no [singles](Host::single). The others have one span each.
    others: Vec<OtherRequest>,
    counts: RequestCounts,
}

/// A request that is no write of a single whole page without flags.
struct OtherRequest {
    /// Its place in the batch.
    at: usize,
    /// The number of its spans.
    spans: usize,
}

/// A request with its spans.
#[derive(Clone, Copy)]
pub struct CutRequest<'a> {
    /// The load to which it belongs; 0 for a single trace.
    pub load: usize,
    /// The request.
    pub request: &'a Request,
    /// Its pages.
    pub spans: &'a [Span],
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

    /// Replaces the batch by requests of a single trace.
    pub fn replace(&mut self, requests: Vec<Request>) {
        self.requests = requests;
    }

    /// Takes away all requests but the first `left`, and returns them. The others must be cut
    /// again.
    pub fn split_off(&mut self, left: usize) -> Vec<Request> {
        self.requests.split_off(left)
    }

    /// Adds a time to those of all requests.
    pub fn delay(&mut self, by_ns: u64) {
        for request in &mut self.requests {
            request.time_ns = request.time_ns.saturating_add(by_ns);
        }
    }

    /// The number of requests with which the host has written `pages` pages; all if they write
    /// fewer. The batch must have been cut.
    pub fn requests_until(&self, pages: u64) -> usize {
        let of = |spans: &[Span]| spans.iter().map(|span| u64::from(span.pages)).sum::<u64>();
        if of(&self.spans) < pages {
            return self.len();
        }
        let mut written = 0;
        let mut ends = self.iter().map(|cut| {
            written += if cut.request.op == Op::Write { of(cut.spans) } else { 0 };
            written >= pages
        });
        ends.position(|ends| ends).map_or(self.len(), |index| index + 1)
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
        self.others.clear();
        self.counts = RequestCounts::default();
        let mut at = 0;
        while at < self.requests.len() {
            let before = self.spans.len();
            let singles = self.requests[at..].iter().map_while(|request| host.single(request));
            self.spans.extend(singles);
            at += self.spans.len() - before;
            if at < self.requests.len() {
                self.cut_other(host, at).map_err(|beyond| (at, beyond))?;
                at += 1;
            }
        }
        let singles = (at - self.others.len()) as u64;
        self.counts.add_writes(singles, singles * host.page_bytes());
        Ok(())
    }

    /// Cuts a request that is no single.
    fn cut_other(&mut self, host: &Host, at: usize) -> std::result::Result<(), Beyond> {
        let (request, before) = (&self.requests[at], self.spans.len());
        host.cut(request, &mut self.spans)?;
        let spans = self.spans.len() - before;
        self.counts.add(request, spans == 0);
        self.others.push(OtherRequest { at, spans });
        Ok(())
    }

    /// Counts of the requests.
    pub fn counts(&self) -> &RequestCounts {
        &self.counts
    }

    /// The spans of all requests.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Each request with its spans.
    #[inline]
    pub fn iter(&self) -> CutRequests<'_> {
        CutRequests { batch: self, at: 0, spans: &self.spans, others: &self.others }
    }
}

/// The requests of a batch that come next.
pub struct CutRequests<'a> {
    batch: &'a Batch,
    /// The place of the next one.
    at: usize,
    /// The spans from its own on.
    spans: &'a [Span],
    /// The requests from it on that are no singles.
    others: &'a [OtherRequest],
}

impl<'a> CutRequests<'a> {
    /// The spans of the requests that come next and are [singles](Host::single).
    #[inline]
    pub fn singles(&self) -> &'a [Span] {
        let end = self.others.first().map_or(self.batch.len(), |other| other.at);
        &self.spans[..end - self.at]
    }

    /// The number of requests of the batch that came before.
    #[inline]
    pub fn passed(&self) -> usize {
        self.at
    }

    /// Leaves out the next requests, which are singles.
    #[inline]
    pub fn skip_singles(&mut self, requests: usize) {
        self.at += requests;
        self.spans = &self.spans[requests..];
    }
}

impl<'a> Iterator for CutRequests<'a> {
    type Item = CutRequest<'a>;

    #[inline]
    fn next(&mut self) -> Option<CutRequest<'a>> {
        let (request, load) = (self.batch.requests.get(self.at)?, self.batch.load(self.at));
        let spans = match self.others.split_first() {
            Some((other, later)) if other.at == self.at => {
                self.others = later;
                other.spans
            }
            _ => 1,
        };
        let (spans, later) = self.spans.split_at(spans);
        self.spans = later;
        self.at += 1;
        Some(CutRequest { load, request, spans })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::host::Placing;
    use crate::input::streams::StreamRule;
    use nand::{Geometry, ProgramOrder};
    use trace::Flags;

    #[test]
    fn singles_and_other_requests_keep_their_order_and_their_spans() {
        let geometry = Geometry::new(2048, 64, 4, 3, ProgramOrder::Any).unwrap();
        let host = Host::new(&[0], Placing::Error, StreamRule::Off, &geometry, 8 * 2048);
        let request = |op, page: u64, bytes| Request {
            time_ns: 0,
            offset: page * 2048,
            bytes,
            device: 0,
            op,
            flags: Flags::empty(),
            stream: 0,
        };
        let mut batch = Batch::default();
        for (load, request) in [
            (3, request(Op::Write, 5, 2048)),
            (4, request(Op::Write, 6, 2048)),
            (3, request(Op::Flush, 0, 0)),
            (3, request(Op::Trim, 1, 100)),
            (5, request(Op::Read, 2, 4096)),
            (6, request(Op::Write, 7, 2048)),
        ] {
            batch.push(load, request);
        }
        batch.cut(&host).unwrap();
        let all: Vec<_> = batch.iter().collect();
        assert_eq!(all.iter().map(|cut| cut.load).collect::<Vec<_>>(), [3, 4, 3, 3, 5, 6]);
        let firsts = |cut: &CutRequest| cut.spans.first().map(|span| span.first);
        let firsts: Vec<_> = all.iter().map(firsts).collect();
        assert_eq!(firsts, [Some(5), Some(6), None, None, Some(2), Some(7)]);
        let counts = batch.counts();
        assert_eq!((counts.requests(Op::Write), counts.trims_of_no_page), (3, 1));
        let mut left = batch.iter();
        assert_eq!(left.singles().len(), 2);
        left.skip_singles(1);
        assert_eq!(left.next().map(|cut| cut.load), Some(4));
        assert_eq!((left.singles().len(), left.by_ref().count()), (0, 4));
        assert_eq!(left.singles().len(), 0);
        let beyond = request(Op::Write, 8, 2048);
        batch.push(0, beyond);
        assert_eq!(batch.cut(&host).map_err(|(at, _)| at), Err(6));
    }
}
