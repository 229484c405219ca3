//! Requests in a drive: when each is issued, and when it is answered.
//!
//! ```text
//! open     issue = time of the request / speed
//! closed   issue = the earliest answer of the load that has not issued a request yet; at first 0
//! ```
//! The FTL serves requests in the order in which they are issued. Of requests issued at the same
//! time, those of open loads come first, in the order of the loads; then those of closed loads.

use drive::{Answer, Drive, HostRequest, Issued, Profile, Usage};
use nand::{Geometry, Timing};
use trace::{Flags, Request};

use crate::clock::drive_times::DriveTimes;
use crate::clock::issue_times::IssueTimes;
use crate::clock::open_rates::OpenRates;
use crate::config::replay::Replay;

/// A drive and the loads that use it.
pub struct DriveQueue {
    /// The drive, whose journal may be kept.
    pub drive: Drive,
    loads: Vec<IssueTimes>,
    /// Answers that nobody has taken.
    answers: Vec<Answer>,
    times: DriveTimes,
    /// Those of the open loads.
    pub rates: OpenRates,
}

/// What a drive did.
#[derive(Debug)]
pub struct DriveRecord {
    /// What its parts did.
    pub usage: Usage,
    /// Where the response times went.
    pub times: DriveTimes,
}

impl DriveQueue {
    /// An idle drive at time 0 for loads with these replays. `has_course` demands the course of
    /// response times.
    pub fn new(
        profile: &Profile,
        geometry: &Geometry,
        chip: Timing,
        replays: &[Replay],
        has_course: bool,
    ) -> DriveQueue {
        DriveQueue {
            drive: Drive::new(profile, geometry, chip),
            loads: replays.iter().map(|&replay| IssueTimes::of(replay)).collect(),
            answers: Vec::new(),
            times: DriveTimes::new(has_course, 0),
            rates: OpenRates::default(),
        }
    }

    /// The load whose next request is issued next. `open` is the open load whose next request is
    /// issued first, with its issue time. Time advances until a closed load can issue, but not
    /// beyond that time.
    pub fn next_load(&mut self, open: Option<(u64, usize)>) -> Option<usize> {
        let has_closed = self.loads.iter().any(|load| matches!(load, IssueTimes::Closed(_)));
        loop {
            match (self.first_closed(), open) {
                (Some((issue_ns, _)), Some((open_ns, load))) if open_ns <= issue_ns => {
                    return Some(load);
                }
                (Some((_, load)), _) => return Some(load),
                (None, _) if !has_closed => return open.map(|(_, load)| load),
                (None, _) => {
                    let until_ns = open.map_or(u64::MAX, |(open_ns, _)| open_ns);
                    if !self.await_answer(until_ns) {
                        return open.map(|(_, load)| load);
                    }
                }
            }
        }
    }

    /// The closed load that can issue first, and when.
    fn first_closed(&self) -> Option<(u64, usize)> {
        let slots = self.loads.iter().enumerate().filter_map(|(load, replay)| match replay {
            IssueTimes::Closed(slots) => Some((*slots.front()?, load)),
            IssueTimes::Open(_) => None,
        });
        slots.min()
    }

    /// Lets time pass until the next answer, but not beyond `until_ns`. Returns whether there was
    /// one.
    fn await_answer(&mut self, until_ns: u64) -> bool {
        let Some(answer) = self.drive.next_answer(until_ns) else { return false };
        match &mut self.loads[answer.request.load] {
            IssueTimes::Closed(slots) => slots.push_back(answer.answered_ns),
            IssueTimes::Open(_) => self.rates.answered(answer.answered_ns),
        }
        self.times.record(&answer);
        self.answers.push(answer);
        true
    }

    /// Issues a request, with the flash operations that the FTL made of it and the time that it
    /// took in memory above the flash.
    pub fn submit(&mut self, load: usize, request: &Request, issued: &[Issued], memory_ns: u64) {
        let issue_ns = self.issue_ns(load, request.time_ns);
        let force = request.flags.contains(Flags::FUA);
        let request = HostRequest { op: request.op, bytes: request.bytes, force, memory_ns, load };
        self.drive.submit(issue_ns, request, issued);
    }

    /// When a load issues its next request. Time passes until then.
    fn issue_ns(&mut self, load: usize, time_ns: u64) -> u64 {
        loop {
            match &mut self.loads[load] {
                IssueTimes::Open(speed) => {
                    // A trace may have times that go back.
                    let issue_ns = speed.issue_ns(time_ns).max(self.drive.now_ns());
                    while self.await_answer(issue_ns) {}
                    self.rates.issued(issue_ns);
                    return issue_ns;
                }
                IssueTimes::Closed(slots) if !slots.is_empty() => {
                    return slots.pop_front().expect("not empty").max(self.drive.now_ns());
                }
                _ => assert!(self.await_answer(u64::MAX), "a closed load waits for no request"),
            }
        }
    }

    /// Takes the answers that have not been taken yet.
    #[inline]
    pub fn take_answers(&mut self, take: impl FnMut(Answer)) {
        self.answers.drain(..).for_each(take);
    }

    /// Lets the drive finish everything, and returns what it did. Then it counts from zero; the
    /// answers are still to be taken.
    pub fn finish(&mut self) -> DriveRecord {
        self.drive.finish();
        while self.await_answer(u64::MAX) {}
        let times = self.times.take(self.drive.now_ns());
        let usage = self.drive.usage();
        self.drive.reset_usage();
        DriveRecord { usage, times }
    }
}
