//! The `run` part of a result: how it was measured.
//!
//! It consists of the options that the table of options marks as reported, and of the hash of the
//! trace file, which follows the durability.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::experiment::{Experiment, reported_options};
use crate::result::record::{Columns, field_name};

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
            Some(option) => option.json(experiment),
            None => trace_sha256.into(),
        };
        RunPart(names().into_iter().map(|name| (name.to_owned(), value(name))).collect())
    }
}

impl Columns for RunPart {
    fn columns(name: &str, out: &mut Vec<String>) {
        out.extend(names().into_iter().map(|field| field_name(name, field)));
    }
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = reported_options().iter().map(|option| option.name).collect();
    let before = names.iter().position(|&name| name == BEFORE_TRACE_SHA256);
    names.insert(before.expect("durability is reported") + 1, TRACE_SHA256);
    names
}
