//! The traces of a sweep. Each is opened and parsed once, cached, and shared read-only by
//! the rows that need it. It is dropped when no further row needs it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::failed_row::RowFailure;
use super::trace_digests::TraceDigests;
use crate::config::experiment::Experiment;
use crate::config::replay::Replay;
use crate::config::setup::Setup;
use crate::input::Input;
use crate::input::request_cache::CacheBudget;
use crate::input::source::RequestSource;
use crate::plan::Row;
use crate::progress::Progress;

/// The traces of the rows that are still to be run.
pub(super) struct SharedInputs<'d> {
    digests: &'d TraceDigests,
    budget: Arc<CacheBudget>,
    files: Shared<RequestSource>,
    inputs: Shared<Input>,
}

impl<'d> SharedInputs<'d> {
    /// The traces of these rows, with `memory_bytes` for cached requests.
    pub(super) fn new<'a>(
        rows: impl Iterator<Item = &'a Row> + Clone,
        memory_bytes: u64,
        digests: &'d TraceDigests,
    ) -> SharedInputs<'d> {
        let experiments = rows.map(|row| &row.experiment);
        SharedInputs {
            digests,
            budget: CacheBudget::new(memory_bytes),
            files: Shared::new(experiments.clone().flat_map(file_keys)),
            inputs: Shared::new(experiments.map(input_key)),
        }
    }

    /// The input of a row. If another row is opening it right now, this waits for it.
    pub(super) fn of(&self, setup: &Setup, progress: &dyn Progress) -> Made<Input> {
        let experiment = &setup.experiment;
        self.inputs.get(&input_key(experiment), || {
            Input::with_files(setup, progress, |path| {
                let open = || {
                    let digest = self.digests.of(path, progress)?;
                    let opened = RequestSource::file(setup, path)?.with_sha256(digest);
                    opened.cached(&self.budget, progress)
                };
                self.files.get(&file_key(experiment, path), open)
            })
        })
    }

    /// Notes that a row no longer needs its traces.
    pub(super) fn done(&self, experiment: &Experiment) {
        self.inputs.release(&input_key(experiment));
        file_keys(experiment).iter().for_each(|key| self.files.release(key));
    }
}

/// The options that two rows must have in common to share an opened file.
fn file_key(experiment: &Experiment, path: &str) -> Experiment {
    let Experiment { format, skip_bad, sort, limit, .. } = experiment.clone();
    let trace = Some(path.to_owned());
    Experiment { trace, format, skip_bad, sort, limit, ..Experiment::default() }
}

fn file_keys(experiment: &Experiment) -> Vec<Experiment> {
    experiment.trace_files().into_iter().map(|path| file_key(experiment, path)).collect()
}

/// The options that two rows must have in common to share surveyed traces.
pub(super) fn input_key(experiment: &Experiment) -> Experiment {
    let has_workload = experiment.trace_files().len() < experiment.trace_names().len();
    let row = experiment.clone();
    let input = Experiment {
        trace: row.trace,
        shared: row.shared,
        // The survey of a load asks whether it is open.
        replay: if row.load.is_empty() { Replay::CLOSED } else { row.replay },
        load: row.load,
        format: row.format,
        skip_bad: row.skip_bad,
        sort: row.sort,
        limit: row.limit,
        volume: row.volume,
        fit: row.fit,
        chip: row.chip,
        ..Experiment::default()
    };
    match has_workload {
        // A workload is generated for a capacity and from a seed.
        true => Experiment { capacity_bytes: row.capacity_bytes, seed: row.seed, ..input },
        false => input,
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
