//! The traces of a sweep. Each is opened once, cached in memory if it fits, and shared read-only by
//! the rows that need it. It is dropped when no further row needs it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::failed_row::RowFailure;
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::input::Input;
use crate::input::request_cache::CacheBudget;
use crate::input::source::RequestSource;
use crate::plan::Row;
use crate::progress::Progress;

/// The traces of the rows that are still to be run.
pub(super) struct SharedInputs {
    budget: Arc<CacheBudget>,
    sources: Shared<RequestSource>,
    inputs: Shared<Input>,
}

impl SharedInputs {
    /// The traces of these rows, with `memory_bytes` for cached requests.
    pub(super) fn new<'a>(
        rows: impl Iterator<Item = &'a Row> + Clone,
        memory_bytes: u64,
    ) -> SharedInputs {
        let keys = rows.map(|row| Keys::of(&row.experiment));
        SharedInputs {
            budget: CacheBudget::new(memory_bytes),
            sources: Shared::new(keys.clone().map(|keys| keys.source)),
            inputs: Shared::new(keys.map(|keys| keys.input)),
        }
    }

    /// The input of a row. If another row is opening it right now, this waits for it.
    pub(super) fn of(&self, setup: &Setup, progress: &dyn Progress) -> Made<Input> {
        let keys = Keys::of(&setup.experiment);
        self.inputs.get(&keys.input, || {
            let open = || RequestSource::open(setup)?.cached(&self.budget, progress);
            let source = self.sources.get(&keys.source, open)?;
            Ok::<_, RowFailure>(Input::over(source, setup, progress)?)
        })
    }

    /// Notes that a row no longer needs its trace.
    pub(super) fn done(&self, experiment: &Experiment) {
        let keys = Keys::of(experiment);
        self.inputs.release(&keys.input);
        self.sources.release(&keys.source);
    }
}

/// The options that two rows must have in common to share a source or an input.
struct Keys {
    /// Options on which an opened trace depends.
    source: Experiment,
    /// Options on which a surveyed trace depends.
    input: Experiment,
}

impl Keys {
    fn of(experiment: &Experiment) -> Keys {
        let is_file = experiment.reads_file();
        let Experiment { trace, format, skip_bad, sort, limit, chip, capacity_bytes, seed, .. } =
            experiment.clone();
        let mut source =
            Experiment { trace, format, skip_bad, sort, limit, ..Experiment::default() };
        if !is_file {
            // A workload is generated for a capacity and from a seed.
            source = Experiment { chip: chip.clone(), capacity_bytes, seed, ..source };
        }
        let (volume, fit) = (experiment.volume, experiment.fit);
        let input = Experiment { volume, fit, chip, ..source.clone() };
        Keys { source, input }
    }
}

/// A shared value, or the reason why it could not be made.
pub(super) type Made<T> = core::result::Result<Arc<T>, RowFailure>;

/// Values that are made once and shared by a known number of users.
struct Shared<T> {
    slots: Mutex<HashMap<Experiment, SharedSlot<T>>>,
}

struct SharedSlot<T> {
    users: usize,
    made: Arc<OnceLock<Made<T>>>,
}

impl<T> Shared<T> {
    fn new(users: impl Iterator<Item = Experiment>) -> Shared<T> {
        let mut slots: HashMap<Experiment, SharedSlot<T>> = HashMap::new();
        for key in users {
            let slot = slots.entry(key);
            slot.or_insert_with(|| SharedSlot { users: 0, made: Arc::default() }).users += 1;
        }
        Shared { slots: Mutex::new(slots) }
    }

    /// The slots. A row that panics cannot leave them half changed.
    fn slots(&self) -> MutexGuard<'_, HashMap<Experiment, SharedSlot<T>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get<E>(&self, key: &Experiment, make: impl FnOnce() -> core::result::Result<T, E>) -> Made<T>
    where
        RowFailure: From<E>,
    {
        let made = Arc::clone(&self.slots()[key].made);
        made.get_or_init(|| Ok(Arc::new(make()?))).clone()
    }

    fn release(&self, key: &Experiment) {
        let mut slots = self.slots();
        let slot = slots.get_mut(key).expect("every user releases once");
        slot.users -= 1;
        if slot.users == 0 {
            slots.remove(key);
        }
    }
}
