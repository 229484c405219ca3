//! Single runs, for processes that are sent one run at a time, such as the workers of a cluster.
//!
//! A process keeps one runner. It remembers the digests of trace files and the traces of the last
//! run, because the next run often needs the same ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::error::{Error, NoTrace, Result};
use crate::input::Input;
use crate::input::request_cache::CacheBudget;
use crate::input::split_trace::Splitting;
use crate::memory::MemoryBudget;
use crate::progress::Progress;
use crate::run::{RunOptions, run};
use crate::sweep::failed_row::{RowFailure, attempt};
use crate::sweep::key::RunOrder;
use crate::sweep::row;
use crate::sweep::shared_inputs::{OpenedFile, file_key, input_key};
use crate::sweep::trace_digests::TraceDigests;

/// Runs one order after another, or several at a time.
pub struct RowRunner {
    digests: TraceDigests,
    memory: MemoryBudget,
    cache: Arc<CacheBudget>,
    recent: Mutex<Option<(InputKey, Arc<Input>)>>,
    /// The file that was split last. The volumes of one file are usually all run.
    split: Mutex<Option<(InputKey, Arc<OpenedFile>)>>,
}

/// The options and the digests on which opened traces depend.
type InputKey = (Experiment, Vec<Option<String>>);

/// A trace whose files were copied here. In results it has its own name.
#[derive(Clone, Debug)]
pub struct CopiedTrace {
    /// The beginning of its own name: the folder of its files, with a `/`, or nothing.
    pub there: String,
    /// The same of the copy. No other trace is in this folder.
    pub here: String,
    /// The rest of the name, which is the same for both.
    pub rest: String,
}

impl RowRunner {
    /// A runner with this limit of memory, if any, of which cached requests take at most
    /// `cache_bytes`, and at most half.
    pub fn new(limit_bytes: Option<u64>, cache_bytes: u64) -> RowRunner {
        let memory = MemoryBudget::beside_cache(limit_bytes, cache_bytes);
        let cache = CacheBudget::new(memory.cache_bytes());
        let (recent, split) = (Mutex::new(None), Mutex::new(None));
        RowRunner { digests: TraceDigests::default(), memory, cache, recent, split }
    }

    /// Runs an order, given as text, and returns its outcome as JSON on one line. `copies` are
    /// traces that were copied here. A run that fails has an outcome, too; if it was refused, the
    /// message names the worker, because another one may have more memory.
    ///
    /// # Errors
    /// The run was stopped, the order comes from another version, or a trace here is not that of
    /// the order.
    pub fn run(
        &self,
        order: &str,
        copies: &[CopiedTrace],
        worker: &str,
        progress: &dyn Progress,
    ) -> Result<String> {
        let mut order = RunOrder::parse(order)?;
        copies.iter().for_each(|copy| copy.replace_name(&mut order));
        self.compare_traces(&order, worker, progress)?;
        let mut ran = attempt(|| {
            let setup = Setup::new(&order.experiment)?;
            let input = self.input(&setup, &order, progress)?;
            let options = RunOptions {
                input: Some(&input),
                progress,
                memory: &self.memory,
                ..RunOptions::default()
            };
            Ok(run(&setup, options)?)
        });
        if ran.as_ref().is_err_and(RowFailure::is_interruption) {
            return Err(Error::Interrupted);
        }
        if let Err(why) = &mut ran
            && why.is_refused
        {
            why.message = format!(
                "on worker {worker}, {}. By default the limit is half of a worker's memory, and \
                 Dask ends workers that take nearly all of theirs: a larger limit may need larger \
                 workers",
                why.message
            );
        }
        let mut outcome = row::outcome(&ran);
        copies.iter().for_each(|copy| copy.restore_name(&mut outcome));
        Ok(outcome.to_string())
    }

    fn compare_traces(
        &self,
        order: &RunOrder,
        worker: &str,
        progress: &dyn Progress,
    ) -> Result<()> {
        const SEND: &str = "send it with `send_traces=True`";
        let on = |what: &str| format!("{what} on worker {worker}");
        for (name, digest) in &order.traces {
            let found = self.digests.of(name, progress)?;
            if found != *digest {
                let (state, remedy) = match (digest, found) {
                    (None, _) => (
                        on("is missing where the sweep was started, but is"),
                        "name its folder there with `traces`",
                    ),
                    (_, None) if NoTrace::of(name) == Some(NoTrace::Denied) => {
                        (on("may not be read"), SEND)
                    }
                    (_, None) => (on("is missing"), SEND),
                    _ => (on("has other contents"), SEND),
                };
                return Err(Error::Impossible(format!(
                    "trace {name} {state}; give it a path that all machines can read, or {remedy}"
                )));
            }
        }
        Ok(())
    }

    /// The traces of an order: those of the last run, or newly opened.
    fn input(
        &self,
        setup: &Setup,
        order: &RunOrder,
        progress: &dyn Progress,
    ) -> core::result::Result<Arc<Input>, RowFailure> {
        let digests = order.traces.iter().map(|(_, digest)| digest.clone());
        let key = (input_key(&order.experiment), digests.collect());
        if let Some(input) = self.known_input(&key) {
            return Ok(input);
        }
        let digest = |path: &str| {
            let known = order.traces.iter().find(|(name, _)| name == path);
            known.and_then(|(_, digest)| digest.clone())
        };
        let input = Arc::new(Input::with_files(setup, progress, |path| -> Result<_> {
            self.file(setup, path, digest(path), progress)?.source(&setup.experiment)
        })?);
        *self.recent() = Some((key, Arc::clone(&input)));
        Ok(input)
    }

    /// The traces of the last run if this one needs the same. Other ones are dropped before new
    /// ones take their memory. Both happens under one lock: a run beside this one could otherwise
    /// put its own traces in between.
    fn known_input(&self, key: &InputKey) -> Option<Arc<Input>> {
        let mut recent = self.recent();
        recent.take_if(|(of, _)| of != key);
        recent.as_ref().map(|(_, input)| Arc::clone(input))
    }

    fn recent(&self) -> MutexGuard<'_, Option<(InputKey, Arc<Input>)>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A trace file: newly opened, or split for an earlier run. Runs that need the same file wait
    /// until it is split.
    fn file(
        &self,
        setup: &Setup,
        path: &str,
        sha256: Option<String>,
        progress: &dyn Progress,
    ) -> Result<Arc<OpenedFile>> {
        let key = (file_key(&setup.experiment, path), vec![sha256.clone()]);
        let splitting = Splitting { cache: Some(&self.cache), counts: false };
        let open = || OpenedFile::open(setup, path, sha256, splitting, progress).map(Arc::new);
        if !key.0.each_volume {
            return open();
        }
        let mut split = self.split.lock().unwrap_or_else(PoisonError::into_inner);
        split.take_if(|(of, _)| *of != key);
        match &*split {
            Some((_, file)) => Ok(Arc::clone(file)),
            None => Ok(Arc::clone(&split.insert((key, open()?)).1)),
        }
    }
}

impl CopiedTrace {
    /// Replaces the name of the trace by that of the copy.
    fn replace_name(&self, order: &mut RunOrder) {
        let name = format!("{}{}", self.there, self.rest);
        let experiment = &mut order.experiment;
        let loads = experiment.load.iter_mut().map(|load| &mut load.trace);
        let traces = order.traces.iter_mut().map(|(name, _)| name);
        let names = loads.chain(&mut experiment.trace).chain(traces);
        names.filter(|other| **other == name).for_each(|other| {
            *other = format!("{}{}", self.here, self.rest);
        });
    }

    /// Restores the name of the trace in all texts of an outcome.
    fn restore_name(&self, outcome: &mut Value) {
        match outcome {
            Value::String(text) => *text = text.replace(&self.here, &self.there),
            Value::Array(items) => items.iter_mut().for_each(|item| self.restore_name(item)),
            Value::Object(fields) => fields.values_mut().for_each(|it| self.restore_name(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::thread;

    use crate::plan::{Plan, Row, Scale};
    use crate::progress::NoProgress;
    use crate::sweep::row::{RowState, json, of_outcome};

    const LINES: &str = "0,0,4096,W,0.0\n0,8,0,W,0.2\n0,16,4096,W,0.5\n";

    fn rows(text: &str) -> Vec<Row> {
        Plan::parse("p", text, Scale::Full).unwrap().rows
    }

    fn order(row: &Row) -> String {
        RunOrder::of(&row.experiment, &TraceDigests::default(), &NoProgress).unwrap().text()
    }

    /// The row that a sweep gives.
    fn swept(row: &Row) -> String {
        let ran = attempt(|| Ok(run(&Setup::new(&row.experiment)?, RunOptions::default())?));
        json(0, row, &ran)
    }

    fn plan_of(folder: &Path) -> String {
        let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        std::fs::write(at("a.spc"), LINES).unwrap();
        std::fs::write(at("b.spc"), LINES.replace("16", "32")).unwrap();
        std::fs::write(at("bad.spc"), "0,0,4096,W,0.0\nnonsense\n").unwrap();
        format!(
            "[base]\nwarmup = 0\ncapacity = \"4MiB\"\n[[grid]]\nload = [[\"{0}\"], [\"{1}\"], \
             [\"{1}@open\", \"{0}\"], [\"{2}\"], [\"oltp:writes=9\"]]\nftl = [\"page\", \"block\"]",
            at("a.spc"),
            at("b.spc"),
            at("bad.spc")
        )
    }

    #[test]
    fn outcomes_become_the_rows_of_a_sweep() {
        let directory = tempfile::tempdir().unwrap();
        let runner = RowRunner::new(None, 1 << 20);
        for row in rows(&plan_of(directory.path())) {
            let outcome = runner.run(&order(&row), &[], "w1", &NoProgress).unwrap();
            assert_eq!(of_outcome(0, &row, &outcome).unwrap().0, swept(&row));
        }
    }

    /// Runs of other traces at the same time do not get each other's.
    #[test]
    fn each_of_several_runs_at_a_time_has_its_own_trace() {
        let directory = tempfile::tempdir().unwrap();
        let runner = RowRunner::new(None, 1 << 20);
        let opens = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, LINES).unwrap();
            let row = &rows(&format!("[base]\ntrace = \"{}\"", path.display()))[0];
            let order = RunOrder::parse(&order(row)).unwrap();
            let setup = Setup::new(&order.experiment).unwrap();
            let own = runner.input(&setup, &order, &NoProgress).ok().unwrap();
            let (runner, key) = (&runner, (input_key(&order.experiment), Vec::new()));
            move || {
                for _ in 0..1_000_000 {
                    match runner.known_input(&key) {
                        Some(found) => assert!(Arc::ptr_eq(&found, &own), "{}", found.names()),
                        None => *runner.recent() = Some((key.clone(), Arc::clone(&own))),
                    }
                }
            }
        };
        thread::scope(|scope| {
            for name in ["a.spc", "b.spc", "c.spc"] {
                scope.spawn(opens(name));
            }
        });
    }

    #[test]
    fn a_refused_row_names_the_worker_and_its_limit() {
        let row = &rows("[base]\ncapacity = \"1GiB\"")[0];
        let outcome = RowRunner::new(Some(4 << 20), 0).run(&order(row), &[], "w1", &NoProgress);
        let (text, state) = of_outcome(0, row, &outcome.unwrap()).unwrap();
        assert_eq!(state, RowState::Refused);
        assert!(text.contains("on worker w1, this run would take"), "{text}");
        assert!(text.contains("the limit is 4.00 MiB"), "{text}");
        assert!(text.contains("a larger limit may need larger workers"), "{text}");
    }

    #[test]
    fn copies_give_the_rows_of_their_originals() {
        let [there, here] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let plan = plan_of(there.path());
        let prefix = |folder: &Path| format!("{}/", folder.to_str().unwrap());
        let mut copies = Vec::new();
        let orders: Vec<(Row, String)> =
            rows(&plan).into_iter().map(|row| (row.clone(), order(&row))).collect();
        let wanted: Vec<String> = orders.iter().map(|(row, _)| swept(row)).collect();
        for rest in ["a.spc", "b.spc", "bad.spc"] {
            let folder = here.path().join(rest);
            std::fs::create_dir(&folder).unwrap();
            std::fs::rename(there.path().join(rest), folder.join(rest)).unwrap();
            let (there, here) = (prefix(there.path()), prefix(&folder));
            copies.push(CopiedTrace { there, here, rest: rest.to_owned() });
        }
        let runner = RowRunner::new(None, 0);
        for ((row, order), wanted) in orders.iter().zip(wanted) {
            let outcome = runner.run(order, &copies, "w1", &NoProgress).unwrap();
            assert_eq!(of_outcome(0, row, &outcome).unwrap().0, wanted);
        }
    }

    #[test]
    fn a_trace_that_is_missing_or_differs_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (runner, row) = (RowRunner::new(None, 0), &rows(&plan_of(directory.path()))[0]);
        let order = order(row);
        let why = || runner.run(&order, &[], "w1", &NoProgress).unwrap_err();
        let path = directory.path().join("a.spc");
        std::fs::write(&path, LINES.replace("16", "48")).unwrap();
        assert!(why().to_string().contains("a.spc has other contents on worker w1; "));
        std::fs::remove_file(&path).unwrap();
        assert!(why().to_string().contains("a.spc is missing on worker w1; "));
        assert_eq!(why().exit_code(), 2);
        let order = super::tests::order(row);
        std::fs::write(&path, LINES).unwrap();
        let why = runner.run(&order, &[], "w1", &NoProgress).unwrap_err().to_string();
        assert!(why.contains("a.spc is missing where the sweep was started"), "{why}");
    }
}
