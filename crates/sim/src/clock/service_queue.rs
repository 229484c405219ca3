//! The queue before the one server of serial time.
//!
//! ```text
//! open     issue = time of the request / speed
//! closed   issue = completion of the request that was issued `depth` requests earlier; at first 0
//!
//! start = max(issue, completion of the previous request)    completion = start + service
//! response = completion − issue
//! ```
//! Requests are served in the order in which they are issued.

use std::collections::VecDeque;

use crate::config::replay::{Replay, Speed};

/// The queue and its server.
#[derive(Clone, Debug)]
pub struct ServiceQueue {
    free_at_ns: u64,
    issues: IssueTimes,
}

/// How the issue times of requests follow from their own times and from earlier completions.
#[derive(Clone, Debug)]
enum IssueTimes {
    /// The issue times of the outstanding requests.
    Closed(VecDeque<u64>),
    Open(Speed),
}

impl IssueTimes {
    fn of(replay: Replay) -> IssueTimes {
        match replay {
            Replay::Closed { depth } => IssueTimes::Closed(VecDeque::from(vec![0; depth as usize])),
            Replay::Open { speed } => IssueTimes::Open(speed),
        }
    }
}

impl ServiceQueue {
    /// A queue at time 0.
    pub fn new(replay: Replay) -> ServiceQueue {
        ServiceQueue { free_at_ns: 0, issues: IssueTimes::of(replay) }
    }

    /// Serves the next request, which has this time in its trace, and returns its response time.
    #[inline]
    pub fn serve(&mut self, time_ns: u64, service_ns: u64) -> u64 {
        let issued_ns = match &mut self.issues {
            IssueTimes::Open(speed) => speed.issue_ns(time_ns),
            IssueTimes::Closed(issued) => {
                issued.pop_front().expect("`depth` requests are outstanding")
            }
        };
        self.free_at_ns = self.free_at_ns.max(issued_ns).saturating_add(service_ns);
        if let IssueTimes::Closed(issued) = &mut self.issues {
            issued.push_back(self.free_at_ns);
        }
        self.free_at_ns - issued_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_a_busy_server() {
        let mut queue = ServiceQueue::new(Replay::OPEN);
        assert_eq!(queue.serve(0, 100), 100);
        assert_eq!(queue.serve(10, 100), 190, "waits 90");
        assert_eq!(queue.serve(500, 1), 1, "the server is idle");
        assert_eq!(queue.serve(500, 0), 1, "waits for a request that was issued at the same time");
    }

    #[test]
    fn at_twice_the_speed_requests_come_at_half_their_times() {
        let mut queue = ServiceQueue::new("open:speed=2".parse().unwrap());
        assert_eq!(
            [queue.serve(0, 100), queue.serve(100, 100), queue.serve(600, 5)],
            [100, 150, 5]
        );
    }

    #[test]
    fn a_closed_queue_of_depth_n_waits_for_n_services() {
        let mut queue = ServiceQueue::new("closed:depth=3".parse().unwrap());
        let services = [1, 20, 300, 4000, 50_000];
        let responses = services.map(|service_ns| queue.serve(7, service_ns));
        assert_eq!(responses, [1, 21, 321, 4320, 54_300]);
        let mut alone = ServiceQueue::new(Replay::CLOSED);
        assert_eq!(services.map(|service_ns| alone.serve(7, service_ns)), services);
    }
}
