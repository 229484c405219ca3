//! Sentences that captions have in common.

use sim::Experiment;
use sim::config::experiment::{ExperimentOption, options};
use sim::plan::Plan;

/// The note on pages with results at quick scale.
pub const QUICK_NOTE: &str = "Quick scale: devices, touched sets, logs and caches are smaller \
                              than published, all by the same factor. Verdicts at this scale do \
                              not decide whether a claim holds.";

/// Notes on results as paragraphs of a page.
pub fn as_paragraphs(notes: Vec<String>) -> impl Iterator<Item = String> {
    notes.into_iter().map(|note| format!("Note: {note}"))
}

/// A sentence with the options that all rows share and that differ from the defaults; empty if
/// there are none.
pub fn common_options(plan: &Plan) -> String {
    let Some(first) = plan.rows.first() else { return String::new() };
    let default = Experiment::default();
    let is_shared = |option: &&ExperimentOption| {
        let text = option.text(&first.experiment);
        let mut rows = plan.rows.iter();
        text != option.text(&default) && rows.all(|row| option.text(&row.experiment) == text)
    };
    let text = |option: &ExperimentOption| {
        let text = option.text(&first.experiment).unwrap_or_default();
        format!("{} {text}", option.name.replace('_', " "))
    };
    match options().iter().filter(is_shared).map(text).collect::<Vec<_>>().join(", ") {
        options if options.is_empty() => options,
        options => format!("Common options: {options}."),
    }
}
