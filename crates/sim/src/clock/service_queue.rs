//! The queue before the one server of serial time.
//!
//! ```text
//! open     issue = time of the request / speed
//! closed   issue = completion of the load's request that was issued `depth` requests earlier;
//!                  at first 0
//!
//! start = max(issue, completion of the previous request)    completion = start + service
//! response = completion − issue
//! ```
//! Requests are served in the order in which they are issued. Of requests issued at the same time,
//! those of open loads come first, in the order of the loads; then those of closed loads, in the
//! order of the completions that issued them, at first in the order of the loads.
//!
//! A completion of a closed load puts its next request at the end of the queue. So closed loads
//! take turns in a fixed rotation, each for `depth` requests, however long these take:
//!
//! ```text
//! depths 3 and 1   a a a b a a a b …
//! ```

use crate::clock::issue_times::IssueTimes;
use crate::clock::open_rates::OpenRates;
use crate::config::replay::Replay;

/// The queue and its server.
#[derive(Clone, Debug)]
pub struct ServiceQueue {
    free_at_ns: u64,
    loads: Vec<IssueTimes>,
    rotation: Rotation,
    /// Those of the open loads.
    pub rates: OpenRates,
}

/// The turns of the closed loads.
#[derive(Clone, Debug)]
struct Rotation {
    /// Each closed load with its depth.
    closed: Vec<(usize, u32)>,
    /// The load that has its turn, and the requests that it has issued in it.
    at: usize,
    issued: u32,
}

impl Rotation {
    fn of(replays: &[Replay]) -> Rotation {
        let closed = replays.iter().enumerate().filter_map(|(load, replay)| match *replay {
            Replay::Closed { depth } => Some((load, depth)),
            Replay::Open { .. } => None,
        });
        Rotation { closed: closed.collect(), at: 0, issued: 0 }
    }

    fn load(&self) -> Option<usize> {
        self.closed.get(self.at).map(|&(load, _)| load)
    }

    fn advance(&mut self) {
        self.issued += 1;
        if self.issued == self.closed[self.at].1 {
            (self.at, self.issued) = ((self.at + 1) % self.closed.len(), 0);
        }
    }
}

impl ServiceQueue {
    /// A queue at time 0 for loads with these replays.
    pub fn new(replays: &[Replay]) -> ServiceQueue {
        let loads = replays.iter().map(|&replay| IssueTimes::of(replay)).collect();
        let (rotation, rates) = (Rotation::of(replays), OpenRates::default());
        ServiceQueue { free_at_ns: 0, loads, rotation, rates }
    }

    /// The load whose next request is issued next. `open` is the open load whose next request is
    /// issued first, with its issue time. All requests taken earlier must have been served, unless
    /// all loads are open or all are closed.
    #[inline]
    pub fn next_load(&self, open: Option<(u64, usize)>) -> Option<usize> {
        match (self.rotation.load(), open) {
            (Some(closed), Some((issue_ns, _))) if issue_ns > self.issue_ns(closed, 0) => {
                Some(closed)
            }
            (_, Some((_, load))) => Some(load),
            (closed, None) => closed,
        }
    }

    /// Takes the request of a closed load that [`ServiceQueue::next_load`] announces out of the
    /// queue.
    #[inline]
    pub fn take_closed(&mut self) {
        self.rotation.advance();
    }

    /// The issue time of a load's next request, which has this time in its trace. All requests
    /// taken earlier must have been served, unless the load is open.
    #[inline]
    pub fn issue_ns(&self, load: usize, time_ns: u64) -> u64 {
        self.loads[load].next_ns(time_ns)
    }

    /// Serves the next request of a load, which has this time in its trace, and returns its
    /// response time.
    #[inline]
    pub fn serve(&mut self, load: usize, time_ns: u64, service_ns: u64) -> u64 {
        let load = &mut self.loads[load];
        let issued_ns = load.next_ns(time_ns);
        self.free_at_ns = self.free_at_ns.max(issued_ns).saturating_add(service_ns);
        match load {
            IssueTimes::Closed(issued) => {
                issued.pop_front();
                issued.push_back(self.free_at_ns);
            }
            IssueTimes::Open(_) => {
                self.rates.issued(issued_ns);
                self.rates.answered(self.free_at_ns);
            }
        }
        self.free_at_ns - issued_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_a_busy_server() {
        let mut queue = ServiceQueue::new(&[Replay::OPEN]);
        assert_eq!(queue.serve(0, 0, 100), 100);
        assert_eq!(queue.serve(0, 10, 100), 190, "waits 90");
        assert_eq!(queue.serve(0, 500, 1), 1, "the server is idle");
        assert_eq!(queue.serve(0, 500, 0), 1, "waits for a request issued at the same time");
    }

    #[test]
    fn at_twice_the_speed_requests_come_at_half_their_times() {
        let mut queue = ServiceQueue::new(&["open:speed=2".parse().unwrap()]);
        let response = [(0, 100), (100, 100), (600, 5)].map(|(at, took)| queue.serve(0, at, took));
        assert_eq!(response, [100, 150, 5]);
    }

    #[test]
    fn a_closed_queue_of_depth_n_waits_for_n_services() {
        let mut queue = ServiceQueue::new(&["closed:depth=3".parse().unwrap()]);
        let services = [1, 20, 300, 4000, 50_000];
        let responses = services.map(|service_ns| queue.serve(0, 7, service_ns));
        assert_eq!(responses, [1, 21, 321, 4320, 54_300]);
        let mut alone = ServiceQueue::new(&[Replay::CLOSED]);
        assert_eq!(services.map(|service_ns| alone.serve(0, 7, service_ns)), services);
    }

    #[test]
    fn closed_loads_take_turns_of_their_depths() {
        let replays = ["closed:depth=3", "open", "closed"].map(|text| text.parse().unwrap());
        let mut queue = ServiceQueue::new(&replays);
        let turns = [0; 8].map(|_| {
            let turn = queue.next_load(None).unwrap();
            queue.take_closed();
            turn
        });
        assert_eq!(turns, [0, 0, 0, 2, 0, 0, 0, 2]);
        assert_eq!(ServiceQueue::new(&[Replay::OPEN]).next_load(None), None);
    }
}
