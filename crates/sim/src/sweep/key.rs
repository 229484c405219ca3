//! Keys: what a run, or a whole journal, depends on, as one hash.
//!
//! ```text
//! order of a run     version and build of ftlab · options as texts · digest of each trace file
//! key of a run       hash of its order
//! key of a journal   hash of the options of all rows; version and build;
//!                    hash of the digests of the trace files of its own rows
//! ```
//! Both are the same in every process and on every machine that sees the same traces under the same
//! names. Titles, claims and drawings are not part of them. Digests instead of modification times
//! cost nothing: a run needs them anyway for `trace_sha256`. A trace that was copied or touched
//! keeps its keys, and one that was replaced by other bytes of the same size does not.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::config::experiment::{Experiment, options};
use crate::config::named_trace::DEFAULT_TRACE;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::sweep::trace_digests::{TraceDigests, hex};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The digest of the sources, see `build.rs`.
const BUILD: &str = env!("FTLAB_BUILD");

/// A run that another process is asked for.
#[derive(Clone, Debug)]
pub struct RunOrder {
    /// The options.
    pub experiment: Experiment,
    /// For each trace file its name and its digest; none if it could not be read.
    pub traces: Vec<(String, Option<String>)>,
}

impl RunOrder {
    /// The order of a run, with the digests of the trace files that are here.
    ///
    /// # Errors
    /// [`Error::Interrupted`], if the reading of a trace is stopped.
    pub fn of(
        experiment: &Experiment,
        digests: &TraceDigests,
        progress: &dyn Progress,
    ) -> Result<RunOrder> {
        let traces = files([experiment].into_iter(), digests, progress)?;
        Ok(RunOrder { experiment: experiment.clone(), traces })
    }

    /// The order as a text.
    pub fn text(&self) -> String {
        json!([VERSION, BUILD, DEFAULT_TRACE, texts(&self.experiment), self.traces]).to_string()
    }

    /// The key of the run, in hexadecimal. Runs with the same key have the same result.
    pub fn key(&self) -> String {
        hash(&self.text())
    }

    /// Reads the text of an order.
    ///
    /// # Errors
    /// The order comes from another version or build of ftlab.
    pub fn parse(text: &str) -> Result<RunOrder> {
        let no_order = |_| Error::Impossible("this is not the order of a run".to_owned());
        let parts: Vec<Value> = serde_json::from_str(text).map_err(no_order)?;
        let part = |at: usize| parts.get(at).and_then(Value::as_str).unwrap_or("of another kind");
        let (version, build) = (part(0), part(1));
        if version == VERSION && build != BUILD {
            return Err(Error::Impossible(format!(
                "the client and the worker have different builds of ftlab {VERSION}: {build} and \
                 {BUILD}; install the same wheel on both"
            )));
        }
        if version != VERSION {
            return Err(Error::Impossible(format!(
                "the client has ftlab {version} and the worker has ftlab {VERSION}; install the \
                 same version on both"
            )));
        }
        let [options, traces] = [3, 4].map(|at| parts.get(at).cloned().unwrap_or_default());
        let options: Vec<(String, Vec<String>)> =
            serde_json::from_value(options).map_err(no_order)?;
        let traces = serde_json::from_value(traces).map_err(no_order)?;
        let mut experiment = Experiment::default();
        for (name, texts) in options.iter().filter(|(_, texts)| !texts.is_empty()) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            experiment = experiment.with_all(name, &texts)?;
        }
        Ok(RunOrder { experiment, traces })
    }
}

/// The key of a journal: digests in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalKey {
    /// That of the plan, and the version and build: the same for all journals of a plan.
    pub plan: String,
    /// Of the traces of its own rows.
    pub traces: String,
}

/// The key of a journal that keeps these rows of a plan.
///
/// # Errors
/// [`Error::Interrupted`], if the reading of a trace is stopped.
pub fn journal_key(
    plan: &Plan,
    rows: &[usize],
    digests: &TraceDigests,
    progress: &dyn Progress,
) -> Result<JournalKey> {
    let own = rows.iter().map(|&row| &plan.rows[row].experiment);
    let files = files(own, digests, progress)?;
    Ok(JournalKey { plan: plan_key(plan), traces: hash(&json!(files).to_string()) })
}

/// The key of a plan, whatever its traces hold: that of all its journals.
pub fn plan_key(plan: &Plan) -> String {
    let all = plan.rows.iter().map(|row| json!([texts(&row.experiment), row.varied]));
    let all: Vec<Value> = all.collect();
    format!("{} of ftlab {VERSION} {BUILD}", hash(&json!([DEFAULT_TRACE, all]).to_string()))
}

/// The values of all options, as texts that can be read back.
fn texts(experiment: &Experiment) -> Vec<Value> {
    options().iter().map(|option| json!([option.name, option.texts(experiment)])).collect()
}

/// The names and digests of the trace files of some experiments, each file once.
fn files<'a>(
    experiments: impl Iterator<Item = &'a Experiment>,
    digests: &TraceDigests,
    progress: &dyn Progress,
) -> Result<Vec<(String, Option<String>)>> {
    let mut words: Vec<&str> = experiments.flat_map(Experiment::trace_files).collect();
    words.sort_unstable();
    words.dedup();
    words.into_iter().map(|word| Ok((word.to_owned(), digests.of(word, progress)?))).collect()
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Row, Scale};
    use crate::progress::NoProgress;

    const PLAN: &str = "[base]\ncapacity = \"1MiB\"\ntrace.writes = \"2K\"\n\
                        [[grid]]\nseed = [1, 2, 3, 4]";

    fn plan(text: &str) -> Plan {
        Plan::parse("p", text, Scale::Full).unwrap()
    }

    fn key(plan: &Plan, rows: &[usize]) -> JournalKey {
        journal_key(plan, rows, &TraceDigests::default(), &NoProgress).unwrap()
    }

    fn of(text: &str) -> JournalKey {
        let plan = plan(text);
        key(&plan, &(0..plan.rows.len()).collect::<Vec<_>>())
    }

    fn run_keys(text: &str) -> Vec<String> {
        let digests = TraceDigests::default();
        let order = |row: &Row| RunOrder::of(&row.experiment, &digests, &NoProgress).unwrap();
        plan(text).rows.iter().map(|row| order(row).key()).collect()
    }

    #[test]
    fn a_journal_depends_on_the_rows_only() {
        assert_eq!(of(PLAN), of(&format!("title = \"x\"\n{PLAN}")));
        assert_ne!(of(PLAN), of(&PLAN.replace("2K", "3K")));
        assert_ne!(of(PLAN), of(&PLAN.replace(", 4]", "]")));
    }

    #[test]
    fn the_key_of_a_plan_names_version_and_build() {
        let key = plan_key(&plan(PLAN));
        assert_eq!(key[64..], format!(" of ftlab {VERSION} {BUILD}"));
    }

    #[test]
    fn a_journal_depends_on_every_file_of_its_traces() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let of = |word: &str| of(&format!("[base]\ntrace = \"{}\"", at(word)));
        std::fs::write(at("disk.blktrace.0"), "a").unwrap();
        std::fs::write(at("set.tar"), "a").unwrap();
        let before = [of("disk"), of("set.tar/x")];
        std::fs::write(at("disk.blktrace.1"), "a").unwrap();
        std::fs::write(at("set.tar"), "b").unwrap();
        assert_ne!(of("disk"), before[0], "a file for another CPU");
        assert_ne!(of("set.tar/x"), before[1], "another archive of the same size");
        std::fs::write(at("set.tar"), "a").unwrap();
        assert_eq!(of("set.tar/x"), before[1], "written anew with the same bytes");
    }

    #[test]
    fn a_journal_depends_on_the_traces_of_its_own_rows_only() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        ["a", "b"].iter().for_each(|name| std::fs::write(at(name), name).unwrap());
        let plan = plan(&format!("[[grid]]\ntrace = [\"{}\", \"{}\"]", at("a"), at("b")));
        let before = [key(&plan, &[0]), key(&plan, &[1])];
        std::fs::write(at("b"), "c").unwrap();
        assert_eq!(key(&plan, &[0]), before[0]);
        assert_ne!(key(&plan, &[1]), before[1]);
        assert_eq!(key(&plan, &[1]).plan, before[1].plan);
    }

    #[test]
    fn the_key_of_a_run_is_that_of_its_options_wherever_it_stands() {
        let keys = run_keys(PLAN);
        let mut distinct = keys.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!((distinct.len(), keys[0].len()), (4, 64));
        let other = "[base]\nseed = 3\n[[list]]\ntrace = [\"uniform\", \"oltp:writes=2K\"]\n\
                     capacity = \"1024KiB\"";
        assert_eq!(run_keys(other)[1], keys[2], "written in another way");
    }

    #[test]
    fn lists_of_traces_with_spaces_are_told_apart() {
        let keys = run_keys("[[grid]]\nload = [[\"a b\", \"c\"], [\"a\", \"b c\"]]");
        assert_ne!(keys[0], keys[1]);
    }

    #[test]
    fn an_order_can_be_read_by_the_same_build_only() {
        let text = "[base]\nload = [\"a b.csv@open\", \"oltp:writes=2K\"]\nbuffer = \"8MiB\"\n\
                    extra = \"9%\"\nchip.page = \"4KiB\"";
        let experiment = &plan(text).rows[0].experiment;
        let order = RunOrder::of(experiment, &TraceDigests::default(), &NoProgress).unwrap();
        let read = RunOrder::parse(&order.text()).unwrap();
        assert_eq!((&read.experiment, read.key()), (experiment, order.key()));
        assert_eq!(read.traces, [("a b.csv".to_owned(), None)]);
        let other = order.text().replacen(VERSION, "9.9", 1);
        let why = RunOrder::parse(&other).unwrap_err();
        assert!(why.to_string().contains("the client has ftlab 9.9 and the worker"), "{why}");
        let why = RunOrder::parse(&order.text().replacen(BUILD, "0123", 1)).unwrap_err();
        assert!(why.to_string().contains("different builds of ftlab"), "{why}");
        for text in ["", "{}", "[]", "[1]", &format!("[\"{VERSION}\"]")] {
            assert_eq!(RunOrder::parse(text).unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
