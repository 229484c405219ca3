//! The course of write amplification through a measured pass: whether it still moves.
//!
//! ```text
//! pages written   0 ──┬──┬──┬── 20 % ─────────────── 80 % ──┬──┬──┬── all
//!                     first fifth, in pieces               last fifth, in pieces
//! ```
//! Counters are kept after every 64th request, at most 256 of them: when there are more, every
//! other one is dropped. The scatter of the pieces of a fifth tells how exact its mean is.

use crate::result::evidence::Fifths;
use crate::result::run_result::ratio;
use crate::run::simulator::Simulator;

/// Samples that are kept.
const SAMPLES_MAX: usize = 256;
/// Requests from one sample to the next, at first.
const EVERY_AT_FIRST: u64 = 64;
/// A fifth with fewer pieces says nothing about their scatter.
const PIECES_MIN: usize = 8;

/// Pages programmed, and pages written by the host, since the counters were reset.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageCounts {
    programmed: u64,
    written: u64,
}

impl PageCounts {
    /// The counts now.
    pub fn of(simulator: &mut Simulator) -> PageCounts {
        PageCounts {
            programmed: simulator.nand().tally().total(nand::Op::Program),
            written: simulator.written(),
        }
    }

    /// Write amplification since an earlier moment; none if no page was written.
    pub fn amplification_since(self, before: PageCounts) -> Option<f64> {
        ratio(self.programmed - before.programmed, self.written - before.written)
    }
}

/// Counters along a pass.
#[derive(Clone, Debug)]
pub struct WriteCourse {
    samples: Vec<PageCounts>,
    /// Requests from one sample to the next.
    every: u64,
    /// Requests until the next sample, at least 1.
    until_due: u64,
}

impl Default for WriteCourse {
    fn default() -> WriteCourse {
        let (every, until_due) = (EVERY_AT_FIRST, EVERY_AT_FIRST);
        WriteCourse { samples: vec![PageCounts::default()], every, until_due }
    }
}

impl WriteCourse {
    /// Requests that may be served before the next sample is due.
    pub fn until_due(&self) -> u64 {
        self.until_due
    }

    /// Counts requests that were served, at most [`until_due`](Self::until_due) of them.
    pub fn served(&mut self, requests: u64, on: &mut Simulator) {
        self.until_due -= requests;
        if self.until_due == 0 {
            self.add(PageCounts::of(on));
        }
    }

    fn add(&mut self, counts: PageCounts) {
        self.samples.push(counts);
        if self.samples.len() > SAMPLES_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
        self.until_due = self.every;
    }

    /// Write amplification in the first and the last fifth of the pages written; none if the pass
    /// was too short to tell.
    pub fn fifths(&self) -> Option<Fifths> {
        let all = self.samples.last()?.written;
        let first = self.samples.partition_point(|it| it.written <= all / 5);
        let last = self.samples.partition_point(|it| it.written < all - all / 5);
        let (first, first_error) = mean(&self.samples[..first])?;
        let (last, last_error) = mean(&self.samples[last..])?;
        Some(Fifths { first, last, error: first_error.hypot(last_error) })
    }
}

/// Write amplification between the first and the last of these samples, and its standard error.
fn mean(samples: &[PageCounts]) -> Option<(f64, f64)> {
    let pieces = samples.windows(2).filter_map(|pair| pair[1].amplification_since(pair[0]));
    let pieces: Vec<f64> = pieces.collect();
    if pieces.len() < PIECES_MIN {
        return None;
    }
    let mean = samples.last()?.amplification_since(*samples.first()?)?;
    let squares: f64 = pieces.iter().map(|piece| (piece - mean).powi(2)).sum();
    let count = pieces.len() as f64;
    Some((mean, (squares / (count * (count - 1.0))).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The course of a pass in which 64 requests at a time write 10 pages.
    fn course(times: u64, programs: impl Fn(u64) -> u64) -> WriteCourse {
        let (mut course, mut counts) = (WriteCourse::default(), PageCounts::default());
        for time in 0..times {
            counts.written += 10;
            counts.programmed += programs(time);
            course.until_due -= EVERY_AT_FIRST;
            if course.until_due == 0 {
                course.add(counts);
            }
        }
        course
    }

    #[test]
    fn the_fifths_of_a_pass_are_found_whatever_its_length() {
        for times in [50, 250, 1_000, 100_000] {
            let falling = course(times, |time| 40 - 20 * time / times);
            let Fifths { first, last, error } = falling.fifths().unwrap();
            assert!((3.7..3.9).contains(&first) && (2.1..2.3).contains(&last), "{first}, {last}");
            assert!(error < 0.1, "{error}");
            assert!(falling.fifths().unwrap().still_moves(), "{times}");
            let steady = course(times, |time| 30 + time % 3);
            assert!(!steady.fifths().unwrap().still_moves(), "{times}");
            assert!(falling.samples.len() <= SAMPLES_MAX);
        }
    }

    #[test]
    fn a_pass_of_a_few_requests_tells_nothing() {
        assert!(course(30, |_| 20).fifths().is_none());
        assert!(course(0, |_| 20).fifths().is_none());
        assert!(course(100, |_| 20).fifths().is_some());
    }

    #[test]
    fn what_scatters_does_not_move() {
        // Collection comes in bursts: one time in seven it programs 60 pages more.
        let bursts = course(300, |time| if time % 7 == 0 { 70 } else { 10 });
        assert!(!bursts.fifths().unwrap().still_moves(), "{:?}", bursts.fifths());
    }
}
