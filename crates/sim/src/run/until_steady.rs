//! A run that ends in a steady state: rounds in place of a measured pass.
//!
//! ```text
//! lead-in ─► counters to zero ─► window of rounds ─┬─ steady, or no room for more ─► result
//!                  ▲                               │
//!                  └───────────────────────────────┘
//! ```
//! A round ends with the first request by which the host has written its pages. The trace is
//! repeated as often as that takes, and its times continue. Where a batch of requests contains the
//! end of a round, it is divided there.

use crate::config::until::SteadyRule;
use crate::error::{Error, Result};
use crate::input::source::ReadTrace;
use crate::progress::Stage;
use crate::result::notes::{NOT_STEADY, REPEATED, SWAMPED};
use crate::run::Stages;
use crate::run::finish::{Measured, Start};
use crate::run::measure::{MeasuredRequests, PassCounters};
use crate::run::repeated::{NO_WRITES, Repeated};
use crate::run::rounds::{Rounds, Verdict};
use crate::run::simulator::Simulator;
use crate::run::write_course::PageCounts;

/// How a round ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// The host has written its pages.
    Whole,
    /// So much waits in the queue that it would take all memory.
    Swamped,
}

impl<'a> Stages<'a> {
    /// Refuses a trace without writes before a device is filled for it.
    pub(super) fn needs_writes(&self) -> Result<()> {
        match self.writes_a_page()? {
            true => Ok(()),
            false => Err(Error::Impossible(NO_WRITES.into())),
        }
    }

    /// Serves rounds until the device is steady or there is no room for another window, and returns
    /// what the last window measured, and sentences about the trace and the rounds.
    pub(super) fn until_steady(
        &self,
        simulator: &mut Simulator,
        rule: SteadyRule,
    ) -> Result<(Measured, Vec<String>)> {
        let mut pass = self.pass(Stage::Measure)?;
        self.lead_in(simulator, &mut pass)?;
        if pass.drive().is_some() {
            simulator.record_operations(true, false);
        }
        let mut repeated = Repeated::new(pass);
        let mut rounds = Rounds::new(rule, self.device.logical_pages());
        loop {
            let (measured, verdict) = self.window(simulator, &mut repeated, &mut rounds)?;
            if verdict != Verdict::Restarts {
                simulator.stop_recording();
                let unsteady = match verdict {
                    Verdict::GivenUp => Some(NOT_STEADY),
                    Verdict::Swamped => Some(SWAMPED),
                    _ => None,
                };
                let notes = repeated.is_repeated.then_some(REPEATED).into_iter().chain(unsteady);
                let notes = notes.map(str::to_owned).collect();
                let (traces, steady) = (self.end(repeated)?, Some(rounds.part(verdict)));
                return Ok((Measured { traces, steady, ..measured }, notes));
            }
            simulator.reset_counters();
        }
    }

    /// Serves the rounds of a window. The traces of what it measured are missing.
    fn window(
        &self,
        simulator: &mut Simulator,
        repeated: &mut Repeated<'a>,
        rounds: &mut Rounds,
    ) -> Result<(Measured, Verdict)> {
        let (start, mut before) = (Start::now(simulator), PageCounts::default());
        let (pages, interval) = (self.device.logical_pages(), self.setup.experiment.interval);
        let all = PassCounters::new(pages, repeated.pass.followers.queue.is_some(), interval, 0);
        let mut measure = MeasuredRequests { all, tenants: Vec::new() };
        repeated.served = 0;
        let verdict = loop {
            if self.serve_round(simulator, repeated, rounds, &mut measure.all)? == Round::Swamped {
                break Verdict::Swamped;
            }
            let now = PageCounts::of(simulator);
            match rounds.add(now.amplification_since(before)) {
                Verdict::GoesOn => before = now,
                verdict => break verdict,
            }
        };
        let queue = repeated.pass.finish_queue(&mut measure);
        Ok((start.measured(measure, queue), verdict))
    }

    /// Serves requests until the host has written the pages of the next round, or too much waits
    /// in the queue.
    fn serve_round(
        &self,
        simulator: &mut Simulator,
        repeated: &mut Repeated<'a>,
        rounds: &Rounds,
        counters: &mut PassCounters,
    ) -> Result<Round> {
        let round_pages = rounds.round_pages();
        let end = round_pages * (rounds.in_window() + 1);
        let stage = Stage::Round(rounds.count() + 1);
        loop {
            let written = simulator.asked().written;
            let left = end.saturating_sub(written);
            self.progress.report(stage, round_pages.saturating_sub(left), Some(round_pages))?;
            if left == 0 {
                return Ok(Round::Whole);
            }
            self.next_batch(repeated, left)?;
            let pass = &mut repeated.pass;
            pass.serve(simulator, counters)?;
            repeated.served += pass.batch.len() as u64;
            repeated.has_written |= simulator.asked().written > written;
            if pass.is_swamped() {
                return Ok(Round::Swamped);
            }
        }
    }

    /// What was read of the trace. A file that is parsed in each pass is read to its end, so that
    /// all of its lines are accounted for.
    fn end(&self, repeated: Repeated<'a>) -> Result<Vec<ReadTrace>> {
        let Repeated { mut pass, served, .. } = repeated;
        if self.input.loads()[0].source().request_count().is_none() {
            while pass.fill(u64::MAX)? > 0 {
                let (position, length) = pass.order.position();
                self.progress.report(Stage::Survey, position, length)?;
            }
        }
        pass.order.end(served, self.progress)
    }
}
