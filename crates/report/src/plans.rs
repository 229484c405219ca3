//! Plans in words: what captions say of the runs that a figure is made of.

use sim::Experiment;
use sim::config::experiment::{ExperimentOption, options};
use sim::plan::Plan;

/// What a page says where it shows the small scale.
pub const QUICK: &str = "Quick scale: devices, touched sets, logs and caches are smaller by one \
                         factor than published, so no verdict here settles a claim.";

/// The options that all rows share and that are not the default; nothing of a plan without rows.
pub fn in_common(plan: &Plan) -> String {
    let Some(first) = plan.rows.first() else { return String::new() };
    let default = Experiment::default();
    let is_shared = |option: &&ExperimentOption| {
        let text = option.text(&first.experiment);
        let mut rows = plan.rows.iter();
        text != option.text(&default) && rows.all(|row| option.text(&row.experiment) == text)
    };
    let word = |option: &ExperimentOption| {
        let text = option.text(&first.experiment).unwrap_or_default();
        format!("{} {text}", option.name.replace('_', " "))
    };
    match options().iter().filter(is_shared).map(word).collect::<Vec<_>>().join(", ") {
        words if words.is_empty() => words,
        words => format!("All runs: {words}."),
    }
}
