//! Cuts the power at every program and erase, with every outcome, and again during recovery.
//!
//! ```text
//! mount · o1 · o2 · … · on                          the workload, every flash operation recorded
//!              └─ cut ─► mount · decay · a1 … a7 · mount · mount      for each × each outcome
//!                           └─ cut ─► mount · …                       second cut: the same again
//! ```
//! If a cut leaves weak pages, it is tried several times: the pages decay after the mount, during
//! the mount, and after a second cut also at power-on.
//!
//! The state of the chip is kept after each flash operation, so trying a cut costs one copy instead
//! of a run from the start. The replay of one case runs from the start and arms the chip with the
//! cut instead. Both ways lead to the same state.

use std::collections::VecDeque;
use std::fmt;
use std::thread;

use nand::page_store::PageStore;
use nand::power_cut::{Left, Snapshot, reordered};
use nand::{FlashArray, Outcome};

use crate::case::Case;
use crate::cut::counts::{CutCounts, DecayTime};
use crate::cut::faults::{FaultClass, Faults, die_draw, leaves_weak_pages, promises};
use crate::cut::isolated::{self, IsolatedCut};
use crate::device::action::{self, Action};
use crate::device::power_cut::{Decay, PowerCut};
use crate::device::powered_device::{End, PoweredDevice};
use crate::failed_case::FailedCase;
use crate::finding::{Defect, Finding, Verdict};
use crate::observer::Observer;
use crate::oracle::Oracle;
use crate::rng::{Rng, mix};
use crate::workload::host_operation::HostOperation;

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

impl SecondCuts {
    /// One in this number of first cuts is followed by second ones, if any is. If second cuts are
    /// rare, they are drawn from a part of the first ones, because recording takes more time than
    /// the run itself.
    pub(crate) fn one_first_in(self) -> Option<u32> {
        match self {
            SecondCuts::None => None,
            SecondCuts::OneIn(n) => Some(n.div_ceil(DENSE)),
            SecondCuts::All => Some(1),
        }
    }

    /// One in this number of second cuts is tried after such a first one.
    pub(crate) fn one_second_in(self) -> u32 {
        match self {
            SecondCuts::OneIn(n) => n.min(DENSE),
            SecondCuts::None | SecondCuts::All => 1,
        }
    }
}

/// After a first cut that is followed by second ones, at least one in this number of them is tried.
const DENSE: u32 = 16;
/// After two cuts, fewer are tried in an action of more operations than this: the number of third
/// cuts grows with the square of the operations of a mount, and a case should not take the time of
/// a hundred others.
const THINNED_FROM: usize = 24;

/// Which power cuts are tried.
#[derive(Clone, Copy, Debug)]
pub struct CutSchedule {
    /// The first operation of the workload that is cut. With 0, the first mount is cut too.
    pub from_operation: usize,
    /// What a cut may leave on flash.
    pub faults: Faults,
    /// One in this number of cuts during the workload is tried, drawn from the seed.
    pub one_first_in: u32,
    /// Cuts during the recovery from a first cut and the operations after it.
    pub second_cuts: SecondCuts,
    /// How many cuts a case has at most. Further ones follow a second one as it follows the first.
    pub depth: usize,
}

/// Tries all cuts of the schedule, up to the first finding or until the observer stops it. Under a
/// guest it goes on after findings, and returns some of each verdict.
pub fn explore(
    case: &Case,
    schedule: CutSchedule,
    observer: &dyn Observer,
) -> (CutCounts, Vec<FailedCase>) {
    let mut explorer = Explorer::new(case, schedule, observer);
    let device = PoweredDevice::brand_new(case);
    let device = device.map_err(|finding| FailedCase::new(case, &[], finding));
    let done = device.and_then(|device| explorer.run(device, &action::of_workload(case)));
    explorer.end_isolated();
    let Explorer { counts, mut failed, .. } = explorer;
    failed.extend(done.err());
    (counts, failed)
}

/// A step of a replay.
pub enum Step<'a> {
    /// An action begins.
    Act(Action),
    /// The power was cut, and left this of the operations in flight, the one that it struck last,
    /// and this flash. None is in flight if the cut struck in memory only.
    Cut(PowerCut, &'a [Left], &'a FlashArray),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Step::Act(action) => action.fmt(out),
            Step::Cut(cut, left, _) => {
                let struck = left.last().map(|left| format!(", {}", left.operation));
                let struck = struck.unwrap_or_default();
                let (after, outcome) = (cut.after, cut.outcome_text());
                write!(out, "power lost at operation {after}{struck}, outcome {outcome}")?;
                if cut.outcome.is_of_all_dies() {
                    let left: Vec<String> = left.iter().map(Left::to_string).collect();
                    write!(out, ": {}", left.join("; "))?;
                }
                Ok(())
            }
        }
    }
}

/// The steps of a replay as texts. Writes have the numbers by which findings name them.
#[derive(Default)]
pub struct StepTexts {
    writes: u32,
}

impl StepTexts {
    /// The next step.
    pub fn next(&mut self, step: Step) -> String {
        match step {
            Step::Act(Action::Do(HostOperation::Write(_) | HostOperation::Force(_))) => {
                self.writes += 1;
                format!("{step}, number {}", self.writes)
            }
            step => step.to_string(),
        }
    }
}

/// Watches a replay.
pub trait Watch {
    /// A step begins.
    fn step(&mut self, step: Step);

    /// The power is on. Nothing is mounted yet.
    fn powered(&mut self, _device: &mut PoweredDevice) {}

    /// An action ended. If it was not answered, because the power failed or something was found,
    /// nobody may ask the FTL.
    fn performed(&mut self, _action: Action, _answered: bool, _device: &mut PoweredDevice) {}
}

/// Nobody watches.
impl Watch for () {
    fn step(&mut self, _step: Step) {}
}

impl<F: FnMut(Step)> Watch for F {
    fn step(&mut self, step: Step) {
        self(step);
    }
}

/// A cut that did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The run ends before it.
    Late(PowerCut),
    /// The operation that it interrupts has no such outcome.
    Impossible(PowerCut),
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missed::Late(cut) => write!(f, "the cut {cut} never happens: the run ends before it"),
            Missed::Impossible(cut) => {
                write!(f, "the cut {cut} is impossible: the operation has no such outcome")
            }
        }
    }
}

/// Runs one case with these cuts and passes every step to `watch`. Returns the first cut that did
/// not happen.
///
/// # Errors
/// The finding.
pub fn replay(
    case: &Case,
    cuts: &[PowerCut],
    watch: &mut dyn Watch,
) -> Result<Option<Missed>, FailedCase> {
    let failed = |finding| FailedCase::new(case, cuts, finding);
    let mut device = PoweredDevice::brand_new(case).map_err(failed)?;
    watch.powered(&mut device);
    let mut actions = action::of_workload(case);
    for level in 0..cuts.len() {
        let cut = cuts[level];
        device.arm(cut, die_draw(case, cut.draw));
        let end = perform_all(&mut device, &actions, watch);
        if end.map_err(failed)? == End::Answered {
            return Ok(Some(Missed::Late(cut)));
        }
        let (mut nand, oracle) = device.into_parts();
        if nand.power().struck() != Some(cut.outcome) {
            return Ok(Some(Missed::Impossible(cut)));
        }
        let left = nand.power().left().to_vec();
        nand.power().cycle();
        let is_weak = has_weak_pages(nand.array());
        let is_weak = is_weak.map_err(|error| failed(Finding::of_storage(error)))?;
        let flash = nand.into_array();
        watch.step(Step::Cut(cut, &left, &flash));
        device = PoweredDevice::after_cut(case, flash, oracle, cut.decay).map_err(failed)?;
        watch.powered(&mut device);
        actions = actions_after_cut(case, &cuts[..=level], is_weak);
    }
    let end = perform_all(&mut device, &actions, watch);
    end.map_err(failed)?;
    Ok(None)
}

/// Performs the workload as it is recorded for cuts, without mounts in between. A guest may not
/// survive this. What is found has a cut that never comes, so that its replay does the same.
///
/// # Errors
/// The finding.
pub fn run_through(case: &Case) -> Result<(), FailedCase> {
    let never = [PowerCut::AFTER_THE_END];
    isolated::note(case, &never);
    replay(case, &never, &mut ()).map(drop)
}

/// Performs the actions until the power fails.
fn perform_all(
    device: &mut PoweredDevice,
    actions: &[Action],
    watch: &mut dyn Watch,
) -> Result<End, Finding> {
    for &action in actions {
        watch.step(Step::Act(action));
        let end = device.perform(action);
        watch.performed(action, matches!(end, Ok(End::Answered)), device);
        if end? == End::PowerLost {
            return Ok(End::PowerLost);
        }
    }
    Ok(End::Answered)
}

/// The actions after a cut. `is_weak`: whether the last cut left weak pages on flash.
fn actions_after_cut(case: &Case, cuts: &[PowerCut], is_weak: bool) -> Vec<Action> {
    let seed = cuts.iter().fold(case.seed, |seed, cut| salted(seed, *cut));
    let decays = is_weak && cuts.last().is_some_and(|cut| cut.decay == Decay::AfterMount);
    action::of_recovery(case, seed, decays)
}

/// A seed that depends on a cut too.
fn salted(seed: u64, cut: PowerCut) -> u64 {
    let seed = mix(mix(seed, cut.after), cut.outcome as u64 + (cut.draw << 8));
    match cut.decay {
        Decay::AtOperation(operations) => mix(seed, operations),
        Decay::AfterMount => seed,
    }
}

/// What random numbers are drawn for. Each purpose has its own ones.
#[derive(Clone, Copy)]
enum Draw {
    /// Whether a cut is tried.
    Tried,
    /// Whether second cuts follow a first one.
    Recorded,
    /// When weak pages decay.
    Decay,
    /// How far each die is.
    Dies,
}

/// Random numbers about these cuts of a case.
fn rng<'c>(case: &Case, draw: Draw, cuts: impl Iterator<Item = &'c PowerCut>) -> Rng {
    Rng::new(cuts.fold(mix(case.seed, draw as u64), |seed, cut| salted(seed, *cut)))
}

/// The ways in which the dies are found at a cut after others: the same cut with numbers from which
/// it is drawn how far each die is. One is even and one odd, which decides whether all completed
/// pages are weak ([`reordered`]).
pub fn found_dies(case: &Case, before: &[PowerCut], cut: PowerCut) -> [PowerCut; 2] {
    let mut rng = rng(case, Draw::Dies, before.iter().chain([&cut]));
    [0, 1].map(|odd| PowerCut { draw: (2 * rng.below(DIE_NUMBERS / 2) + odd).into(), ..cut })
}

/// The flash of a device on its way.
struct Recording {
    /// The flash when all dies were idle last.
    idle: FlashArray,
    /// The operations since then. With one die, all are idle before each operation.
    in_flight: Vec<Snapshot>,
    /// Number of operations of the action under way.
    of_action: usize,
}

impl Recording {
    fn add(&mut self, snapshot: Snapshot) {
        if snapshot.in_flight == 0
            && let Some(last) = self.in_flight.drain(..).next_back()
        {
            self.idle = last.after;
        }
        self.in_flight.push(snapshot);
    }

    /// The operation that was added last, and the flash before it.
    fn last(&self) -> (&FlashArray, &Snapshot) {
        let (last, earlier) = self.in_flight.split_last().expect("an operation was added");
        (earlier.last().map_or(&self.idle, |snapshot| &snapshot.after), last)
    }

    /// All states of the flash that it keeps.
    fn states(&mut self) -> impl Iterator<Item = &mut FlashArray> {
        let after = self.in_flight.iter_mut().map(|snapshot| &mut snapshot.after);
        [&mut self.idle].into_iter().chain(after)
    }
}

/// First cuts of a case after which a guest may hang before no further ones are tried.
const HANGS_MAX: u64 = 2;
/// Findings of each verdict that a case under a guest returns.
const SHOWN_OF_VERDICT: usize = 2;
/// Numbers below this one tell how far each die is at a cut: enough that each operation of a few
/// dies is found at each place, and short in a replay line.
const DIE_NUMBERS: u32 = 1000;

struct Explorer<'a> {
    case: &'a Case,
    schedule: CutSchedule,
    observer: &'a dyn Observer,
    counts: CutCounts,
    /// The cuts that led to the state being explored.
    cuts: Vec<PowerCut>,
    /// What follows some first cuts, which processes of their own explore. Only under a guest.
    isolated: VecDeque<IsolatedCut>,
    /// What was found after first cuts under a guest.
    failed: Vec<FailedCase>,
}

impl<'a> Explorer<'a> {
    fn new(case: &'a Case, schedule: CutSchedule, observer: &'a dyn Observer) -> Explorer<'a> {
        Explorer {
            case,
            schedule,
            observer,
            counts: CutCounts::default(),
            cuts: Vec::new(),
            isolated: VecDeque::new(),
            failed: Vec::new(),
        }
    }

    /// Performs the actions, and explores a cut at each flash operation on the way. Returns the
    /// number of flash operations of the first mount.
    fn run(&mut self, mut device: PoweredDevice, actions: &[Action]) -> Result<u64, FailedCase> {
        let mut is_recorded = self.is_cut_again();
        let mut recording = None;
        if is_recorded {
            device.record();
            let idle = device.nand().array().try_clone();
            let idle = idle.map_err(|error| self.storage_failed(error))?;
            recording = Some(Recording { idle, in_flight: Vec::new(), of_action: 0 });
        }
        let (start, mut after, mut mounted_in) = (device.programs_and_erases(), 0, 0);
        for (index, &action) in actions.iter().enumerate() {
            if action == Action::Decay {
                for flash in recording.iter_mut().flat_map(Recording::states) {
                    *flash = self.decayed(flash)?;
                }
            }
            if action == Action::Remount {
                self.note_figures(&device);
            }
            let done = device.perform(action);
            done.map_err(|finding| FailedCase::new(self.case, &self.cuts, finding))?;
            if action == Action::Mount {
                mounted_in = device.mounted_in();
            }
            let snapshots = std::mem::take(&mut device.snapshots);
            let of_action = snapshots.len();
            for (at, snapshot) in snapshots.into_iter().enumerate() {
                let recording = recording.as_mut().expect("the start of a recording is kept");
                recording.of_action = of_action;
                recording.add(snapshot);
                if self.is_scheduled(index) {
                    self.try_cuts(recording, at == 0, after, &device.oracle_during_action)?;
                }
                after += 1;
            }
            // Switching the power off and on ends the recording.
            is_recorded &= action != Action::Remount;
            let done = device.programs_and_erases() - start;
            // What happens in memory only cannot be cut.
            let is_exact = is_recorded && !device.is_frozen();
            assert!(!is_exact || after == done, "{done} operations, {after} snapshots");
        }
        self.note_figures(&device);
        Ok(mounted_in)
    }

    /// Notes what a guest reports at the end of a mount after a cut.
    fn note_figures(&mut self, device: &PoweredDevice) {
        if let Some(guest) = device.guest().filter(|_| !self.cuts.is_empty()) {
            self.counts.figures.note_all(guest);
        }
    }

    /// Whether any flash operation of the next actions is cut.
    fn is_cut_again(&self) -> bool {
        let is_drawn = |one_in| self.rng(Draw::Recorded, &[]).one_in(one_in);
        let second_cuts = self.schedule.second_cuts;
        let is_deep = self.cuts.len() >= self.schedule.depth;
        self.cuts.is_empty() || !is_deep && second_cuts.one_first_in().is_some_and(is_drawn)
    }

    /// Before the first cut, action 0 is the mount and action n + 1 is operation n.
    fn is_scheduled(&self, action: usize) -> bool {
        let from = self.schedule.from_operation;
        !self.cuts.is_empty() || from == 0 || action > from
    }

    /// Cuts the power during the last flash operation, with every outcome, and explores what
    /// follows. If the operation is not the first one of its action, a cut that leaves it untouched
    /// is the same as one that leaves its predecessor complete.
    fn try_cuts(
        &mut self,
        recording: &Recording,
        is_first: bool,
        after: u64,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        let (before, snapshot) = recording.last();
        for outcome in self.schedule.faults.outcomes(snapshot.outcomes()) {
            let cut = PowerCut::new(after, outcome);
            let is_known = outcome == Outcome::Untouched && !is_first;
            if is_known
                || !promises(self.case, cut)
                || !self.is_drawn(cut, recording.of_action)
                || self.observer.is_stopped()
            {
                continue;
            }
            if keeps_flash(outcome) && self.may_have_decayed(before, &snapshot.after)? {
                continue;
            }
            let flash = snapshot.interrupted(before, outcome);
            self.try_cut(cut, before, flash, oracle)?;
        }
        self.try_orders(recording, after, oracle)
    }

    /// Cuts the power during the last flash operation, while those before it are in flight too.
    fn try_orders(
        &mut self,
        recording: &Recording,
        after: u64,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        let &Recording { ref idle, ref in_flight, of_action } = recording;
        let outcomes = self.schedule.faults.outcomes(&[Outcome::Reordered, Outcome::BrownedOut]);
        let outcomes: Vec<Outcome> = outcomes.collect();
        let is_tried = in_flight.len() > 1 && idle.can_reorder() && !outcomes.is_empty();
        if !is_tried || self.may_have_decayed(idle, &recording.last().1.after)? {
            return Ok(());
        }
        for outcome in outcomes {
            for cut in found_dies(self.case, &self.cuts, PowerCut::new(after, outcome)) {
                if self.is_drawn(cut, of_action) && !self.observer.is_stopped() {
                    let dies = die_draw(self.case, cut.draw);
                    self.try_cut(cut, idle, reordered(idle, in_flight, outcome, dies), oracle)?;
                }
            }
        }
        Ok(())
    }

    /// Explores what follows a cut that left this flash. `before`: the flash before it.
    fn try_cut(
        &mut self,
        cut: PowerCut,
        before: &FlashArray,
        flash: nand::Result<FlashArray>,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        let flash = flash.map_err(|error| self.storage_failed(error))?;
        match self.cuts.is_empty() && self.case.guest().is_some() {
            true if self.case.needs_process() => self.isolate(cut, before, flash, oracle),
            true => {
                let before_cut = std::mem::take(&mut self.counts);
                let done = self.try_flash(cut, before, flash, oracle);
                let counts = std::mem::replace(&mut self.counts, before_cut);
                self.cuts.clear();
                self.keep(cut, counts, done.err());
                Ok(())
            }
            false => self.try_flash(cut, before, flash, oracle),
        }
    }

    fn try_flash(
        &mut self,
        cut: PowerCut,
        before: &FlashArray,
        flash: FlashArray,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        match self.has_weak_pages(cut.outcome, &flash)? {
            true => {
                let before = self.has_weak_pages(Outcome::Untouched, before)?;
                self.try_decays(cut, flash, before, oracle)
            }
            false => self.recover(cut, DecayTime::Never, flash, oracle).map(drop),
        }
    }

    // ---- In processes of their own ------------------------------------------------------------

    /// Explores what follows a first cut in a process of its own.
    fn isolate(
        &mut self,
        cut: PowerCut,
        before: &FlashArray,
        flash: FlashArray,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        while self.isolated.len() >= cores {
            self.end_oldest();
        }
        if self.hangs() >= HANGS_MAX {
            return Ok(());
        }
        let begun = IsolatedCut::begin(cut, || {
            self.counts = CutCounts::default();
            let done = self.try_flash(cut, before, flash, oracle);
            (std::mem::take(&mut self.counts), done)
        });
        self.isolated.push_back(begun.map_err(|error| {
            let why = format!("no further process can be started: {error}");
            FailedCase::new(self.case, &[cut], Finding::new(Defect::Refused, why))
        })?);
        Ok(())
    }

    fn end_isolated(&mut self) {
        while !self.isolated.is_empty() {
            self.end_oldest();
        }
    }

    fn end_oldest(&mut self) {
        let Some(oldest) = self.isolated.pop_front() else { return };
        let cut = oldest.cut;
        let (counts, failed) = oldest.end(self.case);
        (0..counts.first + counts.second + counts.deeper).for_each(|_| self.observer.cut());
        self.keep(cut, counts, failed);
    }

    /// Keeps what followed a first cut.
    fn keep(&mut self, cut: PowerCut, counts: CutCounts, failed: Option<FailedCase>) {
        self.counts += counts;
        let Some(failed) = failed else { return };
        let outcome = cut.outcome;
        let verdict = failed.finding.defect.verdict();
        self.counts.found[verdict as usize][outcome as usize] += 1;
        let alike = |other: &&FailedCase| other.finding.defect.verdict() == verdict;
        if self.failed.iter().filter(alike).count() < SHOWN_OF_VERDICT {
            self.failed.push(failed);
        }
    }

    /// Number of first cuts after which a guest hung. Each takes long.
    fn hangs(&self) -> u64 {
        self.counts.found[Verdict::Hang as usize].iter().sum()
    }

    // ---- Weak pages, recovery -----------------------------------------------------------------

    /// Explores what follows a cut that left weak pages, once for each time of their decay.
    /// `before`: whether some of them were weak before the cut. If none were, and they decayed at
    /// power-on, the cut would have torn them.
    fn try_decays(
        &mut self,
        cut: PowerCut,
        flash: FlashArray,
        before: bool,
        oracle: &Oracle,
    ) -> Result<(), FailedCase> {
        let lasts = self.schedule.faults.contains(FaultClass::Lasting);
        let copy = || flash.try_clone().map_err(|error| self.storage_failed(error));
        let (at_once, later) = (copy()?, copy()?);
        if before {
            let decayed = PowerCut { decay: Decay::AtOperation(0), ..cut };
            self.recover(decayed, DecayTime::PowerOn, at_once, oracle)?;
        }
        if lasts || !before {
            let mounted_in = self.recover(cut, DecayTime::AfterMount, later, oracle)?;
            if lasts {
                let decay = Decay::AtOperation(self.draw_operation(cut, mounted_in));
                self.recover(PowerCut { decay, ..cut }, DecayTime::DuringMount, flash, oracle)?;
            }
        }
        Ok(())
    }

    /// Draws an operation of a mount. Seven times in eight it comes after the scan of the spare
    /// areas, when the mount believes in the weak pages already.
    fn draw_operation(&self, cut: PowerCut, mounted_in: u64) -> u64 {
        let mut rng = self.rng(Draw::Decay, &[cut]);
        let scan = match rng.one_in(8) {
            true => 1,
            false => self.case.physical_pages().min(mounted_in.saturating_sub(1)).max(1),
        };
        scan + u64::from(rng.below(mounted_in.saturating_sub(scan).max(1) as u32))
    }

    /// Explores the recovery from a cut. Returns the number of flash operations of its mount.
    fn recover(
        &mut self,
        cut: PowerCut,
        time: DecayTime,
        flash: FlashArray,
        oracle: &Oracle,
    ) -> Result<u64, FailedCase> {
        self.count(cut.outcome, time);
        self.cuts.push(cut);
        isolated::note(self.case, &self.cuts);
        let is_weak = time != DecayTime::Never;
        let actions = actions_after_cut(self.case, &self.cuts, is_weak);
        let device = PoweredDevice::after_cut(self.case, flash, oracle.clone(), cut.decay);
        let device = device.map_err(|finding| FailedCase::new(self.case, &self.cuts, finding))?;
        let mounted_in = self.run(device, &actions)?;
        self.cuts.pop();
        Ok(mounted_in)
    }

    /// Whether weak pages may have decayed between two operations, at a read that no snapshot
    /// shows. If so, the flash directly before the second one is not known.
    fn may_have_decayed(
        &self,
        before: &FlashArray,
        after: &FlashArray,
    ) -> Result<bool, FailedCase> {
        if !self.cuts.last().is_some_and(|cut| cut.decay != Decay::AfterMount) {
            return Ok(false);
        }
        let is_weak = |flash| self.has_weak_pages(Outcome::Untouched, flash);
        Ok(is_weak(before)? && !is_weak(after)?)
    }

    fn decayed(&self, flash: &FlashArray) -> Result<FlashArray, FailedCase> {
        flash.decayed().map_err(|error| self.storage_failed(error))
    }

    /// Whether there are weak pages on flash after the cuts so far and one with this outcome.
    fn has_weak_pages(&self, outcome: Outcome, flash: &FlashArray) -> Result<bool, FailedCase> {
        let mut outcomes = self.cuts.iter().map(|cut| cut.outcome).chain([outcome]);
        if !outcomes.any(leaves_weak_pages) {
            return Ok(false);
        }
        has_weak_pages(flash).map_err(|error| self.storage_failed(error))
    }

    fn storage_failed(&self, error: nand::Error) -> FailedCase {
        FailedCase::new(self.case, &self.cuts, Finding::of_storage(error))
    }

    /// Whether a cut is tried. `of_action`: the operations of the action that it interrupts.
    fn is_drawn(&self, cut: PowerCut, of_action: usize) -> bool {
        let CutSchedule { one_first_in, second_cuts, .. } = self.schedule;
        let one_in = match (self.cuts.len(), second_cuts) {
            (0, _) => one_first_in,
            (2.., SecondCuts::OneIn(_)) => {
                second_cuts.one_second_in() * (1 + (of_action / THINNED_FROM) as u32)
            }
            _ => second_cuts.one_second_in(),
        };
        one_in == 1 || self.rng(Draw::Tried, &[cut]).one_in(one_in)
    }

    /// Random numbers about further cuts after those explored.
    fn rng(&self, draw: Draw, further: &[PowerCut]) -> Rng {
        rng(self.case, draw, self.cuts.iter().chain(further))
    }

    fn count(&mut self, outcome: Outcome, time: DecayTime) {
        self.observer.cut();
        self.counts.by_kind[outcome as usize][time as usize] += 1;
        match self.cuts.len() {
            0 => self.counts.first += 1,
            1 => self.counts.second += 1,
            _ => self.counts.deeper += 1,
        }
    }
}

/// Whether an operation with this outcome leaves what was on flash before it.
fn keeps_flash(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Untouched | Outcome::Intact | Outcome::Mixed)
}

/// Whether a page of this flash can be read now and not for ever.
fn has_weak_pages(flash: &FlashArray) -> nand::Result<bool> {
    flash.storage().map_or(Ok(false), PageStore::has_unstable)
}

#[cfg(test)]
mod tests;
