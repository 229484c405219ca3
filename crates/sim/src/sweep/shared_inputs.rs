//! The traces of a sweep, each opened once, read once into memory if it fits, and shared read-only
//! between the rows that need it. What no row needs any more is let go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::failed_row::Failed;
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::input::Input;
use crate::input::request_cache::CacheBudget;
use crate::input::source::RequestSource;
use crate::plan::Row;
use crate::progress::Progress;

/// The traces that rows still to be run need.
pub(super) struct Inputs {
    budget: Arc<CacheBudget>,
    sources: Shared<RequestSource>,
    inputs: Shared<Input>,
}

impl Inputs {
    /// For these rows, with so much memory for requests.
    pub(super) fn new<'a>(
        rows: impl Iterator<Item = &'a Row> + Clone,
        memory_bytes: u64,
    ) -> Inputs {
        let keys = rows.map(|row| Keys::of(&row.experiment));
        Inputs {
            budget: CacheBudget::new(memory_bytes),
            sources: Shared::new(keys.clone().map(|keys| keys.source)),
            inputs: Shared::new(keys.map(|keys| keys.input)),
        }
    }

    /// The input of one row. Who comes while another row makes it waits for that.
    pub(super) fn of(&self, setup: &Setup, progress: &dyn Progress) -> Made<Input> {
        let keys = Keys::of(&setup.experiment);
        self.inputs.get(&keys.input, || {
            let open = || RequestSource::open(setup)?.cached(&self.budget, progress);
            let source = self.sources.get(&keys.source, open)?;
            Ok::<_, Failed>(Input::over(source, setup, progress)?)
        })
    }

    /// A row is done and needs its trace no more.
    pub(super) fn done(&self, experiment: &Experiment) {
        let keys = Keys::of(experiment);
        self.inputs.let_go(&keys.input);
        self.sources.let_go(&keys.source);
    }
}

/// What two rows must have in common to share.
struct Keys {
    /// An opened trace.
    source: Experiment,
    /// An opened trace that was looked through.
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
            // A workload is made for a device, and from a seed.
            source = Experiment { chip: chip.clone(), capacity_bytes, seed, ..source };
        }
        let (volume, fit) = (experiment.volume, experiment.fit);
        let input = Experiment { volume, fit, chip, ..source.clone() };
        Keys { source, input }
    }
}

/// What was made, or why it could not be.
pub(super) type Made<T> = core::result::Result<Arc<T>, Failed>;

/// Things made once and shared by as many as were announced.
struct Shared<T> {
    slots: Mutex<HashMap<Experiment, Slot<T>>>,
}

struct Slot<T> {
    users: usize,
    made: Arc<OnceLock<Made<T>>>,
}

impl<T> Shared<T> {
    fn new(users: impl Iterator<Item = Experiment>) -> Shared<T> {
        let mut slots: HashMap<Experiment, Slot<T>> = HashMap::new();
        for key in users {
            let slot = slots.entry(key);
            slot.or_insert_with(|| Slot { users: 0, made: Arc::default() }).users += 1;
        }
        Shared { slots: Mutex::new(slots) }
    }

    /// A row that panicked leaves nothing half done here.
    fn slots(&self) -> MutexGuard<'_, HashMap<Experiment, Slot<T>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get<E>(&self, key: &Experiment, make: impl FnOnce() -> core::result::Result<T, E>) -> Made<T>
    where
        Failed: From<E>,
    {
        let made = Arc::clone(&self.slots()[key].made);
        made.get_or_init(|| Ok(Arc::new(make()?))).clone()
    }

    fn let_go(&self, key: &Experiment) {
        let mut slots = self.slots();
        let slot = slots.get_mut(key).expect("let go once a user");
        slot.users -= 1;
        if slot.users == 0 {
            slots.remove(key);
        }
    }
}
