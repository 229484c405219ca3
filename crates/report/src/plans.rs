//! Plans in words: what captions say of the runs that a figure is made of.

use serde_json::{Map, Value};
use sim::Experiment;
use sim::plan::Plan;

use crate::words::number;

/// What a page says where it shows the small scale.
pub const QUICK: &str = "Quick scale: devices, touched sets, logs and caches are smaller by one \
                         factor than published, so no verdict here settles a claim.";

/// The options that all rows share and that are not the default; nothing of a plan without rows.
pub fn in_common(plan: &Plan) -> String {
    let Some(first) = plan.rows.first() else { return String::new() };
    let options = |experiment: &Experiment| match serde_json::to_value(experiment) {
        Ok(Value::Object(options)) => options,
        _ => Map::new(),
    };
    let (default, first) = (options(&Experiment::default()), options(&first.experiment));
    let rows: Vec<_> = plan.rows.iter().map(|row| options(&row.experiment)).collect();
    let shared = first.iter().filter(|(key, value)| {
        default[*key] != **value && rows.iter().all(|row| row[*key] == **value)
    });
    let word = |(key, value): (&String, &Value)| match (key.as_str(), value.as_u64()) {
        ("capacity", Some(bytes)) => format!("capacity {} MiB", number(bytes as f64 / 1_048_576.0)),
        _ => format!("{} {value}", key.replace('_', " ")).replace('"', ""),
    };
    match shared.map(word).collect::<Vec<_>>().join(", ") {
        words if words.is_empty() => words,
        words => format!("All runs: {words}."),
    }
}
