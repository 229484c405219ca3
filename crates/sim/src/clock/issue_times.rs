//! When the loads in a queue issue their requests.

use std::collections::VecDeque;

use crate::config::replay::{Replay, Speed};

/// How the issue times of a load's requests follow from their own times and from completions.
#[derive(Clone, Debug)]
pub enum IssueTimes {
    /// The times at which the load issues its next requests, as far as they are known: one for
    /// each completion that was not followed by a request yet, at first as many as its depth.
    Closed(VecDeque<u64>),
    /// Each request at its own time, divided by the speed.
    Open(Speed),
}

impl IssueTimes {
    /// Those of a load with this replay, at time 0.
    pub fn of(replay: Replay) -> IssueTimes {
        match replay {
            Replay::Closed { depth } => IssueTimes::Closed(VecDeque::from(vec![0; depth as usize])),
            Replay::Open { speed } => IssueTimes::Open(speed),
        }
    }

    /// The issue time of the load's next request, which has this time in its trace.
    #[inline]
    pub fn next_ns(&self, time_ns: u64) -> u64 {
        match self {
            IssueTimes::Open(speed) => speed.issue_ns(time_ns),
            IssueTimes::Closed(issued) => *issued.front().expect("`depth` is at least 1"),
        }
    }
}
