//! The power fails at every program and erase, in every way, and again while the device recovers.
//!
//! ```text
//! mount · s1 · s2 · … · sn                          the workload, every operation recorded
//!              └─ cut ─► mount · decay · a1 … a6 · mount · mount      for each × each outcome
//!                           └─ cut ─► mount · …                       depth 2: the same again
//! ```
//! The chip is kept after each operation, so a cut costs a copy and not a run from the start; the
//! replay of one case arms the chip instead, which is another road to the same state.

use std::ops::AddAssign;

use nand::power_cut::Snapshot;
use nand::{Nand, Outcome};

use crate::case::{Case, Failure, Strike};
use crate::dice::{Dice, mix};
use crate::life::{Act, End, Life};
use crate::oracle::Oracle;
use crate::workload;

/// Which second cuts are tried, after each first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// None.
    None,
    /// One in so many, drawn from the seed.
    OneIn(u32),
    /// All.
    All,
}

/// Which cuts are tried.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first step of the workload that is cut; with 0 the first mount is cut too.
    pub from_step: usize,
    /// Cuts during what follows a cut.
    pub second: Second,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Cuts of a workload.
    pub first: u64,
    /// Cuts of a recovery, or of what followed it.
    pub second: u64,
    /// All of them by what they left, in the order of [`Outcome::NAMES`].
    pub by_outcome: [u64; Outcome::NAMES.len()],
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.first += other.first;
        self.second += other.second;
        for (mine, others) in self.by_outcome.iter_mut().zip(other.by_outcome) {
            *mine += others;
        }
    }
}

/// Tries all cuts of the plan, to the first violation.
pub fn explore(case: &Case, plan: Plan) -> (Count, Result<(), Failure>) {
    let mut explorer = Explorer { case, plan, count: Count::default(), strikes: Vec::new() };
    let done = explorer.live(Life::first(case), &workload_acts(case));
    (explorer.count, done)
}

/// Runs one case with these cuts, telling what happens; returns a cut that found nothing to strike.
///
/// # Errors
/// The violation.
pub fn replay(
    case: &Case,
    strikes: &[Strike],
    tell: &mut dyn FnMut(String),
) -> Result<Option<Strike>, Failure> {
    let (mut life, mut acts) = (Life::first(case), workload_acts(case));
    for level in 0..strikes.len() {
        let strike = strikes[level];
        life.arm(strike.cut());
        let run = run_out(&mut life, &acts, tell);
        if run.map_err(|violation| case.failure(strikes, violation))? == End::Answered {
            return Ok(Some(strike));
        }
        tell(format!("power lost at operation {}, left {}", strike.after, strike.outcome.name()));
        let (mut nand, oracle) = life.into_parts();
        nand.power_on();
        life = Life::new(case, nand, oracle);
        acts = aftermath_acts(case, &strikes[..=level]);
    }
    let run = run_out(&mut life, &acts, tell);
    run.map_err(|violation| case.failure(strikes, violation))?;
    Ok(None)
}

fn run_out(
    life: &mut Life,
    acts: &[Act],
    tell: &mut dyn FnMut(String),
) -> Result<End, crate::violation::Violation> {
    for &act in acts {
        tell(act.to_string());
        if life.perform(act)? == End::PowerLost {
            return Ok(End::PowerLost);
        }
    }
    Ok(End::Answered)
}

/// The life that is cut first.
fn workload_acts(case: &Case) -> Vec<Act> {
    let steps = case.steps.iter().map(|&step| Act::Do(step));
    [Act::Mount].into_iter().chain(steps).chain([Act::Check]).collect()
}

/// The life after a cut: what is left must be right, stay right, and go on working.
fn aftermath_acts(case: &Case, strikes: &[Strike]) -> Vec<Act> {
    let seed = strikes
        .iter()
        .fold(case.seed, |seed, strike| mix(mix(seed, strike.after), strike.outcome as u64));
    let steps = workload::aftermath(case.space(), seed).into_iter().map(Act::Do);
    let before = [Act::Mount, Act::Decay];
    before.into_iter().chain(steps).chain([Act::Check, Act::Cycle, Act::Cycle]).collect()
}

struct Explorer<'a> {
    case: &'a Case,
    plan: Plan,
    count: Count,
    /// The cuts so far on the way to the present life.
    strikes: Vec<Strike>,
}

impl Explorer<'_> {
    fn live(&mut self, mut life: Life, acts: &[Act]) -> Result<(), Failure> {
        let mut before = life.nand().clone();
        if self.is_cut_again() {
            life.record();
        }
        let mut after = 0;
        for (index, &act) in acts.iter().enumerate() {
            let done = life.perform(act);
            done.map_err(|violation| self.case.failure(&self.strikes, violation))?;
            for snapshot in std::mem::take(&mut life.snapshots) {
                if self.is_within_plan(index) {
                    self.strike(&before, &snapshot, after, &life.under_way)?;
                }
                before = snapshot.after;
                after += 1;
            }
        }
        Ok(())
    }

    fn is_cut_again(&self) -> bool {
        self.strikes.is_empty() || self.strikes.len() == 1 && self.plan.second != Second::None
    }

    /// Act 0 of the first life is the mount; step n is act n + 1.
    fn is_within_plan(&self, act: usize) -> bool {
        !self.strikes.is_empty() || self.plan.from_step == 0 || act > self.plan.from_step
    }

    /// Cuts the power during one operation, in every way, and lives on.
    fn strike(
        &mut self,
        before: &Nand,
        snapshot: &Snapshot,
        after: u64,
        oracle: &Oracle,
    ) -> Result<(), Failure> {
        for &outcome in snapshot.operation.outcomes() {
            let strike = Strike { after, outcome };
            if !self.is_drawn(strike) {
                continue;
            }
            self.book(outcome);
            let mut nand = snapshot.interrupted(before, outcome);
            nand.power_on();
            self.strikes.push(strike);
            let acts = aftermath_acts(self.case, &self.strikes);
            self.live(Life::new(self.case, nand, oracle.clone()), &acts)?;
            self.strikes.pop();
        }
        Ok(())
    }

    fn is_drawn(&self, strike: Strike) -> bool {
        match (self.strikes.first(), self.plan.second) {
            (Some(first), Second::OneIn(n)) => {
                let of = |strike: Strike| mix(strike.after, strike.outcome as u64);
                Dice::new(mix(mix(self.case.seed, of(*first)), of(strike))).one_in(n)
            }
            _ => true,
        }
    }

    fn book(&mut self, outcome: Outcome) {
        self.count.by_outcome[outcome as usize] += 1;
        match self.strikes.is_empty() {
            true => self.count.first += 1,
            false => self.count.second += 1,
        }
    }
}
