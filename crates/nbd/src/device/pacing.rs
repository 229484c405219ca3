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
use crate::device::watch::sink_of;

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
    seen: Histogram<u64>,
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

/// What the drive says of a request.
#[derive(Clone, Copy, Debug)]
pub struct DriveAnswer {
    /// When it answered.
    pub due: Instant,
    /// How long that took.
    pub response: Duration,
}

/// A request whose answer has not left.
#[derive(Default)]
struct Promise {
    /// When the drive answered.
    given: Option<DriveAnswer>,
    /// The answer, if it is ready.
    ready: Option<Ready>,
}

/// Mean and percentiles of some times.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

impl Times {
    fn of(times: &Histogram<u64>) -> Times {
        let quantile = |share| Duration::from_nanos(times.value_at_quantile(share));
        let mean = Duration::from_nanos(times.mean() as u64);
        Times { mean, p50: quantile(0.5), p99: quantile(0.99) }
    }
}

/// How well a pace was kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Answers that left.
    pub answers: u64,
    /// How late they left.
    pub late: Times,
    /// The response times of the drive.
    pub responses: Times,
    /// The response times of the drive, each with the lateness of its answer.
    pub seen: Times,
    /// The time that a round trip over a socket takes.
    pub floor: Duration,
    /// The share of answers that were due within that time. Nobody can keep such a pace.
    pub below_floor: f64,
}

/// Nanoseconds of an hour.
const HOUR_NS: u64 = 3_600_000_000_000;

/// The share of answers below the floor with which a pace still tells something.
const BELOW_FLOOR_MAX: f64 = 0.01;

/// How much more than those of the drive the mean, the median and the 99th percentile that clients
/// see may be, as a share.
const EXCESS_MAX: f64 = 0.1;

impl Kept {
    /// Whether the response times that clients see can be those of the drive. They cannot if
    /// answers are due before a round trip over the socket has ended, or if answers leave so late
    /// that mean, median or 99th percentile change.
    pub fn is_vouched(&self) -> bool {
        self.below_floor <= BELOW_FLOOR_MAX && self.is_in_time()
    }

    /// Whether lateness changes neither mean nor median nor 99th percentile much.
    pub fn is_in_time(&self) -> bool {
        let (seen, own) = (self.seen, self.responses);
        let pairs = [(seen.mean, own.mean), (seen.p50, own.p50), (seen.p99, own.p99)];
        pairs.into_iter().all(|(seen, own)| seen <= own.mul_f64(1.0 + EXCESS_MAX))
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
            seen: histogram(),
            floor,
            below_floor: 0,
        }
    }

    /// Records the operations of a chip from now on, and forgets those that were recorded.
    pub fn attach(&mut self, nand: &mut Nand) {
        sink_of(nand).drive = Some(Recorder::default());
    }

    /// Issues a request that was performed, with the operations since the last one.
    pub fn issue(&mut self, nand: Option<&mut Nand>, performed: Performed) -> Ticket {
        let Performed { op, bytes, force, came } = performed;
        let mut operations = Vec::new();
        if let Some(recorder) = nand.and_then(|nand| sink_of(nand).drive.as_mut()) {
            recorder.drain_to(&mut operations);
        }
        self.issued += 1;
        let request = HostRequest { op, bytes, force, memory_ns: 0, load: self.issued };
        let came_ns = (came - self.began).as_nanos() as u64;
        self.drive.submit(came_ns.max(self.drive.now_ns()), request, &operations);
        self.tickets.insert(self.issued, Promise::default());
        self.issued
    }

    /// An answer is ready. Returns it with that of the drive, if the drive has answered, too.
    pub fn ready(&mut self, ticket: Ticket, ready: Ready) -> Option<(DriveAnswer, Ready)> {
        let promise = self.tickets.get_mut(&ticket)?;
        match promise.given {
            Some(given) => {
                self.tickets.remove(&ticket);
                Some((given, ready))
            }
            None => {
                promise.ready = Some(ready);
                None
            }
        }
    }

    /// The answers of the drive until now, as far as they are ready.
    pub fn answers(&mut self, now: Instant) -> Vec<(DriveAnswer, Ready)> {
        let now_ns = (now - self.began).as_nanos() as u64;
        let mut answers = Vec::new();
        while let Some(answer) = self.drive.next_answer(now_ns.max(self.drive.now_ns())) {
            let given = DriveAnswer {
                due: self.began + Duration::from_nanos(answer.answered_ns),
                response: Duration::from_nanos(answer.response_ns()),
            };
            let ticket = answer.request.load;
            let Some(promise) = self.tickets.get_mut(&ticket) else { continue };
            promise.given = Some(given);
            if let Some(ready) = promise.ready.take() {
                self.tickets.remove(&ticket);
                answers.push((given, ready));
            }
        }
        answers
    }

    /// An answer for which the drive took `response` has left, this much after its time.
    pub fn left(&mut self, response: Duration, late: Duration) {
        let record = |times: &mut Histogram<u64>, time: Duration| {
            times.saturating_record(time.as_nanos() as u64);
        };
        record(&mut self.late, late);
        record(&mut self.responses, response);
        record(&mut self.seen, response + late);
        self.below_floor += u64::from(response < self.floor);
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
        let answers = self.responses.len();
        Kept {
            answers,
            late: Times::of(&self.late),
            responses: Times::of(&self.responses),
            seen: Times::of(&self.seen),
            floor: self.floor,
            below_floor: self.below_floor as f64 / answers.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use nand::ChipModel;
    use spec::Spec;

    use super::*;

    fn pacing(floor_us: u64) -> Pacing {
        let chip = ChipModel::from_spec(&Spec::parse("slc-fast2010").unwrap()).unwrap();
        let geometry = chip.geometry(8).unwrap();
        let floor = Duration::from_micros(floor_us);
        Pacing::new(&"ideal".parse().unwrap(), &geometry, chip.timing, floor)
    }

    /// Whether a pace is vouched for whose drive takes 100 us for each of 1,000 answers. Every
    /// `each`-th of them leaves `late_us` late.
    fn is_vouched(each: u32, late_us: u64, floor_us: u64) -> bool {
        let mut pacing = pacing(floor_us);
        for answer in 1..=1000 {
            let late_us = if answer % each == 0 { late_us } else { 0 };
            pacing.left(Duration::from_micros(100), Duration::from_micros(late_us));
        }
        pacing.kept().is_vouched()
    }

    #[test]
    fn a_pace_is_vouched_for_if_clients_see_the_times_of_the_drive() {
        assert!(is_vouched(1, 0, 20));
        assert!(is_vouched(1, 9, 20), "each is a little late");
        assert!(!is_vouched(1, 20, 20), "the median is a fifth too high");
        assert!(!is_vouched(50, 200, 20), "the 99th percentile is too high");
        assert!(!is_vouched(100, 4200, 20), "the mean is too high: 142 us");
        assert!(is_vouched(500, 4200, 20), "mean 108 us, and nobody promises more than p99");
        assert!(!is_vouched(1, 0, 110), "a round trip takes longer than the drive");
    }

    #[test]
    fn times_have_their_percentiles_and_an_answer_below_the_floor_counts_however_late_it_is() {
        let mut pacing = pacing(30);
        let micros = Duration::from_micros;
        (1..=100).for_each(|us| pacing.left(micros(us), micros(1000)));
        let Kept { responses, seen, late, below_floor, answers, .. } = pacing.kept();
        assert_eq!([responses.p50, responses.p99].map(|it| it.as_micros()), [50, 99]);
        assert_eq!([seen.p50, late.p50].map(|it| it.as_micros()), [1050, 1000]);
        assert_eq!((answers, below_floor), (100, 0.29));
    }
}
