//! What is observed in the measured pass: requests as they come, times as they are served.

use serde_json::Map;
use trace::{Flags, Op, Replay, Request};

use crate::clock::serial::Server;
use crate::host::Span;
use crate::machine::Machine;
use crate::result::TracePart;
use crate::series::{Reading, Sampler};
use crate::stats::{ByOp, Latencies};

/// The reason under which requests of volumes not replayed are skipped.
pub const OTHER_VOLUME: &str = "other volume";

/// Somebody who looks on while a pass is served.
pub trait Observer {
    /// A request will be served, or skipped, soon.
    fn comes(&mut self, request: &Request, spans: &[Span]);
    /// It was served, and took so long.
    fn served(&mut self, request: &Request, spans: &[Span], service_ns: u64, on: &Machine);
    /// It is of a volume that is not replayed.
    fn skipped(&mut self);
}

/// Nobody looks on: a warm-up.
pub struct Unmeasured;

impl Observer for Unmeasured {
    fn comes(&mut self, _: &Request, _: &[Span]) {}
    fn served(&mut self, _: &Request, _: &[Span], _: u64, _: &Machine) {}
    fn skipped(&mut self) {}
}

/// Counters of the measured pass.
pub struct Measure {
    /// Service times.
    pub service: ByOp<Latencies>,
    /// Response times and the server that makes them, under open replay.
    pub response: Option<(Server, ByOp<Latencies>)>,
    /// Samples, if asked for.
    pub sampler: Option<Sampler>,
    counts: TracePart,
    skipped_here: u64,
    touched: Bitmap,
}

impl Measure {
    /// Counters at zero, for a device of so many logical pages.
    pub fn new(logical_pages: u32, open_replay: bool, interval: Option<u64>) -> Measure {
        Measure {
            service: ByOp::default(),
            response: open_replay.then(Default::default),
            sampler: interval.map(Sampler::new),
            counts: TracePart::default(),
            skipped_here: 0,
            touched: Bitmap::new(logical_pages),
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

    /// Requests served.
    pub fn requests_served(&self) -> u64 {
        self.service.count()
    }

    /// What the trace asked for, now that it is read to its end.
    pub fn trace_part(&self, name: &str, format: &str, replay: &Replay) -> TracePart {
        let mut skipped: Map<_, _> =
            replay.skipped().iter().map(|(why, count)| (why.to_owned(), count.into())).collect();
        if self.skipped_here > 0 {
            skipped.insert(OTHER_VOLUME.to_owned(), self.skipped_here.into());
        }
        TracePart {
            name: name.to_owned(),
            format: format.to_owned(),
            requests: self.requests_served() + self.skipped_here + replay.skipped().total(),
            footprint_pages: self.touched.members,
            backward_times: replay.skipped().backward_times,
            skipped,
            ..self.counts.clone()
        }
    }
}

impl Observer for Measure {
    /// Marks the pages here and not when they are served: the marks of a batch do not wait for each
    /// other, so their cache misses overlap.
    #[inline]
    fn comes(&mut self, request: &Request, spans: &[Span]) {
        if matches!(request.op, Op::Read | Op::Write) {
            spans.iter().for_each(|span| self.touched.add(span));
        }
    }

    #[inline]
    fn served(&mut self, request: &Request, spans: &[Span], service_ns: u64, on: &Machine) {
        self.count(request, spans);
        self.service.of(request.op).record(service_ns);
        if let Some((server, responses)) = &mut self.response {
            let response_ns = server.serve(request.time_ns, service_ns);
            responses.of(request.op).record(response_ns);
        }
        if let Some(sampler) = &mut self.sampler
            && sampler.is_due()
        {
            let reading = Reading::of(on.nand(), on.host_pages().written, on.time_ns());
            sampler.sample(reading, on.ftl().free_blocks());
        }
    }

    fn skipped(&mut self) {
        self.skipped_here += 1;
    }
}

/// Pages seen, one bit each.
struct Bitmap {
    words: Vec<u64>,
    members: u64,
}

impl Bitmap {
    fn new(pages: u32) -> Bitmap {
        Bitmap { words: vec![0; pages.div_ceil(u64::BITS) as usize], members: 0 }
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
    fn a_page_counts_once() {
        let mut bitmap = Bitmap::new(200);
        for (first, pages) in [(0, 1), (60, 10), (65, 10), (199, 1), (0, 1)] {
            bitmap.add(&Span { first, pages, head: 1, tail: 1 });
        }
        assert_eq!(bitmap.members, 1 + 15 + 1);
    }
}
