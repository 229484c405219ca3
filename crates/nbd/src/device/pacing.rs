//! A pace: when a drive with this profile would have answered.
//!
//! Each request goes into the drive's engine at the time at which it came, with the flash
//! operations that the FTL made of it. Its answer leaves when the engine says, or later, when this
//! process cannot keep up. How late answers leave is recorded, because only a pace that is kept
//! tells anything.

use std::time::{Duration, Instant};

use drive::{Drive, HostRequest, Profile, Recorder};
use hdrhistogram::Histogram;
use nand::{Geometry, Nand, Timing};
use rustc_hash::FxHashMap;

use crate::device::client::Ready;

/// The name of a request in the drive.
pub type Ticket = usize;

/// A drive that runs in real time.
pub struct Pacing {
    drive: Drive,
    began: Instant,
    tickets: FxHashMap<Ticket, Promise>,
    issued: Ticket,
    late: Histogram<u64>,
    responses: Histogram<u64>,
    /// The time that a round trip over a socket takes without any work.
    floor: Duration,
    /// Answers that were due within that time.
    below_floor: u64,
}

/// A request that was performed.
#[derive(Clone, Copy, Debug)]
pub struct Performed {
    /// Its kind.
    pub op: trace::Op,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it is durable before it is answered.
    pub force: bool,
    /// When it came.
    pub came: Instant,
}

/// A request whose answer has not left.
#[derive(Default)]
struct Promise {
    /// When the drive answered.
    due: Option<Instant>,
    /// The answer, if it is ready.
    ready: Option<Ready>,
}

/// How well a pace was kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Answers that left.
    pub answers: u64,
    /// The median and the 99th percentile of how late they left.
    pub late: [Duration; 2],
    /// The median and the 99th percentile of the response times of the drive.
    pub responses: [Duration; 2],
    /// The time that a round trip over a socket takes.
    pub floor: Duration,
    /// The share of answers that were due within that time. Nobody can keep such a pace.
    pub below_floor: f64,
}

/// Nanoseconds of an hour.
const HOUR_NS: u64 = 3_600_000_000_000;

/// The share of answers below the floor with which a pace still tells something.
const BELOW_FLOOR_MAX: f64 = 0.01;

impl Kept {
    /// Whether the response times that clients see can be those of the drive. They cannot if
    /// answers are due before a round trip over the socket has ended.
    pub fn is_vouched(&self) -> bool {
        self.below_floor <= BELOW_FLOOR_MAX
    }
}

impl Pacing {
    /// The pace of a drive made of chips with this timing.
    pub fn new(profile: &Profile, geometry: &Geometry, chip: Timing, floor: Duration) -> Pacing {
        // Longer times are recorded as this one.
        let histogram = || {
            Histogram::new_with_bounds(1, HOUR_NS, 3).expect("the bounds and digits are possible")
        };
        Pacing {
            drive: Drive::new(profile, geometry, chip),
            began: Instant::now(),
            tickets: FxHashMap::default(),
            issued: 0,
            late: histogram(),
            responses: histogram(),
            floor,
            below_floor: 0,
        }
    }

    /// Records the operations of a chip from now on, and forgets those that were recorded.
    pub fn attach(&mut self, nand: &mut Nand) {
        nand.attach(None);
        nand.attach(Some(Box::new(Recorder::default())));
    }

    /// Issues a request that was performed, with the operations since the last one.
    pub fn issue(&mut self, nand: Option<&mut Nand>, performed: Performed) -> Ticket {
        let Performed { op, bytes, force, came } = performed;
        let mut operations = Vec::new();
        if let Some(recorder) = nand.and_then(|nand| nand.sink_mut::<Recorder>()) {
            recorder.drain_to(&mut operations);
        }
        self.issued += 1;
        let request = HostRequest { op, bytes, force, memory_ns: 0, load: self.issued };
        let came_ns = (came - self.began).as_nanos() as u64;
        self.drive.submit(came_ns.max(self.drive.now_ns()), request, &operations);
        self.tickets.insert(self.issued, Promise::default());
        self.issued
    }

    /// An answer is ready. Returns it with its time if the drive has answered, too.
    pub fn ready(&mut self, ticket: Ticket, ready: Ready) -> Option<(Instant, Ready)> {
        let promise = self.tickets.get_mut(&ticket)?;
        match promise.due {
            Some(due) => {
                self.tickets.remove(&ticket);
                Some((due, ready))
            }
            None => {
                promise.ready = Some(ready);
                None
            }
        }
    }

    /// The answers of the drive until now, as far as they are ready.
    pub fn answers(&mut self, now: Instant) -> Vec<(Instant, Ready)> {
        let now_ns = (now - self.began).as_nanos() as u64;
        let mut answers = Vec::new();
        while let Some(answer) = self.drive.next_answer(now_ns.max(self.drive.now_ns())) {
            let response = Duration::from_nanos(answer.response_ns());
            self.responses.saturating_record(answer.response_ns());
            self.below_floor += u64::from(response < self.floor);
            let due = self.began + Duration::from_nanos(answer.answered_ns);
            let ticket = answer.request.load;
            let Some(promise) = self.tickets.get_mut(&ticket) else { continue };
            promise.due = Some(due);
            if let Some(ready) = promise.ready.take() {
                self.tickets.remove(&ticket);
                answers.push((due, ready));
            }
        }
        answers
    }

    /// An answer has left, this much after its time.
    pub fn left(&mut self, late: Duration) {
        self.late.saturating_record(late.as_nanos() as u64);
    }

    /// When the drive does something next.
    pub fn next(&self) -> Option<Instant> {
        let at_ns = self.drive.next_event_ns()?;
        Some(self.began + Duration::from_nanos(at_ns))
    }

    /// Forgets all answers that have not left.
    pub fn forget_answers(&mut self) {
        self.tickets.clear();
    }

    /// How well the pace was kept.
    pub fn kept(&self) -> Kept {
        let quantiles = |of: &Histogram<u64>| {
            [0.5, 0.99].map(|share| Duration::from_nanos(of.value_at_quantile(share)))
        };
        let answers = self.responses.len();
        Kept {
            answers: self.late.len(),
            late: quantiles(&self.late),
            responses: quantiles(&self.responses),
            floor: self.floor,
            below_floor: self.below_floor as f64 / answers.max(1) as f64,
        }
    }
}
