//! Several runs at a time, on threads that deliver results in the given order.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};

/// Memory for cached requests by default, in bytes.
pub const CACHE_BYTES: u64 = 1 << 30;

/// The number of runs at a time: `given`, or the number of cores.
pub fn jobs(given: Option<NonZeroUsize>) -> NonZeroUsize {
    let jobs = given.or_else(|| thread::available_parallelism().ok());
    jobs.unwrap_or(NonZeroUsize::MIN)
}

/// The place of a run among several: it is stopped if an earlier one fails.
pub struct Turn<'a> {
    index: usize,
    first_failed: &'a AtomicUsize,
}

impl Turn<'_> {
    /// Passes progress on to `monitor`, until an earlier run fails.
    pub fn watched<'a>(&'a self, monitor: &'a dyn Progress) -> WatchedRun<'a> {
        WatchedRun { turn: self, monitor }
    }
}

/// Progress of a run that stops if an earlier one fails.
pub struct WatchedRun<'a> {
    turn: &'a Turn<'a>,
    monitor: &'a dyn Progress,
}

impl Progress for WatchedRun<'_> {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> Result<()> {
        match self.turn.first_failed.load(Ordering::Relaxed) < self.turn.index {
            true => Err(Error::Interrupted),
            false => self.monitor.report(stage, done, total),
        }
    }
}

/// Does the work of the turns 0 to `count` − 1 on this number of threads. The results are in the
/// order of the turns.
///
/// # Errors
/// The failure of the earliest turn that fails, whatever the number of threads. Later turns are
/// not begun, or their outcome is dropped.
pub fn in_order<T: Send, E: Send>(
    count: usize,
    jobs: NonZeroUsize,
    work: impl Fn(usize, &Turn) -> core::result::Result<T, E> + Sync,
) -> core::result::Result<Vec<T>, E> {
    let (next, first_failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let worker = || {
        let mut mine = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || index > first_failed.load(Ordering::Relaxed) {
                return mine;
            }
            let done = work(index, &Turn { index, first_failed: &first_failed });
            if done.is_err() {
                first_failed.fetch_min(index, Ordering::Relaxed);
            }
            mine.push((index, done));
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.get().min(count)).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().flat_map(|it| it.join().expect("a run panicked")).collect()
    });
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for n in [1, 2, 3, 50] {
            let squares = in_order(20, threads(n), |index, _| Ok::<_, ()>(index * index)).unwrap();
            assert_eq!(squares, (0..20).map(|index| index * index).collect::<Vec<_>>());
        }
        assert!(in_order(0, threads(2), |index, _| Ok::<_, ()>(index)).unwrap().is_empty());
    }

    #[test]
    fn the_earliest_failure_counts_and_stops_later_runs() {
        for n in [1, 2, 4] {
            let failed = in_order(8, threads(n), |index, turn| match index {
                // It waits until the later one has failed, if that runs at the same time.
                1 => {
                    while n > 1 && turn.first_failed.load(Ordering::Relaxed) > 3 {
                        thread::yield_now();
                    }
                    Err("one")
                }
                3 => Err("three"),
                _ => Ok(()),
            });
            assert_eq!(failed, Err("one"), "{n} threads");
        }
        let first_failed = AtomicUsize::new(2);
        let report = |index| {
            let turn = Turn { index, first_failed: &first_failed };
            turn.watched(&NoProgress).report(Stage::Measure, 0, None).is_err()
        };
        assert_eq!([1, 2, 3].map(report), [false, false, true]);
    }
}
