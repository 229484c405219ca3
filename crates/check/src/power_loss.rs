//! Cuts the power at every program and erase, with every outcome, and again during recovery.
//!
//! ```text
//! mount · o1 · o2 · … · on                          the workload, every flash operation recorded
//!              └─ cut ─► mount · decay · a1 … a6 · mount · mount      for each × each outcome
//!                           └─ cut ─► mount · …                       second cut: the same again
//! ```
//! The state of the chip is kept after each flash operation, so trying a cut costs one copy instead
//! of a run from the start. The replay of one case runs from the start and arms the chip with the
//! cut instead. Both ways lead to the same state.

use std::ops::AddAssign;

use nand::power_cut::Snapshot;
use nand::{Cut, FlashArray, Nand, Outcome};

use crate::case::Case;
use crate::failed_case::FailedCase;
use crate::finding::{Defect, Finding};
use crate::oracle::Oracle;
use crate::powered_device::{Action, End, PoweredDevice};
use crate::rng::{Rng, mix};
use crate::workload;

/// Which second cuts are tried after each first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondCuts {
    /// None.
    None,
    /// One in N, drawn from the seed.
    OneIn(u32),
    /// All.
    All,
}

/// Which power cuts are tried.
#[derive(Clone, Copy, Debug)]
pub struct CutSchedule {
    /// The first operation of the workload that is cut. With 0, the first mount is cut too.
    pub from_operation: usize,
    /// Cuts during the recovery from a first cut and the operations after it.
    pub second_cuts: SecondCuts,
}

/// Number of power cuts that were tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutCounts {
    /// Cuts during a workload.
    pub first: u64,
    /// Cuts during a recovery or the operations after it.
    pub second: u64,
    /// All cuts by their outcome, in the order of [`Outcome::NAMES`].
    pub by_outcome: [u64; Outcome::NAMES.len()],
}

impl AddAssign for CutCounts {
    fn add_assign(&mut self, other: CutCounts) {
        self.first += other.first;
        self.second += other.second;
        for (mine, others) in self.by_outcome.iter_mut().zip(other.by_outcome) {
            *mine += others;
        }
    }
}

/// Tries all cuts of the schedule, up to the first finding.
pub fn explore(case: &Case, schedule: CutSchedule) -> (CutCounts, Result<(), FailedCase>) {
    let counts = CutCounts::default();
    let mut explorer = Explorer { case, schedule, counts, cuts: Vec::new() };
    let done = explorer.run(PoweredDevice::brand_new(case), &workload_actions(case));
    (explorer.counts, done)
}

/// Runs one case with these cuts and passes a line about every action to `tell`. Returns the first
/// cut that did not happen because the run ended before it.
///
/// # Errors
/// The finding.
pub fn replay(
    case: &Case,
    cuts: &[Cut],
    tell: &mut dyn FnMut(String),
) -> Result<Option<Cut>, FailedCase> {
    let (mut device, mut actions) = (PoweredDevice::brand_new(case), workload_actions(case));
    for level in 0..cuts.len() {
        let cut = cuts[level];
        device.arm(cut);
        let end = perform_all(&mut device, &actions, tell);
        if end.map_err(|finding| FailedCase::new(case, cuts, finding))? == End::Answered {
            return Ok(Some(cut));
        }
        let (after, outcome) = (cut.after, cut.outcome.name());
        tell(format!("power lost at operation {after}, outcome {outcome}"));
        let (mut nand, oracle) = device.into_parts();
        nand.power_on();
        device = PoweredDevice::new(case, nand, oracle);
        actions = actions_after_cut(case, &cuts[..=level]);
    }
    let end = perform_all(&mut device, &actions, tell);
    end.map_err(|finding| FailedCase::new(case, cuts, finding))?;
    Ok(None)
}

/// Performs the actions until the power fails.
fn perform_all(
    device: &mut PoweredDevice,
    actions: &[Action],
    tell: &mut dyn FnMut(String),
) -> Result<End, Finding> {
    for &action in actions {
        tell(action.to_string());
        if device.perform(action)? == End::PowerLost {
            return Ok(End::PowerLost);
        }
    }
    Ok(End::Answered)
}

/// The actions before the first cut: mount, the workload, a check.
fn workload_actions(case: &Case) -> Vec<Action> {
    let operations = case.operations.iter().map(|&operation| Action::Do(operation));
    [Action::Mount].into_iter().chain(operations).chain([Action::Check]).collect()
}

/// The actions after a cut: the device must recover, keep its contents, and go on working.
fn actions_after_cut(case: &Case, cuts: &[Cut]) -> Vec<Action> {
    let seed =
        cuts.iter().fold(case.seed, |seed, cut| mix(mix(seed, cut.after), cut.outcome as u64));
    let operations = workload::after_power_cut(case.dimensions(), seed);
    let mut actions = vec![Action::Mount, Action::Decay];
    actions.extend(operations.into_iter().map(Action::Do));
    actions.extend([Action::Check, Action::Remount, Action::Remount]);
    actions
}

struct Explorer<'a> {
    case: &'a Case,
    schedule: CutSchedule,
    counts: CutCounts,
    /// The cuts that led to the state being explored.
    cuts: Vec<Cut>,
}

impl Explorer<'_> {
    /// Performs the actions, and explores a cut at each flash operation on the way.
    fn run(&mut self, mut device: PoweredDevice, actions: &[Action]) -> Result<(), FailedCase> {
        let copied = device.nand().array().try_clone();
        let mut before = copied.map_err(|error| self.storage_failed(&error))?;
        let mut is_recorded = self.is_cut_again();
        if is_recorded {
            device.record();
        }
        let (start, mut after) = (device.programs_and_erases(), 0);
        for (index, &action) in actions.iter().enumerate() {
            let done = device.perform(action);
            done.map_err(|finding| FailedCase::new(self.case, &self.cuts, finding))?;
            for snapshot in std::mem::take(&mut device.snapshots) {
                if self.is_scheduled(index) {
                    self.try_cuts(&before, &snapshot, after, &device.oracle_during_action)?;
                }
                before = snapshot.after;
                after += 1;
            }
            // Switching the power off and on ends the recording.
            is_recorded &= action != Action::Remount;
            let done = device.programs_and_erases() - start;
            assert!(!is_recorded || after == done, "{done} operations, {after} snapshots");
        }
        Ok(())
    }

    fn is_cut_again(&self) -> bool {
        self.cuts.is_empty()
            || self.cuts.len() == 1 && self.schedule.second_cuts != SecondCuts::None
    }

    /// Before the first cut, action 0 is the mount and action n + 1 is operation n.
    fn is_scheduled(&self, action: usize) -> bool {
        let from = self.schedule.from_operation;
        !self.cuts.is_empty() || from == 0 || action > from
    }

    /// Cuts the power during one flash operation, with every outcome, and explores what follows.
    fn try_cuts(
        &mut self,
        before: &FlashArray,
        snapshot: &Snapshot,
        after: u64,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        for &outcome in snapshot.operation.outcomes() {
            let cut = Cut { after, outcome };
            if !self.is_drawn(cut) {
                continue;
            }
            self.count(outcome);
            let flash = snapshot.interrupted(before, outcome);
            let nand = Nand::power_up(flash.map_err(|error| self.storage_failed(&error))?);
            self.cuts.push(cut);
            let actions = actions_after_cut(self.case, &self.cuts);
            self.run(PoweredDevice::new(self.case, nand, oracle.clone()), &actions)?;
            self.cuts.pop();
        }
        Ok(())
    }

    fn storage_failed(&self, error: &nand::Error) -> FailedCase {
        FailedCase::new(self.case, &self.cuts, Finding::new(Defect::Refused, error.to_string()))
    }

    fn is_drawn(&self, cut: Cut) -> bool {
        match (self.cuts.first(), self.schedule.second_cuts) {
            (Some(first), SecondCuts::OneIn(n)) => {
                let of = |cut: Cut| mix(cut.after, cut.outcome as u64);
                Rng::new(mix(mix(self.case.seed, of(*first)), of(cut))).one_in(n)
            }
            _ => true,
        }
    }

    fn count(&mut self, outcome: Outcome) {
        self.counts.by_outcome[outcome as usize] += 1;
        match self.cuts.is_empty() {
            true => self.counts.first += 1,
            false => self.counts.second += 1,
        }
    }
}
