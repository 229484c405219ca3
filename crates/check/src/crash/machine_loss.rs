//! Crashes the machine below an image at every write and sync, with many losses, and again during
//! recovery.
//!
//! ```text
//! mount · o1 · o2 · … · on                      the workload, every event of the disk recorded
//!              └─ crash ─► open · mount · a1 … a7 · mount            for each × several losses
//!                             └─ crash ─► open · mount · …           second crash: the same again
//! ```
//! The opened image must be exactly the chip after one operation, at or after the last sync that
//! was answered. So the FTL finds what a power cut between two operations leaves, and the oracle
//! judges it as it judges a power cut.

use std::ops::AddAssign;
use std::rc::Rc;
use std::vec;

use image::LossyDisk;
use image::medium::loss::Loss;
use image::medium::lossy_disk::{Event, Unsynced};
use image::medium::shared_bytes::SharedBytes;

use crate::case::Case;
use crate::cut::power_loss::SecondCuts;
use crate::device::action::{self, Action};
use crate::device::machine_crash::Crash;
use crate::device::powered_device::{OnDisk, PoweredDevice};
use crate::failed_case::FailedCase;
use crate::finding::{Defect, Finding};
use crate::flash::image_chip::{self, Contents};
use crate::observer::Observer;
use crate::oracle::Oracle;
use crate::rng::{Rng, mix};

/// Random losses of each kind that are tried at each event.
const DRAWS: usize = 1;

/// Which crashes are tried.
#[derive(Clone, Copy, Debug)]
pub struct CrashSchedule {
    /// The first operation of the workload during which the machine crashes. With 0, it crashes
    /// during the first mount too.
    pub from_operation: usize,
    /// One in this number of crashes during the workload is tried, drawn from the seed.
    pub one_first_in: u32,
    /// Crashes during the recovery from a first crash and the operations after it.
    pub second_crashes: SecondCuts,
}

/// Number of crash states that were tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashCounts {
    /// States that a crash during a workload left.
    pub first: u64,
    /// States that a crash during a recovery or the operations after it left.
    pub second: u64,
    /// All states by the kind of their loss, in the order of [`Loss::NAMES`].
    pub by_loss: [u64; Loss::NAMES.len()],
}

impl CrashCounts {
    /// The kinds of losses by name, with the number of their states.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Loss::NAMES.iter().copied().zip(self.by_loss)
    }
}

impl AddAssign for CrashCounts {
    fn add_assign(&mut self, other: CrashCounts) {
        self.first += other.first;
        self.second += other.second;
        for (mine, others) in self.by_loss.iter_mut().zip(other.by_loss) {
            *mine += others;
        }
    }
}

/// Tries all crashes of the schedule, up to the first finding or until the observer stops it.
pub fn explore(
    case: &Case,
    schedule: CrashSchedule,
    observer: &dyn Observer,
) -> (CrashCounts, Result<(), FailedCase>) {
    let counts = CrashCounts::default();
    let mut explorer = Explorer { case, schedule, observer, counts, crashes: Vec::new() };
    let device = PoweredDevice::brand_new(case).map_err(|finding| explorer.failed(finding));
    let done = device.and_then(|device| explorer.run(device, &action::of_workload(case)));
    (explorer.counts, done)
}

/// Runs one case with these crashes and passes a line about every action to `tell`. Returns the
/// first crash that did not happen because the run ended before it.
///
/// # Errors
/// The finding.
pub fn replay(
    case: &Case,
    crashes: &[Crash],
    tell: &mut dyn FnMut(String),
) -> Result<Option<Crash>, FailedCase> {
    let failed = |finding| FailedCase::crashed(case, crashes, finding);
    let mut device = PoweredDevice::brand_new(case).map_err(failed)?;
    let mut actions = action::of_workload(case);
    for level in 0..crashes.len() {
        let crash = crashes[level];
        let Some(left) = run_until(device, &actions, crash, tell).map_err(failed)? else {
            return Ok(Some(crash));
        };
        tell(format!("the machine crashed after {} events, loss {}", crash.after, crash.loss));
        device = left.power_on(case).map_err(failed)?;
        actions = actions_after_crash(case, &crashes[..=level]);
    }
    perform_all(device, &actions, tell).map_err(failed)?;
    Ok(None)
}

/// Performs the actions without a crash.
fn perform_all(
    mut device: PoweredDevice,
    actions: &[Action],
    tell: &mut dyn FnMut(String),
) -> Result<(), Finding> {
    for &action in actions {
        tell(action.to_string());
        device.perform(action)?;
    }
    Ok(())
}

/// Performs the actions until the machine crashes; none if it does not.
fn run_until(
    device: PoweredDevice,
    actions: &[Action],
    crash: Crash,
    tell: &mut dyn FnMut(String),
) -> Result<Option<Left>, Finding> {
    let mut machine = Machine::new(device)?;
    for &action in actions {
        tell(action.to_string());
        machine.perform(action)?;
        while let Some(moment) = machine.next_moment() {
            if moment.after == crash.after {
                return Ok(Some(moment.crash(crash.loss)));
            }
        }
    }
    Ok(None)
}

fn actions_after_crash(case: &Case, crashes: &[Crash]) -> Vec<Action> {
    let seed = crashes.iter().fold(case.seed, |seed, crash| crash.salted(seed));
    action::of_recovery(case, seed, false)
}

/// A device, and what its disk has not synced yet.
struct Machine<'a> {
    device: PoweredDevice<'a>,
    unsynced: Unsynced,
    /// Events of the last action that have not happened to `unsynced` yet.
    events: vec::IntoIter<Event>,
    /// Events since power-on that have.
    after: u64,
    /// What the chip held after each operation since power-on, until the power is switched off in
    /// order.
    history: Vec<Rc<Contents>>,
}

/// The machine directly after an event of its disk.
struct Moment<'a> {
    /// Events since power-on.
    after: u64,
    /// Whether the event has changed what a crash can leave, or what is right then.
    is_new: bool,
    unsynced: &'a Unsynced,
    oracle: &'a Oracle,
    /// The last operation that was begun.
    operation: u64,
    /// What the chip held after the last operation that was answered to be durable, and after later
    /// ones, as far as it is known.
    history: &'a [Rc<Contents>],
}

/// What a crash leaves, and what is known of it.
struct Left {
    bytes: SharedBytes,
    oracle: Oracle,
    /// The last operation that was answered to be durable, and the last one that was begun.
    operations: [u64; 2],
    /// What the chip held after the first of these and later ones, as far as it is known.
    history: Vec<Rc<Contents>>,
}

impl<'a> Machine<'a> {
    fn new(mut device: PoweredDevice<'a>) -> Result<Machine<'a>, Finding> {
        device.record();
        let unsynced = Unsynced::new(device.disk_bytes(), device.operation());
        let flash = device.nand().array().try_clone();
        let contents = flash.map_err(Finding::of_storage).and_then(image_chip::contents)?;
        let (events, history) = (Vec::new().into_iter(), vec![Rc::new(contents)]);
        Ok(Machine { device, unsynced, events, after: 0, history })
    }

    /// Performs an action, whose moments come next.
    fn perform(&mut self, action: Action) -> Result<(), Finding> {
        self.device.perform(action)?;
        for snapshot in std::mem::take(&mut self.device.snapshots) {
            self.history.push(Rc::new(image_chip::contents(snapshot.after)?));
        }
        self.events = self.device.take_events().into_iter();
        Ok(())
    }

    /// Lets the next event of the action happen to the disk; none if there is no further one.
    fn next_moment(&mut self) -> Option<Moment<'_>> {
        let event = self.events.next()?;
        self.after += 1;
        let is_new = self.unsynced.pass(&event);
        let answered = self.unsynced.answered;
        let before = self.history.partition_point(|contents| contents.operation < answered);
        Some(Moment {
            after: self.after,
            is_new,
            unsynced: &self.unsynced,
            // An answer ends its action; what it promises holds from then on.
            oracle: match event {
                Event::Answered(_) => self.device.oracle(),
                _ => &self.device.oracle_during_action,
            },
            operation: self.device.operation(),
            history: &self.history[before..],
        })
    }
}

impl Moment<'_> {
    fn crash(&self, loss: Loss) -> Left {
        Left {
            bytes: self.unsynced.crash(loss),
            oracle: self.oracle.clone(),
            operations: [self.unsynced.answered, self.operation],
            history: self.history.to_vec(),
        }
    }
}

impl Left {
    /// Switches the power on again.
    fn power_on(self, case: &Case) -> Result<PoweredDevice<'_>, Finding> {
        let [answered, last] = self.operations;
        let OnDisk { device, contents } =
            PoweredDevice::on_disk(case, LossyDisk::of(self.bytes), self.oracle)?;
        let operation = device.operation();
        if !(answered..=last).contains(&operation) {
            let sentence = format!(
                "after the crash it holds operation {operation}; {answered} was answered to be \
                 durable, and {last} was the last one"
            );
            return Err(Finding::new(Defect::ImageDiffers, sentence));
        }
        match self.history.iter().find(|contents| contents.operation == operation) {
            Some(right) => right.expect(&contents).map(|()| device),
            None => Ok(device),
        }
    }
}

struct Explorer<'a> {
    case: &'a Case,
    schedule: CrashSchedule,
    observer: &'a dyn Observer,
    counts: CrashCounts,
    /// The crashes that led to the state being explored.
    crashes: Vec<Crash>,
}

impl Explorer<'_> {
    /// Performs the actions, and explores a crash at each event of the disk on the way.
    fn run(&mut self, device: PoweredDevice, actions: &[Action]) -> Result<(), FailedCase> {
        if !self.is_crashed_again() {
            let done = perform_all(device, actions, &mut |_| ());
            return done.map_err(|finding| self.failed(finding));
        }
        let mut machine = Machine::new(device).map_err(|finding| self.failed(finding))?;
        for (index, &action) in actions.iter().enumerate() {
            machine.perform(action).map_err(|finding| self.failed(finding))?;
            while let Some(moment) = machine.next_moment() {
                if moment.is_new && self.is_scheduled(index) {
                    self.try_crashes(&moment)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the machine crashes at any event of the next actions.
    fn is_crashed_again(&self) -> bool {
        let is_drawn = |one_in| self.rng(0).one_in(one_in);
        let second_crashes = self.schedule.second_crashes;
        self.crashes.is_empty()
            || self.crashes.len() == 1 && second_crashes.one_first_in().is_some_and(is_drawn)
    }

    /// Before the first crash, action 0 is the mount and action n + 1 is operation n.
    fn is_scheduled(&self, action: usize) -> bool {
        let from = self.schedule.from_operation;
        !self.crashes.is_empty() || from == 0 || action > from
    }

    /// Crashes the machine at this moment, with several losses, and explores what follows.
    fn try_crashes(&mut self, moment: &Moment) -> Result<(), FailedCase> {
        let mut rng = self.rng(moment.after);
        let mut below = |end: usize| rng.below(end as u32) as usize;
        let losses = moment.unsynced.losses(DRAWS, &mut below);
        let one_in = match self.crashes.is_empty() {
            true => self.schedule.one_first_in,
            false => self.schedule.second_crashes.one_second_in(),
        };
        for loss in losses {
            if rng.one_in(one_in) && !self.observer.is_stopped() {
                self.recover(Crash { after: moment.after, loss }, moment.crash(loss))?;
            }
        }
        Ok(())
    }

    /// Explores the recovery from a crash.
    fn recover(&mut self, crash: Crash, left: Left) -> Result<(), FailedCase> {
        self.count(crash.loss);
        self.crashes.push(crash);
        let actions = actions_after_crash(self.case, &self.crashes);
        let device = left.power_on(self.case).map_err(|finding| self.failed(finding))?;
        self.run(device, &actions)?;
        self.crashes.pop();
        Ok(())
    }

    fn failed(&self, finding: Finding) -> FailedCase {
        FailedCase::crashed(self.case, &self.crashes, finding)
    }

    /// Random numbers about what happens after an event.
    fn rng(&self, after: u64) -> Rng {
        let seed = mix(self.case.seed, after);
        Rng::new(self.crashes.iter().fold(seed, |seed, crash| crash.salted(seed)))
    }

    fn count(&mut self, loss: Loss) {
        self.observer.crash();
        self.counts.by_loss[loss.parts().0] += 1;
        match self.crashes.is_empty() {
            true => self.counts.first += 1,
            false => self.counts.second += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use ftl::Durability;

    use super::*;
    use crate::device_model::DeviceModel;
    use crate::flash::Storage;
    use crate::subject::Subject;
    use crate::workload::host_operation::{Extent, HostOperation};

    fn case() -> Case {
        let (page, tiny) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny"));
        let case = Case::new(&page, tiny.unwrap(), "forced", 2, Durability::Full).unwrap();
        case.on(Storage::Image)
    }

    /// What a crash leaves at the last event of a run that loses all that was not synced.
    fn left(case: &Case) -> Left {
        let mut machine = Machine::new(PoweredDevice::brand_new(case).unwrap()).unwrap();
        let mut left = None;
        for action in action::of_workload(case) {
            machine.perform(action).unwrap();
            while let Some(moment) = machine.next_moment() {
                left = Some(moment.crash(Loss::All));
            }
        }
        left.expect("an image is written")
    }

    #[test]
    fn an_image_that_a_crash_leaves_is_compared_with_what_was_answered() {
        let case = case();
        let left = left(&case);
        let [answered, last] = left.operations;
        assert!(answered > 0 && last > answered, "{answered} {last}");
        let operation = || {
            let device = PoweredDevice::on_disk(&case, LossyDisk::of(left.bytes.clone()), {
                left.oracle.clone()
            });
            device.unwrap().device.operation()
        };
        let power_on = |operations, history: &[Rc<Contents>]| {
            let (bytes, oracle) = (left.bytes.clone(), left.oracle.clone());
            let again = Left { bytes, oracle, operations, history: history.to_vec() };
            again.power_on(&case).err().map(|finding| (finding.defect, finding.sentence))
        };
        let holds = operation();
        assert_eq!(power_on([answered, last], &left.history), None);
        for wrong in [[holds + 1, last], [0, holds - 1]] {
            let (defect, why) = power_on(wrong, &[]).unwrap();
            assert_eq!(defect, Defect::ImageDiffers);
            assert!(why.contains(&format!("it holds operation {holds}")), "{why}");
        }
        let later = left.history.iter().cycle().skip(1);
        let history: Vec<Rc<Contents>> = left
            .history
            .iter()
            .zip(later)
            .map(|(it, other)| {
                Rc::new(Contents { operation: it.operation, ..Contents::clone(other) })
            })
            .collect();
        assert_eq!(power_on([answered, last], &history).unwrap().0, Defect::ImageDiffers);
    }

    #[test]
    fn what_happens_to_the_disk_of_an_image_is_noted() {
        let case = case();
        let mut machine = Machine::new(PoweredDevice::brand_new(&case).unwrap()).unwrap();
        let (mut begun, mut ended, mut durable) = (0, 0, Vec::new());
        for action in action::of_workload(&case) {
            machine.device.perform(action).unwrap();
            let events = machine.device.take_events();
            for event in &events {
                match event {
                    Event::SyncBegan => begun += 1,
                    Event::SyncEnded => ended += 1,
                    Event::Durable(operation) => durable.push(*operation),
                    _ => {}
                }
            }
            let promises = matches!(action, Action::Do(it) if HostOperation::makes_durable(&it));
            let operation = machine.device.operation();
            let is_answered =
                matches!(events.last(), Some(Event::Answered(it)) if *it == operation);
            assert_eq!(is_answered, promises, "{action}");
        }
        assert!(begun > 1 && ended > 1, "{begun} begun, {ended} ended");
        assert!(durable.is_sorted() && durable.last() > Some(&0), "{durable:?}");
    }

    #[test]
    fn a_sum_of_crashes_adds_every_count_to_its_own() {
        let by_loss = std::array::from_fn(|at| 5 + at as u64);
        let counts = CrashCounts { first: 3, second: 4, by_loss };
        let mut sum = counts;
        sum += counts;
        sum += counts;
        assert_eq!((sum.first, sum.second), (9, 12));
        let named: Vec<_> = Loss::NAMES.iter().copied().zip(by_loss.map(|n| 3 * n)).collect();
        assert_eq!(sum.by_name().collect::<Vec<_>>(), named);
    }

    #[test]
    fn an_image_is_compared_with_every_state_from_the_last_answer_on() {
        let left = left(&case());
        let [answered, last] = left.operations;
        let known: Vec<u64> = left.history.iter().map(|contents| contents.operation).collect();
        assert_eq!(known, (answered..=last).collect::<Vec<_>>());
    }

    #[test]
    fn an_answer_promises_from_its_own_event_on() {
        let case = case();
        let mut machine = Machine::new(PoweredDevice::brand_new(&case).unwrap()).unwrap();
        let flushed = |oracle: &Oracle, value| oracle.may_survive(0, value);
        machine.perform(Action::Mount).unwrap();
        while machine.next_moment().is_some() {}
        let extent = Extent::whole(0, 1, case.dimensions().full());
        machine.perform(Action::Do(HostOperation::Force(extent))).unwrap();
        let mut may_be_lost = Vec::new();
        while let Some(moment) = machine.next_moment() {
            may_be_lost.push(flushed(moment.oracle, 0));
        }
        let (last, before) = may_be_lost.split_last().unwrap();
        assert!(!last && !before.is_empty() && before.iter().all(|&it| it), "{may_be_lost:?}");
    }
}
