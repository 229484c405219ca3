//! Requests in a drive: when each is issued, and when it is answered.
//!
//! ```text
//! open     issue = time of the request / speed
//! closed   issue = the earliest answer of the load that has not issued a request yet; at first 0
//! ```
//! The FTL serves requests in the order in which they are issued. Of requests issued at the same
//! time, those of open loads come first, in the order of the loads; then those of closed loads.

use std::collections::VecDeque;

use drive::{Drive, Entry, HostRequest, Issued, Profile, Usage};
use nand::{Geometry, Timing};
use trace::{Flags, Request};

use crate::clock::drive_times::DriveTimes;
use crate::config::replay::Replay;

/// A drive and the loads that use it.
pub struct DriveQueue {
    drive: Drive,
    loads: Vec<Load>,
    /// Answers that nobody has taken.
    answers: Vec<Answered>,
    times: DriveTimes,
}

/// What a drive did.
#[derive(Debug)]
pub struct DriveRecord {
    /// What its parts did.
    pub usage: Usage,
    /// Where the response times went.
    pub times: DriveTimes,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Its load.
    pub load: usize,
    /// Its kind.
    pub op: trace::Op,
    /// Its response time.
    pub response_ns: u64,
}

/// How a load issues its requests.
enum Load {
    Open(Replay),
    /// The times at which the outstanding requests that are left can be issued.
    Closed(VecDeque<u64>),
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
        let loads = replays.iter().map(|&replay| match replay {
            Replay::Open { .. } => Load::Open(replay),
            Replay::Closed { depth } => Load::Closed(VecDeque::from(vec![0; depth as usize])),
        });
        DriveQueue {
            drive: Drive::new(profile, geometry, chip),
            loads: loads.collect(),
            answers: Vec::new(),
            times: DriveTimes::new(has_course, 0),
        }
    }

    /// The load whose next request is issued next. `open` is the open load whose next request is
    /// issued first, with its issue time. Time advances until a closed load can issue, but not
    /// beyond that time.
    pub fn next_load(&mut self, open: Option<(u64, usize)>) -> Option<usize> {
        let has_closed = self.loads.iter().any(|load| matches!(load, Load::Closed(_)));
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
            Load::Closed(slots) => Some((*slots.front()?, load)),
            Load::Open(_) => None,
        });
        slots.min()
    }

    /// Lets time pass until the next answer, but not beyond `until_ns`. Returns whether there was
    /// one.
    fn await_answer(&mut self, until_ns: u64) -> bool {
        let Some(answer) = self.drive.next_answer(until_ns) else { return false };
        if let Load::Closed(slots) = &mut self.loads[answer.request.load] {
            slots.push_back(answer.answered_ns);
        }
        self.times.record(&answer);
        let (load, op) = (answer.request.load, answer.request.op);
        self.answers.push(Answered { load, op, response_ns: answer.response_ns() });
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
                Load::Open(Replay::Open { speed }) => {
                    // A trace may have times that go back.
                    let issue_ns = speed.issue_ns(time_ns).max(self.drive.now_ns());
                    while self.await_answer(issue_ns) {}
                    return issue_ns;
                }
                Load::Closed(slots) if !slots.is_empty() => {
                    return slots.pop_front().expect("not empty").max(self.drive.now_ns());
                }
                _ => assert!(self.await_answer(u64::MAX), "a closed load waits for no request"),
            }
        }
    }

    /// Takes the answers that have not been taken yet.
    #[inline]
    pub fn take_answers(&mut self, take: impl FnMut(Answered)) {
        self.answers.iter().copied().for_each(take);
        self.answers.clear();
    }

    /// Lets the drive finish everything.
    pub fn finish(&mut self) {
        self.drive.finish();
        while self.await_answer(u64::MAX) {}
    }

    /// Counts from zero. The drive must have finished everything.
    pub fn reset(&mut self) {
        self.answers.clear();
        self.drive.reset_usage();
    }

    /// The time in the drive.
    pub fn now_ns(&self) -> u64 {
        self.drive.now_ns()
    }

    /// Writes down from now on what happens in the drive.
    pub fn keep_journal(&mut self) {
        self.drive.keep_journal();
    }

    /// Moves what was written down since the last call to the end of `out`.
    pub fn drain_journal(&mut self, out: &mut Vec<Entry>) {
        self.drive.drain_journal(out);
    }

    /// What the drive did until it had finished everything, and where the response times went.
    pub fn did(&mut self) -> DriveRecord {
        let times = self.times.take(self.drive.now_ns());
        DriveRecord { usage: self.drive.usage(), times }
    }
}
