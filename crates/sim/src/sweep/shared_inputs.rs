//! The traces of a sweep. Each is opened and parsed once, cached, and shared read-only by
//! the rows that need it. It is dropped when no further row needs it.
//!
//! A trace of which rows replay single volumes is split into its volumes when it is parsed. If a
//! plan has a row for each volume, this happens before its rows are known ([`super::fleet`]).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::failed_row::RowFailure;
use super::trace_digests::TraceDigests;
use crate::config::experiment::Experiment;
use crate::config::replay::Replay;
use crate::config::setup::Setup;
use crate::config::values::Volume;
use crate::error::Result;
use crate::input::Input;
use crate::input::request_cache::{CacheBudget, needed_bytes};
use crate::input::source::RequestSource;
use crate::input::split_trace::{SplitTrace, Splitting};
use crate::memory::MemoryBudget;
use crate::plan::Plan;
use crate::progress::Progress;

/// The traces of the rows that are still to be run.
pub struct SharedInputs {
    /// None if nothing is cached, because no row is run here.
    budget: Option<Arc<CacheBudget>>,
    wanted_cache_bytes: u64,
    /// Whether figures of volumes are counted, because a row chooses volumes by them.
    counts: bool,
    files: Shared<OpenedFile>,
    inputs: Shared<Input>,
    /// Files that were opened before the rows were known, and stay open for them.
    held: Mutex<Vec<Experiment>>,
}

/// A parsed trace file.
pub(super) enum OpenedFile {
    /// All its volumes together.
    Whole(Arc<RequestSource>),
    /// Each volume by itself.
    Split(Arc<SplitTrace>),
}

impl OpenedFile {
    /// Parses a file for a setup.
    pub(super) fn open(
        setup: &Setup,
        path: &str,
        sha256: Option<String>,
        splitting: Splitting,
        progress: &dyn Progress,
    ) -> Result<OpenedFile> {
        if !is_split(&setup.experiment) {
            let source = RequestSource::file(setup, path)?.with_sha256(sha256);
            return Ok(OpenedFile::Whole(Arc::new(match splitting.cache {
                Some(cache) => source.cached(cache, progress)?,
                None => source,
            })));
        }
        let whole = Experiment { volume: Volume::All, ..setup.experiment.clone() };
        let whole = Setup { experiment: whole, ..setup.clone() };
        let source = RequestSource::file(&whole, path)?.with_sha256(sha256);
        Ok(OpenedFile::Split(Arc::new(SplitTrace::read(&source, splitting, progress)?)))
    }

    /// The requests that a run with these options replays.
    pub(super) fn source(&self, experiment: &Experiment) -> Result<Arc<RequestSource>> {
        match (self, &experiment.volume) {
            (OpenedFile::Whole(source), _) => Ok(Arc::clone(source)),
            (OpenedFile::Split(split), Volume::Named(name)) => {
                Ok(Arc::clone(&split.volume(name)?.source))
            }
            (OpenedFile::Split(_), Volume::All) => {
                unreachable!("the key of a file says whether it is split")
            }
        }
    }
}

/// The memory that the requests of all trace files of a plan will about take.
pub fn needed_cache_bytes(plan: &Plan) -> u64 {
    let mut seen = HashSet::new();
    let files = plan.rows.iter().flat_map(|row| {
        let files = row.experiment.trace_files().into_iter();
        files.map(|path| (file_key(&row.experiment, path), path)).collect::<Vec<_>>()
    });
    needed_bytes(files.filter(|(key, _)| seen.insert(key.clone())).map(|(_, path)| path))
}

/// Whether a run with these options replays single volumes.
fn is_split(experiment: &Experiment) -> bool {
    experiment.each_volume || experiment.volume != Volume::All
}

impl SharedInputs {
    /// Nothing opened yet, for rows that are run here. Requests are cached in `memory_bytes`, and
    /// at most half of `limit_bytes`; the rest in temporary files.
    pub fn new(plan: &Plan, memory_bytes: u64, limit_bytes: Option<u64>) -> SharedInputs {
        let wanted_cache_bytes = memory_bytes.min(needed_cache_bytes(plan));
        let memory = MemoryBudget::beside_cache(limit_bytes, wanted_cache_bytes);
        SharedInputs {
            budget: Some(CacheBudget::new(memory.cache_bytes())),
            wanted_cache_bytes,
            ..SharedInputs::uncached(plan)
        }
    }

    /// The same for rows that are run elsewhere: no requests are cached.
    pub fn uncached(plan: &Plan) -> SharedInputs {
        SharedInputs {
            budget: None,
            wanted_cache_bytes: 0,
            counts: plan.rows.iter().any(|row| row.experiment.volumes.is_some()),
            files: Shared::default(),
            inputs: Shared::default(),
            held: Mutex::default(),
        }
    }

    /// The memory for runs beside cached requests, within a limit.
    pub(super) fn memory(&self, limit_bytes: Option<u64>) -> MemoryBudget {
        MemoryBudget::beside_cache(limit_bytes, self.wanted_cache_bytes)
    }

    /// Notes that rows with these options will need their traces, and others will not.
    pub(super) fn expect<'a>(&self, experiments: impl Iterator<Item = &'a Experiment> + Clone) {
        self.files.expect(experiments.clone().flat_map(file_keys));
        self.inputs.expect(experiments.map(input_key));
        let held = core::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        held.iter().for_each(|key| self.files.release(key));
    }

    /// The trace of an experiment, split into its volumes. It stays open until rows are expected.
    pub(super) fn split(
        &self,
        experiment: &Experiment,
        digests: &TraceDigests,
        progress: &dyn Progress,
    ) -> Result<Arc<SplitTrace>> {
        let (setup, path) = (Setup::new(experiment)?, experiment.trace_files()[0]);
        let key = file_key(experiment, path);
        let opened = match self.files.made(&key) {
            Some(opened) => opened,
            None => {
                self.held.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
                self.files.add(key, self.open(&setup, path, digests, progress)?)
            }
        };
        match &*opened {
            OpenedFile::Split(split) => Ok(Arc::clone(split)),
            OpenedFile::Whole(_) => unreachable!("a trace of each volume is split"),
        }
    }

    fn open(
        &self,
        setup: &Setup,
        path: &str,
        digests: &TraceDigests,
        progress: &dyn Progress,
    ) -> Result<OpenedFile> {
        let sha256 = digests.of(path, progress)?;
        let splitting = Splitting { cache: self.budget.as_ref(), counts: self.counts };
        OpenedFile::open(setup, path, sha256, splitting, progress)
    }

    /// The input of a row. If another row is opening it right now, this waits for it.
    pub(super) fn of(
        &self,
        setup: &Setup,
        digests: &TraceDigests,
        progress: &dyn Progress,
    ) -> Made<Input> {
        let experiment = &setup.experiment;
        self.inputs.get(&input_key(experiment), || {
            Input::with_files(setup, progress, |path| {
                let open = || self.open(setup, path, digests, progress);
                let file = self.files.get(&file_key(experiment, path), open)?;
                Ok::<_, RowFailure>(file.source(experiment)?)
            })
        })
    }

    /// The number of requests of the volume that a row replays, if it is known.
    pub(super) fn requests(&self, experiment: &Experiment) -> Option<u64> {
        let (path, name) = (experiment.trace_files().first().copied()?, experiment.volume.name()?);
        match &*self.files.made(&file_key(experiment, path))? {
            OpenedFile::Split(split) => Some(split.volume(name).ok()?.requests),
            OpenedFile::Whole(_) => None,
        }
    }

    /// Notes that a row no longer needs its traces.
    pub(super) fn done(&self, experiment: &Experiment) {
        self.inputs.release(&input_key(experiment));
        file_keys(experiment).iter().for_each(|key| self.files.release(key));
    }
}

/// The options that two rows must have in common to share an opened file.
pub(super) fn file_key(experiment: &Experiment, path: &str) -> Experiment {
    let Experiment { format, skip_bad, sort, limit, .. } = experiment.clone();
    let (trace, each_volume) = (Some(path.to_owned()), is_split(experiment));
    Experiment { trace, format, skip_bad, sort, limit, each_volume, ..Experiment::default() }
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

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared { slots: Mutex::default() }
    }
}

impl<T> Shared<T> {
    /// Adds users of values.
    fn expect(&self, users: impl Iterator<Item = Experiment>) {
        let mut slots = self.slots();
        for key in users {
            let slot = slots.entry(key);
            slot.or_insert_with(|| SharedSlot { users: 0, made: Arc::default() }).users += 1;
        }
    }

    /// Adds a value that was made, with one user.
    fn add(&self, key: Experiment, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let made = Arc::new(OnceLock::from(Ok(Arc::clone(&value))));
        self.slots().insert(key, SharedSlot { users: 1, made });
        value
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

    /// The value, if it was made.
    fn made(&self, key: &Experiment) -> Option<Arc<T>> {
        self.slots().get(key)?.made.get()?.as_ref().ok().cloned()
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
