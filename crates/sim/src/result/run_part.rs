//! The `run` part of a result: how it was measured.
//!
//! It consists of the options that the table of options marks as reported, some of them only if
//! they are not at their defaults, and of the hash of the trace file, which follows the durability.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::experiment::{Experiment, ExperimentOption, reported_options};
use crate::result::record::{Column, ColumnKind, Columns, field_name};

const TRACE_SHA256: &str = "trace_sha256";
const BEFORE_TRACE_SHA256: &str = "durability";

/// The reported options and the hash of the trace file.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct RunPart(Map<String, Value>);

impl RunPart {
    /// The part for a run of this experiment on a trace file with this hash; a workload has none.
    pub fn of(experiment: &Experiment, trace_sha256: Option<&str>) -> RunPart {
        let options = reported_options();
        let value = |name: &'static str| match options.iter().find(|option| option.name == name) {
            Some(option) if !option.is_reported(experiment) => None,
            Some(option) => Some((name.to_owned(), option.json(experiment))),
            None => Some((name.to_owned(), trace_sha256.into())),
        };
        RunPart(names().into_iter().filter_map(value).collect())
    }
}

impl Columns for RunPart {
    fn columns(name: &str, out: &mut Vec<Column>) {
        let options = reported_options();
        let kind = |field| options.iter().find(|option| option.name == field).map(|it| kind(it));
        out.extend(names().into_iter().map(|field| Column {
            name: field_name(name, field),
            kind: kind(field).unwrap_or(ColumnKind::Text),
            // Some are only reported if they are not at their defaults.
            is_optional: true,
            most: None,
        }));
    }
}

/// What a result reports for an option. If its default is null, that of a number shows it.
fn kind(option: &ExperimentOption) -> ColumnKind {
    let mut experiment = Experiment::default();
    if option.json(&experiment).is_null() {
        option.set(&mut experiment, "1").expect("only numbers are null by default");
    }
    match option.json(&experiment) {
        Value::Bool(_) => ColumnKind::Switch,
        Value::Number(_) => ColumnKind::Whole,
        _ => ColumnKind::Text,
    }
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = reported_options().iter().map(|option| option.name).collect();
    let before = names.iter().position(|&name| name == BEFORE_TRACE_SHA256);
    names.insert(before.expect("durability is reported") + 1, TRACE_SHA256);
    names
}
