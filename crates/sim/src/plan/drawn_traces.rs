//! The traces that drawings show: each trace of the rows, once.

use crate::config::experiment::{Experiment, options};
use crate::config::setup::Setup;
use crate::plan::row::Row;

/// A trace that is drawn.
#[derive(Clone, Debug)]
pub struct DrawnTrace {
    /// The trace's name, and the options that tell it from others of the same name.
    pub label: String,
    /// The options by which it is read or generated; the chip is one of the right page size.
    pub experiment: Experiment,
}

/// Names and texts of options by which traces are compared.
type TraceKey = Vec<(&'static str, String)>;

/// The traces of these rows. Two rows have the same trace if they agree in its name, in the options
/// of reading it, in the page size and, for a workload, in capacity and seed.
pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<DrawnTrace> {
    let mut traces: Vec<(TraceKey, Experiment)> = Vec::new();
    for experiment in rows.flat_map(|row| single_traces(&row.experiment)) {
        let experiment = trace_options(&experiment);
        let key = key(&experiment);
        if !traces.iter().any(|(known, _)| *known == key) {
            traces.push((key, experiment));
        }
    }
    let label = |(key, experiment): &(TraceKey, Experiment)| {
        let name = experiment.trace_names()[0];
        let namesakes = traces.iter().filter(|(_, other)| other.trace_names()[0] == name);
        let namesakes: Vec<&TraceKey> = namesakes.map(|(other, _)| other).collect();
        let differs = |pair: &&(&str, String)| namesakes.iter().any(|other| !other.contains(pair));
        let differences = key.iter().filter(differs).map(|(name, text)| format!(" {name}={text}"));
        format!("{name}{}", differences.collect::<String>())
    };
    let labels: Vec<String> = traces.iter().map(label).collect();
    let labelled = labels.into_iter().zip(traces);
    labelled.map(|(label, (_, experiment))| DrawnTrace { label, experiment }).collect()
}

/// The experiment, or one for each of its loads. The capacity of a workload beside other loads is
/// known only if it is the default or shared; other workloads are not drawn.
fn single_traces(experiment: &Experiment) -> Vec<Experiment> {
    if experiment.load.is_empty() {
        return vec![experiment.clone()];
    }
    let files = experiment.trace_files();
    let is_known = experiment.capacity_bytes.is_none() || experiment.shared;
    let names = experiment.trace_names().into_iter();
    let drawn = names.filter(|name| is_known || files.contains(name));
    let alone = |name: &str| Experiment {
        trace: Some(name.to_owned()),
        load: Vec::new(),
        shared: false,
        ..experiment.clone()
    };
    drawn.map(alone).collect()
}

/// The options on which a trace depends. A file depends neither on the capacity nor on the seed.
fn trace_options(experiment: &Experiment) -> Experiment {
    let Experiment { trace, format, skip_bad, sort, limit, chip, capacity_bytes, seed, .. } =
        experiment.clone();
    let of_file =
        Experiment { trace, format, skip_bad, sort, limit, chip, ..Experiment::default() };
    match experiment.trace_files().is_empty() {
        false => of_file,
        true => Experiment { capacity_bytes, seed, ..of_file },
    }
}

/// These options as text, with the page size in place of the chip.
fn key(experiment: &Experiment) -> TraceKey {
    let setup = Setup::new(experiment).expect("checked when the plan was read");
    let text = |option: &crate::config::experiment::ExperimentOption| {
        (option.name, option.text(experiment).unwrap_or_else(|| "none".to_owned()))
    };
    let but_chip = options().iter().filter(|option| option.name != "chip");
    let page = spec::print_size(setup.chip.page_bytes.into());
    but_chip.map(text).chain([("page", page)]).collect()
}
