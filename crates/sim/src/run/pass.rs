//! A pass over the traces: the one loop in which requests are served.
//!
//! ```text
//! batch ─► prefetch ─► serve: a request, perhaps with writes of single pages that follow
//!                        ├─► observer: counters of the pass
//!                        └─► followers ─► queue or drive ─► answers ─► observer
//!                                      ├─► timeline
//!                                      ├─► operation log
//!                                      └─► film
//! ```
//! A pass without followers does not ask the chip for its operations.

use std::ops::Range;

use drive::recorded::Recorded;
use ftl::Span;
use trace::{Op, Request};

use crate::clock::drive_queue::{DriveQueue, DriveRecord};
use crate::clock::open_rates::OpenRates;
use crate::clock::request_queue::RequestQueue;
use crate::error::Result;
use crate::input::batch::{Batch, CutRequest, CutRequests};
use crate::input::request_order::RequestOrder;
use crate::progress::Stage;
use crate::run::filmed::Filmed;
use crate::run::measure::Observer;
use crate::run::operation_log::OpLog;
use crate::run::simulator::{Served, Simulator};
use crate::run::timeline::Timeline;
use crate::run::timeline::tracker::IssuedRequest;

/// A pass over the traces.
pub(super) struct Pass<'a, 'out> {
    /// What the pass is for.
    pub stage: Stage,
    /// The requests that are left.
    pub order: RequestOrder<'a>,
    /// The requests that are served next.
    pub batch: Batch,
    /// What follows each request.
    pub followers: Followers<'out>,
    /// Requests of earlier batches.
    pub delivered: u64,
}

/// What follows each request with its flash operations.
#[derive(Default)]
pub(super) struct Followers<'out> {
    /// The queue, if requests have to wait.
    pub queue: Option<RequestQueue>,
    /// The operation log, if there is one.
    pub log: Option<OpLog<'out>>,
    /// The timeline of the drive, if there is one.
    pub timeline: Option<Timeline<'out>>,
    /// The film, if one is made.
    pub film: Option<Filmed<'out>>,
    /// The operations of the last requests that were served.
    operations: Recorded,
}

/// What a queue did.
#[derive(Debug)]
pub struct QueueRecord {
    /// What the drive did, if requests wait in one.
    pub drive: Option<DriveRecord>,
    /// The rates of open loads.
    pub rates: OpenRates,
}

/// A request that was served.
struct ServedRequest<'a> {
    load: usize,
    request: &'a Request,
    spans: &'a [Span],
    took: Served,
}

impl<'a, 'out> Pass<'a, 'out> {
    /// A pass over the requests of an order, which wait in this queue, if they have to.
    pub fn new(
        stage: Stage,
        order: RequestOrder<'a>,
        queue: Option<RequestQueue>,
    ) -> Pass<'a, 'out> {
        let followers = Followers { queue, ..Followers::default() };
        Pass { stage, order, batch: Batch::default(), followers, delivered: 0 }
    }

    /// Reads the next requests, at most `left` of them. Returns their number; 0 at the end.
    pub fn fill(&mut self, left: u64) -> Result<usize> {
        self.order.fill(&mut self.batch, left, &mut self.followers.queue)
    }

    /// Serves the batch after prefetching for all of it.
    pub fn serve(&mut self, simulator: &mut Simulator, observer: &mut impl Observer) -> Result<()> {
        let Pass { batch, followers, delivered: before, .. } = self;
        if batch.counts().requests(Op::Write) + batch.counts().requests(Op::Trim) > 0 {
            // Once for a batch. If more blocks fail in it than are left, the rest is in memory.
            simulator.nand().expect_writable().map_err(ftl::Error::from)?;
        }
        simulator.prefetch(batch.spans(), batch.counts().requests(Op::Read) > 0);
        observer.announced(batch);
        let takes_joined = !followers.want_each_request();
        let needs_operations = followers.need_operations();
        let mut requests = batch.iter();
        while let Some(CutRequest { load, request, spans }) = requests.next() {
            let next = match takes_joined && simulator.joins_writes() {
                true => before_look(requests.singles(), observer),
                false => &[],
            };
            let (took, joined) = simulator.serve(request, spans, next)?;
            observer.served(load, request.op, took, 1, simulator);
            if needs_operations {
                let number = *before + requests.passed() as u64;
                let served = ServedRequest { load, request, spans, took };
                followers.follow(number, &served, joined, simulator, observer)?;
            }
            if joined > 0 {
                pass_joined(&mut requests, joined, simulator, followers, observer);
            }
        }
        *before += self.batch.len() as u64;
        Ok(())
    }

    /// The drive, if there is one.
    pub fn drive(&mut self) -> Option<&mut DriveQueue> {
        self.followers.queue.as_mut()?.drive()
    }

    /// Lets the queue finish everything, if there is one, and returns what it did. It then counts
    /// from zero.
    pub fn finish_queue(&mut self, observer: &mut impl Observer) -> QueueRecord {
        let drive = self.drive().map(|queue| {
            let did = queue.finish();
            deliver(queue, observer);
            did
        });
        let rates = self.followers.queue.as_mut().map(RequestQueue::take_rates);
        QueueRecord { drive, rates: rates.unwrap_or_default() }
    }

    /// Whether so much waits in the queue that it would take all memory.
    pub fn is_swamped(&self) -> bool {
        self.followers.queue.as_ref().is_some_and(RequestQueue::is_swamped)
    }

    /// The number of a request of the batch, counted from 1 in its own trace.
    pub fn number(&self, index: usize) -> u64 {
        let load = self.batch.load(index);
        let later = self.batch.requests().skip(index + 1).filter(|(other, _)| *other == load);
        let delivered = self.order.delivered(load, self.delivered + self.batch.len() as u64);
        delivered - later.count() as u64
    }
}

/// The requests that may be served, with the one before them, before the observer looks.
fn before_look<'a>(next: &'a [Span], observer: &impl Observer) -> &'a [Span] {
    let most = observer.until_look().saturating_sub(1).min(next.len() as u64);
    &next[..most as usize]
}

/// Passes on the writes that were served together with the request before them.
#[inline(never)]
fn pass_joined(
    requests: &mut CutRequests,
    joined: usize,
    simulator: &mut Simulator,
    followers: &mut Followers,
    observer: &mut impl Observer,
) {
    let took = simulator.program_of_a_page();
    if followers.queue.is_none() {
        observer.served(0, Op::Write, took, joined as u64, simulator);
        return requests.skip_singles(joined);
    }
    let issued = followers.operations.issued.len();
    for (left, CutRequest { load, request, spans, .. }) in (1..=joined).rev().zip(requests) {
        observer.served(load, Op::Write, took, 1, simulator);
        let served = ServedRequest { load, request, spans, took };
        let at = issued.saturating_sub(left);
        followers.enqueue(&served, at..(at + 1).min(issued), observer);
    }
}

impl Followers<'_> {
    /// Whether operations must be recorded for any of them. A timeline has a queue.
    #[inline]
    fn need_operations(&self) -> bool {
        self.queue.is_some() || self.need_bulks()
    }

    /// Whether any of them needs operations in bulk, with the owners of pages.
    pub fn need_bulks(&self) -> bool {
        self.log.is_some() || self.film.is_some()
    }

    /// Whether requests must be served one by one: logs and films have the operations of each, and
    /// a timeline shows the FTL after each.
    #[inline]
    fn want_each_request(&self) -> bool {
        self.need_bulks() || self.timeline.is_some()
    }

    /// Follows the request with this number, which was just served, and after it `joined` others.
    /// Each of these made one program.
    #[inline(never)]
    fn follow(
        &mut self,
        number: u64,
        served: &ServedRequest,
        joined: usize,
        simulator: &mut Simulator,
        observer: &mut impl Observer,
    ) -> Result<()> {
        simulator.drain_operations(&mut self.operations);
        let own = self.operations.issued.len().saturating_sub(joined);
        self.enqueue(served, 0..own, observer);
        if let Some((timeline, queue)) = self.timeline.as_mut().zip(self.queue.as_mut())
            && let Some(queue) = queue.drive()
        {
            timeline.issued(IssuedRequest::of(number, simulator), &mut queue.drive)?;
        }
        if let Some(film) = &mut self.film {
            let (op, operations) = (served.request.op, &self.operations.logged);
            film.served(number, op, served.spans, operations, simulator);
        }
        self.log.as_mut().map_or(Ok(()), |log| log.write(number, &self.operations))
    }

    /// Passes a request to the queue, if there is one, with its part of the operations.
    fn enqueue(
        &mut self,
        served: &ServedRequest,
        issued: Range<usize>,
        observer: &mut impl Observer,
    ) {
        let ServedRequest { load, request, took, .. } = *served;
        match &mut self.queue {
            None => {}
            Some(RequestQueue::Serial(queue)) => {
                let response_ns = queue.serve(load, request.time_ns, took.service_ns);
                observer.answered(load, request.op, response_ns);
            }
            Some(RequestQueue::Drive(queue)) => {
                let issued = &self.operations.issued[issued];
                queue.submit(load, request, issued, took.memory_ns);
                deliver(queue, observer);
            }
        }
    }

    /// Ends timeline, log and film. Returns a sentence about the timeline if there is something to
    /// say.
    pub fn finish(&mut self) -> Result<Option<String>> {
        if let Some(log) = &mut self.log {
            log.finish()?;
        }
        if let Some(film) = self.film.take() {
            film.finish();
        }
        match (self.timeline.take(), self.queue.as_mut().and_then(RequestQueue::drive)) {
            (Some(timeline), Some(queue)) => timeline.finish(&mut queue.drive),
            _ => Ok(None),
        }
    }
}

/// Reports the answers that a drive has given.
fn deliver(queue: &mut DriveQueue, observer: &mut impl Observer) {
    queue.take_answers(|answer| {
        observer.answered(answer.request.load, answer.request.op, answer.response_ns());
    });
}
