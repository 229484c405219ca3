//! The traces of rows, each once: what drawings of traces are of.

use serde_json::{Map, Value};

use super::{Row, assignment};
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;

/// A trace that is drawn.
#[derive(Clone, Debug)]
pub struct DrawnTrace {
    /// What it is called: its word, and what tells it from others of the same word.
    pub label: String,
    /// The options that it is read or made by, the first chip of its page size among them.
    pub experiment: Experiment,
}

/// The traces of these rows. Two are one if they have the same word, the same options of reading
/// and, of a workload, the same capacity and seed, and if their pages are counted in one size.
pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<DrawnTrace> {
    let mut traces: Vec<(Map<String, Value>, Experiment)> = Vec::new();
    for row in rows {
        let experiment = what_makes_it(&row.experiment);
        let key = key(&experiment);
        if !traces.iter().any(|(known, _)| *known == key) {
            traces.push((key, experiment));
        }
    }
    let label = |(key, experiment): &(Map<String, Value>, Experiment)| {
        let namesakes = traces.iter().filter(|(other, _)| other["trace"] == key["trace"]);
        let namesakes: Vec<_> = namesakes.map(|(other, _)| other).collect();
        let apart =
            key.iter().filter(|(name, value)| namesakes.iter().any(|o| o[*name] != **value));
        format!("{}{}", experiment.trace_name(), apart.map(written).collect::<String>())
    };
    let labels: Vec<String> = traces.iter().map(label).collect();
    let named = labels.into_iter().zip(traces);
    named.map(|(label, (_, experiment))| DrawnTrace { label, experiment }).collect()
}

/// An option as people write it.
fn written((name, value): (&String, &Value)) -> String {
    let text = match (name.as_str(), value.as_u64(), value.as_str()) {
        ("capacity" | "page", Some(bytes), _) => spec::print_size(bytes),
        (_, _, Some(text)) => text.to_owned(),
        _ => value.to_string(),
    };
    format!(" {name}={text}")
}

/// The options that a trace depends on; of a file neither capacity nor seed.
fn what_makes_it(experiment: &Experiment) -> Experiment {
    let is_file = experiment.reads_file();
    let Experiment { trace, format, skip_bad, sort, limit, chip, capacity_bytes, seed, .. } =
        experiment.clone();
    let of_all = Experiment { trace, format, skip_bad, sort, limit, chip, ..Experiment::default() };
    match is_file {
        true => of_all,
        false => Experiment { capacity_bytes, seed, ..of_all },
    }
}

/// The same options, but of the chip only the size of its pages.
fn key(experiment: &Experiment) -> Map<String, Value> {
    let setup = Setup::new(experiment).expect("checked when the plan was read");
    let mut key = assignment::of(experiment);
    key.remove("chip");
    key.insert("page".to_owned(), setup.chip.page_bytes.into());
    key
}
