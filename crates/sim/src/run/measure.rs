//! Observation of a pass over the trace: counts of its requests, and times of serving them.

use ftl::Span;
use serde_json::Map;
use trace::{Flags, Op, Request};

use crate::config::values::Interval;
use crate::input::source::ReadTrace;
use crate::result::counts::HostPages;
use crate::result::latencies::{ByOp, Latencies};
use crate::result::series::{CounterSnapshot, Sampler};
use crate::result::trace_part::{NOT_SERVED, TracePart};
use crate::run::simulator::{Served, Simulator};

/// The reason for skipping requests of volumes that are not replayed.
pub const OTHER_VOLUME: &str = "other volume";
/// The reason for skipping requests before the measured part of the pass.
pub const NOT_MEASURED: &str = "not measured";

/// A request that was served.
#[derive(Clone, Copy)]
pub struct ServedRequest<'a> {
    /// The load to which it belongs; 0 for a single trace.
    pub load: usize,
    /// The request.
    pub request: &'a Request,
    /// Its pages.
    pub spans: &'a [Span],
    /// The time that it took.
    pub took: Served,
}

/// Observes a pass.
pub trait Observer {
    /// A request will soon be served or skipped.
    fn announced(&mut self, load: usize, request: &Request, spans: &[Span]);
    /// A request was served.
    fn served(&mut self, served: &ServedRequest, on: &Simulator);
    /// A request of a load was answered this long after its issue. Only requests that queue are.
    fn answered(&mut self, load: usize, op: Op, response_ns: u64);
    /// A request was skipped, because its volume is not replayed.
    fn skipped(&mut self);
}

/// Observes a pass, or a part of a pass, that is not measured.
pub struct Unmeasured;

impl Observer for Unmeasured {
    fn announced(&mut self, _: usize, _: &Request, _: &[Span]) {}

    fn served(&mut self, _: &ServedRequest, _: &Simulator) {}

    fn answered(&mut self, _: usize, _: Op, _: u64) {}

    fn skipped(&mut self) {}
}

/// Counters of the measured pass.
pub struct PassCounters {
    /// Service times.
    pub service: ByOp<Latencies>,
    /// The parts of the service times that are not under cause host.
    pub increment: ByOp<Latencies>,
    /// Response times, if requests queue.
    pub response: Option<ByOp<Latencies>>,
    /// Takes the samples of the series, if there is one.
    pub sampler: Option<Sampler>,
    counts: TracePart,
    not_measured: u64,
    other_volume: u64,
    touched: TouchedPages,
}

impl PassCounters {
    /// Counters at zero. `not_measured` requests of the pass were served before.
    pub fn new(
        logical_pages: u32,
        has_responses: bool,
        interval: Option<Interval>,
        not_measured: u64,
    ) -> PassCounters {
        PassCounters {
            service: ByOp::default(),
            increment: ByOp::default(),
            response: has_responses.then(ByOp::default),
            sampler: interval.map(Sampler::new),
            counts: TracePart::default(),
            not_measured,
            other_volume: 0,
            touched: TouchedPages::new(logical_pages),
        }
    }

    #[inline]
    fn count(&mut self, request: &Request, spans: &[Span]) {
        let counts = &mut self.counts;
        counts.preflushes += u64::from(request.flags.contains(Flags::PREFLUSH));
        counts.fua += u64::from(request.flags.contains(Flags::FUA));
        let (requests, bytes) = match request.op {
            Op::Read => (&mut counts.reads, Some(&mut counts.read_bytes)),
            Op::Write => (&mut counts.writes, Some(&mut counts.written_bytes)),
            Op::Trim => (&mut counts.trims, Some(&mut counts.trimmed_bytes)),
            Op::Flush => (&mut counts.flushes, None),
        };
        *requests += 1;
        if let Some(bytes) = bytes {
            *bytes = bytes.saturating_add(request.bytes);
        }
        let of_no_page = request.op == Op::Trim && spans.is_empty();
        counts.trims_of_no_page += u64::from(of_no_page);
    }

    /// The number of requests served.
    pub fn requests_served(&self) -> u64 {
        self.service.count()
    }

    /// The requests of the pass, once the trace has been read to its end.
    pub fn trace_part(&self, name: String, format: String, read: &ReadTrace) -> TracePart {
        let skipped = &read.skipped;
        let reasons = skipped.iter().map(|(why, count)| (why.to_owned(), count.into()));
        let mut reasons: Map<_, _> = reasons.collect();
        let here = [
            (OTHER_VOLUME, self.other_volume),
            (NOT_MEASURED, self.not_measured),
            (NOT_SERVED, read.left),
        ];
        for (why, count) in here.into_iter().filter(|&(_, count)| count > 0) {
            reasons.insert(why.to_owned(), count.into());
        }
        let skipped_here = self.other_volume + self.not_measured + read.left;
        TracePart {
            name,
            format,
            requests: self.requests_served() + skipped_here + skipped.total(),
            footprint_pages: self.touched.members,
            backward_times: skipped.backward_times,
            skipped: reasons,
            ..self.counts.clone()
        }
    }
}

impl Observer for PassCounters {
    /// Marks the pages now, not when they are served: within a batch the marks are independent, so
    /// their cache misses overlap.
    #[inline]
    fn announced(&mut self, _: usize, request: &Request, spans: &[Span]) {
        if matches!(request.op, Op::Read | Op::Write) {
            spans.iter().for_each(|span| self.touched.add(span));
        }
    }

    #[inline(always)]
    fn served(&mut self, served: &ServedRequest, on: &Simulator) {
        let ServedRequest { request, spans, took, .. } = *served;
        self.count(request, spans);
        self.service.of(request.op).record(took.service_ns);
        self.increment.of(request.op).record(took.increment_ns);
        if let Some(sampler) = &mut self.sampler
            && sampler.is_due()
        {
            take_sample(sampler, on);
        }
    }

    #[inline]
    fn answered(&mut self, _: usize, op: Op, response_ns: u64) {
        if let Some(responses) = &mut self.response {
            responses.of(op).record(response_ns);
        }
    }

    fn skipped(&mut self) {
        self.other_volume += 1;
    }
}

#[cold]
fn take_sample(sampler: &mut Sampler, on: &Simulator) {
    let counters = CounterSnapshot::of(on.nand(), on.host_pages().written, on.time_ns());
    sampler.sample(counters, on.ftl().free_blocks(), on.ftl().gauges());
}

/// Counters of the measured pass: of all requests, and of those of each load.
pub struct MeasuredRequests {
    /// Of all requests.
    pub all: PassCounters,
    /// Of each of several loads.
    pub tenants: Vec<TenantCounters>,
}

impl Observer for MeasuredRequests {
    #[inline]
    fn announced(&mut self, load: usize, request: &Request, spans: &[Span]) {
        self.all.announced(load, request, spans);
        if let Some(tenant) = self.tenants.get_mut(load) {
            tenant.requests.announced(load, request, spans);
        }
    }

    #[inline]
    fn served(&mut self, served: &ServedRequest, on: &Simulator) {
        self.all.served(served, on);
        if let Some(tenant) = self.tenants.get_mut(served.load) {
            tenant.served(served, on);
        }
    }

    #[inline]
    fn answered(&mut self, load: usize, op: Op, response_ns: u64) {
        self.all.answered(load, op, response_ns);
        if let Some(tenant) = self.tenants.get_mut(load) {
            tenant.requests.answered(load, op, response_ns);
        }
    }

    fn skipped(&mut self) {
        self.all.skipped();
    }
}

/// Counters of the requests of a load.
pub struct TenantCounters {
    /// The requests.
    pub requests: PassCounters,
    /// The pages that they requested.
    pub pages: HostPages,
}

impl TenantCounters {
    fn served(&mut self, served: &ServedRequest, on: &Simulator) {
        self.requests.served(served, on);
        let pages: u64 = served.spans.iter().map(|span| u64::from(span.pages)).sum();
        match served.request.op {
            Op::Read => self.pages.read += pages,
            Op::Write => self.pages.written += pages,
            Op::Trim => self.pages.trimmed += pages,
            Op::Flush => {}
        }
    }
}

/// The pages that were read or written, one bit each.
struct TouchedPages {
    words: Vec<u64>,
    members: u64,
}

impl TouchedPages {
    fn new(pages: u32) -> TouchedPages {
        TouchedPages { words: vec![0; pages.div_ceil(u64::BITS) as usize], members: 0 }
    }

    #[inline]
    fn add(&mut self, span: &Span) {
        for page in span.first..span.first + span.pages {
            let word = &mut self.words[(page / u64::BITS) as usize];
            let bit = 1 << (page % u64::BITS);
            self.members += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_once() {
        let mut bitmap = TouchedPages::new(200);
        for (first, pages) in [(0, 1), (60, 10), (65, 10), (199, 1), (0, 1)] {
            bitmap.add(&Span { first, pages, head: 1, tail: 1 });
        }
        assert_eq!(bitmap.members, 1 + 15 + 1);
    }
}
