//! Sentences that captions have in common.

use sim::Experiment;
use sim::config::experiment::{ExperimentOption, options};
use sim::plan::Plan;
use sim::result::run_result::GUEST;

/// The note on a plan at quick scale.
pub const QUICK_PLAN_NOTE: &str = "Quick scale: the base has the values of the plan's quick part. \
                                   Verdicts at this scale do not decide whether a claim holds.";

/// The note on results of the papers' plans at quick scale.
pub const QUICK_NOTE: &str = "Quick scale: devices, touched sets, logs and caches are smaller \
                              than published, all by the same factor. Verdicts at this scale do \
                              not decide whether a claim holds.";

/// The name of a trace without the folders that a file lies in. A workload keeps its whole spec.
pub fn short_name(trace: &str) -> &str {
    let is_spec = trace.split_once(':').is_some_and(|(workload, _)| !workload.contains('/'));
    match trace.rsplit_once('/') {
        Some((_, file)) if !is_spec => file,
        _ => trace,
    }
}

/// The names of runs in words if they are few, otherwise their number.
pub fn named(ftls: &[&str]) -> String {
    match ftls {
        [ftl] => (*ftl).to_owned(),
        [first @ .., last] if ftls.len() <= NAMED_MAX => {
            format!("{} and {last}", first.join(", "))
        }
        _ => format!("{} FTLs", ftls.len()),
    }
}

/// The names of runs for sentences and figures: the scheme alone where no other run has it, and of
/// a guest the file of its library.
pub fn short_labels(labels: &[&str]) -> Vec<String> {
    let has = |name: &str| labels.iter().filter(|label| shortest(label) == name).count();
    let short = |label: &&str| match shortest(label) {
        name if has(name) == 1 => name.to_owned(),
        _ => (*label).to_owned(),
    };
    labels.iter().map(short).collect()
}

/// The shortest name of a run, which other runs may have as well.
fn shortest(label: &str) -> &str {
    let (scheme, settings) = label.split_once(':').unwrap_or((label, ""));
    let library = || settings.split(',').find_map(|pair| pair.strip_prefix("lib="));
    match library().filter(|_| scheme == GUEST) {
        Some(path) => short_name(path),
        None => scheme,
    }
}

/// A title names at most this many runs.
pub(crate) const NAMED_MAX: usize = 3;

/// The options that all rows share and that differ from the defaults, and the volumes that were
/// chosen, in sentences; empty if there are none.
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
    let shared = match options().iter().filter(is_shared).map(text).collect::<Vec<_>>().join(", ") {
        options if options.is_empty() => None,
        options => Some(format!("Common options: {options}.")),
    };
    let sentences: Vec<String> = shared.into_iter().chain(plan.choices.iter().cloned()).collect();
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_runs_are_named_and_many_are_counted() {
        let texts = [&["a"][..], &["a", "b"], &["a", "b", "c"], &["a"; 4]].map(named);
        assert_eq!(texts, ["a", "a and b", "a, b and c", "4 FTLs"]);
    }

    #[test]
    fn a_scheme_alone_is_named_without_its_parameters() {
        let labels = ["page", "dftl:cmt=4KiB", "fast:a=1", "fast:a=2"];
        assert_eq!(short_labels(&labels), ["page", "dftl", "fast:a=1", "fast:a=2"]);
    }

    #[test]
    fn a_guest_is_named_by_the_file_of_its_library() {
        let labels = ["page", "guest:lib=build/page.so,log=8", "guest:log=4,lib=./mine.so"];
        assert_eq!(short_labels(&labels), ["page", "page.so", "mine.so"]);
        let alike = ["guest:lib=a/ftl.so", "guest:lib=b/ftl.so", "guest:lib=c/other.so"];
        assert_eq!(short_labels(&alike), [alike[0], alike[1], "other.so"]);
    }

    #[test]
    fn a_trace_is_named_by_its_file_and_a_workload_by_its_spec() {
        let names =
            ["a/b.d/web.trace", "web.trace", "skew:writes=4M,hot=70/30", "/tmp/x:y/web.spc"];
        let short = ["web.trace", "web.trace", "skew:writes=4M,hot=70/30", "web.spc"];
        assert_eq!(names.map(short_name), short);
    }
}
