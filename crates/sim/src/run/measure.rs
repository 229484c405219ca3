//! Observation of a pass over the trace: counts of its requests, and times of serving them.

use std::ops::Range;

use ftl::Span;
use serde_json::Map;
use trace::Op;

use crate::config::values::Interval;
use crate::input::batch::{Batch, CutRequest};
use crate::input::request_counts::RequestCounts;
use crate::input::source::ReadTrace;
use crate::result::counts::HostPages;
use crate::result::latencies::LatenciesByOp;
use crate::result::series::{CounterSnapshot, Sampler};
use crate::result::trace_part::{NOT_SERVED, TracePart};
use crate::run::simulator::{Served, Simulator};
use crate::run::write_course::WriteCourse;

/// The reason for skipping requests before the measured part of the pass.
pub const NOT_MEASURED: &str = "not measured";

/// Observes a pass.
pub trait Observer {
    /// The requests of a batch will be served now.
    fn announced(&mut self, _batch: &Batch) {}
    /// The number of requests that may be served before it looks at the simulator.
    fn until_look(&self) -> u64 {
        u64::MAX
    }
    /// Requests of a load were served, and each took this time. There are no more of them than
    /// [`until_look`](Self::until_look) said.
    fn served(
        &mut self,
        _load: usize,
        _op: Op,
        _took: Served,
        _requests: u64,
        _on: &mut Simulator,
    ) {
    }
    /// A request of a load was answered this long after its issue. Only requests that queue are.
    fn answered(&mut self, _load: usize, _op: Op, _response_ns: u64) {}
}

/// Observes a pass, or a part of a pass, that is not measured.
pub struct Unmeasured;

impl Observer for Unmeasured {}

/// Counters of the measured pass.
pub struct PassCounters {
    /// Service times.
    pub service: LatenciesByOp,
    /// The parts of the service times that are not under cause host.
    pub increment: LatenciesByOp,
    /// Response times, if requests queue.
    pub response: Option<LatenciesByOp>,
    /// Takes the samples of the series, if there is one.
    pub sampler: Option<Sampler>,
    /// Whether write amplification still moves.
    pub course: WriteCourse,
    /// Requests until the sampler or the course looks at the simulator, and from the last look to
    /// the next one.
    until_look: u64,
    between_looks: u64,
    counts: RequestCounts,
    not_measured: u64,
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
        let mut counters = PassCounters {
            service: LatenciesByOp::default(),
            increment: LatenciesByOp::default(),
            response: has_responses.then(LatenciesByOp::default),
            sampler: interval.map(Sampler::new),
            course: WriteCourse::default(),
            until_look: 0,
            between_looks: 0,
            counts: RequestCounts::default(),
            not_measured,
            touched: TouchedPages::new(logical_pages),
        };
        counters.plan_look();
        counters
    }

    fn plan_look(&mut self) {
        let sampler = self.sampler.as_ref().map_or(u64::MAX, Sampler::until_due);
        self.between_looks = sampler.min(self.course.until_due());
        self.until_look = self.between_looks;
    }

    /// Looks at the simulator.
    #[cold]
    fn look(&mut self, on: &mut Simulator) {
        if let Some(sampler) = &mut self.sampler
            && sampler.count(self.between_looks)
        {
            take_sample(sampler, on);
        }
        self.course.served(self.between_looks, on);
        self.plan_look();
    }

    /// Marks the pages of a request that reads or writes.
    #[inline]
    fn mark(&mut self, op: Op, spans: &[Span]) {
        if matches!(op, Op::Read | Op::Write) {
            self.touched.add_all(spans);
        }
    }

    /// Records the times of requests that were served.
    #[inline(always)]
    fn record(&mut self, op: Op, took: Served, requests: u64) {
        self.service.record(op, took.service_ns, requests);
        self.increment.record(op, took.increment_ns, requests);
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
        let counts = &self.counts;
        let here = [(NOT_MEASURED, self.not_measured), (NOT_SERVED, read.left)];
        for (why, count) in here.into_iter().filter(|&(_, count)| count > 0) {
            reasons.insert(why.to_owned(), count.into());
        }
        let skipped_here = self.not_measured + read.left;
        TracePart {
            name,
            format,
            requests: self.requests_served() + skipped_here + skipped.total(),
            footprint_pages: self.touched.members,
            backward_times: skipped.backward_times,
            skipped: reasons,
            reads: counts.requests(Op::Read),
            writes: counts.requests(Op::Write),
            trims: counts.requests(Op::Trim),
            flushes: counts.requests(Op::Flush),
            read_bytes: counts.bytes(Op::Read),
            written_bytes: counts.bytes(Op::Write),
            trimmed_bytes: counts.bytes(Op::Trim),
            trims_of_no_page: counts.trims_of_no_page,
            preflushes: counts.preflushes,
            fua: counts.fua,
        }
    }
}

impl Observer for PassCounters {
    /// Marks the pages now, not when they are served: within a batch the marks are independent, so
    /// their cache misses overlap.
    fn announced(&mut self, batch: &Batch) {
        self.counts.add_all(batch.counts());
        match batch.counts().requests(Op::Trim) {
            0 => self.mark(Op::Write, batch.spans()),
            _ => batch.iter().for_each(|cut| self.mark(cut.request.op, cut.spans)),
        }
    }

    fn until_look(&self) -> u64 {
        self.until_look
    }

    #[inline(always)]
    fn served(&mut self, _: usize, op: Op, took: Served, requests: u64, on: &mut Simulator) {
        self.record(op, took, requests);
        self.until_look -= requests;
        if self.until_look == 0 {
            self.look(on);
        }
    }

    #[inline]
    fn answered(&mut self, _: usize, op: Op, response_ns: u64) {
        if let Some(responses) = &mut self.response {
            responses.record(op, response_ns, 1);
        }
    }
}

fn take_sample(sampler: &mut Sampler, on: &Simulator) {
    let report = on.ftl().report();
    let counters = CounterSnapshot::of(on.nand(), on.entered(&report).written, on.time_ns());
    sampler.sample(counters, report.free_blocks, report.gauges);
}

/// Counters of the measured pass: of all requests, and of those of each load.
pub struct MeasuredRequests {
    /// Of all requests.
    pub all: PassCounters,
    /// Of each of several loads.
    pub tenants: Vec<TenantCounters>,
}

impl Observer for MeasuredRequests {
    fn announced(&mut self, batch: &Batch) {
        self.all.announced(batch);
        for announced in batch.iter() {
            if let Some(tenant) = self.tenants.get_mut(announced.load) {
                tenant.count(&announced);
            }
        }
    }

    fn until_look(&self) -> u64 {
        self.all.until_look()
    }

    #[inline]
    fn served(&mut self, load: usize, op: Op, took: Served, requests: u64, on: &mut Simulator) {
        self.all.served(load, op, took, requests, on);
        if let Some(tenant) = self.tenants.get_mut(load) {
            tenant.requests.record(op, took, requests);
        }
    }

    #[inline]
    fn answered(&mut self, load: usize, op: Op, response_ns: u64) {
        self.all.answered(load, op, response_ns);
        if let Some(tenant) = self.tenants.get_mut(load) {
            tenant.requests.answered(load, op, response_ns);
        }
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
    fn count(&mut self, announced: &CutRequest) {
        let CutRequest { request, spans, .. } = *announced;
        self.requests.counts.add(request, spans.is_empty());
        self.requests.mark(request.op, spans);
        let pages: u64 = spans.iter().map(|span| u64::from(span.pages)).sum();
        match request.op {
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
    fn add_all(&mut self, spans: &[Span]) {
        let (words, mut added) = (&mut self.words[..], 0);
        for span in spans {
            // Most spans have a single page.
            let word = &mut words[(span.first / u64::BITS) as usize];
            let bit = 1 << (span.first % u64::BITS);
            added += u64::from(*word & bit == 0);
            *word |= bit;
            if span.pages > 1 {
                added += add_pages(words, span.first + 1..span.first + span.pages);
            }
        }
        self.members += added;
    }
}

/// Sets the bits of these pages, those of a word at once. Returns the number of bits that were not
/// set.
#[inline(never)]
fn add_pages(words: &mut [u64], pages: Range<u32>) -> u64 {
    let (mut page, mut added) = (pages.start, 0);
    while page < pages.end {
        let end = pages.end.min((page | (u64::BITS - 1)) + 1);
        let bits = u64::MAX >> (u64::BITS - (end - page)) << (page % u64::BITS);
        let word = &mut words[(page / u64::BITS) as usize];
        added += u64::from((bits & !*word).count_ones());
        *word |= bits;
        page = end;
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_once() {
        let mut bitmap = TouchedPages::new(200);
        let spans = [(0, 1), (60, 10), (65, 10), (199, 1), (0, 1), (64, 64), (63, 66)]
            .map(|(first, pages)| Span { first, pages, head: 1, tail: 1, stream: 0 });
        bitmap.add_all(&spans);
        assert_eq!(bitmap.members, 1 + 15 + 1 + 54);
    }
}
